#include "tilewright/vgpu/driver/observe/ObserveCount.h"

#include "tilewright/vgpu/machine/testing/Kernels.h"

#include <filesystem>

namespace tilewright::vgpu::driver {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string contents(const std::filesystem::path &path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(ObserveCount, ALaunchLeavesItsTableItsNumbersAndItsTimeline) {
  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / "vgpu_counts" / "deep";
  std::filesystem::remove_all(folder);
  auto module = machine::loadText(machine::kernelText("tiles.ptx"));
  const int n = 32;
  std::vector<float> a(n * n), b(n * n), c(n * n);
  const float *pa = a.data(), *pb = b.data();
  float *pc = c.data();
  machine::LaunchConfig config{.grid = {2, 2, 1}, .block = {16, 16, 1}};
  const std::string reports = folder.string();
  std::unique_ptr<Observation> observation =
      startObservation({"count", "count"}, {*module, "matmul", config, 0, 0, 7, reports});
  ASSERT_NE(observation, nullptr);
  config.observer = &observation->observer();
  Status status = observation->finished(machine::run(*module, "matmul", config, pa, pb, pc, n));
  ASSERT_TRUE(status.isOk()) << status.toString();

  EXPECT_THAT(contents(folder / "7-matmul.counts.txt"),
              StartsWith("kernel matmul on sm_90a, grid [2, 2, 1] of blocks [16, 16, 1]"));
  // Each thread reads two words of global memory per tile.
  EXPECT_THAT(contents(folder / "7-matmul.counts.json"),
              HasSubstr("\"global_read_bytes\":" + std::to_string(n * n * (n / 16) * 2 * 4)));
  EXPECT_THAT(contents(folder / "7-matmul.trace.json"), HasSubstr("\"name\":\"barrier 0\""));
  std::filesystem::remove_all(folder);
}

TEST(ObserveCount, WithoutAFolderTheTableIsPrinted) {
  auto module = machine::loadText(machine::kernelText("tiles.ptx"));
  const int n = 16;
  std::vector<float> a(n * n), b(n * n), c(n * n);
  const float *pa = a.data(), *pb = b.data();
  float *pc = c.data();
  machine::LaunchConfig config{.grid = {1, 1, 1}, .block = {16, 16, 1}};
  std::unique_ptr<Observation> observation =
      startObservation({"count"}, {*module, "matmul", config, 0, 0, 1, {}});
  config.observer = &observation->observer();
  ::testing::internal::CaptureStderr();
  Status status = observation->finished(machine::run(*module, "matmul", config, pa, pb, pc, n));
  EXPECT_TRUE(status.isOk()) << status.toString();
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), StartsWith("kernel matmul on sm_90a"));
}

} // namespace
} // namespace tilewright::vgpu::driver
