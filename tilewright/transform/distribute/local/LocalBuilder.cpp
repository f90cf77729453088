#include "tilewright/transform/distribute/local/LocalBuilder.h"

#include "tilewright/transform/TypeOf.h"

#include "mlir/IR/BuiltinAttributes.h"

#include <complex>

using namespace mlir;

namespace tilewright::distribute {

Value LocalBuilder::position(int64_t number) {
  auto type = RankedTensorType::get({}, builder.getI32Type());
  return constant(DenseElementsAttr::get(type, {static_cast<int32_t>(number)}));
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
  return constant(elements);
}

Value LocalBuilder::iota(ArrayRef<int64_t> shape, int64_t dim) {
  return ShapedBuilder::iota(RankedTensorType::get(shape, builder.getI32Type()), dim);
}

Value LocalBuilder::zero(Type element) {
  auto type = RankedTensorType::get({}, element);
  if (auto complex = dyn_cast<ComplexType>(element)) {
    Attribute part = builder.getZeroAttr(complex.getElementType());
    return splat(type, builder.getArrayAttr({part, part}));
  }
  return splat(type, builder.getZeroAttr(element));
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

Value LocalBuilder::slice(Value value, int64_t dim, int64_t start, int64_t limit) {
  return sliceAlong(value, dim, start, limit - start);
}

Value LocalBuilder::dynamicSlice(Value value, int64_t dim, Value start, int64_t size) {
  auto type = typeOf(value);
  if (size == type.getDimSize(dim))
    return value; // the start is clamped to 0
  SmallVector<int64_t> sizes(type.getShape());
  sizes[static_cast<size_t>(dim)] = size;
  SmallVector<Value> starts(sizes.size(), position(0));
  starts[static_cast<size_t>(dim)] = start;
  return ShapedBuilder::dynamicSlice(value, starts, sizes);
}

Value LocalBuilder::window(Value value, int64_t dim, Value start, int64_t size, Value fill) {
  // With `size` rows of padding on both sides, every window begins inside. A window that begins
  // further outside is clamped, and then consists of padding.
  SmallVector<int64_t> edge(typeOf(value).getShape().size()), none(edge);
  edge[static_cast<size_t>(dim)] = size;
  return dynamicSlice(pad(value, fill, edge, edge, none), dim, add(start, position(size)), size);
}

} // namespace tilewright::distribute
