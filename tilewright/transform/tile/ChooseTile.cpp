// Which sizes tiles may have, and which of them are good.
#include "tilewright/transform/tile/Tiling.h"

#include "mlir/Analysis/Presburger/IntegerRelation.h"
#include "mlir/Analysis/Presburger/PresburgerRelation.h"
#include "llvm/ADT/STLExtras.h"

#include <numeric>

using namespace mlir;
using presburger::IntegerPolyhedron;
using presburger::PresburgerSet;
using presburger::PresburgerSpace;

namespace tilewright::tile {

Capacities Capacities::of(Attribute target) {
  Capacities capacities;
  auto dictionary = dyn_cast_if_present<DictionaryAttr>(target);
  if (!dictionary)
    return capacities;
  auto read = [&](StringRef name, int64_t &field) {
    if (auto value = dictionary.getAs<IntegerAttr>(name); value && value.getInt() > 0)
      field = value.getInt();
  };
  read("cores", capacities.cores);
  read("vector_bytes", capacities.vectorBytes);
  read("l1_bytes", capacities.l1Bytes);
  read("min_parallel_items", capacities.minParallelItems);
  return capacities;
}

/// The number that tiles of a dimension are multiples of.
static int64_t multipleOf(const Needs &needs, size_t dim) {
  auto found = needs.multiples.find(static_cast<int>(dim));
  return found == needs.multiples.end() ? 1 : found->second;
}

/// The legal sizes, as a set over one symbol for each dimension: all of it, or, where nothing
/// needs that, a multiple of what divides its indices.
static PresburgerSet legalTiles(ArrayRef<int64_t> sizes, const Needs &needs) {
  const size_t count = sizes.size();
  const PresburgerSpace space = PresburgerSpace::getSetSpace(static_cast<unsigned>(count));
  auto legal = PresburgerSet::getUniverse(space);
  for (size_t dim = 0; dim < count; ++dim) {
    const auto var = static_cast<unsigned>(dim);
    IntegerPolyhedron whole(space);
    whole.addBound(presburger::BoundType::EQ, var, std::max<int64_t>(sizes[dim], 1));
    PresburgerSet options(whole);
    if (!needs.whole.contains(static_cast<int>(dim))) {
      IntegerPolyhedron part(space);
      part.addBound(presburger::BoundType::LB, var, 1);
      part.addBound(presburger::BoundType::UB, var, std::max<int64_t>(sizes[dim], 1));
      SmallVector<int64_t> tile(count + 1, 0);
      tile[dim] = 1;
      part.addLocalFloorDiv(tile, multipleOf(needs, dim));
      SmallVector<int64_t> rest(count + 2, 0);
      rest[dim] = 1;
      rest[count] = -multipleOf(needs, dim);
      part.addEquality(rest);
      options.unionInPlace(part);
    }
    legal = legal.intersect(options);
  }
  return legal;
}

/// A tile of about `budget` out of `size`: all of it, or a multiple of `granule`, and one that
/// divides `size` if there is one nearby, so that no tile is ragged.
static int64_t pickTile(int64_t size, int64_t budget, int64_t granule) {
  if (budget >= size || granule >= size)
    return size;
  const int64_t base = std::max(granule, budget / granule * granule);
  if (base >= size)
    return size;
  // Far from the budget a ragged tile is the smaller evil.
  int64_t best = 0;
  const int64_t first = std::max(granule, base / 2 / granule * granule);
  for (int64_t tile = first; tile <= std::min({size, base * 2, first + 4096 * granule});
       tile += granule)
    if (size % tile == 0 && (!best || std::abs(tile - base) < std::abs(best - base)))
      best = tile;
  if (best)
    return best;
  return base;
}

/// Elements along a contiguous dimension that are worth a tile of their own: eight vectors, or,
/// where that leaves too few points, down to a cache line.
static int64_t granuleOf(int64_t size, int64_t elsewhere, const Needs &needs,
                         const Capacities &capacities) {
  int64_t granule = std::max<int64_t>(1, 8 * capacities.vectorBytes / needs.elementBytes);
  const int64_t line = std::max<int64_t>(1, 64 / needs.elementBytes);
  while (granule / 2 >= line && size / granule * elsewhere < 2 * capacities.cores)
    granule /= 2;
  return granule;
}

bool Tiling::choose(const Needs &needs, const Capacities &capacities, std::string &reason) {
  tiles.assign(sizes.begin(), sizes.end());
  SmallVector<size_t> open;
  int64_t volume = 1;
  for (auto [dim, size] : llvm::enumerate(sizes)) {
    tiles[dim] = std::max<int64_t>(size, 1);
    if (needs.whole.contains(static_cast<int>(dim)))
      continue;
    open.push_back(dim);
    volume *= size;
  }
  if (needs.elements >= capacities.minParallelItems && volume > 1) {
    const int64_t perTile =
        std::clamp<int64_t>(capacities.l1Bytes / needs.elementBytes, 4 << 10, 16 << 10);
    const int64_t points = std::max(4 * capacities.cores, needs.elements / perTile);
    int64_t budget = std::max<int64_t>(1, volume / points);
    // Along these, most of the memory is contiguous. Several of them: a transposition.
    SmallVector<size_t> inner;
    for (size_t dim : open)
      if (auto found = needs.contiguous.find(static_cast<int>(dim));
          found != needs.contiguous.end() && found->second * 8 >= needs.elements)
        inner.push_back(dim);
    // Dimensions that decide most about memory first, then from the last to the first.
    SmallVector<size_t> order(inner.rbegin(), inner.rend());
    for (size_t dim : llvm::reverse(open))
      if (!llvm::is_contained(inner, dim))
        order.push_back(dim);
    for (size_t dim : order) {
      int64_t granule = 1, wanted = budget;
      if (llvm::is_contained(inner, dim)) {
        granule = granuleOf(sizes[dim], volume / sizes[dim], needs, capacities);
        if (inner.size() > 1) {
          // A transposition: two whole cache lines are written at a time, so that the lines that
          // are read, one for each element of these, stay until all of each is used, even where
          // their distance is a power of two. Measured: 32x128 beats 64x64 by 1.1 to 3.5 times.
          const bool isWritten = dim + 1 == sizes.size();
          granule = std::max<int64_t>(1, std::max<int64_t>(64, capacities.vectorBytes) /
                                             needs.elementBytes);
          wanted = isWritten ? 2 * granule : 128;
        } else if (needs.hasReduction)
          // Columns: wide ones, as long as there are enough points.
          wanted = std::max(budget, std::min<int64_t>(512, volume / (4 * capacities.cores)));
      }
      tiles[dim] = pickTile(sizes[dim], wanted, std::lcm(granule, multipleOf(needs, dim)));
      budget = std::max<int64_t>(1, budget / tiles[dim]);
    }
  }
  if (!legalTiles(sizes, needs).containsPoint(presburger::getDynamicAPIntVec(tiles))) {
    reason = "no sizes of tiles are legal";
    return false;
  }
  return true;
}

} // namespace tilewright::tile
