// For tests: several virtual GPUs of this process that run a collective kernel together.
#ifndef TEST_NVPTX_COLLECTIVES_TEAM_H
#define TEST_NVPTX_COLLECTIVES_TEAM_H

#include "tilewright/collective/conformance/Reference.h"
#include "tilewright/runtime/cuda/symmetric/SymmetricEngine.h"
#include "tilewright/runtime/cuda/symmetric/SymmetricMemory.h"
#include "tilewright/target/nvptx/GenerateCode.h"
#include "tilewright/transform/tile/collectives/BuildFused.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tilewright::nvptx {

/// Compile kernels for sm_90a. Thread-safe.
Result<GpuCode> compileCollective(const tile::CollectiveKernel &wanted);
/// The same as an engine asks for it.
Result<runtime::cuda::CollectiveImage> compileImage(const tile::CollectiveKernel &wanted);
Result<GpuCode> compileFused(const tile::FusedProduct &wanted, bool isGather,
                             const CodegenOptions &options = {});
/// Of a `tile.kernel` in MLIR.
Result<GpuCode> compileText(const std::string &text, const CodegenOptions &options);

/// Where the parts of the symmetric memory are.
struct TeamPlaces {
  static constexpr size_t signals = 0, counts = 1 << 18, flags = 1 << 19, staging = 1 << 20,
                          lists = 7 << 20, in = 8 << 20, out = 24 << 20, seen = 40 << 20,
                          bytes = 56 << 20;
};

/// Devices 0 to `ranks` - 1 of the virtual driver.
class Team {
public:
  static Result<std::unique_ptr<Team>> make(int64_t ranks);
  ~Team();

  /// Runs the kernel `times` times on all devices, without waiting in between, and compares with
  /// the definition of the collective, bit by bit; sums by the interconnect, whose order is not
  /// ours, within the error that any order has. Returns what is wrong, or "".
  ///
  /// With neighbours, kernels of the same streams write the operand before and read the result
  /// after the collective, each time.
  std::string run(const tile::CollectiveKernel &wanted, const GpuCode &code, int times = 1,
                  bool hasNeighbours = false);

  /// The same for a product fused with an all_gather, or with a reduce_scatter.
  std::string runFused(const tile::FusedProduct &wanted, bool isGather, const GpuCode &code,
                       int times);
  /// The same for the product fused with an all_gather, once: launches it on rank `late` only when
  /// every other rank has computed the rows of its own shard and of those that it takes before the
  /// late one. Fails if a rank waits for the late one first.
  std::string runFusedWithLateRank(const tile::FusedProduct &wanted, const GpuCode &code,
                                   int64_t late);

private:
  struct Device {
    runtime::cuda::CUcontext context = nullptr;
    runtime::cuda::CUstream stream = nullptr;
  };
  explicit Team(int64_t ranks) : ranks(ranks) {}
  Status start();
  /// Parameters: whether each is a window, and where it is.
  using Parameters = std::vector<std::pair<bool, size_t>>;
  /// If there is a late rank, launches it only after `untilLate` has returned.
  struct LateRank {
    size_t rank;
    std::function<Status()> untilLate;
  };
  Status launch(const Parameters &parameters, const GpuCode &code, int times, bool hasNeighbours,
                size_t inBytes, size_t outBytes, const std::optional<LateRank> &late = {});
  void fillFused(const tile::FusedProduct &wanted, bool isGather);
  /// What is wrong in these rows of a rank's result, or "".
  std::string compareFused(const tile::FusedProduct &wanted, bool isGather, int64_t rank,
                           size_t place, int64_t firstRow, int64_t rows);
  static Parameters fusedParameters();

  const int64_t ranks;
  std::shared_ptr<const runtime::cuda::DriverApi> api;
  std::unique_ptr<runtime::cuda::SymmetricMemory> memory;
  std::vector<Device> devices;
};

} // namespace tilewright::nvptx

#endif // TEST_NVPTX_COLLECTIVES_TEAM_H
