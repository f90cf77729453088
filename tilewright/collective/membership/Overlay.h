// Overlay: which processes of a job are connected to each other.
#ifndef TILEWRIGHT_COLLECTIVE_MEMBERSHIP_OVERLAY_H
#define TILEWRIGHT_COLLECTIVE_MEMBERSHIP_OVERLAY_H

#include "tilewright/collective/membership/Places.h"

#include <optional>

namespace tilewright::collective::membership {

/// The connections of one process. In a small job all processes are connected to each other. In a
/// job of more than `dense` processes, a process is connected to those at the distances 1, 2, 4, …
/// in both directions around the circle of places: at most 2 log2(n) neighbours, and a message
/// reaches any process in at most log2(n) hops. Places do not change when processes die, so a job
/// connects once; the neighbours of a dead process reach each other through others.
class Overlay {
public:
  Overlay(size_t count, size_t self, size_t dense);

  /// Whether all processes are connected to each other.
  bool isDense() const { return dense; }
  const Places &neighbours() const { return near; }
  /// The neighbour in `usable` that is closest to `target`: the next hop of a message for it. Empty
  /// if there is none.
  std::optional<size_t> toward(size_t target, const Places &usable) const;
  /// The processes of `among` that this one reaches directly or through others of them. If all
  /// neighbours of a process have left the job, the process is isolated: no other process would
  /// notice its end.
  Places reachable(const Places &among) const;
  /// Where processes have died, a message may first have to move away from its target, and could go
  /// in a circle. After this many hops it is dropped.
  size_t maxHops() const;

private:
  size_t distance(size_t from, size_t to) const;
  template <typename Visit> void forEachNear(size_t place, Visit visit) const;
  size_t count, self;
  bool dense;
  Places near;
};

} // namespace tilewright::collective::membership

#endif // TILEWRIGHT_COLLECTIVE_MEMBERSHIP_OVERLAY_H
