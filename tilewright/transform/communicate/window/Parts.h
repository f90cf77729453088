// Parts: computes a value part by part along one of its dimensions.
#ifndef TILEWRIGHT_TRANSFORM_COMMUNICATE_WINDOW_PARTS_H
#define TILEWRIGHT_TRANSFORM_COMMUNICATE_WINDOW_PARTS_H

#include "tilewright/dialect/stablehlo/ops/LinearAlgebraOps.h"

#include "mlir/IR/Builders.h"

#include <optional>

namespace tilewright::communicate {

/// The dimensions of a product's operands that correspond to a dimension of its result.
struct ProductDims {
  std::optional<int64_t> lhs, rhs; // none: the operand does not have it
};
/// The operand dimensions that correspond to dimension `dim` of the result.
ProductDims operandDims(stablehlo::DotGeneralOp product, int64_t dim);

/// The dimensions that correspond to dimension `dim` of one operand of a product.
struct ProductRole {
  std::optional<int64_t> result; // the dimension of the result, unless it is contracted
  std::optional<int64_t> other;  // of the other operand, unless it is the operand's own
};
ProductRole roleOf(stablehlo::DotGeneralOp product, bool isLhs, int64_t dim);

/// A part of a dimension: where it begins, and its length. `begin` is an i32 scalar, or null if the
/// part begins at `constantBegin`.
struct Part {
  mlir::Value begin;
  int64_t constantBegin = 0, length = 0;
};

/// Emits a slice: the part of a tensor along `dim`.
mlir::Value sliceOf(mlir::OpBuilder &builder, mlir::Location location, mlir::Value value,
                    int64_t dim, const Part &part);

/// A value that is computed from products by elementwise ops, transposes, reshapes and broadcasts,
/// such that each part along one dimension can be computed alone. Only the root has uses outside of
/// these ops.
class PartwiseValue {
public:
  /// nullopt if the value cannot be computed part by part, or does not depend on a product.
  static std::optional<PartwiseValue> of(mlir::Value value, int64_t dim);

  mlir::Value value() const { return root; }
  int64_t dim() const { return rootDim; }
  llvm::ArrayRef<stablehlo::DotGeneralOp> products() const { return dots; }
  /// All ops that are computed part by part, each after its operands.
  llvm::ArrayRef<mlir::Operation *> ops() const { return inside; }
  struct Leaf {
    mlir::Value value;
    int64_t dim;
  };
  /// The values from outside of which these ops read a part.
  llvm::ArrayRef<Leaf> leaves() const { return outside; }

  /// Emits one part of the value.
  mlir::Value emit(mlir::OpBuilder &builder, const Part &part) const;

private:
  void visit(mlir::Value value, int64_t dim);

  mlir::Value root;
  int64_t rootDim = 0;
  llvm::SmallVector<stablehlo::DotGeneralOp> dots;
  llvm::SmallVector<mlir::Operation *> inside;
  llvm::SmallVector<Leaf> outside;
};

} // namespace tilewright::communicate

#endif // TILEWRIGHT_TRANSFORM_COMMUNICATE_WINDOW_PARTS_H
