#include "tilewright/transform/distribute/local/LocalBuilder.h"

#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/dialect/stablehlo/ops/IndexingOps.h"
#include "tilewright/dialect/stablehlo/ops/UnaryOps.h"

#include "mlir/IR/BuiltinAttributes.h"

#include <algorithm>
#include <complex>

using namespace mlir;

namespace tilewright::distribute {

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

Value LocalBuilder::position(int64_t number) {
  auto type = RankedTensorType::get({}, builder.getI32Type());
  return stablehlo::ConstantOp::create(
      builder, location, DenseElementsAttr::get(type, {static_cast<int32_t>(number)}));
}

Value LocalBuilder::splat(RankedTensorType type, Attribute element) {
  auto elements = [&] {
    auto parts = dyn_cast<ArrayAttr>(element);
    if (!parts)
      return DenseElementsAttr::get(type, element);
    return DenseElementsAttr::get(type,
                                  std::complex<APFloat>(cast<FloatAttr>(parts[0]).getValue(),
                                                        cast<FloatAttr>(parts[1]).getValue()));
  }();
  return stablehlo::ConstantOp::create(builder, location, elements);
}

Value LocalBuilder::iota(ArrayRef<int64_t> shape, int64_t dim) {
  return stablehlo::IotaOp::create(builder, location,
                                   RankedTensorType::get(shape, builder.getI32Type()),
                                   builder.getI64IntegerAttr(dim));
}

Value LocalBuilder::zero(Type element) {
  auto type = RankedTensorType::get({}, element);
  if (auto complex = dyn_cast<ComplexType>(element)) {
    Attribute part = builder.getZeroAttr(complex.getElementType());
    return splat(type, builder.getArrayAttr({part, part}));
  }
  return splat(type, builder.getZeroAttr(element));
}

Value LocalBuilder::concatenate(ArrayRef<Value> values, int64_t dim) {
  if (values.size() == 1)
    return values[0];
  SmallVector<int64_t> shape(typeOf(values[0]).getShape());
  for (Value value : values.drop_front())
    shape[static_cast<size_t>(dim)] += typeOf(value).getDimSize(dim);
  return stablehlo::ConcatenateOp::create(builder, location, typeOf(values[0]).clone(shape), values,
                                          builder.getI64IntegerAttr(dim));
}

Value LocalBuilder::compare(Value lhs, stablehlo::ComparisonDirection direction, Value rhs) {
  return stablehlo::CompareOp::create(builder, location, typeOf(lhs).clone(builder.getI1Type()),
                                      lhs, rhs, direction, stablehlo::ComparisonTypeAttr());
}

Value LocalBuilder::isWithin(Value value, int64_t limit) {
  using stablehlo::ComparisonDirection;
  ArrayRef<int64_t> shape = typeOf(value).getShape();
  Value low = broadcast(position(0), shape), high = broadcast(position(limit), shape);
  return both(compare(value, ComparisonDirection::GE, low),
              compare(value, ComparisonDirection::LT, high));
}

Value LocalBuilder::clamp(int64_t low, Value value, int64_t high) {
  auto type = typeOf(value);
  auto scalar = RankedTensorType::get({}, type.getElementType());
  auto bound = [&](int64_t number) {
    return splat(scalar, IntegerAttr::get(type.getElementType(), number));
  };
  return stablehlo::ClampOp::create(builder, location, type, bound(low), value, bound(high));
}

Value LocalBuilder::select(Value condition, Value onTrue, Value onFalse) {
  return stablehlo::SelectOp::create(builder, location, onTrue.getType(), condition, onTrue,
                                     onFalse);
}

Value LocalBuilder::convert(Value value, Type element) {
  if (typeOf(value).getElementType() == element)
    return value;
  return stablehlo::ConvertOp::create(builder, location, typeOf(value).clone(element), value);
}

Value LocalBuilder::reshape(Value value, ArrayRef<int64_t> shape) {
  if (typeOf(value).getShape() == shape)
    return value;
  return stablehlo::ReshapeOp::create(builder, location, typeOf(value).clone(shape), value);
}

Value LocalBuilder::broadcast(Value value, ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  if (typeOf(value).getShape() == shape)
    return value;
  return stablehlo::BroadcastInDimOp::create(builder, location, typeOf(value).clone(shape), value,
                                             builder.getDenseI64ArrayAttr(dims));
}

Value LocalBuilder::slice(Value value, int64_t dim, int64_t start, int64_t limit) {
  auto type = typeOf(value);
  if (start == 0 && limit == type.getDimSize(dim))
    return value;
  SmallVector<int64_t> starts(type.getShape().size()), limits(type.getShape()),
      strides(type.getShape().size(), 1), shape(type.getShape());
  starts[static_cast<size_t>(dim)] = start;
  limits[static_cast<size_t>(dim)] = limit;
  shape[static_cast<size_t>(dim)] = limit - start;
  return stablehlo::SliceOp::create(
      builder, location, type.clone(shape), value, builder.getDenseI64ArrayAttr(starts),
      builder.getDenseI64ArrayAttr(limits), builder.getDenseI64ArrayAttr(strides));
}

Value LocalBuilder::dynamicSlice(Value value, int64_t dim, Value start, int64_t size) {
  auto type = typeOf(value);
  if (size == type.getDimSize(dim))
    return value; // the start is clamped to 0
  SmallVector<int64_t> sizes(type.getShape());
  sizes[static_cast<size_t>(dim)] = size;
  SmallVector<Value> starts(sizes.size(), position(0));
  starts[static_cast<size_t>(dim)] = start;
  return stablehlo::DynamicSliceOp::create(builder, location, type.clone(sizes), value, starts,
                                           builder.getDenseI64ArrayAttr(sizes));
}

Value LocalBuilder::window(Value value, int64_t dim, Value start, int64_t size, Value fill) {
  auto type = typeOf(value);
  // With `size` rows of padding on both sides, every window begins inside. One that begins further
  // outside is clamped to one that consists of padding.
  SmallVector<int64_t> edge(type.getShape().size()), none(edge), shape(type.getShape());
  edge[static_cast<size_t>(dim)] = size;
  shape[static_cast<size_t>(dim)] += 2 * size;
  Value padded = stablehlo::PadOp::create(
      builder, location, type.clone(shape), value, fill, builder.getDenseI64ArrayAttr(edge),
      builder.getDenseI64ArrayAttr(edge), builder.getDenseI64ArrayAttr(none));
  return dynamicSlice(padded, dim, add(start, position(size)), size);
}

} // namespace tilewright::distribute
