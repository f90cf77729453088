#include "tilewright/vgpu/driver/observe/ObserveRecord.h"

#include "tilewright/vgpu/driver/Settings.h"
#include "tilewright/vgpu/machine/memory/Allocations.h"
#include "tilewright/vgpu/machine/testing/Kernels.h"

#include <cstdlib>
#include <filesystem>

namespace tilewright::vgpu::driver {
namespace {

using ::testing::HasSubstr;

std::string contents(const std::filesystem::path &path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(ObserveRecord, ALaunchLeavesItsModuleItsMemoryAndItsParameters) {
  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / "vgpu_recordings";
  std::filesystem::remove_all(folder);
  auto module = machine::loadText(machine::kernelText("tiles.ptx"));
  // Two allocations, of which the parameters use one twice, and memory that is not an allocation.
  std::vector<uint32_t> used(100, 7), unused(50, 9);
  auto address = [](std::vector<uint32_t> &of, size_t at) {
    return reinterpret_cast<uint64_t>(of.data() + at);
  };
  auto add = [&](std::vector<uint32_t> &of) {
    machine::allocations().add(address(of, 0), of.size() * 4, machine::AllocationKind::device, 0);
  };
  add(used);
  add(unused);
  const uint64_t values[] = {address(used, 0), 33, address(used, 25)};
  std::vector<std::span<const std::byte>> parameters;
  for (const uint64_t &value : values)
    parameters.push_back(std::as_bytes(std::span(&value, 1)));
  const machine::LaunchConfig config{.grid = {2, 3, 1}, .block = {16, 16, 1}, .cooperative = true};
  const std::string path = folder.string();

  const std::unique_ptr<Observation> observation =
      startObservation({"record"}, {*module, "matmul", config, 0, 0, 4, path, parameters});

  machine::allocations().remove(address(used, 0));
  machine::allocations().remove(address(unused, 0));
  EXPECT_EQ(observation, nullptr);
  EXPECT_THAT(contents(folder / "4-matmul.ptx"), HasSubstr(".entry matmul"));
  EXPECT_EQ(contents(folder / "4-matmul.launch"), "kernel matmul\nchip sm_90a\ngrid 2 3 1\n"
                                                  "block 16 16 1\ncluster 0 0 0\nshared 0\n"
                                                  "cooperative 1\nchecks all\n"
                                                  "memory 35184372088832\n"
                                                  "parameter 0000000000200000\n"
                                                  "parameter 2100000000000000\n"
                                                  "parameter 6400000000200000\n");
  const std::string memory = contents(folder / "4-matmul.memory");
  ASSERT_GE(memory.size(), used.size() * 4 + 1);
  EXPECT_EQ(std::memcmp(memory.data(), used.data(), used.size() * 4), 0);
  EXPECT_EQ(memory.find('\x09'), std::string::npos);
  std::filesystem::remove_all(folder);
}

TEST(ObserveRecord, AFolderIsNeeded) {
  setenv("TILEWRIGHT_VGPU_CHECK", "all,record", 1);
  const Status status = Settings::fromEnvironment().takeStatus();
  unsetenv("TILEWRIGHT_VGPU_CHECK");
  EXPECT_THAT(status.toString(), HasSubstr("TILEWRIGHT_VGPU_COUNTS"));
}

} // namespace
} // namespace tilewright::vgpu::driver
