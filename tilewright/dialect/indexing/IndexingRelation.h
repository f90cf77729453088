// IndexingRelation: the operand elements that each element of the result depends on. Fusion and
// tiling need no other property of an op.
#ifndef TILEWRIGHT_DIALECT_INDEXING_INDEXINGRELATION_H
#define TILEWRIGHT_DIALECT_INDEXING_INDEXINGRELATION_H

#include "tilewright/dialect/stablehlo/ops/IndexingOps.h"
#include "tilewright/dialect/stablehlo/ops/ReductionOps.h"

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>
#include <string>

namespace tilewright::indexing {

/// How the index into one operand depends on the iteration point.
struct OperandRelation {
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

/// An op as a loop nest over the dimensions of its result and its reduced dimensions. At each
/// point, operand i is read at `operands[i].map`.
///
///   transpose   (d0, d1) -> (d1, d0)
///   reduce      (d0, d1) -> (d0, d1), where d1 is reduced
///   reshape     (d0) -> (d0 floordiv 8, d0 mod 8)
///   pad         (d0) -> (d0 - low), with mayLeave
///   dynamic_slice  (d0)[s0] -> (d0 + s0), where s0 is operand 1
struct IndexingRelation {
  /// Sizes of the result's dimensions, followed by those of the reduced ones.
  llvm::SmallVector<int64_t> sizes;
  unsigned resultRank = 0;
  llvm::SmallVector<OperandRelation> operands;
  llvm::SmallVector<Position> positions;

  llvm::ArrayRef<int64_t> resultSizes() const {
    return llvm::ArrayRef(sizes).take_front(resultRank);
  }
  llvm::ArrayRef<int64_t> reducedSizes() const {
    return llvm::ArrayRef(sizes).drop_front(resultRank);
  }
};

/// The indexing relation of an op, if it has one; all its results share it.
mlir::FailureOr<IndexingRelation> indexingRelation(mlir::Operation *op);

/// For a gather that takes whole rows of a table, the operand dimension that the indices select
/// from; nullopt for other gathers.
std::optional<int64_t> gatheredDimension(stablehlo::GatherOp op);

/// A scan along one dimension, from the first element to the last or back.
struct ScanDimension {
  int64_t dim;
  bool isReverse;
};
/// The scan that a reduce_window computes if its window reaches from the first element, or to the
/// last, in one dimension; nullopt for other windows.
std::optional<ScanDimension> scannedDimension(stablehlo::ReduceWindowOp op);

/// Whether the op reads whole rows for each element of a result (sort, scan). It has no indexing
/// relation and needs kernels of its own.
bool isRowOp(mlir::Operation *op);

/// Whether `transform/tile` can tile a fusion of this op alone. If not, sets `reason` (unless null)
/// to a predicate such as "has a dynamic shape".
bool canTile(mlir::Operation *op, std::string *reason = nullptr);

} // namespace tilewright::indexing

#endif // TILEWRIGHT_DIALECT_INDEXING_INDEXINGRELATION_H
