// SymmetricEngine: collectives among the GPUs of one host, by our own kernels.
#ifndef TILEWRIGHT_RUNTIME_CUDA_SYMMETRIC_SYMMETRICENGINE_H
#define TILEWRIGHT_RUNTIME_CUDA_SYMMETRIC_SYMMETRICENGINE_H

#include "tilewright/collective/DeviceCommunicator.h"
#include "tilewright/numerics/CollectiveKernel.h"
#include "tilewright/runtime/cuda/symmetric/HandleExchange.h"
#include "tilewright/runtime/cuda/symmetric/SymmetricMemory.h"

#include <functional>
#include <map>
#include <mutex>

namespace tilewright::runtime::cuda {

/// The code of a collective kernel, and how it is launched.
struct CollectiveImage {
  std::string ptx, symbol;
  unsigned blocks = 1, threads = 128, sharedBytes = 0;
};
/// Compiles a kernel; unimplemented if no kernel has this form. Thread-safe.
using CollectiveCompiler =
    std::function<Result<CollectiveImage>(const numerics::CollectiveKernel &)>;

/// Each group of a clique has symmetric memory of its own on its devices: signals, the staging of
/// one-shot kernels, and a window for operands and results that are not yet in such memory.
/// Operands larger than the window are processed in pieces. Sums have the order of the group,
/// unless the multicast form is allowed.
///
/// Kernels wait for each other on the devices, so the streams of different ranks must be able to
/// run at the same time, and each device must have room for all blocks of a kernel.
class SymmetricEngine final : public collective::DeviceEngine {
public:
  struct Options {
    size_t windowBytes = size_t(4) << 20;
    int64_t points = 8;
    /// An all_reduce of at most this many bytes is one-shot.
    size_t oneShotBytes = size_t(256) << 10;
    /// Whether the interconnect may choose the order of sums.
    bool mayReorder = false;
  };
  /// `ordinals` are the driver's devices by rank. `access` must outlive the engine.
  static std::unique_ptr<SymmetricEngine> make(std::shared_ptr<const DriverApi> api,
                                               std::vector<int> ordinals,
                                               collective::DeviceAccess &access,
                                               CollectiveCompiler compiler, const Options &options);

  /// The same for a job of several processes of this host; `ordinals` are the devices of this
  /// process's ranks, in ascending order. `store` must outlive the engine.
  static Result<std::unique_ptr<SymmetricEngine>>
  connect(const collective::Membership &membership, tilewright::KeyValueStore &store,
          std::shared_ptr<const DriverApi> api, const std::vector<int> &ordinals,
          collective::DeviceAccess &access, CollectiveCompiler compiler, const Options &options);

  std::string name() const override { return "symmetric"; }
  std::string version() const override { return "1"; }
  bool canReduce(collective::ReductionKind operation,
                 collective::ElementType element) const override;
  Result<std::vector<std::unique_ptr<collective::DeviceCommunicator>>>
  prepare(const std::vector<int64_t> &members, std::span<const collective::DeviceClique> cliques,
          Deadline deadline) override;
  Result<std::byte *> allocate(int64_t rank, size_t bytes) override;
  void free(int64_t rank, std::byte *data) override;
  /// Ends the waits of all kernels, so that streams proceed; the results are invalid.
  void revoke(const std::string &why) override;
  ///  - unimplemented: the processes that remain connect a new engine.
  Result<std::unique_ptr<collective::DeviceEngine>> shrink(const std::vector<int64_t> &without,
                                                           uint64_t epoch,
                                                           tilewright::KeyValueStore &store,
                                                           Deadline deadline) override;

private:
  struct State;
  struct Team;
  struct Seat;
  class Communicator;
  explicit SymmetricEngine(std::shared_ptr<State> state) : state(std::move(state)) {}
  std::shared_ptr<State> state;
};

} // namespace tilewright::runtime::cuda

#endif // TILEWRIGHT_RUNTIME_CUDA_SYMMETRIC_SYMMETRICENGINE_H
