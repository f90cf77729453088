// IndexingRelation: which elements of the operands an element of the result comes from.
// The one thing that fusion and tiling need to know of an op.
#ifndef TILEWRIGHT_DIALECT_INDEXING_INDEXINGRELATION_H
#define TILEWRIGHT_DIALECT_INDEXING_INDEXINGRELATION_H

#include "tilewright/dialect/stablehlo/IndexingOps.h"

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>
#include <string>

namespace tilewright::indexing {

/// How the index into one operand follows from the iteration point.
struct OperandRelation {
  /// (result dimensions…, reduced dimensions…)[positions…] -> operand index.
  mlir::AffineMap map;
  /// The index may leave the operand, or fall between its elements where the map divides; there
  /// the element comes from elsewhere (the padding value of a pad, another piece of a
  /// concatenation).
  bool mayLeave = false;
  /// Where elements lie `step` apart, as those of a pad with an interior: the index before it is
  /// divided, (d0 - low), and the step. The map alone does not tell: (d0 - 3) floordiv 3 is
  /// written d0 floordiv 3 - 1. Empty where every step is 1.
  llvm::SmallVector<std::pair<mlir::AffineExpr, int64_t>> spread;
};

/// A symbol of the maps: the value of a scalar operand, moved into [0, limit].
struct Position {
  unsigned operand;
  int64_t limit;
};

/// An op as a loop nest: for each point of the result, over all points of the reduced
/// dimensions, the operands are read at `operands[i].map`.
///
///   transpose   (d0, d1) -> (d1, d0)
///   reduce      (d0, d1) -> (d0, d1), where d1 is reduced
///   reshape     (d0) -> (d0 floordiv 8, d0 mod 8)
///   pad         (d0) -> (d0 - low), may leave
///   dynamic_slice  (d0)[s0] -> (d0 + s0), where s0 is operand 1
struct IndexingRelation {
  /// Sizes of the result's dimensions and, after them, of the reduced ones.
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

/// The relation of an op that has one; all its results share it.
mlir::FailureOr<IndexingRelation> indexingRelation(mlir::Operation *op);

/// The dimension of the operand from which a gather takes single indices, all of the others being
/// whole: rows of a table. Nothing for other gathers.
std::optional<int64_t> gatheredDimension(stablehlo::GatherOp op);

/// Whether `transform/tile` makes a kernel of a fusion of this op alone. If not, `reason`
/// (unless null) says why, as a sentence without its subject: "has a dynamic shape".
bool canTile(mlir::Operation *op, std::string *reason = nullptr);

/// Whether the op does nothing but arrange or make elements: no arithmetic.
bool isDataMovement(mlir::Operation *op);

} // namespace tilewright::indexing

#endif // TILEWRIGHT_DIALECT_INDEXING_INDEXINGRELATION_H
