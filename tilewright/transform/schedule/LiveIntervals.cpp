#include "tilewright/transform/schedule/LiveIntervals.h"

#include <algorithm>

namespace tilewright::schedule {

/// The index of the first segment that begins after `time`.
static size_t firstAfter(llvm::ArrayRef<Segment> segments, int64_t time) {
  return static_cast<size_t>(
      std::upper_bound(segments.begin(), segments.end(), time,
                       [](int64_t at, const Segment &segment) { return at < segment.begin; }) -
      segments.begin());
}

void LiveIntervals::add(Segment segment) {
  // Values arrive in program order, so this is nearly always at the end.
  size_t at = firstAfter(byBegin, segment.begin);
  byBegin.insert(byBegin.begin() + at, segment);
  latestEnd.resize(byBegin.size());
  for (size_t i = at; i < byBegin.size(); ++i)
    latestEnd[i] = i == 0 ? byBegin[i].end : std::max(latestEnd[i - 1], byBegin[i].end);
}

void LiveIntervals::add(LiveIntervals &other) {
  // Merge the smaller set into the larger, so that each segment moves a logarithmic number of
  // times.
  if (other.size() > size())
    std::swap(*this, other);
  for (const Segment &segment : other.byBegin)
    add(segment);
  other = LiveIntervals();
}

bool LiveIntervals::anyOverlap(const Segment &segment,
                               llvm::function_ref<bool(const Segment &)> asks) const {
  for (size_t i = firstAfter(byBegin, segment.end); i > 0; --i) {
    if (latestEnd[i - 1] < segment.begin)
      return false;
    if (byBegin[i - 1].overlaps(segment) && asks(byBegin[i - 1]))
      return true;
  }
  return false;
}

} // namespace tilewright::schedule
