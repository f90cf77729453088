// PricedEngine: NCCL, or our own kernels where the cost tables say that they are faster.
#ifndef TILEWRIGHT_RUNTIME_CUDA_SYMMETRIC_PRICEDENGINE_H
#define TILEWRIGHT_RUNTIME_CUDA_SYMMETRIC_PRICEDENGINE_H

#include "tilewright/collective/DeviceCommunicator.h"

#include <functional>

namespace tilewright::runtime::cuda {

/// Whether our own kernels are faster than NCCL for a collective whose operands have `bytes` bytes
/// on each of `members` ranks. Thread-safe. Must depend on nothing else, because all ranks of a
/// group must choose the same engine.
using CollectiveChoice = std::function<bool(collective::Kind kind, double bytes, int64_t members)>;

/// Two engines with the same ranks. A collective is enqueued on the same stream whichever engine
/// executes it, so the order of the plan holds between the two. Calls of a group, which members may
/// order differently, and ragged_all_to_all go to NCCL.
class PricedEngine final : public collective::DeviceEngine {
public:
  PricedEngine(std::unique_ptr<collective::DeviceEngine> nccl,
               std::unique_ptr<collective::DeviceEngine> own, CollectiveChoice prefersOwn)
      : nccl(std::move(nccl)), own(std::move(own)), prefersOwn(std::move(prefersOwn)) {}

  std::string name() const override { return "priced"; }
  std::string version() const override { return nccl->version(); }
  bool canReduce(collective::ReductionKind operation,
                 collective::ElementType element) const override {
    return nccl->canReduce(operation, element) && own->canReduce(operation, element);
  }
  Result<std::vector<std::unique_ptr<collective::DeviceCommunicator>>>
  prepare(const std::vector<int64_t> &members, std::span<const collective::DeviceClique> cliques,
          Deadline deadline) override;
  Result<std::byte *> allocate(int64_t rank, size_t bytes) override {
    return nccl->allocate(rank, bytes);
  }
  void free(int64_t rank, std::byte *data) override { nccl->free(rank, data); }
  void revoke(const std::string &why) override {
    nccl->revoke(why);
    own->revoke(why);
  }
  ///  - unimplemented: our kernels cannot continue without a device yet.
  Result<std::unique_ptr<collective::DeviceEngine>> shrink(const std::vector<int64_t> &without,
                                                           uint64_t epoch, KeyValueStore &store,
                                                           Deadline deadline) override {
    return own->shrink(without, epoch, store, deadline);
  }

private:
  const std::unique_ptr<collective::DeviceEngine> nccl, own;
  const CollectiveChoice prefersOwn;
};

} // namespace tilewright::runtime::cuda

#endif // TILEWRIGHT_RUNTIME_CUDA_SYMMETRIC_PRICEDENGINE_H
