// ShapedBuilder: short names for StableHLO ops whose result type follows from their operands.
#ifndef TILEWRIGHT_DIALECT_STABLEHLO_SHAPEDBUILDER_H
#define TILEWRIGHT_DIALECT_STABLEHLO_SHAPEDBUILDER_H

#include "tilewright/dialect/stablehlo/ops/BinaryOps.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace tilewright::stablehlo {

/// Builds ops on tensors of static shape at one place of a program.
///
///   ShapedBuilder b(rewriter, op.getLoc());
///   Value twice = b.add(x, x);
///
/// All functions infer the type of the result. Functions that move data return their operand if
/// nothing would move.
class ShapedBuilder {
public:
  ShapedBuilder(mlir::OpBuilder &builder, mlir::Location location)
      : builder(builder), location(location) {}

  using Shape = llvm::ArrayRef<int64_t>;
  using Value = mlir::Value;

  Value constant(mlir::DenseElementsAttr value);
  Value iota(mlir::RankedTensorType type, int64_t dim);

  // Elementwise ops.
  template <typename Op> Value binary(Value lhs, Value rhs) {
    return Op::create(builder, location, lhs.getType(), lhs, rhs);
  }
  Value add(Value lhs, Value rhs) { return binary<AddOp>(lhs, rhs); }
  Value subtract(Value lhs, Value rhs) { return binary<SubtractOp>(lhs, rhs); }
  Value multiply(Value lhs, Value rhs) { return binary<MultiplyOp>(lhs, rhs); }
  /// The conjunction of two masks, of which null is one that is true everywhere.
  Value both(Value lhs, Value rhs);
  Value compare(Value lhs, ComparisonDirection direction, Value rhs);
  Value select(Value condition, Value onTrue, Value onFalse);
  Value convert(Value value, mlir::Type element);

  // Data movement.
  Value reshape(Value value, Shape shape);
  Value broadcast(Value value, Shape shape, llvm::ArrayRef<int64_t> dims = {});
  /// `sizes` elements from `starts` on, at distance `strides`.
  Value slice(Value value, Shape starts, Shape sizes, Shape strides);
  /// `size` elements along `dim`, from `start` on, at distance `stride`.
  Value sliceAlong(Value value, int64_t dim, int64_t start, int64_t size, int64_t stride = 1);
  Value pad(Value value, Value padding, Shape low, Shape high, Shape interior);
  Value concatenate(mlir::ValueRange values, int64_t dim);
  Value dynamicSlice(Value value, mlir::ValueRange starts, Shape sizes);

  mlir::OpBuilder &builder;
  const mlir::Location location;
};

} // namespace tilewright::stablehlo

#endif // TILEWRIGHT_DIALECT_STABLEHLO_SHAPEDBUILDER_H
