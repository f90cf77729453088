// The cost of a matmul that is divided along K, in cycles, with as much detail as the decision to
// divide needs. transform/tile chooses the tiles later, with a finer model of each kernel.
#ifndef TILEWRIGHT_TRANSFORM_FUSE_PRODUCTCOST_H
#define TILEWRIGHT_TRANSFORM_FUSE_PRODUCTCOST_H

#include "tilewright/dialect/exec/ExecDialect.h"

namespace tilewright::fuse {

/// A matmul of `m`×`k` and `k`×`n`, `batch` times.
struct ProductSizes {
  int64_t batch = 1, m = 1, n = 1, k = 1;
  int64_t lhsBits = 16, rhsBits = 16, resultBits = 16;
  /// Multiply-adds per cycle and multiprocessor.
  int64_t rate = 1;
};

struct SplitCost {
  /// The number of parts into which K is divided; 1 leaves it whole.
  int64_t pieces = 1;
  /// The number of tiles of all parts. They run concurrently if there are at most as many as
  /// multiprocessors.
  int64_t tiles = 0;
  double cycles = 0;
};

/// The cost with the best tile for this number of pieces. The target must have rates.
SplitCost costOfPieces(const ProductSizes &sizes, exec::TargetAttr target, int64_t pieces);

/// The cheapest number of pieces. If `granule` is not 0, K is divided only into multiples of it;
/// else anywhere.
SplitCost bestSplit(const ProductSizes &sizes, exec::TargetAttr target, int64_t granule);

/// Whether a split is cheaper by a large enough margin to pay even if the model is inaccurate.
bool isWorthSplitting(const SplitCost &whole, const SplitCost &split);

} // namespace tilewright::fuse

#endif // TILEWRIGHT_TRANSFORM_FUSE_PRODUCTCOST_H
