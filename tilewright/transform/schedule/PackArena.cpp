#include "tilewright/transform/schedule/PackArena.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace tilewright::schedule {

namespace {

/// The free list of the arena, indexed by offset and by size.
class FreeList {
public:
  int64_t size() const { return top; }

  int64_t allocate(int64_t bytes) {
    auto best = bySize.lower_bound({bytes, 0});
    if (best != bySize.end()) {
      auto [freeBytes, offset] = *best;
      erase(offset, freeBytes);
      if (freeBytes > bytes)
        insert(offset + bytes, freeBytes - bytes);
      return offset;
    }
    // Grow the arena. If its last block is free, extend that block.
    int64_t offset = top;
    if (!byOffset.empty()) {
      auto last = std::prev(byOffset.end());
      if (last->first + last->second == top) {
        offset = last->first;
        erase(last->first, last->second);
      }
    }
    top = offset + bytes;
    return offset;
  }

  void release(int64_t offset, int64_t bytes) {
    auto next = byOffset.lower_bound(offset);
    if (next != byOffset.end() && next->first == offset + bytes) {
      bytes += next->second;
      auto [start, size] = *next;
      erase(start, size);
    }
    auto after = byOffset.lower_bound(offset);
    if (after != byOffset.begin()) {
      auto [start, size] = *std::prev(after);
      if (start + size == offset) {
        erase(start, size);
        offset = start;
        bytes += size;
      }
    }
    insert(offset, bytes);
  }

private:
  void insert(int64_t offset, int64_t bytes) {
    byOffset.emplace(offset, bytes);
    bySize.emplace(bytes, offset);
  }
  void erase(int64_t offset, int64_t bytes) {
    byOffset.erase(offset);
    bySize.erase({bytes, offset});
  }

  int64_t top = 0;
  std::map<int64_t, int64_t> byOffset;          // offset to bytes
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
    // Among buffers that begin at the same time, place the largest first, because it is the hardest
    // to place.
    return std::tuple(buffers[a].interval.begin, -buffers[a].bytes, a) <
           std::tuple(buffers[b].interval.begin, -buffers[b].bytes, b);
  });
  std::sort(byEnd.begin(), byEnd.end(), [&](size_t a, size_t b) {
    return std::pair(buffers[a].interval.end, a) < std::pair(buffers[b].interval.end, b);
  });

  FreeList freeList;
  size_t ended = 0;
  for (size_t i : byBegin) {
    while (ended < byEnd.size() && buffers[byEnd[ended]].interval.end < buffers[i].interval.begin) {
      size_t gone = byEnd[ended++];
      if (rounded(gone) > 0)
        freeList.release(buffers[gone].offset, rounded(gone));
    }
    buffers[i].offset = rounded(i) > 0 ? freeList.allocate(rounded(i)) : 0;
  }
  return freeList.size();
}

} // namespace tilewright::schedule
