#include "tilewright/transform/schedule/PackArena.h"

#include <algorithm>
#include <functional>
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

namespace {

int64_t rounded(int64_t bytes) {
  return (bytes + bufferAlignment - 1) / bufferAlignment * bufferAlignment;
}

using Buffers = std::vector<ArenaBuffer>;
using Indices = std::vector<size_t>;

/// Finds the smallest sufficient gap for `buffer` among `placed`, and returns its offset. The
/// memory ends at `size`, unless `canGrow`. Returns -1 if there is no gap.
int64_t findGap(const Buffers &buffers, const Indices &placed, const ArenaBuffer &buffer,
                int64_t size, bool canGrow, Indices &scratch) {
  scratch.clear();
  for (size_t other : placed)
    if (buffers[other].interval.overlaps(buffer.interval))
      scratch.push_back(other);
  std::ranges::sort(scratch, {}, [&](size_t i) { return buffers[i].offset; });
  const int64_t wanted = rounded(buffer.bytes);
  int64_t best = -1, bestGap = 0, end = 0;
  auto consider = [&](int64_t gap) {
    if (gap >= wanted && (best < 0 || gap < bestGap))
      best = end, bestGap = gap;
  };
  for (size_t other : scratch) {
    consider(buffers[other].offset - end);
    end = std::max(end, buffers[other].offset + rounded(buffers[other].bytes));
  }
  consider(size - end);
  return best < 0 && canGrow ? end : best;
}

/// Places the largest buffers that fit into spare memory. Returns the remaining ones.
Indices fillSpare(Buffers &buffers, std::span<const SpareMemory> spare) {
  // The number of pieces of spare memory that are tried for one buffer, and the smallest useful
  // size.
  constexpr size_t maxTried = 16;
  constexpr int64_t leastBytes = 4096;
  Indices order(buffers.size()), bySize, left, scratch;
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater(), [&](size_t i) { return buffers[i].bytes; });
  for (size_t i = 0; i < spare.size(); ++i)
    if (spare[i].bytes >= leastBytes && spare[i].until > 0)
      bySize.push_back(i);
  std::ranges::stable_sort(bySize, {}, [&](size_t i) { return spare[i].bytes; });
  std::vector<Indices> placed(spare.size());
  for (size_t i : order) {
    ArenaBuffer &buffer = buffers[i];
    buffer.spare = -1;
    auto at = std::ranges::lower_bound(bySize, rounded(buffer.bytes), {},
                                       [&](size_t s) { return spare[s].bytes; });
    for (size_t tried = 0; buffer.bytes >= leastBytes && at != bySize.end() && tried < maxTried;
         ++at) {
      if (spare[*at].until <= buffer.interval.end)
        continue;
      ++tried;
      const int64_t offset =
          findGap(buffers, placed[*at], buffer, spare[*at].bytes, /*canGrow=*/false, scratch);
      if (offset < 0)
        continue;
      buffer.spare = static_cast<int64_t>(*at);
      buffer.offset = offset;
      placed[*at].push_back(i);
      break;
    }
    if (buffer.spare < 0)
      left.push_back(i);
  }
  return left;
}

/// Places the largest buffers first. Returns the size of the arena.
int64_t packBySize(Buffers &buffers, Indices indices) {
  std::ranges::stable_sort(indices, std::greater(), [&](size_t i) { return buffers[i].bytes; });
  Indices placed, scratch;
  int64_t size = 0;
  for (size_t i : indices) {
    ArenaBuffer &buffer = buffers[i];
    buffer.offset = 0;
    if (buffer.bytes == 0)
      continue;
    buffer.offset = findGap(buffers, placed, buffer, size, /*canGrow=*/true, scratch);
    size = std::max(size, buffer.offset + rounded(buffer.bytes));
    placed.push_back(i);
  }
  return size;
}

/// Simulates a heap in program order. Returns the size of the arena.
int64_t packInOrder(Buffers &buffers, const Indices &indices) {
  Indices byBegin = indices, byEnd = indices;
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
      const ArenaBuffer &gone = buffers[byEnd[ended++]];
      if (gone.bytes > 0)
        freeList.release(gone.offset, rounded(gone.bytes));
    }
    ArenaBuffer &buffer = buffers[i];
    buffer.offset = buffer.bytes > 0 ? freeList.allocate(rounded(buffer.bytes)) : 0;
  }
  return freeList.size();
}

/// A lower bound for the size of the arena: the maximum number of bytes that are live at once.
int64_t floorOf(const Buffers &buffers, const Indices &indices) {
  std::vector<std::pair<int64_t, int64_t>> changes;
  for (size_t i : indices) {
    changes.emplace_back(buffers[i].interval.begin, rounded(buffers[i].bytes));
    changes.emplace_back(buffers[i].interval.end + 1, -rounded(buffers[i].bytes));
  }
  std::ranges::sort(changes);
  int64_t live = 0, most = 0;
  for (auto [time, bytes] : changes)
    most = std::max(most, live += bytes);
  return most;
}

} // namespace

int64_t packArena(std::vector<ArenaBuffer> &buffers, std::span<const SpareMemory> spare) {
  // Packing by size compares each pair of buffers.
  constexpr size_t maxBySize = 4096;
  const bool isSmall = buffers.size() <= maxBySize;
  Indices left(buffers.size());
  std::iota(left.begin(), left.end(), 0);
  if (isSmall && !spare.empty())
    left = fillSpare(buffers, spare);
  const int64_t inOrder = packInOrder(buffers, left);
  if (!isSmall || inOrder == floorOf(buffers, left))
    return inOrder;
  Buffers tried = buffers;
  const int64_t bySize = packBySize(tried, left);
  if (bySize >= inOrder)
    return inOrder;
  buffers = std::move(tried);
  return bySize;
}

} // namespace tilewright::schedule
