// Crossing: decides from a log whether a barrier is needed. This is the longest rule of Evidence.
#ifndef TEST_VGPU_MUTATION_CROSSING_H
#define TEST_VGPU_MUTATION_CROSSING_H

#include "Evidence.h"

#include "tilewright/vgpu/machine/memory/Memory.h"

#include <map>
#include <vector>

namespace tilewright::vgpu::mutation {

using machine::AccessKind;
using machine::AsyncId;
using machine::GroupKind;
using machine::MemoryEvent;
using machine::Order;
using machine::Proxy;
using machine::SyncEvent;
using machine::SyncKind;

using Events = std::vector<Logged>;

inline bool overlaps(const Logged::Range &a, const Logged::Range &b) {
  return a.begin < b.end && b.begin < a.end;
}
inline bool conflicts(const Logged &a, const Logged &b) {
  if (a.access == AccessKind::read && b.access == AccessKind::read)
    return false;
  // Atomic accesses do not disturb each other.
  return !(a.access == AccessKind::atomic && b.access == AccessKind::atomic);
}

/// The rank of the block that owns a shared address, as encoded in the address.
inline uint64_t rankPart(uint64_t address) { return address >> machine::sharedOffsetBits & 0xff; }
inline bool isShared(uint64_t address) {
  return (address & machine::windowMask) == machine::sharedWindow;
}

/// Maps each cp.async.mbarrier.arrive to the copies before it, for which it arrives; an earlier
/// arrival stands for its own copies.
std::map<machine::AsyncId, std::vector<machine::AsyncId>> copiesBefore(const Events &log);
/// The same, and each tcgen05.commit with all operations and commits that its thread has issued
/// before it: the event of a commit names only those that have not been performed yet.
std::map<machine::AsyncId, std::vector<machine::AsyncId>> operationsBefore(const Events &log);

/// The threads that a barrier synchronises.
enum class Unit : uint8_t { warp, block, cluster };

/// Whether no two conflicting accesses are ordered by the barrier at `line` alone.
bool nothingCrosses(const Events &log, uint32_t line, Unit unit);

} // namespace tilewright::vgpu::mutation

#endif // TEST_VGPU_MUTATION_CROSSING_H
