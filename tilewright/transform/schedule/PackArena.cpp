#include "tilewright/transform/schedule/PackArena.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace tilewright::schedule {

namespace {

/// The free parts of the arena, found by place and by size.
class Holes {
public:
  int64_t size() const { return top; }

  int64_t take(int64_t bytes) {
    auto best = bySize.lower_bound({bytes, 0});
    if (best != bySize.end()) {
      auto [holeBytes, offset] = *best;
      erase(offset, holeBytes);
      if (holeBytes > bytes)
        insert(offset + bytes, holeBytes - bytes);
      return offset;
    }
    // Grow; a hole at the end is the beginning of what is needed.
    int64_t offset = top;
    if (!byPlace.empty()) {
      auto last = std::prev(byPlace.end());
      if (last->first + last->second == top) {
        offset = last->first;
        erase(last->first, last->second);
      }
    }
    top = offset + bytes;
    return offset;
  }

  void give(int64_t offset, int64_t bytes) {
    auto next = byPlace.lower_bound(offset);
    if (next != byPlace.end() && next->first == offset + bytes) {
      bytes += next->second;
      auto [place, size] = *next;
      erase(place, size);
    }
    auto after = byPlace.lower_bound(offset);
    if (after != byPlace.begin()) {
      auto [place, size] = *std::prev(after);
      if (place + size == offset) {
        erase(place, size);
        offset = place;
        bytes += size;
      }
    }
    insert(offset, bytes);
  }

private:
  void insert(int64_t offset, int64_t bytes) {
    byPlace.emplace(offset, bytes);
    bySize.emplace(bytes, offset);
  }
  void erase(int64_t offset, int64_t bytes) {
    byPlace.erase(offset);
    bySize.erase({bytes, offset});
  }

  int64_t top = 0;
  std::map<int64_t, int64_t> byPlace;           // offset to bytes
  std::set<std::pair<int64_t, int64_t>> bySize; // bytes, offset
};

} // namespace

int64_t packArena(std::vector<ArenaBuffer> &buffers) {
  auto rounded = [&](size_t i) {
    return (buffers[i].bytes + bufferAlignment - 1) / bufferAlignment * bufferAlignment;
  };
  std::vector<size_t> byBegin(buffers.size()), byEnd(buffers.size());
  std::iota(byBegin.begin(), byBegin.end(), 0);
  std::iota(byEnd.begin(), byEnd.end(), 0);
  std::sort(byBegin.begin(), byBegin.end(), [&](size_t a, size_t b) {
    // Of those that begin together the largest first: it is the hardest to place.
    return std::tuple(buffers[a].life.begin, -buffers[a].bytes, a) <
           std::tuple(buffers[b].life.begin, -buffers[b].bytes, b);
  });
  std::sort(byEnd.begin(), byEnd.end(), [&](size_t a, size_t b) {
    return std::pair(buffers[a].life.end, a) < std::pair(buffers[b].life.end, b);
  });

  Holes holes;
  size_t ended = 0;
  for (size_t i : byBegin) {
    while (ended < byEnd.size() && buffers[byEnd[ended]].life.end < buffers[i].life.begin) {
      size_t gone = byEnd[ended++];
      if (rounded(gone) > 0)
        holes.give(buffers[gone].offset, rounded(gone));
    }
    buffers[i].offset = rounded(i) > 0 ? holes.take(rounded(i)) : 0;
  }
  return holes.size();
}

} // namespace tilewright::schedule
