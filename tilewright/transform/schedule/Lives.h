// Lives: when the values of one buffer live.
#ifndef TILEWRIGHT_TRANSFORM_SCHEDULE_LIVES_H
#define TILEWRIGHT_TRANSFORM_SCHEDULE_LIVES_H

#include "tilewright/transform/schedule/Lifetimes.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace tilewright::schedule {

/// A set of segments that may overlap, for buffers that thousands of values share one after the
/// other: adding one that begins late and asking who overlaps one cost a logarithm.
///
///   Lives chain({0, 4});
///   chain.add({4, 9});
///   chain.anyOverlap({4, 4}, [](const Segment &) { return true; }); // asks about both
class Lives {
public:
  Lives() = default;
  explicit Lives(Segment only) { add(only); }

  size_t size() const { return byBegin.size(); }
  llvm::ArrayRef<Segment> segments() const { return byBegin; }
  /// From the first begin to the last end.
  Segment hull() const {
    return byBegin.empty() ? Segment() : Segment{byBegin.front().begin, latestEnd.back()};
  }

  void add(Segment segment);
  /// Takes over all of `other`, which is empty afterwards.
  void add(Lives &other);

  /// Whether `asks` says so of a segment that overlaps `segment`.
  bool anyOverlap(const Segment &segment, llvm::function_ref<bool(const Segment &)> asks) const;

private:
  llvm::SmallVector<Segment, 2> byBegin;
  llvm::SmallVector<int64_t, 2> latestEnd; // of this segment and all before it
};

} // namespace tilewright::schedule

#endif // TILEWRIGHT_TRANSFORM_SCHEDULE_LIVES_H
