// Compares an access with the earlier accesses to the same 32 bytes, and records it there.
#include "tilewright/vgpu/check/Detector.h"
#include "tilewright/vgpu/check/GlobalMemory.h"

#include <algorithm>
#include <bit>

namespace tilewright::vgpu::check {

using machine::Proxy;

bool Detector::storesTheSame(const AccessRecord &earlier, const AccessRecord &now, uint32_t mask,
                             uint64_t address) const {
  if (!earlier.hasValues || !now.hasValues)
    return false;
  // The bytes that other lanes of the same instruction store are not in shared memory yet, so
  // compare with their registers.
  const bool isSameEvent = inShared && earlier.sameActor(now) &&
                           earlier.instruction == now.instruction && earlier.event == now.event;
  if (isSameEvent && !options.strict)
    return true;
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const auto byte = static_cast<uint32_t>(std::countr_zero(rest));
    const std::byte value = storedAt(address + byte);
    bool isCompared = false;
    for (uint32_t look = isSameEvent ? current->mask : 0; look != 0; look &= look - 1) {
      const auto lane = static_cast<uint32_t>(std::countr_zero(look));
      const uint64_t distance = address + byte - current->addresses[lane];
      if (distance >= current->bytes || lane == now.laneOf(byte))
        continue;
      if (current->values->at(lane, distance) != value)
        return false;
      isCompared = true;
    }
    if (!isCompared && (byte >= heldBytes || held[byte] != value))
      return false;
  }
  return true;
}

void Detector::compareLanes(const Actor &actor, const AccessRecord &record) {
  const Run &run = *currentRun;
  if (run.address < Page::bytes)
    return; // a null pointer: there is no memory
  for (uint32_t look = current->mask & actor.cohortMask; look != 0; look &= look - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(look));
    const uint64_t distance = current->addresses[lane] - run.address;
    for (uint64_t i = 0; distance < run.length && i < current->bytes; ++i) {
      if (distance + i >= run.length ||
          current->values->at(lane, i) == storedAt(run.address + distance + i))
        continue;
      AccessRecord now = record, earlier = record;
      now.isMany = earlier.isMany = 0;
      now.laneShift = earlier.laneShift = 5;
      now.firstLane = static_cast<int8_t>(lane);
      earlier.firstLane = static_cast<int8_t>(
          run.lane + (run.shift == 5 ? 0 : static_cast<uint32_t>((distance + i) >> run.shift)));
      const uint64_t address = run.address + distance + i;
      reportConflict(actor, now, earlier, static_cast<uint32_t>(address % Sector::bytes), address,
                     Ordering::unordered);
      return;
    }
  }
}

/// Two operations of whole warps overlap in many sectors, and the ordering is the same in all of
/// them: compute it once per event and cache it.
Detector::Ordering Detector::orderOfOperations(const Actor &actor, const AccessRecord &earlier,
                                               uint32_t byte, const AccessRecord &now) {
  GroupState::KnownOrder &known = group.orders[earlier.op % group.orders.size()];
  if (known.event != group.events || known.earlier != earlier.op || known.block != earlier.block ||
      known.kind != earlier.kind)
    known = {group.events, earlier.op, earlier.block, earlier.kind,
             static_cast<uint8_t>(orderOf(actor, earlier, byte, now))};
  return static_cast<Ordering>(known.ordering);
}

/// Compares the bytes `overlap` of the sector at `address`. Returns whether `earlier` happens
/// before `now` in all of them. Reports the first race and then also returns true, so that the
/// caller forgets the earlier access and the race is reported once.
bool Detector::compareBytes(const Actor &actor, const AccessRecord &earlier,
                            const AccessRecord &now, uint32_t overlap, uint64_t address) {
  const bool isConflict = !(now.isRead() && earlier.isRead());
  const uint32_t step =
      1u << std::min<uint32_t>(std::min<uint32_t>(earlier.laneShift, now.laneShift), 5);
  bool allOrdered = true;
  for (uint32_t rest = overlap; rest != 0;) {
    const auto byte = static_cast<uint32_t>(std::countr_zero(rest));
    // All these bytes belong to the same pair of lanes: compute their ordering once.
    const uint32_t alike = rest & lanesBelow(step) << (byte & ~(step - 1));
    rest &= ~alike;
    const Ordering ordering = earlier.isLaneless && now.isLaneless
                                  ? orderOfOperations(actor, earlier, byte, now)
                                  : orderOf(actor, earlier, byte, now);
    if (ordering == Ordering::ordered)
      continue;
    allOrdered = false;
    if (!isConflict || areMorallyStrong(actor, earlier, now))
      continue;
    // Writes of equal bytes leave the same contents in either order. Both stay in the list,
    // because a later read may race with either.
    if (ordering == Ordering::unordered && storesTheSame(earlier, now, alike, address))
      continue;
    reportConflict(actor, now, earlier, byte, address + byte, ordering);
    return true;
  }
  return allOrdered;
}

namespace {

/// A fast test for whether an earlier access by the same block happens before the actor's access:
/// compares the epoch of the earlier access with the latest epoch of that warp that the actor
/// knows. Most earlier accesses pass. The test ignores proxy fences, which matter only for accesses
/// by other proxies.
class KnownWarps {
public:
  explicit KnownWarps(const Actor &actor)
      : epochs(actor.knowledge->base.warpEpochs()), first(actor.block.warps[0].groupIndex),
        count(static_cast<uint32_t>(epochs.size() > first ? epochs.size() - first : 0)) {}

  /// Whether the test shows that `earlier` happens before `now`, an access of the actor.
  bool cover(const AccessRecord &earlier, const AccessRecord &now) const {
    return earlier.op == 0 && earlier.block == now.block && earlier.warp < count &&
           epochs[first + earlier.warp] >= earlier.epoch;
  }

private:
  const std::vector<uint32_t> &epochs;
  const uint32_t first, count;
};

/// The access that is being added to the list of its sector.
struct NewAccess {
  const AccessRecord &now;
  const uint32_t mask;
  const bool isForeignReader; // see Detector::isReadOfMany()
  const LaunchState &launch;
  const bool isOfWave;  // its operations are performed in their order
  bool isThere = false; // the list already has an entry for the access
  // The number of readers in other groups that the list has for the same bytes, and the index of
  // the last one.
  uint32_t foreignReaders = 0, lastForeign = 0;

  static constexpr uint32_t maxForeignReaders = 2;

  /// If `entry` is the same access to other bytes of the sector, adds these bytes to the entry.
  void extend(SectorAccess &entry) {
    const AccessRecord &earlier = entry.record;
    if (!isThere && earlier.sameActor(now) && earlier.kind == now.kind &&
        earlier.instruction == now.instruction && earlier.samePattern(now) &&
        earlier.proxy == now.proxy) {
      entry.mask |= mask;
      isThere = true;
    }
  }

  /// Reads never conflict with each other, so keep only the last read by the same lanes.
  void joinReads(SectorAccess &entry, uint32_t index) {
    const AccessRecord &earlier = entry.record;
    const uint32_t overlap = entry.mask & mask;
    const bool areOfWave = isOfWave && earlier.isLaneless && entry.mask == mask;
    if (!isThere && ((earlier.op == 0 && now.op == 0) || areOfWave) && earlier.block == now.block &&
        earlier.warp == now.warp && (areOfWave || earlier.samePattern(now)) &&
        earlier.proxy == now.proxy && earlier.isStrong == now.isStrong &&
        earlier.scope == now.scope &&
        (overlap == entry.mask || (overlap == mask && earlier.epoch == now.epoch))) {
      if (overlap == entry.mask)
        entry = {now, mask};
      isThere = true;
    } else if (earlier.sameActor(now) && earlier.isMany && overlap == mask) {
      isThere = true; // already recorded as read by several lanes
    } else if (isForeignReader && !earlier.isStrong && entry.mask == mask &&
               launch.areInTwoGroups(earlier.block, now.block)) {
      ++foreignReaders;
      lastForeign = index;
    }
  }

  /// Merges the new access into `entry`, an access by the same lanes, if both are of the same kind
  /// and one covers the bytes of the other. Returns whether it did.
  bool joinOwn(SectorAccess &entry) {
    const AccessRecord &earlier = entry.record;
    const uint32_t overlap = entry.mask & mask;
    if (isThere || earlier.kind != now.kind || earlier.isStrong != now.isStrong ||
        earlier.scope != now.scope || (overlap != mask && overlap != entry.mask))
      return false;
    entry.mask |= mask;
    isThere = true;
    return true;
  }

  void add(Sector &sector) const {
    if (isThere)
      return;
    if (foreignReaders >= maxForeignReaders)
      sector[lastForeign] = {now, mask};
    else
      sector.add({now, mask});
  }
};

} // namespace

void Detector::checkSector(const Actor &actor, Sector &sector, const AccessRecord &now,
                           uint32_t mask, uint64_t address) {
  const KnownWarps known(actor);
  const bool isRead = now.isRead(), isGeneric = now.accessProxy() == Proxy::generic;
  NewAccess added{now, mask, isReadOfMany(now), launch,
                  actor.operation && machine::isOfWave(actor.operation->group)};
  for (uint32_t i = 0; i < sector.size();) {
    SectorAccess &entry = sector[i];
    const AccessRecord &earlier = entry.record;
    const uint32_t overlap = entry.mask & mask;
    if (overlap == 0) {
      added.extend(entry);
      ++i;
      continue;
    }
    if (isRead && earlier.isRead() && !known.cover(earlier, now)) {
      added.joinReads(entry, i);
      ++i;
      continue;
    }
    const bool isKnown = isGeneric && known.cover(earlier, now);
    // If the same lanes made both accesses, program order applies.
    const bool isOwn = !isKnown && earlier.sameActor(now) && earlier.samePattern(now) &&
                       !now.isMany && now.op == 0;
    if (isOwn && added.joinOwn(entry)) {
      ++i;
      continue;
    }
    const bool isBefore = isKnown || isOwn || compareBytes(actor, earlier, now, overlap, address);
    // Drop an earlier access that happens before this one, unless it is a write and this one is a
    // read.
    if (isBefore && !(isRead && !earlier.isRead())) {
      entry.mask &= ~overlap;
      if (entry.mask == 0) {
        sector.remove(i);
        continue;
      }
    }
    ++i;
  }
  added.add(sector);
}

} // namespace tilewright::vgpu::check
