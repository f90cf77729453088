// Tests the functions for the torch shim and the pytest plugin, in a process with the checks on.
#include "tilewright/vgpu/driver/testing/Driver.h"

#include "gmock/gmock.h"

namespace tilewright::vgpu::driver {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char *readsTwoRows = R"(
.version 7.8
.target sm_80
.address_size 64
.visible .entry reads(.param .u64 p)
{
  .reg .b64 %rd<2>; .reg .b32 %r<3>;
  ld.param.u64 %rd1, [p];
  ld.global.u32 %r1, [%rd1];
  ld.global.u32 %r2, [%rd1+64];
  ret;
}
)";

using HostWrote = void (*)(uint64_t, size_t, size_t, size_t);
using ReadReport = size_t (*)(char *, size_t);

template <typename F> F tool(const char *name) {
  return reinterpret_cast<F>(dlsym(cuda().library, name));
}

class HostToolsTest : public DriverTest {
protected:
  void SetUp() override {
    setenv("TILEWRIGHT_VGPU_CHECK", "uninit", 1); // read when the driver starts
    DriverTest::SetUp();
  }
  std::string report() {
    auto *read = tool<ReadReport>("tilewright_vgpu_report");
    const size_t needed = read(nullptr, 0);
    std::string text(needed + 1, '?');
    EXPECT_EQ(read(text.data(), text.size()), needed);
    text.resize(needed);
    return text;
  }
};

TEST_F(HostToolsTest, RowsThatTheHostWroteAreInitialisedAndTheRestIsNot) {
  const CUdeviceptr address = allocate(4096);
  CUfunction reads = function(load(readsTwoRows), "reads");
  CUdeviceptr argument = address;
  void *arguments[] = {&argument};
  auto launch = [&] {
    EXPECT_CUDA(cuda().cuLaunchKernel(reads, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr));
    EXPECT_CUDA(cuda().cuCtxSynchronize());
  };
  ASSERT_NE(tool<void *>("tilewright_vgpu_host_wrote"), nullptr);
  tool<HostWrote>("tilewright_vgpu_host_wrote")(address, 4, 64, 2);
  launch();
  EXPECT_THAT(report(), Not(HasSubstr("uninitialised")));

  argument = address + 128; // two rows that the host did not write
  launch();
  EXPECT_THAT(report(), HasSubstr("uninitialised"));
}

TEST_F(HostToolsTest, AReportThatDoesNotFitIsCutOff) {
  char small[8] = "???????";
  auto *read = tool<ReadReport>("tilewright_vgpu_report");
  EXPECT_GT(read(small, sizeof small), sizeof small);
  EXPECT_EQ(std::string(small).size(), sizeof small - 1);
}

} // namespace
} // namespace tilewright::vgpu::driver
