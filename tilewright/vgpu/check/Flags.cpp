// Flags: memory locations whose strong accesses order threads by release and acquire.
#include "tilewright/vgpu/check/Detector.h"
#include "tilewright/vgpu/machine/memory/Memory.h"

#include <algorithm>
#include <bit>

namespace tilewright::vgpu::check {

using machine::AccessKind;
using machine::MemoryEvent;
using machine::Scope;

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

Published Detector::makePublished(const WarpState &warp, SharedKnowledge knowledge, Scope scope,
                                  bool isGlobal) const {
  Published result;
  result.block = warp.block->linear;
  result.cluster = warp.block->cluster;
  result.device = launch.device;
  result.scope = scope;
  result.groupSerial = group.serial;
  if (isGlobal && launch.hasCompany()) {
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

/// The subset of `lanes` that accesses the same address as its lowest lane.
static uint32_t lanesAtFirstAddress(const MemoryEvent &event, uint32_t lanes) {
  const uint64_t address = event.addresses[std::countr_zero(lanes)];
  uint32_t same = lanes & -lanes;
  for (uint32_t rest = lanes & (lanes - 1); rest != 0; rest &= rest - 1) {
    const auto other = static_cast<uint32_t>(std::countr_zero(rest));
    if (event.addresses[other] == address)
      same |= 1u << other;
  }
  return same;
}

static bool hasFence(const WarpState &warp, uint32_t lanes) {
  for (const Cohort &cohort : warp.cohorts)
    if (cohort.mask & lanes)
      for (const FencePoint &fence : cohort.fences)
        if (fence.knowledge)
          return true;
  return false;
}

/// Passes the knowledge released through the flag to the lanes that read it: at once if the access
/// acquires, otherwise at their next fence.
void Detector::readFlag(const MemoryEvent &event, WarpState &warp, uint32_t lanes,
                        const Flag &flag) {
  if (flag.published.empty())
    return;
  split(warp, lanes);
  for (Cohort &cohort : warp.cohorts) {
    if (!(cohort.mask & lanes))
      continue;
    for (const Published &from : flag.published) {
      const OtherBlock other{from.block, from.cluster, from.device};
      if (!scopeReaches(event.scope, *warp.block, other) ||
          !scopeReaches(from.scope, *warp.block, other))
        continue;
      if (acquires(event.order)) {
        acquire(cohort, from);
        continue;
      }
      const bool isThere =
          std::any_of(cohort.unacquired.begin(), cohort.unacquired.end(),
                      [&](const Published &one) { return one.knowledge == from.knowledge; });
      if (!isThere)
        cohort.unacquired.push_back(from);
    }
  }
}

/// The accesses that the lanes publish by writing a flag: all of them if the access releases,
/// otherwise those that their fences cover.
std::vector<Published> Detector::publishedByWrite(const MemoryEvent &event, WarpState &warp,
                                                  uint32_t lanes, bool isGlobal) {
  std::vector<Published> made;
  for (const Cohort &cohort : warp.cohorts) {
    const uint32_t writers = cohort.mask & lanes;
    if (writers == 0)
      continue;
    if (releases(event.order)) {
      made.push_back(makePublished(warp, published(warp, writers), event.scope, isGlobal));
      continue;
    }
    for (size_t scope = 1; scope < cohort.fences.size(); ++scope)
      if (cohort.fences[scope].knowledge)
        made.push_back(makePublished(warp, publishedByFence(warp, writers, cohort.fences[scope]),
                                     std::min(static_cast<Scope>(scope), event.scope), isGlobal));
  }
  return made;
}

/// Adds to a flag the knowledge that a warp publishes, merged with what its block has already
/// published at the same scope.
void Detector::addToFlag(Flag &flag, std::vector<Published> made, const WarpState &warp,
                         bool isGlobal) const {
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

void Detector::readOlderFlags(const MemoryEvent &event, WarpState &warp, uint32_t lanes,
                              uint64_t address) {
  for (const std::shared_ptr<const GlobalFlags> &older : launch.olderFlags) {
    const auto found = older->byAddress.find(address);
    if (found == older->byAddress.end())
      continue;
    readFlag(event, warp, lanes, found->second);
    if (!found->second.continuesOlder)
      return;
  }
}

/// Handles a strong access by `lanes`, all of which access `address`, where a flag is or may be
/// created. `publishes`: the lanes have knowledge to release.
void Detector::accessFlag(const MemoryEvent &event, WarpState &warp, uint32_t lanes,
                          uint64_t address, bool publishes) {
  const bool reads = event.kind != AccessKind::write, writes = event.kind != AccessKind::read;
  const bool isGlobal = (address & machine::windowMask) == 0;
  std::unique_lock<std::mutex> lock;
  if (isGlobal)
    lock = std::unique_lock(launch.flags->mutex);
  auto &all = isGlobal ? launch.flags->byAddress : group.flags;
  auto found = all.find(address);
  if (reads && found != all.end())
    readFlag(event, warp, lanes, found->second);
  if (reads && isGlobal && (found == all.end() || found->second.continuesOlder))
    readOlderFlags(event, warp, lanes, address);
  if (!writes || (found == all.end() && !publishes))
    return;
  std::vector<Published> made = publishedByWrite(event, warp, lanes, isGlobal);
  if (made.empty() && found == all.end())
    return;
  Flag &flag = all[address];
  if (isGlobal)
    launch.flags->count.store(all.size(), std::memory_order_relaxed);
  // A store ends the release sequence of this flag; a read-modify-write continues it.
  if (!reads) {
    flag.published.clear();
    flag.continuesOlder = false;
  }
  addToFlag(flag, std::move(made), warp, isGlobal);
}

void Detector::valueRead(const MemoryEvent &event) {
  if (!launch.mayHaveFlags())
    return;
  WarpState &warp = group.warpOf(event.warp);
  std::lock_guard lock(launch.flags->mutex);
  for (uint32_t rest = event.mask; rest != 0;) {
    const uint64_t address = event.addresses[std::countr_zero(rest)];
    const uint32_t lanes = lanesAtFirstAddress(event, rest);
    rest &= ~lanes;
    const auto found = launch.flags->byAddress.find(address);
    const bool isHere = found != launch.flags->byAddress.end();
    if (isHere)
      readFlag(event, warp, lanes, found->second);
    if (!isHere || found->second.continuesOlder)
      readOlderFlags(event, warp, lanes, address);
  }
  warp.lastIssue = {};
  warp.block->log.closeGates();
}

void Detector::flags(const MemoryEvent &event, WarpState &warp) {
  const bool writes = event.kind != AccessKind::read, isRelease = releases(event.order);
  for (uint32_t rest = event.mask; rest != 0;) {
    const uint64_t address = event.addresses[std::countr_zero(rest)];
    const uint32_t lanes = lanesAtFirstAddress(event, rest);
    rest &= ~lanes;
    const uint64_t window = address & machine::windowMask;
    const bool isGlobal = window == 0;
    if (!isGlobal && window != machine::sharedWindow)
      continue;
    const bool publishes = writes && (isRelease || hasFence(warp, lanes));
    const bool isKnownEmpty = isGlobal ? !launch.mayHaveFlags() : group.flags.empty();
    if (publishes || !isKnownEmpty)
      accessFlag(event, warp, lanes, address, publishes);
  }
  if (writes && isRelease)
    endEpoch(warp);
}

} // namespace tilewright::vgpu::check
