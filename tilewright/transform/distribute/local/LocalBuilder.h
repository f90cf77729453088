// LocalBuilder: short names for the ops that local forms consist of.
#ifndef TILEWRIGHT_TRANSFORM_DISTRIBUTE_LOCAL_LOCALBUILDER_H
#define TILEWRIGHT_TRANSFORM_DISTRIBUTE_LOCAL_LOCALBUILDER_H

#include "tilewright/dialect/stablehlo/ops/BinaryOps.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace tilewright::distribute {

/// Builds ops on tensors of static shape at one place of a program. All functions infer the type of
/// the result. Positions are i32 scalars.
class LocalBuilder {
public:
  using Value = mlir::Value;

  LocalBuilder(mlir::OpBuilder &builder, mlir::Location location)
      : builder(builder), location(location) {}

  Value position(int64_t number);
  /// A splat of an element: an IntegerAttr, a FloatAttr, or an array of two FloatAttrs for a
  /// complex type.
  Value splat(mlir::RankedTensorType type, mlir::Attribute element);
  Value iota(llvm::ArrayRef<int64_t> shape, int64_t dim);
  /// A scalar.
  Value zero(mlir::Type element);

  template <typename Op> Value binary(Value lhs, Value rhs) {
    return Op::create(builder, location, lhs.getType(), lhs, rhs);
  }
  Value add(Value lhs, Value rhs) { return binary<stablehlo::AddOp>(lhs, rhs); }
  Value subtract(Value lhs, Value rhs) { return binary<stablehlo::SubtractOp>(lhs, rhs); }
  Value both(Value lhs, Value rhs) { return binary<stablehlo::AndOp>(lhs, rhs); }
  Value compare(Value lhs, stablehlo::ComparisonDirection direction, Value rhs);
  /// Whether 0 <= value < limit, for each element of an i32 tensor.
  Value isWithin(Value value, int64_t limit);
  /// Each element limited to [low, high].
  Value clamp(int64_t low, Value value, int64_t high);
  Value select(Value condition, Value onTrue, Value onFalse);
  Value convert(Value value, mlir::Type element);

  Value reshape(Value value, llvm::ArrayRef<int64_t> shape);
  Value broadcast(Value value, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> dims = {});
  /// Joins values along `dim`; a single one is not changed.
  Value concatenate(llvm::ArrayRef<Value> values, int64_t dim);
  /// Rows [start, limit) along `dim`.
  Value slice(Value value, int64_t dim, int64_t start, int64_t limit);
  /// `size` rows along `dim` from a computed position on, which is clamped.
  Value dynamicSlice(Value value, int64_t dim, Value start, int64_t size);
  /// Rows [start, start + size) along `dim`, where `start` may be any number: rows outside of the
  /// value are `fill`, a scalar.
  Value window(Value value, int64_t dim, Value start, int64_t size, Value fill);

  mlir::OpBuilder &builder;
  const mlir::Location location;
};

} // namespace tilewright::distribute

#endif // TILEWRIGHT_TRANSFORM_DISTRIBUTE_LOCAL_LOCALBUILDER_H
