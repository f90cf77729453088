// FoldSlices: represents a concatenate of slices by one op while a program is divided.
#ifndef TILEWRIGHT_TRANSFORM_DISTRIBUTE_FOLDSLICES_H
#define TILEWRIGHT_TRANSFORM_DISTRIBUTE_FOLDSLICES_H

#include "tilewright/dialect/stablehlo/ops/CallOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>
#include <vector>

namespace tilewright::distribute {

/// Rows [start, limit) of an operand.
struct RowRun {
  size_t operand;
  int64_t start, limit;
};

/// A custom call that stands for the concatenation of rows of its operands along `dim`.
struct FoldedSlices {
  int64_t dim;
  std::vector<RowRun> runs;

  /// nullopt if the op is not such a call.
  static std::optional<FoldedSlices> of(mlir::Operation *op);
};

/// Folds slices into the concatenates that read them if the result is as large as a sliced tensor,
/// as in `jnp.roll`: concatenate(x[k:], x[:k]). The sizes of the slices alone cannot be sharded
/// like the tensor, but the concatenation can: each device needs a few rows of other devices.
void foldSlices(mlir::func::FuncOp main);

/// Turns folded concatenations that were not divided back into slices and concatenates.
void expandFoldedSlices(mlir::func::FuncOp main);

} // namespace tilewright::distribute

#endif // TILEWRIGHT_TRANSFORM_DISTRIBUTE_FOLDSLICES_H
