// An access as the checker remembers it, and the list of those that still matter
// for 32 bytes of memory.
#ifndef TILEWRIGHT_VGPU_CHECK_TOUCH_H
#define TILEWRIGHT_VGPU_CHECK_TOUCH_H

#include "tilewright/vgpu/machine/Observer.h"

#include <cstdint>

namespace tilewright::vgpu::check {

/// Lane 32 stands for several lanes of the warp.
inline constexpr uint32_t severalLanes = 32;

/// Who accessed some of the 32 bytes of a sector, when and how. The lane depends on
/// the byte: lanes that access one after the other make one touch.
struct Touch {
  uint32_t block = 0;         // linear, in the grid
  uint32_t epoch = 0;         // of the warp; of an asynchronous operation: when it was issued
  uint32_t place = 0;         // number of the operation in the program
  uint32_t op = 0;            // asynchronous operation; 0: the lanes themselves
  uint8_t warp = 0;           // in the block
  int8_t firstLane = 0;       // that of byte 0, if the pattern reached so far
  uint8_t laneShift : 3 = 5;  // bytes of a lane, as a power of two; 5: one lane for all
  uint8_t isMany : 1 = 0;     // several lanes access each byte
  uint8_t kind : 2 = 0;       // machine::AccessKind
  uint8_t proxy : 2 = 0;      // machine::Proxy
  uint8_t isStrong : 1 = 0;   // not weak: does not race with others like it
  uint8_t scope : 3 = 0;      // machine::Scope
  uint8_t isLaneless : 1 = 0; // an operation of the warp as a whole
  uint8_t hasValues : 1 = 0;  // a write of which it is known what it stored
  uint8_t event : 2 = 0;      // the last bits of GroupState::accesses

  machine::AccessKind accessKind() const { return static_cast<machine::AccessKind>(kind); }
  machine::Proxy accessProxy() const { return static_cast<machine::Proxy>(proxy); }
  bool isRead() const { return accessKind() == machine::AccessKind::read; }
  uint32_t laneOf(uint32_t byte) const {
    return isMany ? severalLanes : static_cast<uint32_t>(firstLane + int(byte >> laneShift)) & 31;
  }
  /// The same access as memory `distance` bytes further on sees it.
  Touch shifted(uint32_t distance) const {
    Touch touch = *this;
    if (laneShift != 5)
      touch.firstLane = static_cast<int8_t>(firstLane + static_cast<int>(distance >> laneShift));
    return touch;
  }
  bool sameActor(const Touch &other) const {
    return block == other.block && epoch == other.epoch && op == other.op && warp == other.warp;
  }
  bool samePattern(const Touch &other) const {
    return isMany == other.isMany &&
           (isMany || (firstLane == other.firstLane && laneShift == other.laneShift));
  }
};

struct Entry {
  Touch touch;
  uint32_t mask = 0; // bytes of the sector
};

/// The accesses to 32 bytes of memory that a later one may conflict with.
class Sector {
public:
  static constexpr uint32_t bytes = 32;
  static constexpr uint32_t mostEntries = 48;

  Sector() = default;
  Sector(const Sector &) = delete;
  Sector &operator=(const Sector &) = delete;
  ~Sector() { delete[] more; }

  uint32_t size() const { return count; }
  Entry &operator[](uint32_t i) { return i < inlined ? own[i] : more[i - inlined]; }
  void clear() { count = 0; }
  /// Forgets the oldest if there are too many: something may be missed then, nothing invented.
  void add(const Entry &entry) {
    if (count == mostEntries)
      remove(0);
    if (count >= inlined && count - inlined == capacity)
      grow();
    (*this)[count++] = entry;
  }
  void remove(uint32_t i) {
    for (; i + 1 < count; ++i)
      (*this)[i] = (*this)[i + 1];
    --count;
  }

  uint32_t initialised = 0; // bytes that somebody wrote

private:
  static constexpr uint32_t inlined = 2;
  void grow() {
    const uint32_t wanted = capacity ? 2u * capacity : 4u;
    auto *larger = new Entry[wanted];
    for (uint32_t i = 0; i < capacity; ++i)
      larger[i] = more[i];
    delete[] more;
    more = larger;
    capacity = static_cast<uint16_t>(wanted);
  }

  uint16_t count = 0, capacity = 0;
  Entry own[inlined];
  Entry *more = nullptr;
};

} // namespace tilewright::vgpu::check

#endif // TILEWRIGHT_VGPU_CHECK_TOUCH_H
