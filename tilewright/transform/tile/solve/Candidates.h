// Candidates: the layouts among which the solver chooses. No IR.
#ifndef TILEWRIGHT_TRANSFORM_TILE_SOLVE_CANDIDATES_H
#define TILEWRIGHT_TRANSFORM_TILE_SOLVE_CANDIDATES_H

#include "tilewright/dialect/sm/Layout.h"
#include "tilewright/transform/tile/solve/Costs.h"

#include <vector>

namespace tilewright::solve {

/// Blocked layouts of a tile by fastest dimension, vector and order of warps, those first that read
/// the last dimension in long vectors.
std::vector<sm::Layout> blockedLayouts(llvm::ArrayRef<int64_t> shape, int64_t elementBits,
                                       const Machine &machine);

/// The layouts of a matrix product's tiles that its instruction prescribes.
struct DotLayouts {
  sm::Layout accumulator, lhs, rhs;
  double cycles = 0;
};

/// The fragments of `mma.sync` for tiles (batch…, m, k) and (batch…, k, n) of elements with `bits`
/// (32: tf32, 64: f64), for each way to arrange the warps over m and n. Instructions cover more
/// than the tile where it is smaller.
std::vector<DotLayouts> mmaLayouts(llvm::ArrayRef<int64_t> accumulator, int64_t depth, int64_t bits,
                                   const Machine &machine);

} // namespace tilewright::solve

#endif // TILEWRIGHT_TRANSFORM_TILE_SOLVE_CANDIDATES_H
