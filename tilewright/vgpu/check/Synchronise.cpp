// Synchronisation: how happens-before knowledge passes from thread to thread.
#include "tilewright/vgpu/check/Detector.h"
#include "tilewright/vgpu/machine/memory/Memory.h"

#include <algorithm>
#include <bit>

namespace tilewright::vgpu::check {

using machine::AccessKind;
using machine::GroupKind;
using machine::Proxy;
using machine::Scope;
using machine::SyncEvent;
using machine::SyncKind;

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
  if (warp.cohorts.size() == 1) { // most of the time
    if (also)
      warp.cohorts.front().knowledge.join(*also);
    return;
  }
  Knowledge together;
  for (const Cohort &cohort : warp.cohorts)
    if (cohort.mask & mask)
      together.join(cohort.knowledge);
  if (also)
    together.join(*also);
  Cohort *target = nullptr;
  for (Cohort &cohort : warp.cohorts) {
    if (!(cohort.mask & mask))
      continue;
    // Lanes that read a flag and have yet to acquire what it released keep a cohort of their own:
    // a fence acquires only what its own lane has read.
    if (!cohort.unacquired.empty()) {
      cohort.knowledge.join(together);
      continue;
    }
    if (!target) {
      target = &cohort;
      continue;
    }
    target->mask |= cohort.mask;
    for (FencePoint &fence : target->fences)
      fence = {}; // a fence counts only for the lanes that executed it
    target->own.fenced = std::min(target->own.fenced, cohort.own.fenced);
    target->own.fencedGlobal = std::min(target->own.fencedGlobal, cohort.own.fencedGlobal);
    target->own.released = std::min(target->own.released, cohort.own.released);
    target->own.inits = std::min(target->own.inits, cohort.own.inits);
    cohort.mask = 0;
  }
  if (target)
    target->knowledge.join(together);
  std::erase_if(warp.cohorts, [](const Cohort &cohort) { return cohort.mask == 0; });
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

void Detector::fence(const SyncEvent &event, WarpState &warp) {
  split(warp, event.mask);
  for (Cohort &cohort : warp.cohorts) {
    if (!(cohort.mask & event.mask))
      continue;
    // The fence acquires the knowledge that the lanes read from flags before it. A later fence of a
    // wider scope may acquire what this one does not reach.
    std::erase_if(cohort.unacquired, [&](const Published &from) {
      if (!scopeReaches(event.scope, *warp.block, {from.block, from.cluster, from.device}))
        return false;
      acquire(cohort, from);
      return true;
    });
    cohort.fences[static_cast<size_t>(event.scope)] = {
        std::make_shared<Knowledge>(cohort.knowledge), warp.epoch, cohort.own};
  }
  endEpoch(warp);
}

/// fence.proxy.async: orders later asynchronous accesses after everything that the lanes know now.
static void fenceAsync(Cohort &cohort, machine::Space space, uint32_t epoch) {
  Knowledge &known = cohort.knowledge;
  if (space != machine::Space::global) {
    known.fenced.join(known.base);
    cohort.own.fenced = epoch;
  }
  if (space != machine::Space::shared) {
    known.fencedGlobal.join(known.base);
    cohort.own.fencedGlobal = epoch;
  }
}

/// fence.proxy.tensormap: releases what the lanes know now, and acquires what was released, for the
/// tensor map that the fence names.
static void fenceTensormap(Cohort &cohort, const SyncEvent &event, const WarpState &warp) {
  Knowledge &known = cohort.knowledge;
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

void Detector::proxyFence(const SyncEvent &event, WarpState &warp) {
  split(warp, event.mask);
  for (Cohort &cohort : warp.cohorts) {
    if (!(cohort.mask & event.mask))
      continue;
    if (event.proxy == Proxy::async)
      fenceAsync(cohort, event.space, warp.epoch);
    else if (event.proxy == Proxy::tensormap)
      fenceTensormap(cohort, event, warp);
  }
  endEpoch(warp);
}

void Detector::mbarrierInitFence(const SyncEvent &event, WarpState &warp) {
  split(warp, event.mask);
  for (Cohort &cohort : warp.cohorts)
    if (cohort.mask & event.mask)
      cohort.own.inits = warp.epoch;
  endEpoch(warp);
}

/// The generation of barrier.cluster that an arrival or a wait belongs to.
Generation &Detector::clusterGeneration(const SyncEvent &event, const WarpState &warp) {
  const size_t cluster = (warp.block->indexInGroup - warp.block->rank) /
                         std::max<uint64_t>(1, machine::volume(launch.grid->cluster));
  if (group.clusters.size() <= cluster)
    group.clusters.resize(cluster + 1);
  return generationOf(group.clusters[cluster], event.phase);
}

void Detector::clusterArrive(const SyncEvent &event, WarpState &warp) {
  Generation &generation = clusterGeneration(event, warp);
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
          if (const FencePoint &fence = cohort.fences[static_cast<size_t>(scope)]; fence.knowledge)
            generation.knowledge.join(*publishedByFence(warp, cohort.mask & event.mask, fence));
      }
  }
  endEpoch(warp);
}

void Detector::clusterLeave(const SyncEvent &event, WarpState &warp) {
  const Generation &generation = clusterGeneration(event, warp);
  // A relaxed arrival does not order the lanes of a warp with each other, so they must not share
  // a cohort.
  split(warp, event.mask);
  for (Cohort &cohort : warp.cohorts)
    if (cohort.mask & event.mask)
      cohort.knowledge.join(generation.knowledge);
}

void Detector::reportUnfencedWgmma(const SyncEvent &event, const WarpState &warp) {
  AccessRecord now = recordOf(event, warp);
  now.isMany = 1;
  now.op = 0;
  reportSimple(FindingKind::registers, now, 0,
               "a wgmma uses registers that other instructions accessed since the last wgmma.fence",
               0,
               "put wgmma.fence.sync.aligned before the first wgmma, and after every other "
               "access to its accumulator and its A registers");
}

void Detector::synchronise(const SyncEvent &event) {
  WarpState &warp = group.warpOf(event.warp);
  warp.block->log.closeGates();
  // These events do not change what the warp's own lanes know.
  if (event.kind != SyncKind::asyncIssue && event.kind != SyncKind::asyncCommit &&
      event.kind != SyncKind::asyncWait && event.kind != SyncKind::wgmmaFence)
    warp.lastIssue = {};
  switch (event.kind) {
  case SyncKind::fence:
    fence(event, warp);
    break;
  case SyncKind::proxyFence:
    proxyFence(event, warp);
    break;
  case SyncKind::mbarrierInitFence:
    mbarrierInitFence(event, warp);
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
  case SyncKind::clusterArrive:
    clusterArrive(event, warp);
    break;
  case SyncKind::clusterLeave:
    clusterLeave(event, warp);
    break;
  case SyncKind::mbarrierInit:
  case SyncKind::mbarrierInvalidate:
  case SyncKind::mbarrierExpect:
  case SyncKind::mbarrierArrive:
  case SyncKind::mbarrierComplete:
  case SyncKind::mbarrierPhase:
  case SyncKind::mbarrierWait:
  case SyncKind::mbarrierPass:
    mbarrier(event, warp);
    break;
  case SyncKind::mbarrierLapped:
    if (options.barriers)
      reportLapped(event, warp);
    break;
  case SyncKind::asyncIssue:
    issue(event, warp);
    break;
  case SyncKind::asyncCommit:
    break; // only the wait for the group orders accesses
  case SyncKind::asyncWait:
    waitForOperations(event, warp);
    break;
  case SyncKind::tensorUse:
    // The instruction itself waits for the registers. PTX nevertheless requires a wait::ld;
    // producers such as CuTe leave it out.
    if (!options.strict)
      waitForOperations(event, warp);
    break;
  case SyncKind::wgmmaFence:
    break; // concerns registers, which the machine checks
  case SyncKind::tensorAlloc:
    allocateTensor(event, *warp.block);
    break;
  case SyncKind::wgmmaUnfenced:
    if (options.races)
      reportUnfencedWgmma(event, warp);
    break;
  }
}

/// A new allocation's columns contain nothing that a kernel may read.
void Detector::allocateTensor(const SyncEvent &event, BlockState &block) {
  const auto first = static_cast<uint32_t>(event.object & machine::sharedOffsetMask);
  for (uint32_t lane = 0; lane < machine::tensorLanes; ++lane)
    block.shared.forget(first + lane * 4 * machine::tensorColumns,
                        4 * static_cast<uint32_t>(event.count));
  block.tensorAddresses.insert(event.written);
}

// Asynchronous operations.

AsyncState *Detector::operationOf(machine::AsyncId id) {
  auto found = group.operations.find(static_cast<uint32_t>(id));
  return found == group.operations.end() ? nullptr : found->second.get();
}

/// The knowledge of the lanes that issue an operation.
std::shared_ptr<const IssuedKnowledge> Detector::issuedKnowledge(const SyncEvent &event,
                                                                 WarpState &warp) {
  WarpState::LastIssue &last = warp.lastIssue;
  const bool isCopy = event.group == GroupKind::copy;
  if (last.knowledge && last.mask == event.mask && last.isCopy == isCopy)
    return last.knowledge;
  auto issued = std::make_shared<IssuedKnowledge>();
  if (isCopy) {
    for (const Cohort &cohort : warp.cohorts)
      if (cohort.mask & event.mask)
        issued->emplace_back(cohort.mask & event.mask,
                             std::make_shared<Knowledge>(cohort.knowledge));
  } else {
    auto knowledge = std::make_shared<Knowledge>();
    for (const Cohort &cohort : warp.cohorts)
      if (const uint32_t lanes = cohort.mask & event.mask) {
        knowledge->join(cohort.knowledge);
        publishOwn(warp, lanes, 0, cohort.own, *knowledge);
      }
    issued->emplace_back(event.mask, std::move(knowledge));
  }
  last = {event.mask, isCopy, std::move(issued)};
  return last.knowledge;
}

void Detector::issue(const SyncEvent &event, WarpState &warp) {
  auto operation = std::make_unique<AsyncState>();
  operation->id = event.async;
  operation->warp = &warp;
  operation->mask = event.mask;
  operation->epoch = warp.epoch;
  operation->instruction = launch.instructionOf(event.op);
  operation->group = event.group;
  // PTX does not order a tcgen05.cp after an earlier tcgen05.mma, but CUTLASS relies on it.
  operation->follows = event.group == GroupKind::tensor && (event.count != 0 || !options.strict);
  operation->after.assign(event.operations.begin(), event.operations.end());
  operation->issued = issuedKnowledge(event, warp);
  group.operations[static_cast<uint32_t>(event.async)] = std::move(operation);
  endEpoch(warp);
}

void Detector::waitForOperations(const SyncEvent &event, const WarpState &warp) {
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
    if (operation->writesGlobal && launch.hasCompany()) {
      std::lock_guard lock(launch.mutex);
      launch.finished[static_cast<uint32_t>(id)].push_back(
          {warp.block->linear, warp.index, waited, warp.epoch, event.isReadOnly});
    }
  }
}

} // namespace tilewright::vgpu::check
