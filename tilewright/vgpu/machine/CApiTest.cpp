#include "tilewright/vgpu/include/tilewright_vgpu.h"

#include "tilewright/vgpu/machine/testing/Kernels.h"

namespace tilewright::vgpu::machine {
namespace {

TEST(CApi, LaunchesTextOnMemoryOfTheHost) {
  char *error = nullptr;
  const std::string text = kernelText("tiles.ptx");
  tilewright_vgpu_module *module = tilewright_vgpu_load(text.c_str(), "sm_80", &error);
  ASSERT_NE(module, nullptr) << error;
  std::vector<float> a(100, 1.5f), b(100, 2.0f), c(100);
  const float *pa = a.data(), *pb = b.data();
  float *pc = c.data();
  int n = 100;
  const void *arguments[] = {&pa, &pb, &pc, &n};
  tilewright_vgpu_config config = {};
  config.grid[0] = config.grid[1] = config.grid[2] = 1;
  config.block[0] = 128;
  config.block[1] = config.block[2] = 1;
  config.threads = 2;
  EXPECT_EQ(tilewright_vgpu_launch(module, "vector_add", &config, arguments, 4, &error), 0);
  EXPECT_EQ(c, std::vector<float>(100, 3.5f));

  EXPECT_EQ(tilewright_vgpu_launch(module, "vector_sub", &config, arguments, 4, &error),
            static_cast<int>(Code::notFound));
  EXPECT_THAT(error, ::testing::HasSubstr("E7103"));
  tilewright_vgpu_free_error(error);
  tilewright_vgpu_unload(module);
}

TEST(CApi, ATensorMapIsCheckedAsTheDriverDoes) {
  char *error = nullptr;
  alignas(64) char map[128];
  alignas(64) float data[64];
  const uint64_t sizes[] = {8, 8}, strides[] = {32};
  const uint32_t box[] = {3, 8};
  EXPECT_NE(tilewright_vgpu_encode_tensor_map(map, 7, 2, data, sizes, strides, box, nullptr, 0, 0,
                                              &error),
            0);
  EXPECT_THAT(error, ::testing::HasSubstr("multiple of 16 bytes, got 12"));
  tilewright_vgpu_free_error(error);
}

} // namespace
} // namespace tilewright::vgpu::machine
