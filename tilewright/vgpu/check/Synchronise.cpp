// Synchronisation: how happens-before knowledge passes from thread to thread.
#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/check/Detector.h"
#include "tilewright/vgpu/machine/memory/Memory.h"

#include <algorithm>
#include <bit>

namespace tilewright::vgpu::check {

using machine::AccessKind;
using machine::GroupKind;
using machine::MemoryEvent;
using machine::Order;
using machine::Proxy;
using machine::Scope;
using machine::SyncEvent;
using machine::SyncKind;

static bool acquires(Order order) {
  return order == Order::acquire || order == Order::acquireRelease || order == Order::sequential;
}
static bool releases(Order order) {
  return order == Order::release || order == Order::acquireRelease || order == Order::sequential;
}

static void learn(Clock &clock, const WarpState &warp, uint32_t mask, uint32_t epoch) {
  if (epoch == 0)
    return;
  if ((warp.allLanes & ~mask) == 0)
    clock.learn(warp.groupIndex, epoch);
  else
    clock.learnLanes(warp.groupIndex, mask, epoch);
}

void Detector::publishOwn(const WarpState &warp, uint32_t mask, uint32_t epoch,
                          const OwnEpochs &own, Knowledge &into) {
  learn(into.base, warp, mask, epoch);
  learn(into.fenced, warp, mask, own.fenced);
  learn(into.fencedGlobal, warp, mask, own.fencedGlobal);
  learn(into.released, warp, mask, own.released);
  learn(into.inits, warp, mask, own.inits);
}

/// Adds to `into` the knowledge of the lanes in `mask` and their own accesses so far.
void Detector::publish(WarpState &warp, uint32_t mask, Knowledge &into) {
  for (const Cohort &cohort : warp.cohorts)
    if (const uint32_t lanes = cohort.mask & mask) {
      into.join(cohort.knowledge);
      publishOwn(warp, lanes, warp.epoch, cohort.own, into);
    }
  learn(into.base, warp, mask, warp.epoch);
}

SharedKnowledge Detector::published(WarpState &warp, uint32_t mask) {
  auto knowledge = std::make_shared<Knowledge>();
  publish(warp, mask, *knowledge);
  return knowledge;
}

SharedKnowledge Detector::publishedByFence(const WarpState &warp, uint32_t mask,
                                           const FencePoint &fence) {
  auto knowledge = std::make_shared<Knowledge>(*fence.knowledge);
  publishOwn(warp, mask, fence.epoch, fence.own, *knowledge);
  return knowledge;
}

void Detector::split(WarpState &warp, uint32_t mask) {
  for (size_t i = 0, count = warp.cohorts.size(); i < count; ++i) {
    const uint32_t inside = warp.cohorts[i].mask & mask;
    if (inside == 0 || inside == warp.cohorts[i].mask)
      continue;
    Cohort part = warp.cohorts[i];
    part.mask = inside;
    warp.cohorts[i].mask &= ~inside;
    warp.cohorts.push_back(std::move(part));
  }
}

/// Gives each lane in `mask` the combined knowledge of all lanes in `mask` and of `also`.
void Detector::merge(WarpState &warp, uint32_t mask, const Knowledge *also) {
  split(warp, mask);
  Cohort *target = nullptr;
  for (Cohort &cohort : warp.cohorts) {
    if (!(cohort.mask & mask))
      continue;
    if (!target) {
      target = &cohort;
      continue;
    }
    target->mask |= cohort.mask;
    target->knowledge.join(cohort.knowledge);
    for (FencePoint &fence : target->fences)
      fence = {}; // a fence counts only for the lanes that executed it
    target->own.fenced = std::min(target->own.fenced, cohort.own.fenced);
    target->own.fencedGlobal = std::min(target->own.fencedGlobal, cohort.own.fencedGlobal);
    target->own.released = std::min(target->own.released, cohort.own.released);
    target->own.inits = std::min(target->own.inits, cohort.own.inits);
    cohort.mask = 0;
  }
  std::erase_if(warp.cohorts, [](const Cohort &cohort) { return cohort.mask == 0; });
  if (target && also)
    for (Cohort &cohort : warp.cohorts)
      if (cohort.mask & mask)
        cohort.knowledge.join(*also);
}

Generation &Detector::generationOf(std::vector<Generation> &all, uint64_t number) {
  for (Generation &generation : all)
    if (generation.number == number)
      return generation;
  if (all.size() > 3)
    all.erase(all.begin());
  all.push_back({number, {}});
  return all.back();
}

AccessRecord Detector::recordOf(const SyncEvent &event, const WarpState &warp) const {
  AccessRecord record;
  record.block = warp.block->linear;
  record.warp = static_cast<uint8_t>(warp.index);
  record.epoch = warp.epoch;
  record.instruction = launch.instructionOf(event.op);
  record.op = static_cast<uint32_t>(event.async);
  record.kind = static_cast<uint8_t>(AccessKind::atomic) & 3;
  record.firstLane = static_cast<int8_t>(event.mask ? std::countr_zero(event.mask) : 0);
  return record;
}

void Detector::synchronise(const SyncEvent &event) {
  WarpState &warp = group.warpOf(event.warp);
  warp.block->log.closeGates();
  switch (event.kind) {
  case SyncKind::fence: {
    split(warp, event.mask);
    for (Cohort &cohort : warp.cohorts) {
      if (!(cohort.mask & event.mask))
        continue;
      // The fence acquires the knowledge that the lanes read from flags before it.
      for (const Published &from : cohort.unacquired)
        if (scopeReaches(event.scope, *warp.block, from.block, from.cluster))
          acquire(cohort, from);
      cohort.unacquired.clear();
      cohort.fences[static_cast<size_t>(event.scope)] = {
          std::make_shared<Knowledge>(cohort.knowledge), warp.epoch, cohort.own};
    }
    endEpoch(warp);
    break;
  }
  case SyncKind::proxyFence:
    split(warp, event.mask);
    for (Cohort &cohort : warp.cohorts) {
      if (!(cohort.mask & event.mask))
        continue;
      Knowledge &known = cohort.knowledge;
      if (event.proxy == Proxy::async) {
        if (event.space != machine::Space::global) {
          known.fenced.join(known.base);
          cohort.own.fenced = warp.epoch;
        }
        if (event.space != machine::Space::shared) {
          known.fencedGlobal.join(known.base);
          cohort.own.fencedGlobal = warp.epoch;
        }
      } else if (event.proxy == Proxy::tensormap) {
        if (releases(event.order)) {
          known.released.join(known.base);
          cohort.own.released = warp.epoch;
        }
        if (acquires(event.order)) {
          Clock &acquired = known.acquiredAt(event.object);
          acquired.join(known.released);
          learn(acquired, warp, cohort.mask, cohort.own.released);
        }
      }
    }
    endEpoch(warp);
    break;
  case SyncKind::mbarrierInitFence:
    split(warp, event.mask);
    for (Cohort &cohort : warp.cohorts)
      if (cohort.mask & event.mask)
        cohort.own.inits = warp.epoch;
    endEpoch(warp);
    break;
  case SyncKind::barrierArrive:
    publish(warp, event.mask,
            generationOf(warp.block->barriers[event.object], event.phase).knowledge);
    endEpoch(warp);
    break;
  case SyncKind::barrierLeave:
    merge(warp, event.mask,
          &generationOf(warp.block->barriers[event.object], event.phase).knowledge);
    break;
  case SyncKind::warpBarrier: {
    Knowledge together;
    publish(warp, event.mask, together);
    merge(warp, event.mask, &together);
    endEpoch(warp);
    break;
  }
  case SyncKind::clusterArrive: {
    const size_t cluster = (warp.block->indexInGroup - warp.block->rank) /
                           std::max<uint64_t>(1, machine::volume(launch.grid->cluster));
    if (group.clusters.size() <= cluster)
      group.clusters.resize(cluster + 1);
    Generation &generation = generationOf(group.clusters[cluster], event.phase);
    if (releases(event.order)) {
      publish(warp, event.mask, generation.knowledge);
    } else {
      // A relaxed arrival publishes only what a fence covers: initialised mbarriers
      // (fence.mbarrier_init), or everything before a fence of cluster scope or wider.
      for (const Cohort &cohort : warp.cohorts)
        if (cohort.mask & event.mask) {
          generation.knowledge.inits.join(cohort.knowledge.inits);
          learn(generation.knowledge.inits, warp, cohort.mask & event.mask, cohort.own.inits);
          for (const Scope scope : {Scope::cluster, Scope::gpu, Scope::sys})
            if (const FencePoint &fence = cohort.fences[static_cast<size_t>(scope)];
                fence.knowledge)
              generation.knowledge.join(*publishedByFence(warp, cohort.mask & event.mask, fence));
        }
    }
    endEpoch(warp);
    break;
  }
  case SyncKind::clusterLeave: {
    const size_t cluster = (warp.block->indexInGroup - warp.block->rank) /
                           std::max<uint64_t>(1, machine::volume(launch.grid->cluster));
    if (group.clusters.size() <= cluster)
      group.clusters.resize(cluster + 1);
    Generation &generation = generationOf(group.clusters[cluster], event.phase);
    // A relaxed arrival does not order the lanes of a warp with each other, so they must not share
    // a cohort.
    split(warp, event.mask);
    for (Cohort &cohort : warp.cohorts)
      if (cohort.mask & event.mask)
        cohort.knowledge.join(generation.knowledge);
    break;
  }
  case SyncKind::mbarrierInit:
  case SyncKind::mbarrierInvalidate:
  case SyncKind::mbarrierExpect:
  case SyncKind::mbarrierArrive:
  case SyncKind::mbarrierComplete:
  case SyncKind::mbarrierPhase:
  case SyncKind::mbarrierWait:
    mbarrier(event, warp);
    break;
  case SyncKind::asyncIssue:
  case SyncKind::asyncCommit:
  case SyncKind::asyncWait:
    asynchronous(event, warp);
    break;
  case SyncKind::wgmmaFence:
    break; // concerns registers, which the machine checks
  case SyncKind::mbarrierLapped:
    if (options.barriers) {
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
    break;
  case SyncKind::wgmmaUnfenced:
    if (options.races) {
      AccessRecord now = recordOf(event, warp);
      now.isMany = 1;
      now.op = 0;
      reportSimple(
          FindingKind::registers, now, 0,
          "a wgmma uses registers that other instructions accessed since the last wgmma.fence", 0,
          "put wgmma.fence.sync.aligned before the first wgmma, and after every other "
          "access to its accumulator and its A registers");
    }
    break;
  }
}

// Asynchronous operations.

AsyncState *Detector::operationOf(machine::AsyncId id) {
  auto found = group.operations.find(static_cast<uint32_t>(id));
  return found == group.operations.end() ? nullptr : found->second.get();
}

void Detector::asynchronous(const SyncEvent &event, WarpState &warp) {
  if (event.kind == SyncKind::asyncIssue) {
    auto operation = std::make_unique<AsyncState>();
    operation->id = event.async;
    operation->warp = &warp;
    operation->mask = event.mask;
    operation->epoch = warp.epoch;
    operation->instruction = launch.instructionOf(event.op);
    operation->group = event.group;
    operation->after.assign(event.operations.begin(), event.operations.end());
    if (event.group == GroupKind::copy) {
      for (const Cohort &cohort : warp.cohorts)
        if (cohort.mask & event.mask)
          operation->issued.emplace_back(cohort.mask & event.mask,
                                         std::make_shared<Knowledge>(cohort.knowledge));
    } else {
      auto knowledge = std::make_shared<Knowledge>();
      for (const Cohort &cohort : warp.cohorts)
        if (const uint32_t lanes = cohort.mask & event.mask) {
          knowledge->join(cohort.knowledge);
          publishOwn(warp, lanes, 0, cohort.own, *knowledge);
        }
      operation->issued.emplace_back(event.mask, std::move(knowledge));
    }
    group.operations[static_cast<uint32_t>(event.async)] = std::move(operation);
    endEpoch(warp);
    return;
  }
  if (event.kind != SyncKind::asyncWait)
    return;
  for (const machine::AsyncId id : event.operations) {
    AsyncState *operation = operationOf(id);
    if (!operation)
      continue;
    // Except for wgmma, asynchronous groups are per thread: only the lanes that issued this
    // operation have waited for it.
    const uint32_t waited =
        operation->group == GroupKind::matrix ? event.mask : event.mask & operation->mask;
    operation->completions.push_back(
        {false, event.isReadOnly, warp.groupIndex, waited, warp.epoch});
    if (operation->writesGlobal && launch.hasOtherGroups) {
      std::lock_guard lock(launch.mutex);
      launch.finished[static_cast<uint32_t>(id)].push_back(
          {warp.block->linear, warp.index, waited, warp.epoch, event.isReadOnly});
    }
  }
}

// mbarriers.

void Detector::completeByPhase(MbarrierState &state, machine::AsyncId id, uint64_t phase,
                               uint32_t lanes) {
  AsyncState *operation = operationOf(id);
  if (!operation)
    return;
  operation->completions.push_back({true, false, state.slot, lanes, phase});
  for (const machine::AsyncId before : operation->after)
    completeByPhase(state, before, phase, lanes);
}

/// Reports a thread that uses an mbarrier without knowing that it was initialised.
void Detector::useMbarrier(const SyncEvent &event, WarpState &warp, BlockState &block,
                           uint32_t offset, MbarrierState &state) {
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
    for (const auto &[mask, knowledge] : operation->issued)
      look(*knowledge, mask, 0);
  } else {
    for (const Cohort &cohort : warp.cohorts)
      if (cohort.mask & lanes)
        look(cohort.knowledge, cohort.mask & lanes, cohort.own.inits);
  }
  if (isKnown && isFenced)
    return;
  AccessRecord now = recordOf(event, warp);
  const uint64_t address = machine::sharedWindow | machine::sharedAddress(block.rank, offset);
  if (!isKnown)
    reportSimple(FindingKind::barrier, now, 0,
                 "a thread uses an mbarrier without being ordered after its initialisation",
                 address,
                 "put a barrier (bar.sync, or for other blocks fence.mbarrier_init and "
                 "barrier.cluster) between mbarrier.init and the first use by other threads",
                 &init, "mbarrier initialised by");
  else
    reportSimple(FindingKind::missingFence, now, 0,
                 "an asynchronous copy uses an mbarrier without a fence after its initialisation",
                 address,
                 "put fence.mbarrier_init.release.cluster or fence.proxy.async after "
                 "mbarrier.init, before the barrier that other threads wait at",
                 &init, "mbarrier initialised by");
}

void Detector::mbarrier(const SyncEvent &event, WarpState &warp) {
  const auto offset = static_cast<uint32_t>(event.object & machine::sharedOffsetMask);
  const auto rank = static_cast<uint32_t>(event.object >> machine::sharedOffsetBits & 0xff);
  BlockState *block = rank == 0 ? warp.block : group.blockAt(*warp.block, rank - 1);
  if (!block || offset / Sector::bytes >= block->sectorCount)
    return;
  const uint64_t address = machine::sharedWindow | machine::sharedAddress(block->rank, offset);
  MbarrierState &state = block->mbarriers[offset];
  block->log.closeGates();
  const AccessRecord now = recordOf(event, warp);
  const auto lanes = static_cast<uint64_t>(std::popcount(event.mask));
  if (event.kind == SyncKind::mbarrierInit) {
    if (state.isLive && options.barriers)
      reportSimple(FindingKind::barrier, now, 0,
                   "an mbarrier is initialised again while it is in use", address,
                   "initialise it once, or execute mbarrier.inval before initialising it again",
                   &state.init, "mbarrier initialised by");
    // The init writes the bytes, so all earlier accesses to them must be ordered before it.
    AccessRecord write = now;
    write.kind = static_cast<uint8_t>(AccessKind::write) & 3;
    if (options.races) {
      block->liveMbarriers[offset / Sector::bytes] = 0;
      for (const Cohort &cohort : warp.cohorts)
        if (cohort.mask & event.mask)
          checkSector({*warp.block, warp, &cohort.knowledge, nullptr, cohort.mask},
                      block->shared[offset / Sector::bytes], write, 0xffu << offset % Sector::bytes,
                      address - offset % Sector::bytes);
    }
    // Use a new slot: clocks may cover phases of an earlier mbarrier at this address, which must
    // not count for this one.
    state = {};
    state.slot = ++group.mbarrierSlots;
    state.isLive = true;
    state.count = event.count;
    state.init = now;
    block->liveMbarriers[offset / Sector::bytes] = 1;
    return;
  }
  if (event.kind == SyncKind::mbarrierInvalidate) {
    useMbarrier(event, warp, *block, offset, state);
    state.isLive = false;
    return;
  }
  if (!state.isLive) {
    if (options.barriers && event.kind != SyncKind::mbarrierPhase)
      reportSimple(FindingKind::barrier, now, 0,
                   "use of an mbarrier that was not initialised or was invalidated", address,
                   "execute mbarrier.init first, and order it before the use");
    state.isLive = true; // report this once
    if (!state.slot)
      state.slot = ++group.mbarrierSlots;
    state.init = now;
  }
  switch (event.kind) {
  case SyncKind::mbarrierExpect:
    useMbarrier(event, warp, *block, offset, state);
    state.expectedBytes += static_cast<int64_t>(event.count * lanes);
    state.expect = now;
    break;
  case SyncKind::mbarrierArrive: {
    useMbarrier(event, warp, *block, offset, state);
    if (event.async != 0 || !event.operations.empty()) {
      // cp.async.mbarrier.arrive orders the copies only, not the thread's own accesses.
      if (event.operations.empty())
        completeByPhase(state, event.async, event.phase, event.mask);
      for (const machine::AsyncId id : event.operations)
        completeByPhase(state, id, event.phase, event.mask);
      break;
    }
    // An arrival without a scope reaches every waiter, because libraries rely on that.
    auto reaches = [&](Scope scope) {
      return scope == Scope::none ||
             scopeReaches(scope, *warp.block, block->linear, block->cluster);
    };
    Knowledge made;
    if (releases(event.order) && reaches(event.scope)) {
      publish(warp, event.mask, made);
    } else {
      for (const Cohort &cohort : warp.cohorts)
        if (cohort.mask & event.mask)
          for (size_t scope = 1; scope < cohort.fences.size(); ++scope)
            if (cohort.fences[scope].knowledge && reaches(static_cast<Scope>(scope)))
              made.join(*publishedByFence(warp, cohort.mask & event.mask, cohort.fences[scope]));
    }
    state.arriving.all.join(made);
    if (block == warp.block)
      state.arriving.own.join(made);
    else
      block->remote[warp.groupIndex] = now;
    // All lanes of one instruction arrive in the same phase, unless the mbarrier's count is wrong.
    if (options.barriers && state.last.warp == warp.groupIndex &&
        state.last.instruction == now.instruction && state.lastEpoch + 1 == warp.epoch &&
        state.lastPhase + 1 == event.phase && (state.last.mask & event.mask) == 0)
      reportSimple(FindingKind::barrier, now, 0,
                   concat("the arrivals of one instruction count for two phases of an mbarrier "
                          "that is initialised with count ",
                          state.count),
                   address, "initialise it with the number of threads that arrive in a phase",
                   &state.init, "mbarrier initialised by");
    state.last = {warp.block->linear, warp.groupIndex, event.mask, event.count, now.instruction};
    state.lastPhase = event.phase;
    state.lastEpoch = warp.epoch;
    endEpoch(warp);
    break;
  }
  case SyncKind::mbarrierComplete:
    useMbarrier(event, warp, *block, offset, state);
    state.expectedBytes -= static_cast<int64_t>(event.count);
    if (event.async != 0)
      completeByPhase(state, event.async, event.phase, ~0u);
    break;
  case SyncKind::mbarrierPhase:
    // Arrivals of earlier phases stay visible, because each operation on the mbarrier is ordered
    // after the one before it.
    state.over[event.phase] = state.arriving;
    while (state.over.size() > 4)
      state.over.erase(state.over.begin());
    state.phase = event.phase + 1;
    break;
  case SyncKind::mbarrierWait: {
    useMbarrier(event, warp, *block, offset, state);
    if (!acquires(event.order))
      break;
    split(warp, event.mask);
    auto over = state.over.find(event.phase);
    for (Cohort &cohort : warp.cohorts)
      if (cohort.mask & event.mask) {
        if (over != state.over.end())
          cohort.knowledge.join(event.scope == Scope::cta ? over->second.own : over->second.all);
        cohort.knowledge.base.learnPhase(state.slot, event.phase);
      }
    break;
  }
  default:
    break;
  }
}

// Flags: memory locations through which strong accesses release and acquire knowledge.

std::shared_ptr<const ForeignEpochs> Detector::translate(const Clock &clock) const {
  if (clock.isEmpty())
    return nullptr;
  auto translated = clock.foreignEpochs() ? std::make_shared<ForeignEpochs>(*clock.foreignEpochs())
                                          : std::make_shared<ForeignEpochs>();
  const uint32_t perBlock = static_cast<uint32_t>(group.blocks.front().warps.size());
  auto add = [&](uint32_t warp, uint32_t lane, uint32_t epoch) {
    if (warp / perBlock >= group.blocks.size())
      return;
    uint32_t &known =
        (*translated)[foreignKey(group.blocks[warp / perBlock].linear, warp % perBlock, lane)];
    known = std::max(known, epoch);
  };
  const std::vector<uint32_t> &warps = clock.warpEpochs();
  for (uint32_t i = 0; i < warps.size(); ++i)
    if (warps[i])
      add(i, 32, warps[i]);
  for (const LaneEpoch &known : clock.laneEpochs())
    for (uint32_t rest = known.mask; rest != 0; rest &= rest - 1)
      add(known.warp, static_cast<uint32_t>(std::countr_zero(rest)), known.epoch);
  return translated;
}

Published Detector::makePublished(WarpState &warp, SharedKnowledge knowledge, Scope scope,
                                  bool isGlobal) const {
  Published result;
  result.block = warp.block->linear;
  result.cluster = warp.block->cluster;
  result.scope = scope;
  result.groupSerial = group.serial;
  if (isGlobal && launch.hasOtherGroups) {
    result.foreign = translate(knowledge->base);
    result.foreignFenced = translate(knowledge->fencedGlobal);
  }
  result.knowledge = std::move(knowledge);
  return result;
}

void Detector::acquire(Cohort &cohort, const Published &from) const {
  if (from.groupSerial == group.serial) {
    cohort.knowledge.join(*from.knowledge);
    return;
  }
  cohort.knowledge.base.joinForeign(from.foreign);
  cohort.knowledge.fencedGlobal.joinForeign(from.foreignFenced);
}

void Detector::flags(const MemoryEvent &event, WarpState &warp) {
  const bool reads = event.kind != AccessKind::write, writes = event.kind != AccessKind::read;
  for (uint32_t rest = event.mask; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
    const uint64_t address = event.addresses[lane];
    // Group the lanes that access the same flag.
    uint32_t lanes = 1u << lane;
    for (uint32_t more = rest & (rest - 1); more != 0; more &= more - 1) {
      const auto other = static_cast<uint32_t>(std::countr_zero(more));
      if (event.addresses[other] == address)
        lanes |= 1u << other;
    }
    rest = (rest & ~lanes) | 1u << lane;
    const uint64_t window = address & machine::windowMask;
    const bool isGlobal = window == 0;
    if (!isGlobal && window != machine::sharedWindow)
      continue;
    bool hasFence = false;
    for (const Cohort &cohort : warp.cohorts)
      if (cohort.mask & lanes)
        for (const FencePoint &fence : cohort.fences)
          hasFence = hasFence || fence.knowledge;
    const bool publishes = writes && (releases(event.order) || hasFence);
    const bool isKnownEmpty =
        isGlobal ? launch.flagCount.load(std::memory_order_relaxed) == 0 : group.flags.empty();
    if (!publishes && isKnownEmpty)
      continue;
    std::unique_lock<std::mutex> lock;
    if (isGlobal)
      lock = std::unique_lock(launch.mutex);
    auto &all = isGlobal ? launch.flags : group.flags;
    auto found = all.find(address);
    if (found == all.end() && !publishes)
      continue;
    if (reads && found != all.end() && !found->second.published.empty()) {
      split(warp, lanes);
      for (Cohort &cohort : warp.cohorts) {
        if (!(cohort.mask & lanes))
          continue;
        for (const Published &from : found->second.published) {
          if (!scopeReaches(event.scope, *warp.block, from.block, from.cluster) ||
              !scopeReaches(from.scope, *warp.block, from.block, from.cluster))
            continue;
          if (acquires(event.order)) {
            acquire(cohort, from);
          } else {
            const bool isThere =
                std::any_of(cohort.unacquired.begin(), cohort.unacquired.end(),
                            [&](const Published &one) { return one.knowledge == from.knowledge; });
            if (!isThere)
              cohort.unacquired.push_back(from);
          }
        }
      }
    }
    if (!writes)
      continue;
    std::vector<Published> made;
    for (Cohort &cohort : warp.cohorts) {
      if (!(cohort.mask & lanes))
        continue;
      if (releases(event.order)) {
        made.push_back(
            makePublished(warp, published(warp, cohort.mask & lanes), event.scope, isGlobal));
      } else {
        for (size_t scope = 1; scope < cohort.fences.size(); ++scope)
          if (cohort.fences[scope].knowledge)
            made.push_back(makePublished(
                warp, publishedByFence(warp, cohort.mask & lanes, cohort.fences[scope]),
                std::min(static_cast<Scope>(scope), event.scope), isGlobal));
      }
    }
    if (made.empty() && found == all.end())
      continue;
    Flag &flag = all[address];
    if (isGlobal)
      launch.flagCount.store(all.size(), std::memory_order_relaxed);
    // A store ends the release sequence of this flag; a read-modify-write continues it.
    if (!reads)
      flag.published.clear();
    for (Published &one : made) {
      auto same =
          std::find_if(flag.published.begin(), flag.published.end(), [&](const Published &old) {
            return old.block == one.block && old.scope == one.scope &&
                   old.groupSerial == one.groupSerial;
          });
      if (same == flag.published.end()) {
        flag.published.push_back(std::move(one));
        continue;
      }
      auto joined = std::make_shared<Knowledge>(*same->knowledge);
      joined->join(*one.knowledge);
      *same = makePublished(warp, std::move(joined), one.scope, isGlobal);
    }
  }
  if (writes && releases(event.order))
    endEpoch(warp);
}

} // namespace tilewright::vgpu::check
