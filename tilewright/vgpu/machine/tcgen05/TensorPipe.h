// The asynchronous operations that one thread issues on tensor memory: tcgen05.mma, cp, shift and
// commit.
#ifndef TILEWRIGHT_VGPU_MACHINE_TCGEN05_TENSORPIPE_H
#define TILEWRIGHT_VGPU_MACHINE_TCGEN05_TENSORPIPE_H

#include "tilewright/vgpu/machine/External.h"
#include "tilewright/vgpu/machine/async/AsyncQueue.h"

namespace tilewright::vgpu::machine {

/// Performs an operation for each lane of `active`, now or later; gather(lane, request) reads the
/// operands. The operations of a thread are performed in order, on which CUTLASS relies. PTX orders
/// only some pairs (tcgen05.cp before tcgen05.mma); `follows` says, for strict checks, that PTX
/// orders this one after all earlier ones.
template <typename Gather>
After issueTensor(Warp &warp, const Op *op, uint32_t active, bool follows, PerformCopy perform,
                  Gather gather) {
  AsyncQueue *queue = warp.block->group->async.get();
  for (uint32_t rest = active; rest != 0; rest &= rest - 1) {
    CopyRequest request;
    request.lane = static_cast<uint32_t>(__builtin_ctz(rest));
    gather(request.lane, request);
    if (!queue) {
      if (!perform(warp, op, {&request, 1}, 0, Part::whole, {}))
        return After::stop;
      continue;
    }
    auto operation = std::make_unique<AsyncOperation>();
    operation->warp = &warp;
    operation->op = op;
    operation->mask = 1u << request.lane;
    operation->group = GroupKind::tensor;
    operation->follows = follows;
    operation->perform = perform;
    operation->requests.push_back(request);
    if (!queue->issue(std::move(operation)))
      return After::stop;
  }
  return After::next;
}

/// tcgen05.commit.
struct TensorCommitForm {
  ExternalForm head;
  AddressForm mbarrier;
  bool isMulticast = false, isPair = false;
  uint32_t multicast = 0; // slot of the 16-bit CTA mask
};
After runTensorCommit(Warp &, const Op *, std::byte *, uint32_t, uint32_t);

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_TCGEN05_TENSORPIPE_H
