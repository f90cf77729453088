// IndexingRelation: the operand elements that each element of the result depends on. Fusion and
// tiling need no other property of an op.
#ifndef TILEWRIGHT_DIALECT_INDEXING_INDEXINGRELATION_H
#define TILEWRIGHT_DIALECT_INDEXING_INDEXINGRELATION_H

#include "tilewright/dialect/stablehlo/ops/IndexingOps.h"
#include "tilewright/dialect/stablehlo/ops/ReductionOps.h"

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"

#include <string>

namespace tilewright::indexing {

/// How the index into one operand depends on the iteration point.
struct OperandRelation {
  /// The operand's number. A gather reads its indices once for each component of an index vector.
  unsigned operand;
  /// (result dimensions…, reduced dimensions…)[positions…] -> operand index.
  mlir::AffineMap map;
  /// Whether the index can be out of bounds or, if the map divides, between two elements. Such an
  /// element has another source (the padding value of a pad, another operand of a concatenation).
  bool mayLeave = false;
  /// For a pad with interior padding, which places elements at distance `step`: for each dimension,
  /// the index before the division, (d0 - low), and the step. The map alone is not enough, because
  /// (d0 - 3) floordiv 3 is simplified to d0 floordiv 3 - 1. Empty if every step is 1.
  llvm::SmallVector<std::pair<mlir::AffineExpr, int64_t>> spread;
};

/// A symbol of the maps: the value of a scalar operand, clamped to [0, limit].
struct Position {
  unsigned operand;
  int64_t limit;
};

/// For a gather: an element of the indices, clamped to [0, limit], is added to the index along one
/// dimension of the operand.
struct GatherStart {
  unsigned dim;      // of the operand
  unsigned relation; // the number of the OperandRelation that reads the element
  int64_t limit;
};

/// An op as a loop nest over the dimensions of its result and its reduced dimensions. At each
/// point, its operands are read at the maps of `operands`: all ops but gather have one for each
/// operand, in order.
///
///   transpose   (d0, d1) -> (d1, d0)
///   reduce      (d0, d1) -> (d0, d1), where d1 is reduced
///   reshape     (d0) -> (d0 floordiv 8, d0 mod 8)
///   pad         (d0) -> (d0 - low), with mayLeave
///   dynamic_slice  (d0)[s0] -> (d0 + s0), where s0 is operand 1
///   dynamic_update_slice  the same for operand 0, which is written there, and (d0) -> (d0) for
///                  operand 1, the update
///   gather      (d0, d1) -> (0, d1), with a start for dimension 0 that is read at (d0) -> (d0, 0)
///   convolution (d0, d1) -> (d0 * stride + d1 * dilation - low), where d1 is reduced, with
///   mayLeave:
///               an element outside is zero
struct IndexingRelation {
  /// Sizes of the result's dimensions, followed by those of the reduced ones.
  llvm::SmallVector<int64_t> sizes;
  unsigned resultRank = 0;
  llvm::SmallVector<OperandRelation> operands;
  llvm::SmallVector<Position> positions;
  llvm::SmallVector<GatherStart> starts;

  llvm::ArrayRef<int64_t> resultSizes() const {
    return llvm::ArrayRef(sizes).take_front(resultRank);
  }
  llvm::ArrayRef<int64_t> reducedSizes() const {
    return llvm::ArrayRef(sizes).drop_front(resultRank);
  }
};

/// The indexing relation of an op, if it has one; all its results share it.
mlir::FailureOr<IndexingRelation> indexingRelation(mlir::Operation *op);

/// For an op that writes a part of its first operand and leaves the rest unchanged
/// (dynamic_update_slice, and a scatter of whole rows), the operand that it writes there; null for
/// other ops. The domain of its relation has the shape of this operand, not of the result.
mlir::Value updateOf(mlir::Operation *op);

/// The operands that an op reads: all but the first of an op that updateOf() knows.
llvm::MutableArrayRef<mlir::OpOperand> readOperands(mlir::Operation *op);

/// Whether a gather reads whole rows of a table, at the indices of a vector.
bool isRowGather(stablehlo::GatherOp op);

/// Whether a scatter writes whole rows of a table in no particular order, so that one kernel can
/// compute it: it overwrites each row at most once, or combines updates as combinesAnyOrder()
/// requires.
bool isRowScatter(stablehlo::ScatterOp op);

/// Whether a scatter combines integers of 32 or 64 bits by one op that atomic instructions have,
/// and whose result does not depend on the order.
bool combinesAnyOrder(stablehlo::ScatterOp op);

/// Whether a scatter combines whole rows of a table with updates that are sorted by row, by any op.
/// Kernels for segments of equal rows compute it. `transform` rewrites all other scatters.
bool isSortedScatter(stablehlo::ScatterOp op);

/// A scan along one dimension, from the first element to the last or back.
struct ScanDimension {
  int64_t dim;
  bool isReverse;
};
/// The scan that a reduce_window computes if its window reaches from the first element, or to the
/// last, in one dimension; nullopt for other windows.
std::optional<ScanDimension> scannedDimension(stablehlo::ReduceWindowOp op);

/// Whether the op reads whole rows for each element of a result (sort, scan, scatter of sorted
/// rows). It has no indexing relation and needs kernels of its own.
bool isRowOp(mlir::Operation *op);

/// Whether `transform/tile` can tile a fusion of this op alone. If not, sets `reason` (unless null)
/// to a predicate such as "has a dynamic shape".
bool canTile(mlir::Operation *op, std::string *reason = nullptr);

} // namespace tilewright::indexing

#endif // TILEWRIGHT_DIALECT_INDEXING_INDEXINGRELATION_H
