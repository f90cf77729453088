// Which asynchronous operations somebody has waited for.
#ifndef TILEWRIGHT_VGPU_COUNT_FLIGHTS_H
#define TILEWRIGHT_VGPU_COUNT_FLIGHTS_H

#include "tilewright/vgpu/machine/Observer.h"

#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tilewright::vgpu::count {

/// Follows the operations of a group of blocks from event to event.
class Flights {
public:
  void clear();
  /// The operations that were in flight before `event` and were waited for by it.
  std::vector<machine::AsyncId> landed(const machine::SyncEvent &event);

  /// A number for the mbarrier of `event` that is its own in the group.
  static uint64_t mbarrierOf(const machine::SyncEvent &event);

private:
  using Phase = std::pair<uint64_t, uint64_t>;                                // mbarrier, phase
  std::map<Phase, std::vector<machine::AsyncId>> landing;                     // end with a phase
  std::unordered_map<machine::AsyncId, std::vector<machine::AsyncId>> before; // an arrival
};

} // namespace tilewright::vgpu::count

#endif // TILEWRIGHT_VGPU_COUNT_FLIGHTS_H
