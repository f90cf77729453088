// tcgen05.commit: an arrival at an mbarrier after the operations that the thread has issued.
#include "tilewright/vgpu/machine/async/Async.h"
#include "tilewright/vgpu/machine/tcgen05/TensorPipe.h"

#include <bit>

namespace tilewright::vgpu::machine {

static bool performCommit(Warp &warp, const Op *op, std::span<const CopyRequest> requests,
                          AsyncId id, Part, std::span<std::vector<std::byte>>) {
  const auto &form = *static_cast<const TensorCommitForm *>(op->extra);
  const CopyRequest &request = requests[0];
  if (!form.isMulticast)
    return arriveOnce(warp, op, form.mbarrier,
                      form.isPair ? pairMbarrier(request.mbarrier, warp.block->rank)
                                  : request.mbarrier,
                      request.lane, id);
  for (unsigned rank = 0; rank < 16; ++rank)
    if ((request.targets >> rank & 1) &&
        !arriveOnce(warp, op, form.mbarrier, addressInBlock(request.mbarrier, rank), request.lane,
                    id))
      return false;
  return true;
}

After runTensorCommit(Warp &warp, const Op *op, std::byte *registers, uint32_t, uint32_t active) {
  const auto &form = *static_cast<const TensorCommitForm *>(op->extra);
  AsyncQueue *queue = warp.block->group->async.get();
  for (uint32_t rest = active; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    CopyRequest request;
    request.lane = lane;
    request.mbarrier = laneAddress(form.mbarrier, registers, lane);
    if (form.isMulticast) {
      uint16_t mask;
      std::memcpy(&mask, registers + form.multicast + 2 * size_t(lane), 2);
      request.targets = mask;
    }
    if (!queue) {
      if (!performCommit(warp, op, {&request, 1}, 0, Part::whole, {}))
        return After::stop;
      continue;
    }
    auto operation = std::make_unique<AsyncOperation>();
    operation->warp = &warp;
    operation->op = op;
    operation->mask = 1u << lane;
    operation->group = GroupKind::tensorCommit;
    operation->signalsMbarrier = true;
    operation->perform = performCommit;
    operation->requests.push_back(request);
    for (const auto &one : queue->pending())
      if (one->group == GroupKind::tensor && one->warp == &warp && one->mask == 1u << lane)
        operation->after.push_back(one->id);
    if (!queue->issue(std::move(operation)))
      return After::stop;
  }
  return After::next;
}

} // namespace tilewright::vgpu::machine
