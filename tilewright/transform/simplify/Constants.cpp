#include "tilewright/transform/simplify/Constants.h"

#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/interpret/Types.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tilewright::simplify {

RankedTensorType typeOf(Value value) { return dyn_cast<RankedTensorType>(value.getType()); }

bool isStatic(Value value) {
  RankedTensorType type = typeOf(value);
  return type && type.hasStaticShape();
}

int64_t bytesOf(RankedTensorType type) {
  auto element = interpret::elementTypeOf(type.getElementType());
  return type.getNumElements() *
         (element ? static_cast<int64_t>(numerics::storageBytes(*element)) : 8);
}

ElementsAttr constantOf(Value value) {
  auto constant = value.getDefiningOp<stablehlo::ConstantOp>();
  return constant ? constant.getValue() : ElementsAttr();
}

Attribute splatOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<stablehlo::BroadcastInDimOp, stablehlo::ReshapeOp>(op))
      break;
    value = op->getOperand(0);
  }
  auto elements = dyn_cast_if_present<DenseElementsAttr>(constantOf(value));
  if (!elements || elements.empty())
    return {};
  if (!elements.isSplat() && elements.getNumElements() != 1)
    return {};
  Type type = elements.getElementType();
  if (!isa<IntegerType, FloatType, ComplexType>(type))
    return {};
  return *elements.getValues<Attribute>().begin();
}

std::optional<SmallVector<int64_t>> integersOf(Value value, int64_t limit) {
  auto elements = dyn_cast_if_present<DenseElementsAttr>(constantOf(value));
  RankedTensorType type = typeOf(value);
  if (!type || !type.hasStaticShape() || type.getNumElements() > limit)
    return std::nullopt;
  auto integer = dyn_cast<IntegerType>(type.getElementType());
  if (!integer || integer.getWidth() > 64)
    return std::nullopt;
  auto number = [&](const APInt &bits) {
    // Saturate: a valid index is below 2^63, so larger values stay out of range.
    return integer.isUnsigned() || integer.getWidth() == 1
               ? static_cast<int64_t>(std::min<uint64_t>(bits.getZExtValue(), INT64_MAX))
               : bits.getSExtValue();
  };
  if (!elements) {
    Attribute splat = splatOf(value);
    if (!splat)
      return std::nullopt;
    return SmallVector<int64_t>(static_cast<size_t>(type.getNumElements()),
                                number(cast<IntegerAttr>(splat).getValue()));
  }
  SmallVector<int64_t> numbers;
  for (const APInt &bits : elements.getValues<APInt>())
    numbers.push_back(number(bits));
  return numbers;
}

std::optional<int64_t> integerOf(Value value) {
  auto splat = dyn_cast_if_present<IntegerAttr>(splatOf(value));
  if (!splat)
    return std::nullopt;
  auto type = cast<IntegerType>(typeOf(value).getElementType());
  const APInt &bits = splat.getValue();
  if (!type.isUnsigned() && type.getWidth() != 1)
    return bits.getSExtValue();
  if (bits.getActiveBits() > 63)
    return std::nullopt;
  return static_cast<int64_t>(bits.getZExtValue());
}

static bool isFloatWhere(Attribute value, bool (*holds)(const APFloat &)) {
  auto number = dyn_cast_if_present<FloatAttr>(value);
  return number && holds(number.getValue());
}

bool isPositiveZero(Value value) {
  Attribute splat = splatOf(value);
  if (auto integer = dyn_cast_if_present<IntegerAttr>(splat))
    return integer.getValue().isZero();
  return isFloatWhere(splat, [](const APFloat &x) { return x.isPosZero(); });
}

bool isNegativeZero(Value value) {
  return isFloatWhere(splatOf(value), [](const APFloat &x) { return x.isNegZero(); });
}

bool isOne(Value value) {
  Attribute splat = splatOf(value);
  if (auto integer = dyn_cast_if_present<IntegerAttr>(splat))
    return integer.getValue().isOne();
  return isFloatWhere(splat, [](const APFloat &x) { return x.isExactlyValue(1.0); });
}

bool isAllOnes(Value value) {
  auto integer = dyn_cast_if_present<IntegerAttr>(splatOf(value));
  return integer && integer.getValue().isAllOnes();
}

bool isInteger(Value value) {
  RankedTensorType type = typeOf(value);
  return type && isa<IntegerType>(type.getElementType());
}

bool isFloat(Value value) {
  RankedTensorType type = typeOf(value);
  return type && isa<FloatType>(type.getElementType());
}

Value makeSplat(OpBuilder &builder, Location location, RankedTensorType type, Attribute value) {
  auto splatAs = [&](RankedTensorType type) -> DenseElementsAttr {
    if (auto parts = dyn_cast<ArrayAttr>(value)) {
      std::complex<APFloat> number(cast<FloatAttr>(parts[0]).getValue(),
                                   cast<FloatAttr>(parts[1]).getValue());
      return DenseElementsAttr::get(type, ArrayRef(number));
    }
    return DenseElementsAttr::get(type, value);
  };
  if (type.getRank() == 0 || bytesOf(type) <= maxSplatBytes)
    return stablehlo::ConstantOp::create(builder, location, splatAs(type));
  auto scalar = RankedTensorType::get({}, type.getElementType());
  Value constant = stablehlo::ConstantOp::create(builder, location, splatAs(scalar));
  return stablehlo::BroadcastInDimOp::create(builder, location, type, constant,
                                             ArrayRef<int64_t>{});
}

Value makeNumber(OpBuilder &builder, Location location, RankedTensorType type, double number) {
  Type element = type.getElementType();
  if (auto complex = dyn_cast<ComplexType>(element))
    return makeSplat(builder, location, type,
                     builder.getArrayAttr({FloatAttr::get(complex.getElementType(), number),
                                           FloatAttr::get(complex.getElementType(), 0.0)}));
  if (isa<FloatType>(element))
    return makeSplat(builder, location, type, FloatAttr::get(element, number));
  return makeSplat(builder, location, type,
                   IntegerAttr::get(element, APInt(element.getIntOrFloatBitWidth(),
                                                   static_cast<uint64_t>(number), true, true)));
}

Value reshapeTo(OpBuilder &builder, Location location, Value value, RankedTensorType type) {
  if (value.getType() == type)
    return value;
  return stablehlo::ReshapeOp::create(builder, location, type, value);
}

} // namespace tilewright::simplify
