// The checker's access record, and the list of accesses to 32 bytes of memory with which a later
// access can conflict.
#ifndef TILEWRIGHT_VGPU_CHECK_ACCESSRECORD_H
#define TILEWRIGHT_VGPU_CHECK_ACCESSRECORD_H

#include "tilewright/vgpu/machine/Observer.h"

#include <cstdint>

namespace tilewright::vgpu::check {

/// Lane number that stands for several lanes of the warp.
inline constexpr uint32_t severalLanes = 32;

/// A mask of the lowest `count` lanes or bytes.
constexpr uint32_t lanesBelow(uint32_t count) { return count >= 32 ? ~0u : (1u << count) - 1; }
/// A mask of the bytes [from, to) of a sector.
constexpr uint32_t byteMask(uint64_t from, uint64_t to) {
  return lanesBelow(static_cast<uint32_t>(to - from)) << from;
}

/// Records which thread accessed bytes of a 32-byte sector, when and how. Consecutive lanes that
/// access consecutive addresses share one record: the lane depends on the byte.
struct AccessRecord {
  uint32_t block = 0;         // as BlockState::linear
  uint32_t epoch = 0;         // of the warp; for an asynchronous operation, that of its issue
  uint32_t instruction = 0;   // number of the instruction in the program
  uint32_t op = 0;            // asynchronous operation; 0: the lanes made the access themselves
  uint8_t warp = 0;           // in the block
  int8_t firstLane = 0;       // the lane of byte 0, extrapolated if the pattern begins later
  uint8_t laneShift : 3 = 5;  // log2 of the bytes per lane; 5: one lane for all bytes
  uint8_t isMany : 1 = 0;     // several lanes access each byte
  uint8_t kind : 2 = 0;       // machine::AccessKind
  uint8_t proxy : 2 = 0;      // machine::Proxy
  uint8_t isStrong : 1 = 0;   // not weak: does not race with other strong accesses
  uint8_t scope : 3 = 0;      // machine::Scope
  uint8_t isLaneless : 1 = 0; // made by an operation of the whole warp
  uint8_t hasValues : 1 = 0;  // a write whose stored values are known
  uint8_t event : 2 = 0;      // the low bits of GroupState::accesses

  machine::AccessKind accessKind() const { return static_cast<machine::AccessKind>(kind); }
  machine::Proxy accessProxy() const { return static_cast<machine::Proxy>(proxy); }
  bool isRead() const { return accessKind() == machine::AccessKind::read; }
  uint32_t laneOf(uint32_t byte) const {
    return isMany ? severalLanes : static_cast<uint32_t>(firstLane + int(byte >> laneShift)) & 31;
  }
  /// The record of the same access for a base address that is `distance` bytes higher.
  AccessRecord shifted(uint32_t distance) const {
    AccessRecord record = *this;
    if (laneShift != 5)
      record.firstLane = static_cast<int8_t>(firstLane + static_cast<int>(distance >> laneShift));
    return record;
  }
  /// The record to store in the sector at `base`, if this is the record of a run of lanes whose
  /// first lane is `lane` and whose first address is `runAddress`: firstLane becomes the lane that
  /// would access the sector's first byte.
  AccessRecord inSector(uint64_t base, uint64_t runAddress, uint32_t lane) const {
    AccessRecord record = *this;
    const auto distance = static_cast<int64_t>(base - runAddress);
    record.firstLane = static_cast<int8_t>(
        laneShift == 5 ? int64_t(lane) : int64_t(lane) + (distance >> laneShift));
    return record;
  }
  bool sameActor(const AccessRecord &other) const {
    return block == other.block && epoch == other.epoch && op == other.op && warp == other.warp;
  }
  bool samePattern(const AccessRecord &other) const {
    return isMany == other.isMany &&
           (isMany || (firstLane == other.firstLane && laneShift == other.laneShift));
  }
};

struct SectorAccess {
  AccessRecord record;
  uint32_t mask = 0; // bytes of the sector
};

/// The accesses to 32 bytes of memory with which a later access can conflict.
class Sector {
public:
  static constexpr uint32_t bytes = 32;
  static constexpr uint32_t maxAccesses = 48;

  Sector() = default;
  Sector(const Sector &) = delete;
  Sector &operator=(const Sector &) = delete;
  ~Sector() { delete[] more; }

  uint32_t size() const { return count; }
  SectorAccess &operator[](uint32_t i) { return i < inlined ? own[i] : more[i - inlined]; }
  void clear() { count = 0; }
  /// If the list is full, drops the oldest access: the checker may then miss a race, but never
  /// reports a false one.
  void add(const SectorAccess &access) {
    if (count == maxAccesses)
      remove(0);
    if (count >= inlined && count - inlined == capacity)
      grow();
    (*this)[count++] = access;
  }
  void remove(uint32_t i) {
    for (; i + 1 < count; ++i)
      (*this)[i] = (*this)[i + 1];
    --count;
  }

  uint32_t initialised = 0; // bytes that were written

private:
  static constexpr uint32_t inlined = 2;
  void grow() {
    const uint32_t wanted = capacity ? 2u * capacity : 4u;
    auto *larger = new SectorAccess[wanted];
    for (uint32_t i = 0; i < capacity; ++i)
      larger[i] = more[i];
    delete[] more;
    more = larger;
    capacity = static_cast<uint16_t>(wanted);
  }

  uint16_t count = 0, capacity = 0;
  SectorAccess own[inlined];
  SectorAccess *more = nullptr;
};

} // namespace tilewright::vgpu::check

#endif // TILEWRIGHT_VGPU_CHECK_ACCESSRECORD_H
