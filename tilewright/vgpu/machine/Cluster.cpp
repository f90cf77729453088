// barrier.cluster. Threads that have exited count as arrived.
#include "tilewright/vgpu/machine/async/Async.h"
#include "tilewright/vgpu/machine/async/AsyncQueue.h"

#include <bit>

namespace tilewright::vgpu::machine {

static ClusterBarrier &clusterOf(const Block &block) {
  Group &group = *block.group;
  return group.clusters[block.clusterBase / volume(group.grid->cluster)];
}
static void completeCluster(const Block &block) {
  Group &group = *block.group;
  ClusterBarrier &barrier = clusterOf(block);
  uint32_t alive = 0;
  const uint64_t blocks = volume(group.grid->cluster);
  for (uint64_t i = 0; i < blocks; ++i)
    for (const Warp &warp : group.blocks[block.clusterBase + i].warps)
      alive += static_cast<uint32_t>(std::popcount(warp.alive));
  if (barrier.arrived >= alive) {
    barrier.arrived = 0;
    ++barrier.generation;
    ++group.progress;
  }
}

static void tellCluster(Warp &warp, const Op *op, uint32_t mask, SyncKind kind,
                        uint64_t generation) {
  const auto &form = *static_cast<const ClusterForm *>(op->extra);
  tell(warp, {.warp = warp,
              .op = op,
              .mask = mask,
              .kind = kind,
              .order = form.order,
              .scope = Scope::cluster,
              .phase = generation});
}

After runClusterArrive(Warp &warp, const Op *op, std::byte *, uint32_t, uint32_t active) {
  ClusterBarrier &barrier = clusterOf(*warp.block);
  tellCluster(warp, op, active, SyncKind::clusterArrive, barrier.generation);
  warp.clusterGeneration = barrier.generation;
  warp.clusterArrived |= active;
  barrier.arrived += static_cast<uint32_t>(std::popcount(active));
  completeCluster(*warp.block);
  ++warp.block->group->progress;
  return After::next;
}

bool isClusterReady(Warp &warp, const Fragment &fragment) {
  completeCluster(*warp.block);
  if (clusterOf(*warp.block).generation <= fragment.object)
    return false;
  warp.clusterArrived &= ~fragment.mask;
  tellCluster(warp, fragment.pc - 1, fragment.mask, SyncKind::clusterLeave, fragment.object);
  return true;
}

After runClusterWait(Warp &warp, const Op *op, std::byte *, uint32_t mask, uint32_t active) {
  completeCluster(*warp.block);
  if (clusterOf(*warp.block).generation <= warp.clusterGeneration) {
    if (mask != active)
      parkFragment(warp, {op + 1, warp.frame, mask & ~active, Wait::none, 0, 0});
    parkFragment(warp, {op + 1, warp.frame, active, Wait::cluster, 0, warp.clusterGeneration});
    return After::resume;
  }
  warp.clusterArrived &= ~active;
  tellCluster(warp, op, active, SyncKind::clusterLeave, warp.clusterGeneration);
  return After::next;
}

} // namespace tilewright::vgpu::machine
