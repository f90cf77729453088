// Parts: computes a value part by part along one of its dimensions.
#ifndef TILEWRIGHT_TRANSFORM_COMMUNICATE_WINDOW_PARTS_H
#define TILEWRIGHT_TRANSFORM_COMMUNICATE_WINDOW_PARTS_H

#include "tilewright/dialect/stablehlo/ops/LinearAlgebraOps.h"

#include "mlir/IR/Builders.h"

#include <optional>

namespace tilewright::communicate {

/// The dimension of a product's operand along which a dimension of its result, or of the other
/// operand, runs.
struct ProductDims {
  std::optional<int64_t> lhs, rhs; // none: the operand does not have it
};
/// Which dimensions of the operands dimension `dim` of the result is.
ProductDims operandDims(stablehlo::DotGeneralOp product, int64_t dim);

/// How dimension `dim` of one operand takes part in a product.
struct ProductRole {
  std::optional<int64_t> result; // the dimension of the result, unless it is contracted
  std::optional<int64_t> other;  // of the other operand, unless it is the operand's own
};
ProductRole roleOf(stablehlo::DotGeneralOp product, bool isLhs, int64_t dim);

/// Where a part begins and how long it is; `begin` is an i32 scalar, or null for a constant.
struct Part {
  mlir::Value begin;
  int64_t constantBegin = 0, length = 0;
};

/// The part of a tensor along `dim`.
mlir::Value sliceOf(mlir::OpBuilder &builder, mlir::Location location, mlir::Value value,
                    int64_t dim, const Part &part);

/// A value that elementwise ops, transposes, reshapes and broadcasts compute from products, all of
/// which can be computed part by part along one dimension, and of which only the whole value is
/// used.
class PartwiseValue {
public:
  /// nullopt if no product computes the value in such a way.
  static std::optional<PartwiseValue> of(mlir::Value value, int64_t dim);

  mlir::Value value() const { return root; }
  int64_t dim() const { return rootDim; }
  llvm::ArrayRef<stablehlo::DotGeneralOp> products() const { return dots; }
  /// All ops that are computed part by part, each behind its operands.
  llvm::ArrayRef<mlir::Operation *> ops() const { return inside; }
  struct Leaf {
    mlir::Value value;
    int64_t dim;
  };
  /// The values that these ops read in parts.
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
