// For tests: several virtual GPUs of this process that run a collective kernel together.
#ifndef TEST_NVPTX_COLLECTIVES_TEAM_H
#define TEST_NVPTX_COLLECTIVES_TEAM_H

#include "tilewright/collective/conformance/Reference.h"
#include "tilewright/runtime/cuda/symmetric/SymmetricMemory.h"
#include "tilewright/target/nvptx/GenerateCode.h"
#include "tilewright/transform/tile/collectives/BuildCollective.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tilewright::nvptx {

/// Compiles a collective for sm_90a; also to the text of the tile kernel, if wanted.
Result<GpuCode> compileCollective(const tile::CollectiveKernel &wanted,
                                  std::string *tileText = nullptr);

/// Where the parts of the symmetric memory are.
struct TeamPlaces {
  static constexpr size_t signals = 0, staging = 1 << 20, lists = 7 << 20, in = 8 << 20,
                          out = 24 << 20, bytes = 40 << 20;
};

/// Devices 0 to `ranks` - 1 of the virtual driver.
class Team {
public:
  static Result<std::unique_ptr<Team>> make(int64_t ranks);
  ~Team();

  /// Runs the kernel `times` times on all devices, without waiting in between, and compares with
  /// the definition of the collective, bit by bit; sums by the interconnect, whose order is not
  /// ours, within the error that any order has. Returns what is wrong, or "".
  std::string run(const tile::CollectiveKernel &wanted, const GpuCode &code, int times = 1);

private:
  struct Device {
    runtime::cuda::CUcontext context = nullptr;
    runtime::cuda::CUstream stream = nullptr;
  };
  explicit Team(int64_t ranks) : ranks(ranks) {}
  Status start();
  Status launch(const tile::CollectiveKernel &wanted, const GpuCode &code, int times);

  const int64_t ranks;
  std::shared_ptr<const runtime::cuda::DriverApi> api;
  std::unique_ptr<runtime::cuda::SymmetricMemory> memory;
  std::vector<Device> devices;
};

} // namespace tilewright::nvptx

#endif // TEST_NVPTX_COLLECTIVES_TEAM_H
