// RowsOfBody: what the body of exec.softmax_dot_backward computes once for each row of queries.
#ifndef TILEWRIGHT_TRANSFORM_TILE_ATTENTION_ROWSOFBODY_H
#define TILEWRIGHT_TRANSFORM_TILE_ATTENTION_ROWSOFBODY_H

#include "tilewright/dialect/exec/SoftmaxOps.h"

namespace tilewright::tile {

/// The arguments of the body that are products, the number from the row, and indices.
enum BodyArgument : unsigned { ofProduct, ofCotangents, ofRowDot, ofQuery, ofKey };

/// The arguments from which a value of a body is computed.
llvm::SmallVector<mlir::BlockArgument> argumentsOf(mlir::Value value);

/// A value of the body is one of rows if it is the same for all keys. Kernels compute it on a tile
/// with one dimension, and repeat the result along the keys.
class RowsOfBody {
public:
  explicit RowsOfBody(exec::SoftmaxDotBackwardOp op);

  /// Whether a value is the same for all keys; constants are.
  bool isOfRows(mlir::Value value) const;

  /// The inputs of `roots`: values of rows, and arguments that vary along the keys or that every
  /// element can compute.
  struct Inputs {
    llvm::SmallVector<mlir::Value> rows;
    llvm::SmallVector<mlir::BlockArgument> elements;
  };
  Inputs inputsOf(llvm::ArrayRef<mlir::Value> roots) const;

private:
  llvm::SmallVector<bool> variesAlongKeys; // of each argument
};

} // namespace tilewright::tile

#endif // TILEWRIGHT_TRANSFORM_TILE_ATTENTION_ROWSOFBODY_H
