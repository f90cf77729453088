// Contents: which value each part of memory holds at a point of the plan.
#ifndef TILEWRIGHT_TRANSFORM_SCHEDULE_CONTENTS_H
#define TILEWRIGHT_TRANSFORM_SCHEDULE_CONTENTS_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace tilewright::schedule {

/// A byte range of an allocation.
struct MemoryRange {
  int64_t allocation = 0, offset = 0, bytes = 0;
  bool operator==(const MemoryRange &) const = default;
  int64_t end() const { return offset + bytes; }
  bool overlaps(const MemoryRange &other) const {
    return bytes > 0 && other.bytes > 0 && allocation == other.allocation && offset < other.end() &&
           other.offset < end();
  }
};

/// A map from ranges to the content last written there, identified by a pointer. Overwriting a part
/// of a range destroys its whole content. Each call takes logarithmic time.
///
///   Contents memory;
///   memory.write({0, 0, 64}, &a);
///   size_t before = memory.mark();
///   memory.write({0, 32, 4}, &b);  // memory.holds({0, 0, 64}, &a) is false now
///   memory.rollBack(before);       // and true again
class Contents {
public:
  void write(const MemoryRange &range, const void *content);
  /// Invalidates everything that overlaps `range`.
  void forget(const MemoryRange &range);
  /// Whether `content` was written to exactly `range`, and no part of it was overwritten since.
  bool holds(const MemoryRange &range, const void *content) const;

  size_t mark() const { return changes.size(); }
  /// Undoes everything since the mark.
  void rollBack(size_t mark);

private:
  using Key = std::pair<int64_t, int64_t>; // allocation, offset
  struct Extent {
    int64_t end = 0;
    const void *content = nullptr;
  };
  struct Change {
    Key key;
    std::optional<Extent> before;
  };
  void set(Key key, std::optional<Extent> extent);

  std::map<Key, Extent> extents; // do not overlap
  std::vector<Change> changes;
};

} // namespace tilewright::schedule

#endif // TILEWRIGHT_TRANSFORM_SCHEDULE_CONTENTS_H
