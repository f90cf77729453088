// Tracks which asynchronous operations in flight a thread has waited for.
#ifndef TILEWRIGHT_VGPU_COUNT_INFLIGHTOPS_H
#define TILEWRIGHT_VGPU_COUNT_INFLIGHTOPS_H

#include "tilewright/vgpu/machine/Observer.h"

#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tilewright::vgpu::count {

/// Tracks which asynchronous operations of a group of blocks are in flight.
class InFlightOps {
public:
  void clear();
  /// The operations that were in flight before `event` and that `event` waited for.
  std::vector<machine::AsyncId> waitedFor(const machine::SyncEvent &event);

  /// A number for the mbarrier of `event` that is unique in the group.
  static uint64_t mbarrierOf(const machine::SyncEvent &event);

private:
  using Phase = std::pair<uint64_t, uint64_t>; // mbarrier, phase
  std::map<Phase, std::vector<machine::AsyncId>>
      completing; // operations that complete with a phase
  std::unordered_map<machine::AsyncId, std::vector<machine::AsyncId>> before; // copies, by arrival
};

} // namespace tilewright::vgpu::count

#endif // TILEWRIGHT_VGPU_COUNT_INFLIGHTOPS_H
