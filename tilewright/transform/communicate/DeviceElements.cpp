#include "tilewright/transform/communicate/DeviceElements.h"

#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/dialect/stablehlo/StablehloOps.h"
#include "tilewright/transform/ConvertTo.h"
#include "tilewright/transform/TypeOf.h"
#include "tilewright/transform/communicate/Collective.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace tilewright::communicate {

namespace {
using Codec = DeviceReduction::Codec;
using Kind = DeviceReduction::Operation;

Value bitcast(OpBuilder &builder, Location loc, Value value, Type element) {
  return stablehlo::BitcastConvertOp::create(builder, loc, typeOf(value).clone(element), value);
}

Value splat(OpBuilder &builder, Location loc, RankedTensorType type, const APInt &value) {
  return stablehlo::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(type, builder.getIntegerAttr(type.getElementType(), value)));
}

Value compare(OpBuilder &builder, Location loc, Value lhs, Value rhs,
              stablehlo::ComparisonDirection direction) {
  return stablehlo::CompareOp::create(builder, loc, typeOf(lhs).clone(builder.getI1Type()), lhs,
                                      rhs, direction, nullptr);
}

Value select(OpBuilder &builder, Location loc, Value condition, Value yes, Value no) {
  return stablehlo::SelectOp::create(builder, loc, yes.getType(), condition, yes, no);
}

/// The bits of a negative float decrease as the float increases. This flips them, so that the bits,
/// as signed integers, have the order of the floats, with -0 less than 0. The function is its own
/// inverse.
Value turnNegatives(OpBuilder &builder, Location loc, Value bits) {
  RankedTensorType type = typeOf(bits);
  const unsigned width = type.getElementTypeBitWidth();
  Value isNegative = compare(builder, loc, bits, splat(builder, loc, type, APInt(width, 0)),
                             stablehlo::ComparisonDirection::LT);
  Value turned = stablehlo::XorOp::create(
      builder, loc, type, bits, splat(builder, loc, type, APInt::getSignedMaxValue(width)));
  return select(builder, loc, isNegative, turned, bits);
}

/// The wider integer type in which a small one is reduced; null if the library supports the type.
Type widerOf(IntegerType type) {
  const unsigned width = type.getWidth();
  if (width == 8 || width == 32 || width == 64)
    return {};
  return IntegerType::get(type.getContext(), width < 8 ? 8 : 32, type.getSignedness());
}
} // namespace

std::optional<DeviceReduction> reductionFormOf(Operation *op) {
  const DeviceReduction folded(Codec::fold, Kind::add);
  Operation *combiner = combinerOf(op->getRegion(0));
  Type element = typeOf(op->getOperand(0)).getElementType();
  for (Value operand : op->getOperands())
    if (typeOf(operand).getElementType() != element)
      return folded;
  if (!combiner)
    return folded;
  const bool isAnd = isa<stablehlo::AndOp>(combiner), isOr = isa<stablehlo::OrOp>(combiner),
             isXor = isa<stablehlo::XorOp>(combiner);
  std::optional<Kind> kind;
  if (isa<stablehlo::AddOp>(combiner))
    kind = Kind::add;
  else if (isa<stablehlo::MultiplyOp>(combiner))
    kind = Kind::multiply;
  else if (isa<stablehlo::MaximumOp>(combiner))
    kind = Kind::maximum;
  else if (isa<stablehlo::MinimumOp>(combiner))
    kind = Kind::minimum;
  if (element.isInteger(1)) {
    if (isXor)
      return DeviceReduction(Codec::boolean, Kind::add);
    if (isOr || kind == Kind::add || kind == Kind::maximum)
      return DeviceReduction(Codec::boolean, Kind::maximum);
    if (isAnd || kind == Kind::multiply || kind == Kind::minimum)
      return DeviceReduction(Codec::boolean, Kind::minimum);
    return folded;
  }
  if (!kind)
    return folded;
  if (auto integer = dyn_cast<IntegerType>(element))
    return widerOf(integer) ? std::optional(DeviceReduction(Codec::wide, *kind)) : std::nullopt;
  if (isa<ComplexType>(element))
    return kind == Kind::add ? DeviceReduction(Codec::complex, *kind) : folded;
  if (kind == Kind::maximum || kind == Kind::minimum)
    return DeviceReduction(Codec::ordered, *kind);
  if (isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(element))
    return std::nullopt;
  return folded; // its own rounding after each step
}

SmallVector<Value> DeviceReduction::encode(OpBuilder &builder, Location loc, Value value) const {
  Type element = typeOf(value).getElementType();
  switch (codec) {
  case Codec::fold:
    break;
  case Codec::wide:
    return {convertTo(builder, loc, value, widerOf(cast<IntegerType>(element)))};
  case Codec::boolean:
    return {convertTo(builder, loc, value, builder.getIntegerType(8, /*isSigned=*/false))};
  case Codec::ordered: {
    // Every value of a small float type is an f32 value.
    if (!element.isF64())
      value = convertTo(builder, loc, value, builder.getF32Type());
    Value isNan = compare(builder, loc, value, value, stablehlo::ComparisonDirection::NE);
    const unsigned width = element.isF64() ? 64 : 32;
    Value bits = bitcast(builder, loc, value, builder.getIntegerType(width));
    // The extreme integers are the bit patterns of NaNs.
    const APInt winner = operation == Operation::maximum ? APInt::getSignedMaxValue(width)
                                                         : APInt::getSignedMinValue(width);
    return {select(builder, loc, isNan, splat(builder, loc, typeOf(bits), winner),
                   turnNegatives(builder, loc, bits))};
  }
  case Codec::complex: {
    RankedTensorType part = typeOf(value).clone(cast<ComplexType>(element).getElementType());
    return {stablehlo::RealOp::create(builder, loc, part, value),
            stablehlo::ImagOp::create(builder, loc, part, value)};
  }
  }
  return {value};
}

Value DeviceReduction::decode(OpBuilder &builder, Location loc, ValueRange parts,
                              RankedTensorType type) const {
  switch (codec) {
  case Codec::fold:
    break;
  case Codec::wide:
    return convertTo(builder, loc, parts[0], type.getElementType());
  case Codec::boolean: {
    Value sum = parts[0];
    if (operation == Operation::add) // 256 is even, so an overflow does not change the last bit
      sum = stablehlo::AndOp::create(builder, loc, sum.getType(), sum,
                                     splat(builder, loc, typeOf(sum), APInt(8, 1)));
    return convertTo(builder, loc, sum, type.getElementType());
  }
  case Codec::ordered: {
    Value bits = turnNegatives(builder, loc, parts[0]);
    Type wide = typeOf(bits).getElementTypeBitWidth() == 64 ? Type(builder.getF64Type())
                                                            : Type(builder.getF32Type());
    return convertTo(builder, loc, bitcast(builder, loc, bits, wide), type.getElementType());
  }
  case Codec::complex:
    return stablehlo::ComplexOp::create(builder, loc, type, parts[0], parts[1]);
  }
  return parts[0];
}

void DeviceReduction::setCombiner(Region &region, Type element) const {
  region.getBlocks().clear();
  OpBuilder builder(region.getContext());
  const Location loc = region.getLoc();
  auto type = RankedTensorType::get({}, element);
  Block *block = builder.createBlock(&region, {}, {type, type}, {loc, loc});
  Value x = block->getArgument(0), y = block->getArgument(1), result;
  switch (operation) {
  case Operation::add:
    result = stablehlo::AddOp::create(builder, loc, type, x, y);
    break;
  case Operation::multiply:
    result = stablehlo::MultiplyOp::create(builder, loc, type, x, y);
    break;
  case Operation::maximum:
    result = stablehlo::MaximumOp::create(builder, loc, type, x, y);
    break;
  case Operation::minimum:
    result = stablehlo::MinimumOp::create(builder, loc, type, x, y);
    break;
  }
  stablehlo::ReturnOp::create(builder, loc, result);
}

bool isElementwise(Region &body) {
  if (!body.hasOneBlock() || body.front().getTerminator()->getNumOperands() != 1)
    return false;
  return llvm::all_of(body.front(), [](Operation &op) {
    const bool isScalar = llvm::all_of(op.getOperandTypes(), [](Type type) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      return tensor && tensor.getRank() == 0;
    });
    const bool isKnown = isa<stablehlo::ConstantOp, stablehlo::SelectOp, stablehlo::ClampOp>(op) ||
                         op.hasTrait<OpTrait::Elementwise>() ||
                         op.hasTrait<OpTrait::IsTerminator>();
    return isScalar && isKnown && op.getNumRegions() == 0;
  });
}

Value applyToTensors(OpBuilder &builder, Location loc, Region &body, ValueRange arguments) {
  ArrayRef<int64_t> shape = typeOf(arguments[0]).getShape();
  IRMapping mapping;
  mapping.map(body.getArguments(), arguments);
  auto spread = [&](Value scalar) {
    return RankedTensorType::get(shape, typeOf(scalar).getElementType());
  };
  // Constants and scalars from outside are the same for all elements.
  auto valueOf = [&](Value value) -> Value {
    if (Value known = mapping.lookupOrNull(value))
      return known;
    if (auto constant = value.getDefiningOp<stablehlo::ConstantOp>();
        constant && constant->getParentRegion() == &body)
      value = builder.clone(*constant)->getResult(0);
    return stablehlo::BroadcastInDimOp::create(builder, loc, spread(value), value,
                                               builder.getDenseI64ArrayAttr({}));
  };
  for (Operation &op : body.front().without_terminator()) {
    if (isa<stablehlo::ConstantOp>(op))
      continue;
    for (Value operand : op.getOperands())
      if (!mapping.contains(operand))
        mapping.map(operand, valueOf(operand));
    for (Value result : builder.clone(op, mapping)->getResults())
      result.setType(spread(result));
  }
  return valueOf(body.front().getTerminator()->getOperand(0));
}

} // namespace tilewright::communicate
