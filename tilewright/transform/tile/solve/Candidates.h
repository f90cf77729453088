// Candidates: the layouts among which the solver chooses. Independent of the IR.
#ifndef TILEWRIGHT_TRANSFORM_TILE_SOLVE_CANDIDATES_H
#define TILEWRIGHT_TRANSFORM_TILE_SOLVE_CANDIDATES_H

#include "tilewright/dialect/sm/Layout.h"
#include "tilewright/transform/tile/solve/Costs.h"

#include <vector>

namespace tilewright::solve {

/// Blocked layouts of a tile for each choice of fastest dimension, vector size and warp order.
/// Layouts that read the last dimension in long vectors come first.
std::vector<sm::Layout> blockedLayouts(llvm::ArrayRef<int64_t> shape, int64_t elementBits,
                                       const Machine &machine);

/// The layouts that a matrix instruction prescribes for the tiles of a matmul.
struct DotLayouts {
  sm::Layout accumulator, lhs, rhs;
  sm::Layout lhsScale, rhsScale; // if the matmul has block scales
  double cycles = 0;
};

/// The layouts of `mma.sync` fragments (for 64 lanes, of MFMA) for tiles (batch…, m, k) and
/// (batch…, k, n) of elements with `bits` bits (32: tf32 or f32, 64: f64), for each arrangement of
/// the warps over m and n. If a tile is smaller than the instruction, the layout covers more than
/// the tile. `scaleLines` is the number of lines of 128 bytes in each tile of ordered scales, which
/// only MFMA reads; 0 without scales. Scales are distributed over 1, 2, 4 or 8 warps; with any
/// other number of warps the result is empty. In a kernel that computes with the sums of products
/// (`isChained`), MFMA may read a left operand where these are, and may have 32 rows, of which
/// fewer lanes have copies.
std::vector<DotLayouts> mmaLayouts(llvm::ArrayRef<int64_t> accumulator, int64_t depth, int64_t bits,
                                   const Machine &machine, int64_t scaleLines = 0,
                                   bool isChained = false);

} // namespace tilewright::solve

#endif // TILEWRIGHT_TRANSFORM_TILE_SOLVE_CANDIDATES_H
