// Expands chlo.ragged_dot, a matmul of groups of rows, into a batched matmul of tiles of rows.
#ifndef TILEWRIGHT_TRANSFORM_SIMPLIFY_RAGGEDDOT_H
#define TILEWRIGHT_TRANSFORM_SIMPLIFY_RAGGEDDOT_H

#include "mlir/IR/BuiltinOps.h"

namespace tilewright::simplify {

/// Replaces each composite `chlo.ragged_dot`. Its decomposition multiplies all rows by the weights
/// of every group. The expansion divides the rows of each group into tiles of a fixed number of
/// rows, the last one padded, and multiplies each tile once:
///
///   tile of a group, first row of a tile      sums and comparisons of the group sizes
///   rows of each tile, weights of each tile   gather
///   one product for each tile                 dot_general with the tiles as batch
///   the rows in their order                   gather; zero where no group has the row
///
/// If the ragged dimension is contracted, each tile contributes a partial sum to its group, and the
/// partial sums of a group are added in order. If it is a batching dimension, groups have no
/// effect. An infinity or a NaN of one group does not affect the others; in the decomposition it
/// does, because it is multiplied by zero. Negative sizes count as zero. A composite that does not
/// have the form that JAX generates is inlined instead.
void expandRaggedDots(mlir::ModuleOp module);

} // namespace tilewright::simplify

#endif // TILEWRIGHT_TRANSFORM_SIMPLIFY_RAGGEDDOT_H
