#include "tilewright/vgpu/machine/LaunchControl.h"

#include "tilewright/vgpu/machine/async/Async.h"
#include "tilewright/vgpu/machine/async/AsyncQueue.h"

namespace tilewright::vgpu::machine {

/// The first three words of a response are the first block of the cluster; the last word says
/// whether there is a cluster. PTX does not specify the encoding.
static constexpr uint32_t responseBytes = 16;

static bool performCancel(Warp &warp, const Op *op, std::span<const CopyRequest> requests,
                          AsyncId id, Part, std::span<std::vector<std::byte>>) {
  const auto &form = *static_cast<const CopyForm *>(op->extra);
  Group &group = *warp.block->group;
  Grid &grid = *group.grid;
  for (const CopyRequest &request : requests) {
    uint32_t response[4] = {};
    // A GPU may refuse although clusters are left. In a random order, some requests are refused for
    // this reason.
    uint64_t cluster = 0;
    const bool isRefused = grid.seed != 0 && group.nextRandom() % 8 == 0;
    if (!isRefused && grid.takeClusters(1, cluster) == 1) {
      const Dim3 first = grid.firstBlockOf(cluster);
      std::memcpy(response, first.data(), sizeof(first));
      response[3] = 1;
    }
    const uint64_t members = form.isMulticast ? volume(grid.cluster) : 1;
    for (unsigned rank = 0; rank < members; ++rank) {
      const uint64_t to = form.isMulticast ? addressInBlock(request.to, rank) : request.to;
      std::byte *where = resolve(warp, op, form.to.space, to, request.lane, responseBytes);
      if (!where)
        return false;
      AccessTeller(warp, op, AccessKind::write, Proxy::async, id)
          .lane(request.lane, flatAddress(warp, form.to.space, to), responseBytes);
      std::memcpy(where, response, responseBytes);
      const uint64_t mbarrier =
          form.isMulticast ? addressInBlock(request.mbarrier, rank) : request.mbarrier;
      if (!completeBytes(warp, op, form.mbarrier, mbarrier, request.lane, responseBytes, id))
        return false;
    }
  }
  return true;
}

After runTryCancel(Warp &warp, const Op *op, std::byte *registers, uint32_t, uint32_t active) {
  const auto &form = *static_cast<const CopyForm *>(op->extra);
  if (active != 0 && warp.sawNoCluster) {
    fault(warp, op, Error::vgpuFault,
          "clusterlaunchcontrol.try_cancel after a request whose failure this warp has seen; PTX "
          "leaves this undefined, so leave the loop when is_canceled is false");
    return After::stop;
  }
  auto gather = [&](unsigned lane, CopyRequest &request) {
    request.bytes = responseBytes;
    request.to = laneAddress(form.to, registers, lane);
    request.mbarrier = laneAddress(form.mbarrier, registers, lane);
  };
  return issueCopies(warp, op, active, GroupKind::none, false, performCancel, gather);
}

After runQueryCancel(Warp &warp, const Op *op, std::byte *registers, uint32_t, uint32_t active) {
  const auto &form = *static_cast<const LaunchQueryForm *>(op->extra);
  uint32_t holds = form.isTest ? predicateOf(registers, form.predicate) : 0;
  for (uint32_t rest = active; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(__builtin_ctz(rest));
    const uint64_t low = longWord(registers, form.response, lane),
                   high = longWord(registers, form.response + 256, lane);
    const uint32_t words[4] = {static_cast<uint32_t>(low), static_cast<uint32_t>(low >> 32),
                               static_cast<uint32_t>(high), 0};
    const bool isCanceled = high >> 32 == 1;
    if (form.isTest) {
      holds = isCanceled ? holds | 1u << lane : holds & ~(1u << lane);
      warp.sawNoCluster = warp.sawNoCluster || !isCanceled;
    }
    for (unsigned i = 0; i < form.count; ++i) // arbitrary without a cluster
      setWord(registers, form.slots[i], lane, isCanceled ? words[form.first + i] : 0xdeadbeefu);
  }
  if (form.isTest)
    setWord(registers, form.predicate, 0, holds);
  return After::next;
}

} // namespace tilewright::vgpu::machine
