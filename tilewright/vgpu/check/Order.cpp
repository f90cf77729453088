// Decides whether an earlier access happens before the current one.
#include "tilewright/vgpu/check/Detector.h"

#include <algorithm>
#include <bit>

namespace tilewright::vgpu::check {

using machine::GroupKind;
using machine::Proxy;
using machine::Scope;

WarpState &GroupState::warpOf(const machine::Warp &warp) {
  const auto index = static_cast<size_t>(warp.block - warp.block->group->blocks.data());
  return blocks[index].warps[warp.index];
}

BlockState *GroupState::blockAt(const BlockState &from, uint32_t rank) {
  const size_t index = size_t(from.indexInGroup) - from.rank + rank;
  return index < blocks.size() ? &blocks[index] : nullptr;
}

/// Whether `clock` covers an operation that another group waited for.
static bool knowsFinished(LaunchState &launch, const Clock &clock, const AccessRecord &earlier) {
  std::lock_guard lock(launch.mutex);
  const auto finished = launch.finished.find(earlier.op);
  if (finished == launch.finished.end())
    return false;
  for (const LaunchState::Finished &mark : finished->second)
    if ((!mark.isReadOnly || earlier.isRead()) &&
        clock.knowsForeign(mark.block, mark.warp,
                           static_cast<uint32_t>(std::countr_zero(mark.mask)), mark.epoch))
      return true;
  return false;
}

bool Detector::knowsTensor(const Actor &actor, const Clock &clock,
                           const AsyncState &earlier) const {
  const AsyncState *now = actor.operation;
  if (now && now->follows && now->warp == earlier.warp && now->mask == earlier.mask &&
      earlier.id < now->id)
    return true;
  // A commit covers all operations that its thread issued before.
  const auto found = group.commits.find(earlier.warp->groupIndex);
  if (found == group.commits.end())
    return false;
  auto later = std::upper_bound(
      found->second.begin(), found->second.end(), earlier.id,
      [](machine::AsyncId id, const TensorCommit &commit) { return id < commit.id; });
  for (; later != found->second.end(); ++later)
    if (later->mask == earlier.mask && clock.knowsPhase(later->slot, later->phase))
      return true;
  return false;
}

/// Whether `clock` covers anything of a launch that follows `other`, and with it all of `other`: a
/// flag that a peer's second kernel sets also tells that its first kernel has ended.
static bool knowsLaterLaunch(const LaunchState &launch, const Clock &clock,
                             const LaunchState &other) {
  const std::shared_ptr<const ForeignEpochs> &foreign = clock.foreignEpochs();
  if (!foreign)
    return false;
  std::vector<std::shared_ptr<LaunchState>> examined;
  for (const auto &[key, epoch] : *foreign) {
    const auto block = static_cast<uint32_t>(foreignBlock(key));
    if (launch.owns(block) || other.owns(block) ||
        std::any_of(examined.begin(), examined.end(),
                    [&](const auto &one) { return one->owns(block); }))
      continue;
    const std::shared_ptr<LaunchState> later = launch.all->ofBlock(block);
    if (!later)
      continue;
    if (later->order && other.order && later->order->isAfter(*other.order))
      return true;
    examined.push_back(later);
  }
  return false;
}

/// Whether the chip performs two memory operations of a wave in the order of their issue.
static bool areInOrder(GroupKind first, GroupKind second) {
  if (!machine::isOfWave(first) || first == GroupKind::scalarMemory ||
      second == GroupKind::scalarMemory)
    return false;
  return first == second || first == GroupKind::flatMemory || second == GroupKind::flatMemory;
}

/// Whether `clock`, which belongs to `actor`, covers `earlier`. `nowLanes` are the lanes that make
/// the current access; an operation that all of them have waited for counts as covered. 0 disables
/// this rule.
bool Detector::knows(const Actor &actor, const Clock &clock, const AccessRecord &earlier,
                     uint32_t byte, uint32_t nowLanes) const {
  const uint32_t lane = earlier.laneOf(byte);
  if (!launch.owns(earlier.block)) {
    // An access of another launch: it is ordered by streams and events, or by flags.
    const std::shared_ptr<LaunchState> other = launch.all->ofBlock(earlier.block);
    if (!other || launch.isAfter(*other))
      return true;
    if (earlier.op == 0 ? clock.knowsForeign(earlier.block, earlier.warp, lane, earlier.epoch)
                        : knowsFinished(*other, clock, earlier))
      return true;
    return knowsLaterLaunch(launch, clock, *other);
  }
  if (earlier.op == 0) {
    if (earlier.block == actor.block.linear)
      return clock.knows(actor.block.warps[earlier.warp].groupIndex, lane, earlier.epoch);
    if (auto found = group.byLinear.find(earlier.block); found != group.byLinear.end())
      return clock.knows(group.blocks[found->second].warps[earlier.warp].groupIndex, lane,
                         earlier.epoch);
    return clock.knowsForeign(earlier.block, earlier.warp, lane, earlier.epoch);
  }
  auto found = group.operations.find(earlier.op);
  if (found == group.operations.end())
    return knowsFinished(launch, clock, earlier);
  const AsyncState &operation = *found->second;
  if (operation.group == GroupKind::tensor)
    return knowsTensor(actor, clock, operation);
  if (actor.operation && actor.operation->warp == operation.warp &&
      operation.id < actor.operation->id && areInOrder(operation.group, actor.operation->group))
    return true;
  // A copy to LDS goes through memory. In Triton's ping-pong kernels it follows reads that were
  // issued before a barrier but are waited for only after it.
  if (!options.strict && earlier.isRead() && operation.group == GroupKind::localMemory &&
      actor.operation && actor.operation->group == GroupKind::vectorMemory &&
      (actor.operation->warp == operation.warp ||
       clock.knows(operation.warp->groupIndex, 0, operation.epoch)))
    return true;
  for (const CompletionMark &mark : operation.completions) {
    if (mark.isReadOnly && !earlier.isRead())
      continue;
    // cp.async.wait_group waits only for the lane's own copies.
    const bool isOfLane = operation.group == GroupKind::copy && lane < 32;
    if (isOfLane && !(mark.mask >> lane & 1))
      continue;
    if (mark.isPhase) {
      if (clock.knowsPhase(mark.warp, mark.epoch))
        return true;
      continue;
    }
    // For wgmma, the clock must cover any lane that waited; for other operations, a lane that
    // issued the operation and waited for it.
    const auto epoch = static_cast<uint32_t>(mark.epoch);
    const uint32_t witness = isOfLane ? lane : static_cast<uint32_t>(std::countr_zero(mark.mask));
    if (operation.group == GroupKind::matrix ? clock.knowsOneOf(mark.warp, mark.mask, epoch)
                                             : clock.knows(mark.warp, witness, epoch))
      return true;
    const uint32_t waited = isOfLane ? 1u << lane : mark.mask;
    if (mark.warp == actor.warp.groupIndex && nowLanes != 0 && (nowLanes & ~waited) == 0 &&
        (!actor.operation || actor.operation->epoch >= mark.epoch))
      return true;
  }
  return false;
}

Detector::Ordering Detector::orderOf(const Actor &actor, const AccessRecord &earlier, uint32_t byte,
                                     const AccessRecord &now) const {
  if (earlier.op != 0 && earlier.op == now.op && earlier.block == now.block)
    return Ordering::ordered;
  // The lanes that make the access, or that issued the operation.
  const uint32_t lane = now.laneOf(byte);
  uint32_t lanes = 0;
  if (actor.operation && now.isLaneless)
    lanes = actor.operation->mask;
  else if (lane < 32)
    lanes = 1u << lane;
  const uint32_t earlierLane = earlier.laneOf(byte);
  bool isBefore = false;
  if (earlier.op == 0 && earlier.block == now.block && earlier.warp == now.warp &&
      (!actor.operation || earlier.epoch <= actor.operation->epoch))
    isBefore = earlierLane < 32
                   ? (actor.operation && now.isLaneless ? (lanes >> earlierLane & 1) != 0
                                                        : lanes == 1u << earlierLane)
                   : lanes == actor.warp.allLanes;
  isBefore = isBefore || knows(actor, actor.knowledge->base, earlier, byte, lanes);
  if (now.accessProxy() == Proxy::tensormap && earlier.accessProxy() == Proxy::generic) {
    for (const Knowledge::Acquired &one : actor.knowledge->acquired)
      if ((one.address == 0 || one.address == currentRun->address) &&
          knows(actor, one.clock, earlier, byte, 0))
        return Ordering::ordered;
    return isBefore ? Ordering::unfenced : Ordering::unordered;
  }
  if (now.accessProxy() != Proxy::async || earlier.accessProxy() != Proxy::generic)
    return isBefore ? Ordering::ordered : Ordering::unordered;
  const Clock &needed = inShared ? actor.knowledge->fenced : actor.knowledge->fencedGlobal;
  if (knows(actor, needed, earlier, byte, 0))
    return Ordering::ordered;
  return isBefore ? Ordering::unfenced : Ordering::unordered;
}

bool Detector::scopeReaches(Scope scope, const BlockState &block, const OtherBlock &other) const {
  switch (scope) {
  case Scope::none:
    return false;
  case Scope::cta:
    return block.linear == other.block;
  case Scope::cluster:
    return block.cluster == other.cluster;
  case Scope::gpu:
    return launch.device == other.device;
  case Scope::sys:
    break;
  }
  return true;
}

bool Detector::areMorallyStrong(const Actor &actor, const AccessRecord &earlier,
                                const AccessRecord &now) const {
  if (!earlier.isStrong || !now.isStrong)
    return false;
  OtherBlock other{earlier.block, ~0u, launch.device}; // other groups are in other clusters
  if (auto found = group.byLinear.find(earlier.block); found != group.byLinear.end())
    other.cluster = group.blocks[found->second].cluster;
  if (const std::shared_ptr<LaunchState> launched = otherLaunchOf(earlier))
    other.device = launched->device;
  return scopeReaches(static_cast<Scope>(earlier.scope), actor.block, other) &&
         scopeReaches(static_cast<Scope>(now.scope), actor.block, other);
}

} // namespace tilewright::vgpu::check
