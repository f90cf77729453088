#include "tilewright/dialect/stablehlo/ElementBits.h"

#include "tilewright/dialect/stablehlo/ops/BinaryOps.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/dialect/stablehlo/ops/UnaryOps.h"

using namespace mlir;

namespace tilewright::stablehlo {
namespace {

/// Emits elementwise ops on tensors of one shape.
class Elementwise {
public:
  Elementwise(OpBuilder &builder, Location loc, Value like)
      : builder(builder), loc(loc), shape(cast<RankedTensorType>(like.getType())) {}

  template <typename Op> Value to(Type element, Value value) {
    if (cast<RankedTensorType>(value.getType()).getElementType() == element)
      return value;
    return Op::create(builder, loc, shape.clone(element), value);
  }
  template <typename Op> Value apply(Value value, uint64_t constant) {
    auto type = cast<RankedTensorType>(value.getType());
    return Op::create(
        builder, loc, type, value,
        splat(builder.getIntegerAttr(type.getElementType(), static_cast<int64_t>(constant))));
  }
  Value scale(Value value, double factor) {
    return MultiplyOp::create(builder, loc, value.getType(), value,
                              splat(builder.getFloatAttr(builder.getF32Type(), factor)));
  }
  Value either(Value a, Value b) { return OrOp::create(builder, loc, a.getType(), a, b); }
  Type bits(unsigned width) const { return builder.getIntegerType(width, /*isSigned=*/false); }

private:
  Value splat(TypedAttr element) {
    return ConstantOp::create(
        builder, loc, DenseElementsAttr::get(shape.clone(element.getType()), Attribute(element)));
  }
  OpBuilder &builder;
  Location loc;
  RankedTensorType shape;
};

/// The position of a 6-bit float inside an f16: there is no 6-bit integer to bitcast to. Its five
/// bits below the sign become the lowest bits of f16's exponent and the highest of its mantissa.
/// Because the exponent biases differ, the f16 is the number times a power of two, even for
/// subnormals.
struct SixBits {
  explicit SixBits(Type element) {
    const bool isE2M3 = isa<Float6E2M3FNType>(element);
    shift = isE2M3 ? 7 : 8;
    scale = isE2M3 ? 0x1p14 : 0x1p12; // biases 15 - 1 and 15 - 3
  }
  unsigned shift;
  double scale;
};

bool hasSixBits(Type element) { return element.getIntOrFloatBitWidth() == 6; }

} // namespace

Value bitsOfElements(OpBuilder &builder, Location loc, Value value) {
  Elementwise emit(builder, loc, value);
  const Type element = cast<RankedTensorType>(value.getType()).getElementType();
  if (!hasSixBits(element)) {
    const unsigned width = element.getIntOrFloatBitWidth();
    Value bits = width == 1 ? value : emit.to<BitcastConvertOp>(emit.bits(width), value);
    return emit.to<ConvertOp>(emit.bits(8), bits);
  }
  const SixBits six(element);
  Value number = emit.to<ConvertOp>(builder.getF32Type(), value);
  Value half = emit.to<ConvertOp>(builder.getF16Type(), emit.scale(number, 1 / six.scale));
  Value bits = emit.to<BitcastConvertOp>(emit.bits(16), half);
  Value magnitude = emit.apply<AndOp>(emit.apply<ShiftRightLogicalOp>(bits, six.shift), 31);
  Value sign = emit.apply<AndOp>(emit.apply<ShiftRightLogicalOp>(bits, 10), 32);
  return emit.to<ConvertOp>(emit.bits(8), emit.either(magnitude, sign));
}

Value elementsOfBits(OpBuilder &builder, Location loc, Value bits, Type element) {
  Elementwise emit(builder, loc, bits);
  if (!hasSixBits(element)) {
    const unsigned width = element.getIntOrFloatBitWidth();
    if (width == 1)
      return emit.to<ConvertOp>(element, bits);
    return emit.to<BitcastConvertOp>(element, emit.to<ConvertOp>(emit.bits(width), bits));
  }
  const SixBits six(element);
  Value wide = emit.to<ConvertOp>(emit.bits(16), bits);
  Value magnitude = emit.apply<ShiftLeftOp>(emit.apply<AndOp>(wide, 31), six.shift);
  Value sign = emit.apply<ShiftLeftOp>(emit.apply<AndOp>(wide, 32), 10);
  Value half = emit.to<BitcastConvertOp>(builder.getF16Type(), emit.either(magnitude, sign));
  Value number = emit.scale(emit.to<ConvertOp>(builder.getF32Type(), half), six.scale);
  return emit.to<ConvertOp>(element, number);
}

} // namespace tilewright::stablehlo
