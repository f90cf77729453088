// Describes the legal tile sizes and chooses among them.
#include "tilewright/support/Concat.h"
#include "tilewright/transform/tile/Tiling.h"
#include "tilewright/transform/tile/pipeline/TargetMachine.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;

namespace tilewright::tile {

Capacities Capacities::of(exec::TargetAttr target) {
  Capacities capacities{.cores = target.getUnits(),
                        .minParallelItems = target.getMinParallelItems(),
                        .isGpu = target.isGpu(),
                        .tileElements = target.getTileElements(),
                        .matrix = target.getMatrix(),
                        .machine = pipeline::machineOf(target)};
  if (exec::GpuAttr gpu = target.getGpu())
    capacities.lanes = gpu.getWarpSize();
  if (exec::CpuAttr cpu = target.getCpu()) {
    capacities.vectorBytes = cpu.getVectorBytes();
    capacities.l1Bytes = cpu.getL1Bytes();
  }
  return capacities;
}

/// The number of which tiles of this dimension must be multiples.
static int64_t multipleOf(const Needs &needs, size_t dim) {
  auto found = needs.multiples.find(static_cast<int>(dim));
  return found == needs.multiples.end() ? 1 : found->second;
}

/// Whether a dimension may have tiles of this size: the whole dimension or, unless `needs` requires
/// that, a multiple of the divisor in its indices. Dimensions are independent of each other, so
/// this takes no longer for tensors of many dimensions.
static bool isLegal(const Needs &needs, size_t dim, int64_t tile, int64_t size) {
  const auto number = static_cast<int>(dim);
  if (needs.units.contains(number) && tile != 1)
    return false;
  return tile == size || (!needs.whole.contains(number) && tile >= 1 && tile < size &&
                          tile % multipleOf(needs, dim) == 0);
}

/// Picks a tile of about `budget` elements for a dimension of `size`: the whole dimension or a
/// multiple of `granule`. Prefers a nearby tile that divides `size`, to avoid a partial tile.
static int64_t pickTile(int64_t size, int64_t budget, int64_t granule) {
  if (budget >= size || granule >= size)
    return size;
  const int64_t base = std::max(granule, budget / granule * granule);
  if (base >= size)
    return size;
  // Look for a divisor only within a factor of two: a tile far from the budget is worse than a
  // partial last tile.
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

/// The smallest useful tile along a contiguous dimension: eight vectors or, if that leaves too few
/// points in the grid, as little as one cache line.
static int64_t granuleOf(int64_t size, int64_t elsewhere, const Needs &needs,
                         const Capacities &capacities) {
  int64_t granule = std::max<int64_t>(1, 8 * capacities.vectorBytes / needs.elementBytes);
  const int64_t line = std::max<int64_t>(1, 64 / needs.elementBytes);
  while (granule / 2 >= line && size / granule * elsewhere < 2 * capacities.cores)
    granule /= 2;
  return granule;
}

/// The dimensions that may be tiled, and the product of their sizes.
static std::pair<SmallVector<size_t>, int64_t> openDims(ArrayRef<int64_t> sizes,
                                                        const Needs &needs) {
  SmallVector<size_t> open;
  int64_t volume = 1;
  for (auto [dim, size] : llvm::enumerate(sizes)) {
    if (needs.whole.contains(static_cast<int>(dim)) || needs.units.contains(static_cast<int>(dim)))
      continue;
    open.push_back(dim);
    volume *= size;
  }
  return {open, volume};
}

/// The dimensions along which a large part of the memory accesses is contiguous. More than one
/// means a transpose.
static SmallVector<size_t> contiguousDims(ArrayRef<size_t> open, const Needs &needs) {
  SmallVector<size_t> inner;
  for (size_t dim : open)
    if (auto found = needs.contiguous.find(static_cast<int>(dim));
        found != needs.contiguous.end() && found->second * 8 >= needs.elements)
      inner.push_back(dim);
  return inner;
}

/// Orders the contiguous dimensions first, because they determine the memory traffic, and each
/// group from the last dimension to the first.
static SmallVector<size_t> byImportance(ArrayRef<size_t> open, ArrayRef<size_t> inner) {
  SmallVector<size_t> order(inner.rbegin(), inner.rend());
  for (size_t dim : llvm::reverse(open))
    if (!llvm::is_contained(inner, dim))
      order.push_back(dim);
  return order;
}

void Tiling::chooseForCpu(const Needs &needs, const Capacities &capacities) {
  const auto [open, volume] = openDims(sizes, needs);
  if (needs.elements < capacities.minParallelItems || volume <= 1)
    return;
  const int64_t perTile =
      std::clamp<int64_t>(capacities.l1Bytes / needs.elementBytes, 4 << 10, 16 << 10);
  const int64_t points = std::max(4 * capacities.cores, needs.elements / perTile);
  int64_t budget = std::max<int64_t>(1, volume / points);
  const SmallVector<size_t> inner = contiguousDims(open, needs);
  for (size_t dim : byImportance(open, inner)) {
    int64_t granule = 1, wanted = budget;
    if (llvm::is_contained(inner, dim)) {
      granule = granuleOf(sizes[dim], volume / sizes[dim], needs, capacities);
      if (inner.size() > 1) {
        // A transpose: write two whole cache lines at a time. Each of their elements is read from a
        // different cache line; these are few enough to stay in the cache until all their elements
        // are used, even if their distance is a power of two. Measured: 32x128 is 1.1 to 3.5 times
        // as fast as 64x64.
        const bool isWritten = dim + 1 == sizes.size();
        granule = std::max<int64_t>(1, std::max<int64_t>(64, capacities.vectorBytes) /
                                           needs.elementBytes);
        wanted = isWritten ? 2 * granule : 128;
      } else if (needs.hasReduction)
        // A reduction over columns: use wide tiles, as long as the grid has enough points.
        wanted = std::max(budget, std::min<int64_t>(512, volume / (4 * capacities.cores)));
    }
    tiles[dim] = pickTile(sizes[dim], wanted, std::lcm(granule, multipleOf(needs, dim)));
    budget = std::max<int64_t>(1, budget / tiles[dim]);
  }
}

/// The tile of a dimension for a GPU block: the whole dimension, or `multiple` times a power of two
/// that is at most `wanted` (but at least `multiple`).
static int64_t blockTile(int64_t size, int64_t wanted, int64_t multiple) {
  if (size <= std::max(wanted, multiple))
    return size;
  int64_t tile = multiple;
  while (tile * 2 <= wanted)
    tile *= 2;
  return std::min(tile, size);
}

/// The tile along the rows or columns of a matmul. Matrix instructions have fixed sizes, so the
/// tile may be larger than the dimension.
static int64_t productTile(int64_t size, int64_t wanted) {
  return std::min(
      wanted,
      std::max<int64_t>(16, static_cast<int64_t>(llvm::PowerOf2Ceil(static_cast<uint64_t>(size)))));
}

/// Chooses the feasible tile with the lowest cost in the cost model of the pipeline planner.
bool Tiling::chooseByCost(const Needs &needs, const Capacities &capacities, int row,
                          int64_t rowCount, int column, int64_t blocks) {
  if (!needs.product || !capacities.machine)
    return false;
  // If the copy engine cannot load the operands, the kernel keeps them in registers and uses
  // warp-level instructions (mma.sync). These also multiply tf32 that the copy engine cannot round
  // and, on chips with tensor memory, types that tcgen05 does not have.
  const bool hasTensorMemory = capacities.machine->matrixUnit == exec::MatrixUnit::tcgen05;
  const bool hasPrologue = needs.product->leftHasPrologue || needs.product->rightHasPrologue;
  const bool isInt8 = needs.product->types.left.isInteger(8);
  const bool ofWarps =
      (needs.product->types.isTf32 && !needs.product->canCopy) ||
      capacities.machine->matrixUnit == exec::MatrixUnit::mma ||
      (hasTensorMemory &&
       (!needs.product->canCopy || (isInt8 && capacities.machine->warpTypes.contains("s8"))));
  if (!ofWarps && !needs.product->canCopy)
    return false;
  // Pipelines through LDS transpose only where loads from LDS do, and have no prologue.
  if (pipeline::hasMfma(*capacities.machine) &&
      (!needs.product->canCopy || hasPrologue ||
       needs.product->types.left != needs.product->types.right ||
       (!needs.product->depthInner && !capacities.machine->copiesToShared))) {
    whyNotHint = "its operands do not go through LDS, because they are computed, have different "
                 "types, or are not contiguous along K in memory";
    return false;
  }
  const pipeline::Machine machine =
      ofWarps ? pipeline::withWarpProducts(*capacities.machine) : *capacities.machine;
  const auto at = [&](int dim) { return static_cast<size_t>(dim); };
  pipeline::Gemm gemm;
  gemm.m = rowCount;
  gemm.n = sizes[at(column)];
  gemm.k = needs.product->depth;
  gemm.batch = std::max<int64_t>(1, blocks / std::max<int64_t>(1, gemm.m * gemm.n));
  const MatrixTypes &types = needs.product->types;
  gemm.lhsBits = types.left.getIntOrFloatBitWidth();
  gemm.rhsBits = types.right.getIntOrFloatBitWidth();
  gemm.type = types.isTf32              ? "tf32"
              : types.left.isInteger(8) ? "s8"
              : gemm.lhsBits == 8       ? "f8"
              : types.left.isBF16()     ? "bf16"
              : types.left.isF16()      ? "f16"
                                        : "";
  // Only the left operand of the instruction can be in registers or in tensor memory, where a
  // prologue leaves its result. If only the right operand has one, the product is computed
  // transposed.
  const bool isBoth = needs.product->leftHasPrologue && needs.product->rightHasPrologue;
  const bool isSwapped = !ofWarps && needs.product->rightHasPrologue && !isBoth;
  if (isSwapped) {
    std::swap(gemm.m, gemm.n);
    std::swap(gemm.lhsBits, gemm.rhsBits);
    std::swap(row, column);
  }
  // The copy engine needs full 128-byte lines along N; threads can copy partial lines.
  if (needs.product->columnsInner && !ofWarps)
    gemm.columnStep = 1024 / gemm.rhsBits;
  if (!ofWarps && hasPrologue) {
    gemm.lhsBits = isSwapped ? needs.product->rightBits : needs.product->leftBits;
    gemm.lhsIsComputed = true;
  }
  if (!ofWarps && isBoth) {
    gemm.computedBits = gemm.rhsBits;
    gemm.rhsBits = needs.product->rightBits;
    gemm.rhsIsComputed = true;
  }
  gemm.hint = isSwapped ? needs.product->hint.transposed() : needs.product->hint;
  std::vector<pipeline::GemmChoice> ranked = pipeline::rankTiles(gemm, machine, whyNotHint);
  if (ranked.empty() && !gemm.hint.isEmpty()) {
    gemm.hint = {};
    std::string why;
    ranked = pipeline::rankTiles(gemm, machine, why);
  }
  if (ranked.empty())
    return false;
  if (!gemm.hint.isEmpty()) {
    hint = needs.product->hint;
    whyNotHint.clear();
  }
  tiles[at(row)] = ranked.front().m * ranked.front().clusterM;
  tiles[at(column)] = ranked.front().n * ranked.front().clusterN;
  isPipelined = true;
  return true;
}

/// Divides the rows of a tile among dimensions such that the tiles have the fewest elements outside
/// of the dimensions; among equal ones, takes the one with the longest rows of the last dimension.
static SmallVector<int64_t> divideRows(ArrayRef<int64_t> sizes, int64_t count) {
  if (sizes.empty())
    return {};
  SmallVector<int64_t> best;
  int64_t fewest = -1;
  const auto limit = static_cast<int64_t>(
      llvm::PowerOf2Ceil(static_cast<uint64_t>(std::max<int64_t>(sizes.back(), 1))));
  for (int64_t tile = std::min(count, limit); tile >= 1; tile /= 2) {
    SmallVector<int64_t> tiles = divideRows(sizes.drop_back(), count / tile);
    tiles.push_back(tile);
    int64_t covered = 1;
    for (auto [part, size] : llvm::zip_equal(tiles, sizes))
      covered *= static_cast<int64_t>(llvm::alignTo(size, part));
    // A tile that the other dimensions cannot fill has fewer rows, so there are more of them.
    int64_t rows = 1;
    for (int64_t part : tiles)
      rows *= part;
    covered = covered / rows * count;
    if (fewest >= 0 && covered >= fewest)
      continue;
    fewest = covered;
    best = tiles;
  }
  return best;
}

void Tiling::spreadRows(ArrayRef<int> dims, int64_t count) {
  SmallVector<int64_t> dimSizes;
  for (int dim : dims)
    dimSizes.push_back(sizes[static_cast<size_t>(dim)]);
  const auto wanted = static_cast<int64_t>(llvm::bit_floor(static_cast<uint64_t>(count)));
  int64_t rows = 1;
  for (auto [dim, tile] : llvm::zip_equal(dims, divideRows(dimSizes, wanted)))
    rows *= tiles[static_cast<size_t>(dim)] = tile;
  // Matrix instructions have at least 16 rows, even if the matrix has fewer.
  tiles[static_cast<size_t>(dims.back())] *= std::max<int64_t>(1, 16 / rows);
}

void Tiling::chooseForProduct(const Needs &needs, const Capacities &capacities) {
  // Tile the last row dimension and the last column dimension; all others become grid dimensions.
  int row = -1, column = -1;
  int64_t blocks = 1, allRows = 1;
  SmallVector<int> rowDims;
  for (int dim = 0; dim < static_cast<int>(sizes.size()); ++dim) {
    const auto at = static_cast<size_t>(dim);
    if (needs.whole.contains(dim))
      continue;
    tiles[at] = multipleOf(needs, at);
    if (needs.rows.contains(dim) && multipleOf(needs, at) == 1) {
      row = dim;
      rowDims.push_back(dim);
      allRows *= sizes[at];
    } else if (needs.columns.contains(dim) && multipleOf(needs, at) == 1) {
      column = dim;
    }
    blocks *= (sizes[at] + tiles[at] - 1) / tiles[at];
  }
  const bool spreads = needs.product && needs.product->spreadsRows && rowDims.size() > 1;
  const int64_t rowCount = spreads || row < 0 ? allRows : sizes[static_cast<size_t>(row)];
  if (row >= 0 && column >= 0 && chooseByCost(needs, capacities, row, rowCount, column, blocks)) {
    if (spreads)
      spreadRows(rowDims, tiles[static_cast<size_t>(row)]);
    return;
  }
  const int64_t largest = needs.product ? 128 : 16;
  int64_t rows = row < 0 ? 1 : productTile(rowCount, largest);
  int64_t columns = column < 0 ? 1 : productTile(sizes[static_cast<size_t>(column)], largest);
  // Shrink the tiles until every multiprocessor has a block.
  while (blocks / (rows * columns) < capacities.cores && std::max(rows, columns) > 64)
    (rows > columns ? rows : columns) /= 2;
  if (row >= 0)
    tiles[static_cast<size_t>(row)] = rows;
  if (spreads)
    spreadRows(rowDims, rows);
  if (column >= 0)
    tiles[static_cast<size_t>(column)] = columns;
}

void Tiling::chooseForGpu(const Needs &needs, const Capacities &capacities) {
  if (!needs.rows.empty() || !needs.columns.empty())
    return chooseForProduct(needs, capacities);
  const auto [open, volume] = openDims(sizes, needs);
  if (volume <= 1)
    return;
  // In a block of 128 threads, each thread gets four vectors of 16 bytes, or fewer if some
  // multiprocessors would not get a block otherwise.
  const int64_t perIndex = std::max<int64_t>(1, needs.elements / volume);
  int64_t elements = 128 * 64 / std::max<int64_t>(needs.elementBytes, 2);
  while (elements > 256 && needs.elements / elements < 2 * capacities.cores)
    elements /= 2;
  int64_t budget = std::max<int64_t>(1, elements / perIndex);
  const SmallVector<size_t> inner = contiguousDims(open, needs);
  for (size_t dim : byImportance(open, inner)) {
    int64_t wanted = budget;
    if (llvm::is_contained(inner, dim)) {
      // Use whole lines of 128 bytes, for both dimensions of a transpose.
      const int64_t line = std::max<int64_t>(16, 128 / needs.elementBytes);
      if (inner.size() > 1)
        wanted = line;
      else if (needs.hasReduction)
        wanted = std::max(budget, line);
    }
    tiles[dim] = blockTile(sizes[dim], wanted, multipleOf(needs, dim));
    budget = std::max<int64_t>(
        1, budget / static_cast<int64_t>(llvm::PowerOf2Ceil(static_cast<uint64_t>(tiles[dim]))));
  }
}

bool Tiling::choose(const Needs &needs, const Capacities &capacities, std::string &reason) {
  tiles.assign(sizes.begin(), sizes.end());
  for (int64_t &tile : tiles)
    tile = std::max<int64_t>(tile, 1);
  for (int dim : needs.units)
    tiles[static_cast<size_t>(dim)] = 1;
  if (capacities.isGpu)
    chooseForGpu(needs, capacities);
  else
    chooseForCpu(needs, capacities);
  for (auto [dim, size] : llvm::enumerate(sizes)) {
    // A tile larger than its dimension counts as the whole dimension.
    const int64_t whole = std::max<int64_t>(size, 1), inside = std::min(tiles[dim], whole);
    if (isLegal(needs, dim, inside, whole))
      continue;
    reason = concat("dimension ", dim, " of size ", size, " cannot have tiles of ", inside);
    return false;
  }
  return true;
}

} // namespace tilewright::tile
