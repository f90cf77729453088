#include "tilewright/transform/schedule/Contents.h"

namespace tilewright::schedule {

void Contents::set(Key key, std::optional<Extent> extent) {
  auto found = extents.find(key);
  changes.push_back(
      {key, found == extents.end() ? std::nullopt : std::optional<Extent>(found->second)});
  if (extent)
    extents[key] = *extent;
  else if (found != extents.end())
    extents.erase(found);
}

void Contents::forget(const MemoryRange &range) {
  if (range.bytes == 0)
    return;
  auto at = extents.lower_bound({range.allocation, range.offset});
  // Extents do not overlap, so at most one extent that begins earlier reaches into this range.
  if (at != extents.begin()) {
    auto before = std::prev(at);
    if (before->first.first == range.allocation && before->second.end > range.offset)
      at = before;
  }
  while (at != extents.end() && at->first.first == range.allocation &&
         at->first.second < range.end()) {
    Key key = at->first;
    ++at;
    set(key, std::nullopt);
  }
}

void Contents::write(const MemoryRange &range, const void *content) {
  if (range.bytes == 0)
    return;
  forget(range);
  set({range.allocation, range.offset}, Extent{range.end(), content});
}

bool Contents::holds(const MemoryRange &range, const void *content) const {
  auto found = extents.find({range.allocation, range.offset});
  return found != extents.end() && found->second.end == range.end() &&
         found->second.content == content;
}

void Contents::rollBack(size_t mark) {
  while (changes.size() > mark) {
    Change change = changes.back();
    changes.pop_back();
    if (change.before)
      extents[change.key] = *change.before;
    else
      extents.erase(change.key);
  }
}

} // namespace tilewright::schedule
