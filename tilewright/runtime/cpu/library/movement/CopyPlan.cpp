#include "tilewright/runtime/cpu/library/movement/CopyPlan.h"

#include "tilewright/runtime/cpu/library/movement/CopyRows.h"
#include "tilewright/runtime/cpu/library/movement/TransposeTile.h"

#include <algorithm>
#include <cstdlib>

namespace tilewright::runtime::cpu {

/// Below this many bytes a second thread costs more than it saves.
constexpr int64_t bytesPerPiece = int64_t(128) << 10;

void mergeLoops(std::vector<CopyLoop> &loops) {
  for (size_t dim = loops.size(); dim-- > 1;) {
    const CopyLoop inner = loops[dim];
    CopyLoop &outer = loops[dim - 1];
    if (outer.to != inner.to * inner.size || outer.from != inner.from * inner.size)
      continue;
    outer = {outer.size * inner.size, inner.from, inner.to};
    loops.erase(loops.begin() + static_cast<std::ptrdiff_t>(dim));
  }
}

CopyPlan::CopyPlan(std::span<const int64_t> sizes, std::span<const int64_t> fromStrides,
                   std::span<const int64_t> toStrides, size_t elementBytes) {
  const auto unit = static_cast<int64_t>(elementBytes);
  totalBytes = unit;
  for (size_t dim = 0; dim < sizes.size(); ++dim) {
    totalBytes *= sizes[dim];
    if (sizes[dim] != 1)
      loops.push_back({sizes[dim], fromStrides[dim] * unit, toStrides[dim] * unit});
  }
  if (totalBytes == 0)
    return;
  streams = totalBytes >= streamingBytes;
  // Order loops by the target's stride, so that writes are sequential.
  std::sort(loops.begin(), loops.end(),
            [](const CopyLoop &a, const CopyLoop &b) { return a.to > b.to; });
  mergeLoops(loops);
  cell = unit;
  if (!loops.empty() && loops.back().from == unit && loops.back().to == unit) {
    cell *= loops.back().size;
    loops.pop_back();
  }
  if (loops.empty())
    loops.push_back({1, cell, cell});

  const bool isSmall = cell <= 16 && (cell & (cell - 1)) == 0;
  kind = isSmall ? Kind::elements : Kind::rows;
  if (isSmall && loops.back().to == cell) {
    const auto source = std::find_if(loops.begin(), loops.end() - 1,
                                     [&](const CopyLoop &dim) { return dim.from == cell; });
    if (loops.back().from == 0) {
      kind = Kind::fill;
    } else if (source != loops.end() - 1) {
      kind = Kind::tiles;
      along = loops.back();
      across = *source;
      loops.pop_back();
      loops.erase(source);
      // Blocks of the matrix are the innermost loops. The innermost one runs along the source:
      // consecutive blocks read from the same rows.
      const int64_t block = transposeBlock;
      loops.push_back({(along.size + block - 1) / block, along.from * block, along.to * block});
      loops.push_back({(across.size + block - 1) / block, across.from * block, across.to * block});
    }
  }
  items = 1;
  for (const CopyLoop &dim : loops)
    items *= dim.size;
  itemBytes = std::max<int64_t>(1, totalBytes / items);
}

/// Processes items [begin, end) by calls of run(from, to, count), each for a part of the innermost
/// loop.
template <typename Run>
void CopyPlan::forEachRun(const std::byte *from, std::byte *to, int64_t begin, int64_t end,
                          Run &&run) const {
  constexpr size_t inPlace = 8;
  int64_t fixed[inPlace];
  std::vector<int64_t> allocated(loops.size() > inPlace ? loops.size() : 0);
  int64_t *position = loops.size() > inPlace ? allocated.data() : fixed;
  int64_t rest = begin;
  for (size_t dim = loops.size(); dim-- > 0;) {
    position[dim] = rest % loops[dim].size;
    rest /= loops[dim].size;
    from += position[dim] * loops[dim].from;
    to += position[dim] * loops[dim].to;
  }
  const size_t last = loops.size() - 1;
  while (begin < end) {
    const int64_t count = std::min(loops[last].size - position[last], end - begin);
    run(from, to, count);
    begin += count;
    position[last] += count;
    from += count * loops[last].from;
    to += count * loops[last].to;
    for (size_t dim = last; dim > 0 && position[dim] == loops[dim].size; --dim) {
      from += loops[dim - 1].from - position[dim] * loops[dim].from;
      to += loops[dim - 1].to - position[dim] * loops[dim].to;
      position[dim] = 0;
      ++position[dim - 1];
    }
  }
}

void CopyPlan::runItems(const std::byte *from, std::byte *to, int64_t begin, int64_t end) const {
  const CopyLoop inner = loops.back();
  switch (kind) {
  case Kind::nothing:
    return;
  case Kind::rows:
    if (streams && cell >= 256) {
      forEachRun(from, to, begin, end, [&](const std::byte *source, std::byte *target, int64_t n) {
        for (int64_t i = 0; i < n; ++i)
          streamRow(target + i * inner.to, source + i * inner.from, cell);
      });
      return finishStreaming();
    }
    return forEachRun(from, to, begin, end,
                      [&](const std::byte *source, std::byte *target, int64_t n) {
                        for (int64_t i = 0; i < n; ++i)
                          copyRow(target + i * inner.to, source + i * inner.from, cell);
                      });
  case Kind::fill:
    return forEachRun(from, to, begin, end,
                      [&](const std::byte *source, std::byte *target, int64_t n) {
                        fillElements(target, source, cell, n);
                      });
  case Kind::elements:
    return withCell(cell, [&]<typename Cell>() {
      forEachRun(from, to, begin, end, [&](const std::byte *source, std::byte *target, int64_t n) {
        for (int64_t i = 0; i < n; ++i)
          std::memcpy(target + i * inner.to, source + i * inner.from, sizeof(Cell));
      });
    });
  case Kind::tiles: {
    // The last block of a row or column may be partial. The item number tells which block it is.
    const int64_t block = transposeBlock;
    const int64_t acrossBlocks = loops.back().size;
    const int64_t alongBlocks = loops[loops.size() - 2].size;
    // Non-temporal stores need vectors whose addresses are aligned in every row.
    const bool canStream = streams && across.to % 64 == 0 &&
                           reinterpret_cast<uintptr_t>(to) % 64 == 0 &&
                           std::all_of(loops.begin(), loops.end() - 2,
                                       [](const CopyLoop &dim) { return dim.to % 64 == 0; });
    int64_t item = begin;
    forEachRun(from, to, begin, end, [&](const std::byte *source, std::byte *target, int64_t n) {
      const int64_t firstAcross = item % acrossBlocks;
      const int64_t columns =
          std::min(block, along.size - (item / acrossBlocks) % alongBlocks * block);
      for (int64_t i = 0; i < n; ++i)
        transposeTile(source + i * inner.from, along.from, target + i * inner.to, across.to,
                      std::min(block, across.size - (firstAcross + i) * block), columns, cell,
                      canStream);
      item += n;
    });
    if (canStream)
      finishStreaming();
    return;
  }
  }
}

void CopyPlan::run(const std::byte *from, std::byte *to, ThreadPool &pool) const {
  if (kind == Kind::nothing)
    return;
  // Split long rows over the threads.
  if (kind == Kind::rows && items < 4 && itemBytes > 2 * bytesPerPiece) {
    for (int64_t item = 0; item < items; ++item)
      forEachRun(from, to, item, item + 1,
                 [&](const std::byte *source, std::byte *target, int64_t) {
                   const int64_t lines = (cell + 63) / 64;
                   pool.parallelFor(lines, bytesPerPiece / 64, [&](int64_t begin, int64_t end) {
                     const int64_t first = begin * 64, bytes = std::min(end * 64, cell) - first;
                     if (streams)
                       streamRow(target + first, source + first, bytes), finishStreaming();
                     else
                       std::memcpy(target + first, source + first, static_cast<size_t>(bytes));
                   });
                 });
    return;
  }
  pool.parallelFor(items, std::max<int64_t>(1, bytesPerPiece / itemBytes),
                   [&](int64_t begin, int64_t end) { runItems(from, to, begin, end); });
}

void CopyPlan::runAlone(const std::byte *from, std::byte *to) const {
  if (kind != Kind::nothing)
    runItems(from, to, 0, items);
}

} // namespace tilewright::runtime::cpu
