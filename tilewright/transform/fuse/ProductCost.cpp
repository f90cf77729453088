#include "tilewright/transform/fuse/ProductCost.h"

#include "tilewright/transform/fuse/cost/KernelCost.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>

namespace tilewright::fuse {
namespace {

/// The minimum ratio of the costs before and after.
constexpr double leastGain = 1.25;
/// The largest tile of a multiprocessor, in elements, and its largest side.
constexpr int64_t largestTile = 128 * 256, longestSide = 256;
/// The size of a partial sum in bits.
constexpr int64_t sumBits = 32;
/// Bytes per cycle that a multiprocessor can read from L2 if no other one does.
constexpr double portBytes = 64;
/// The side of a tile from which on tensor cores, not loads, limit a product.
constexpr int64_t largeSide = 128;

/// A tile of a product, and the number of tiles along each side.
struct Tile {
  int64_t m, n, rows, columns;
};

int64_t divideUp(int64_t size, int64_t part) {
  return int64_t(llvm::divideCeil(uint64_t(size), uint64_t(part)));
}

/// The tiles that the matrix instructions of a chip can compute.
struct TileLimits {
  int64_t leastRows, maxRows;
  /// The number of tile rows from which on the instructions reach their full rate.
  int64_t fullRows;
  /// Whether two multiprocessors in a cluster can share the rows, or the columns, of their tiles.
  bool sharesRows, sharesColumns;
};
TileLimits limitsOf(exec::TargetAttr target) {
  const bool hasClusters = target.getRates().getCluster() > 1;
  switch (target.getMatrix().getUnit()) {
  case exec::MatrixUnit::mma:
    return {16, longestSide, 16, false, false};
  case exec::MatrixUnit::wgmma:
    return {64, longestSide, 64, hasClusters, hasClusters};
  case exec::MatrixUnit::tcgen05:
    // Tensor memory has 128 lanes; a tile of 64 rows occupies half of them. The two CTAs of a pair
    // have different rows.
    return {64, 128, 128, false, hasClusters};
  }
  return {};
}

/// Bytes that a multiprocessor loads for one step along K. Two multiprocessors in a cluster share
/// the larger side if the other side has more than one tile.
double bytesPerStep(const ProductSizes &sizes, const Tile &tile, const TileLimits &limits) {
  const double lhs = double(tile.m * sizes.lhsBits) / 8, rhs = double(tile.n * sizes.rhsBits) / 8;
  const double shared = std::max(limits.sharesColumns && tile.rows > 1 ? rhs : 0,
                                 limits.sharesRows && tile.columns > 1 ? lhs : 0);
  return lhs + rhs - shared / 2;
}

} // namespace

SplitCost costOfPieces(const ProductSizes &sizes, exec::TargetAttr target, int64_t pieces) {
  const exec::RatesAttr rates = target.getRates();
  const auto units = double(target.getUnits());
  const double share = std::min(portBytes, double(rates.getL2BytesPerCycle()) / units);
  const TileLimits limits = limitsOf(target);
  SplitCost best{.pieces = pieces};
  for (int64_t m = limits.leastRows; m <= limits.maxRows; m *= 2)
    for (int64_t n = 16; n <= longestSide && m * n <= largestTile; n *= 2) {
      const Tile tile{m, n, divideUp(sizes.m, m), divideUp(sizes.n, n)};
      const int64_t tiles = sizes.batch * pieces * tile.rows * tile.columns;
      const double perStep = std::max(double(std::max(m, limits.fullRows) * n) / double(sizes.rate),
                                      bytesPerStep(sizes, tile, limits) / share);
      const double cycles =
          std::ceil(double(tiles) / units) * double(sizes.k) / double(pieces) * perStep;
      if (best.tiles == 0 || cycles < best.cycles)
        best = {pieces, tiles, cycles};
    }
  const bool isSplit = pieces > 1;
  const double resultBytes = double(sizes.batch) * double(sizes.m) * double(sizes.n) *
                             double(isSplit ? sumBits * pieces : sizes.resultBits) / 8;
  const double operandBytes = double(sizes.batch) * double(sizes.k) *
                              double(sizes.m * sizes.lhsBits + sizes.n * sizes.rhsBits) / 8;
  best.cycles =
      std::max(best.cycles, (operandBytes + resultBytes) / double(rates.getMemoryBytesPerCycle())) +
      double(rates.getCopyLatency());
  if (!isSplit)
    return best;
  best.cycles +=
      launchCycles + double(rates.getCopyLatency()) + KernelCost(target).cyclesToMove(resultBytes);
  return best;
}

SplitCost bestSplit(const ProductSizes &sizes, exec::TargetAttr target, int64_t granule) {
  SplitCost best = costOfPieces(sizes, target, 1);
  // With more pieces, even large tiles would need more than one wave.
  const int64_t largeTiles =
      sizes.batch * divideUp(sizes.m, largeSide) * divideUp(sizes.n, largeSide);
  const int64_t maxPieces = std::min(target.getUnits() / largeTiles, sizes.k);
  for (int64_t pieces = 2; pieces <= maxPieces; ++pieces) {
    if (granule && (sizes.k % pieces != 0 || sizes.k / pieces % granule != 0))
      continue;
    SplitCost cost = costOfPieces(sizes, target, pieces);
    if (cost.cycles < best.cycles)
      best = cost;
  }
  return best;
}

bool isWorthSplitting(const SplitCost &whole, const SplitCost &split) {
  return split.pieces > 1 && split.cycles * leastGain <= whole.cycles;
}

} // namespace tilewright::fuse
