// The order that streams, events and the host impose on launches.
#ifndef TILEWRIGHT_VGPU_MACHINE_HOSTORDER_H
#define TILEWRIGHT_VGPU_MACHINE_HOSTORDER_H

#include <cstdint>
#include <map>
#include <memory>

namespace tilewright::vgpu::machine {

/// For each stream, by id: the number of its work items that happen before a given event.
using StreamClock = std::map<uint64_t, uint64_t>;

inline void join(StreamClock &clock, const StreamClock &other) {
  for (auto [stream, number] : other)
    if (uint64_t &known = clock[stream]; known < number)
      known = number;
}

/// A launch, and its position among the work of all streams of a process.
struct HostOrder {
  uint64_t stream = 0, number = 0; // the launch is part of this work of this stream
  StreamClock before;
  std::shared_ptr<const void> owner; // keeps the kernel's program, which findings name later

  /// Whether all of `other` happens before this launch. Launches of one work item, a graph, run one
  /// after the other.
  bool isAfter(const HostOrder &other) const {
    if (stream == other.stream)
      return number >= other.number;
    const auto known = before.find(other.stream);
    return known != before.end() && known->second >= other.number;
  }
};

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_HOSTORDER_H
