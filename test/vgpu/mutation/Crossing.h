// Crossing: whether anything needs a barrier, shown on a log: the longest of the rules of Evidence.
#ifndef TEST_VGPU_MUTATION_CROSSING_H
#define TEST_VGPU_MUTATION_CROSSING_H

#include "Evidence.h"

#include "tilewright/vgpu/machine/Memory.h"

namespace tilewright::vgpu::mutation {

using Events = std::vector<Logged>;

inline bool overlaps(const Logged::Range &a, const Logged::Range &b) {
  return a.begin < b.end && b.begin < a.end;
}
inline bool conflicts(const Logged &a, const Logged &b) {
  using machine::AccessKind;
  if (a.access == AccessKind::read && b.access == AccessKind::read)
    return false;
  // Atomic accesses do not disturb each other.
  return !(a.access == AccessKind::atomic && b.access == AccessKind::atomic);
}

/// The rank of the block that a shared address belongs to, as the address has it.
inline uint64_t rankPart(uint64_t address) { return address >> machine::sharedOffsetBits & 0xff; }
inline bool isShared(uint64_t address) {
  return (address & machine::windowMask) == machine::sharedWindow;
}

/// What meets at a barrier.
enum class Unit : uint8_t { warp, block, cluster };

/// Whether no two accesses that conflict are kept apart by the barrier at `line` alone.
bool nothingCrosses(const Events &log, uint32_t line, Unit unit);

} // namespace tilewright::vgpu::mutation

#endif // TEST_VGPU_MUTATION_CROSSING_H
