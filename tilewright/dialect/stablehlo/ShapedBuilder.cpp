#include "tilewright/dialect/stablehlo/ShapedBuilder.h"

#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/dialect/stablehlo/ops/IndexingOps.h"
#include "tilewright/dialect/stablehlo/ops/UnaryOps.h"

using namespace mlir;

namespace tilewright::stablehlo {

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

Value ShapedBuilder::constant(DenseElementsAttr value) {
  return ConstantOp::create(builder, location, value);
}

Value ShapedBuilder::iota(RankedTensorType type, int64_t dim) {
  return IotaOp::create(builder, location, type, static_cast<uint64_t>(dim));
}

Value ShapedBuilder::both(Value lhs, Value rhs) {
  if (!lhs || !rhs)
    return lhs ? lhs : rhs;
  return binary<AndOp>(lhs, rhs);
}

Value ShapedBuilder::compare(Value lhs, ComparisonDirection direction, Value rhs) {
  return CompareOp::create(builder, location, typeOf(lhs).clone(builder.getI1Type()), lhs, rhs,
                           direction, nullptr);
}

Value ShapedBuilder::select(Value condition, Value onTrue, Value onFalse) {
  return SelectOp::create(builder, location, onTrue.getType(), condition, onTrue, onFalse);
}

Value ShapedBuilder::convert(Value value, Type element) {
  if (typeOf(value).getElementType() == element)
    return value;
  return ConvertOp::create(builder, location, typeOf(value).clone(element), value);
}

Value ShapedBuilder::reshape(Value value, Shape shape) {
  if (typeOf(value).getShape() == shape)
    return value;
  return ReshapeOp::create(builder, location, typeOf(value).clone(shape), value);
}

Value ShapedBuilder::broadcast(Value value, Shape shape, ArrayRef<int64_t> dims) {
  if (typeOf(value).getShape() == shape && llvm::is_sorted(dims))
    return value;
  return BroadcastInDimOp::create(builder, location, typeOf(value).clone(shape), value, dims);
}

Value ShapedBuilder::slice(Value value, Shape starts, Shape sizes, Shape strides) {
  if (typeOf(value).getShape() == sizes)
    return value;
  SmallVector<int64_t> limits;
  for (auto [start, size, stride] : llvm::zip_equal(starts, sizes, strides))
    limits.push_back(size == 0 ? start : start + (size - 1) * stride + 1);
  return SliceOp::create(builder, location, typeOf(value).clone(sizes), value, starts, limits,
                         strides);
}

Value ShapedBuilder::sliceAlong(Value value, int64_t dim, int64_t start, int64_t size,
                                int64_t stride) {
  SmallVector<int64_t> sizes(typeOf(value).getShape());
  SmallVector<int64_t> starts(sizes.size(), 0), strides(sizes.size(), 1);
  starts[static_cast<size_t>(dim)] = start;
  sizes[static_cast<size_t>(dim)] = size;
  strides[static_cast<size_t>(dim)] = stride;
  return slice(value, starts, sizes, strides);
}

Value ShapedBuilder::pad(Value value, Value padding, Shape low, Shape high, Shape interior) {
  SmallVector<int64_t> shape;
  bool isIdentity = true;
  for (auto [size, before, after, between] :
       llvm::zip_equal(typeOf(value).getShape(), low, high, interior)) {
    shape.push_back(size + std::max<int64_t>(size - 1, 0) * between + before + after);
    isIdentity &= before == 0 && after == 0 && (between == 0 || size <= 1);
  }
  if (isIdentity)
    return value;
  return PadOp::create(builder, location, typeOf(value).clone(shape), value, padding, low, high,
                       interior);
}

Value ShapedBuilder::concatenate(ValueRange values, int64_t dim) {
  if (values.size() == 1)
    return values[0];
  SmallVector<int64_t> shape(typeOf(values[0]).getShape());
  for (Value value : values.drop_front())
    shape[static_cast<size_t>(dim)] += typeOf(value).getDimSize(static_cast<unsigned>(dim));
  return ConcatenateOp::create(builder, location, typeOf(values[0]).clone(shape), values,
                               static_cast<uint64_t>(dim));
}

Value ShapedBuilder::dynamicSlice(Value value, ValueRange starts, Shape sizes) {
  return DynamicSliceOp::create(builder, location, typeOf(value).clone(sizes), value, starts,
                                sizes);
}

} // namespace tilewright::stablehlo
