// LocalBuilder: short names for the ops that local forms consist of.
#ifndef TILEWRIGHT_TRANSFORM_DISTRIBUTE_LOCAL_LOCALBUILDER_H
#define TILEWRIGHT_TRANSFORM_DISTRIBUTE_LOCAL_LOCALBUILDER_H

#include "tilewright/dialect/stablehlo/ShapedBuilder.h"

namespace tilewright::distribute {

/// Adds positions along a dimension, which are i32 scalars.
class LocalBuilder : public stablehlo::ShapedBuilder {
public:
  using ShapedBuilder::ShapedBuilder;

  Value position(int64_t number);
  /// A splat of an element: an IntegerAttr, a FloatAttr, or an array of two FloatAttrs for a
  /// complex type.
  Value splat(mlir::RankedTensorType type, mlir::Attribute element);
  Value iota(llvm::ArrayRef<int64_t> shape, int64_t dim);
  /// A scalar.
  Value zero(mlir::Type element);

  /// For each element of an i32 tensor, whether 0 <= value < limit.
  Value isWithin(Value value, int64_t limit);
  /// Clamps each element to [low, high].
  Value clamp(int64_t low, Value value, int64_t high);
  /// Rows [start, limit) along `dim`.
  Value slice(Value value, int64_t dim, int64_t start, int64_t limit);
  /// `size` rows along `dim` from a computed position on, which is clamped.
  Value dynamicSlice(Value value, int64_t dim, Value start, int64_t size);
  /// Rows [start, start + size) along `dim`, where `start` may be any number: rows outside of the
  /// value are `fill`, a scalar.
  Value window(Value value, int64_t dim, Value start, int64_t size, Value fill);
};

} // namespace tilewright::distribute

#endif // TILEWRIGHT_TRANSFORM_DISTRIBUTE_LOCAL_LOCALBUILDER_H
