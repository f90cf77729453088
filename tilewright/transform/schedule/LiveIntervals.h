// LiveIntervals: the live intervals of all values that share a buffer.
#ifndef TILEWRIGHT_TRANSFORM_SCHEDULE_LIVEINTERVALS_H
#define TILEWRIGHT_TRANSFORM_SCHEDULE_LIVEINTERVALS_H

#include "tilewright/transform/schedule/Lifetimes.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace tilewright::schedule {

/// A set of intervals that may overlap, for buffers that thousands of values share in sequence.
/// Adding an interval that begins late and finding overlaps take logarithmic time.
///
///   LiveIntervals chain({0, 4});
///   chain.add({4, 9});
///   chain.anyOverlap({4, 4}, [](const Segment &) { return false; }); // calls it for both
class LiveIntervals {
public:
  LiveIntervals() = default;
  explicit LiveIntervals(Segment only) { add(only); }

  size_t size() const { return byBegin.size(); }
  llvm::ArrayRef<Segment> segments() const { return byBegin; }
  /// The interval from the earliest start to the latest end.
  Segment hull() const {
    return byBegin.empty() ? Segment() : Segment{byBegin.front().begin, latestEnd.back()};
  }

  void add(Segment segment);
  /// Moves all of `other` into this set.
  void add(LiveIntervals &other);

  /// Whether `asks` returns true for any segment that overlaps `segment`.
  bool anyOverlap(const Segment &segment, llvm::function_ref<bool(const Segment &)> asks) const;

private:
  llvm::SmallVector<Segment, 2> byBegin;
  llvm::SmallVector<int64_t, 2> latestEnd; // over this segment and all before it
};

} // namespace tilewright::schedule

#endif // TILEWRIGHT_TRANSFORM_SCHEDULE_LIVEINTERVALS_H
