// mbarriers: what arrivals publish, what waiting threads learn, and errors in their use.
#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/check/Detector.h"
#include "tilewright/vgpu/machine/memory/Memory.h"

#include <algorithm>
#include <bit>

namespace tilewright::vgpu::check {

using machine::AccessKind;
using machine::Scope;
using machine::SyncEvent;
using machine::SyncKind;

void Detector::completeByPhase(MbarrierState &state, machine::AsyncId id, uint64_t phase,
                               uint32_t lanes) {
  AsyncState *operation = operationOf(id);
  if (!operation)
    return;
  operation->completions.push_back({true, false, state.slot, lanes, phase});
  if (operation->group == machine::GroupKind::tensorCommit) {
    // By id, because commits of a thread may arrive in any order.
    std::vector<TensorCommit> &commits = group.commits[operation->warp->groupIndex];
    commits.insert(std::upper_bound(commits.begin(), commits.end(), id,
                                    [](machine::AsyncId one, const TensorCommit &commit) {
                                      return one < commit.id;
                                    }),
                   {id, operation->mask, state.slot, phase});
  }
  for (const machine::AsyncId before : operation->after)
    completeByPhase(state, before, phase, lanes);
}

/// Reports a thread that uses an mbarrier without knowing that it was initialised.
void Detector::checkInitKnown(const MbarrierUse &use) {
  const auto &[event, warp, block, offset, state, now] = use;
  if (!options.barriers || !state.isLive)
    return;
  const AsyncState *operation = event.async ? operationOf(event.async) : nullptr;
  // According to the PTX specification, the copy is in another proxy and needs a fence after the
  // init. Triton and others omit the fence and only order the init before the copy, which works in
  // practice. So only strict mode requires the fence.
  const bool isAsync = operation && operation->usesAsyncProxy && options.strict;
  const uint32_t lanes = operation ? operation->mask : event.mask;
  const AccessRecord &init = state.init;
  const auto initLane = static_cast<uint32_t>(init.firstLane);
  auto found = group.byLinear.find(init.block);
  if (found == group.byLinear.end())
    return;
  const uint32_t initWarp = group.blocks[found->second].warps[init.warp].groupIndex;
  bool isKnown = true, isFenced = true;
  auto look = [&](const Knowledge &knowledge, uint32_t mask, uint32_t ownInits) {
    const bool isOwn = initWarp == warp.groupIndex && mask == 1u << initLane;
    const bool isInited =
        (isOwn && ownInits >= init.epoch) || knowledge.inits.knows(initWarp, initLane, init.epoch);
    isKnown =
        isKnown && (isOwn || isInited || knowledge.base.knows(initWarp, initLane, init.epoch));
    isFenced = isFenced &&
               (!isAsync || isInited || knowledge.fenced.knows(initWarp, initLane, init.epoch));
  };
  if (operation) {
    for (const auto &[mask, knowledge] : *operation->issued)
      look(*knowledge, mask, 0);
  } else {
    for (const Cohort &cohort : warp.cohorts)
      if (cohort.mask & lanes)
        look(cohort.knowledge, cohort.mask & lanes, cohort.own.inits);
  }
  if (isKnown && isFenced)
    return;
  if (!isKnown)
    reportSimple(FindingKind::barrier, now, 0,
                 "a thread uses an mbarrier without being ordered after its initialisation",
                 use.address(),
                 "put a barrier (bar.sync, or for other blocks fence.mbarrier_init and "
                 "barrier.cluster) between mbarrier.init and the first use by other threads",
                 &init, "mbarrier initialised by");
  else
    reportSimple(FindingKind::missingFence, now, 0,
                 "an asynchronous copy uses an mbarrier without a fence after its initialisation",
                 use.address(),
                 "put fence.mbarrier_init.release.cluster or fence.proxy.async after "
                 "mbarrier.init, before the barrier that other threads wait at",
                 &init, "mbarrier initialised by");
}

void Detector::initMbarrier(const MbarrierUse &use) {
  const auto &[event, warp, block, offset, state, now] = use;
  if (state.isLive && options.barriers)
    reportSimple(FindingKind::barrier, now, 0,
                 "an mbarrier is initialised again while it is in use", use.address(),
                 "initialise it once, or execute mbarrier.inval before initialising it again",
                 &state.init, "mbarrier initialised by");
  // The init writes the bytes, so all earlier accesses to them must be ordered before it.
  const uint32_t sector = offset / Sector::bytes, byte = offset % Sector::bytes;
  if (options.races) {
    AccessRecord write = now;
    write.kind = static_cast<uint8_t>(AccessKind::write) & 3;
    block.shared.setMbarrier(sector, false);
    for (const Cohort &cohort : warp.cohorts)
      if (cohort.mask & event.mask)
        checkSector({*warp.block, warp, &cohort.knowledge, nullptr, cohort.mask},
                    block.shared[sector], write, 0xffu << byte, use.address() - byte);
  }
  // Use a new slot: clocks may cover phases of an earlier mbarrier at this address, which must
  // not count for this one.
  state = {};
  state.slot = ++group.mbarrierSlots;
  state.isLive = true;
  state.count = event.count;
  state.init = now;
  block.shared.setMbarrier(sector, true);
}

/// Reports the use of an mbarrier that is not live, and then treats it as live, so that it is
/// reported only once.
void Detector::reviveMbarrier(const MbarrierUse &use) {
  MbarrierState &state = use.state;
  if (options.barriers && use.event.kind != SyncKind::mbarrierPhase)
    reportSimple(FindingKind::barrier, use.now, 0,
                 "use of an mbarrier that was not initialised or was invalidated", use.address(),
                 "execute mbarrier.init first, and order it before the use");
  state.isLive = true;
  if (!state.slot)
    state.slot = ++group.mbarrierSlots;
  state.init = use.now;
}

/// The accesses that the lanes of an arrival publish to the threads that wait for the phase: all of
/// them if the arrival releases, otherwise those that their fences cover.
Knowledge Detector::publishedByArrival(const MbarrierUse &use) {
  const SyncEvent &event = use.event;
  WarpState &warp = use.warp;
  // An arrival without a scope reaches every waiter, because libraries rely on that.
  auto reaches = [&](Scope scope) {
    return scope == Scope::none ||
           scopeReaches(scope, *warp.block, {use.block.linear, use.block.cluster, launch.device});
  };
  Knowledge made;
  if (releases(event.order) && reaches(event.scope)) {
    publish(warp, event.mask, made);
    return made;
  }
  for (const Cohort &cohort : warp.cohorts)
    if (cohort.mask & event.mask)
      for (size_t scope = 1; scope < cohort.fences.size(); ++scope)
        if (cohort.fences[scope].knowledge && reaches(static_cast<Scope>(scope)))
          made.join(*publishedByFence(warp, cohort.mask & event.mask, cohort.fences[scope]));
  return made;
}

/// An arrival by the lanes themselves.
void Detector::arriveAtMbarrier(const MbarrierUse &use) {
  const auto &[event, warp, block, offset, state, now] = use;
  const Knowledge made = publishedByArrival(use);
  state.arriving.all.join(made);
  if (&block == warp.block)
    state.arriving.own.join(made);
  else
    block.remote[warp.groupIndex] = now;
  // All lanes of one instruction arrive in the same phase, unless the mbarrier's count is wrong.
  if (options.barriers && state.last.warp == warp.groupIndex &&
      state.last.instruction == now.instruction && state.last.epoch + 1 == warp.epoch &&
      state.last.phase + 1 == event.phase && (state.last.mask & event.mask) == 0)
    reportSimple(FindingKind::barrier, now, 0,
                 concat("the arrivals of one instruction count for two phases of an mbarrier "
                        "that is initialised with count ",
                        state.count),
                 use.address(), "initialise it with the number of threads that arrive in a phase",
                 &state.init, "mbarrier initialised by");
  state.last = {warp.groupIndex, event.mask, now.instruction, event.phase, warp.epoch};
  endEpoch(warp);
}

/// An arrival by cp.async.mbarrier.arrive or tcgen05.commit: orders the operations only, not the
/// thread's own accesses.
void Detector::arriveAfterCopies(const MbarrierUse &use) {
  const SyncEvent &event = use.event;
  // A product comes after everything that its thread knew when it issued the product, such as the
  // copy of its operands.
  if (const AsyncState *commit = operationOf(event.async);
      commit && commit->group == machine::GroupKind::tensorCommit)
    for (const auto &[mask, knowledge] : *commit->issued) {
      use.state.arriving.all.join(*knowledge);
      if (&use.block == use.warp.block)
        use.state.arriving.own.join(*knowledge);
    }
  if (event.operations.empty())
    completeByPhase(use.state, event.async, event.phase, event.mask);
  for (const machine::AsyncId id : event.operations)
    completeByPhase(use.state, id, event.phase, event.mask);
}

void Detector::endPhase(MbarrierState &state, uint64_t phase) {
  // Arrivals of earlier phases stay visible, because each operation on the mbarrier is ordered
  // after the one before it.
  state.over[phase] = state.arriving;
  while (state.over.size() > 4)
    state.over.erase(state.over.begin());
}

void Detector::waitAtMbarrier(const MbarrierUse &use) {
  const auto &[event, warp, block, offset, state, now] = use;
  if (!acquires(event.order))
    return;
  split(warp, event.mask);
  auto over = state.over.find(event.phase);
  for (Cohort &cohort : warp.cohorts)
    if (cohort.mask & event.mask) {
      if (over != state.over.end())
        cohort.knowledge.join(event.scope == Scope::cta ? over->second.own : over->second.all);
      cohort.knowledge.base.learnPhase(state.slot, event.phase);
    }
}

void Detector::mbarrier(const SyncEvent &event, WarpState &warp) {
  const auto offset = static_cast<uint32_t>(event.object & machine::sharedOffsetMask);
  const auto rank = static_cast<uint32_t>(event.object >> machine::sharedOffsetBits & 0xff);
  BlockState *block = rank == 0 ? warp.block : group.blockAt(*warp.block, rank - 1);
  if (!block || offset >= block->shared.bytes())
    return;
  MbarrierState &state = block->mbarriers[offset];
  block->log.closeGates();
  const MbarrierUse use{event, warp, *block, offset, state, recordOf(event, warp)};
  if (event.kind == SyncKind::mbarrierInit) {
    initMbarrier(use);
    return;
  }
  if (!state.isLive && event.kind != SyncKind::mbarrierInvalidate)
    reviveMbarrier(use);
  if (event.kind != SyncKind::mbarrierPhase)
    checkInitKnown(use);
  switch (event.kind) {
  case SyncKind::mbarrierInvalidate:
    state.isLive = false;
    break;
  case SyncKind::mbarrierExpect:
    if (state.expectedBytes == 0)
      state.isFed = false;
    state.expectedBytes +=
        static_cast<int64_t>(event.count * static_cast<uint64_t>(std::popcount(event.mask)));
    state.expect = use.now;
    break;
  case SyncKind::mbarrierArrive:
    if (event.async != 0 || !event.operations.empty())
      arriveAfterCopies(use);
    else
      arriveAtMbarrier(use);
    break;
  case SyncKind::mbarrierComplete:
    state.expectedBytes -= static_cast<int64_t>(event.count);
    state.isFed = true;
    if (event.async != 0)
      completeByPhase(state, event.async, event.phase, ~0u);
    break;
  case SyncKind::mbarrierPhase:
    endPhase(state, event.phase);
    break;
  case SyncKind::mbarrierWait:
    waitAtMbarrier(use);
    break;
  default:
    break;
  }
}

void Detector::reportLapped(const SyncEvent &event, const WarpState &warp) {
  AccessRecord now = recordOf(event, warp);
  now.isMany = 1;
  reportSimple(
      FindingKind::barrier, now, 0,
      concat("phase ", event.count,
             " of an mbarrier completed before these lanes observed the completion of phase ",
             event.phase, "; its parity repeats, so they now wait for a later phase"),
      event.object,
      "make the next phase depend on the waiting threads: let them arrive at this mbarrier, or "
      "at another one that the producer waits for");
}

} // namespace tilewright::vgpu::check
