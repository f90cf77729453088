#include "tilewright/dialect/elements/ScalarSemantics.h"

#include "tilewright/dialect/elements/Emitter.h"
#include "tilewright/dialect/stablehlo/StablehloOps.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;

namespace tilewright::elements {

//===- Types and constants ------------------------------------------------===//

Kind kindOf(Type type) {
  if (type.isInteger(1))
    return Kind::pred;
  if (auto integer = dyn_cast<IntegerType>(type))
    return integer.isUnsigned() ? Kind::unsignedInteger : Kind::signedInteger;
  if (isa<FloatType>(type))
    return Kind::real;
  return isa<ComplexType>(type) ? Kind::complex : Kind::none;
}

Type scalarType(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type))
    return IntegerType::get(type.getContext(), integer.getWidth());
  return kindOf(type) == Kind::none ? Type() : type;
}

Value Emitter::integer(Type type, int64_t value) {
  const unsigned width = type.getIntOrFloatBitWidth();
  return integer(type, llvm::APInt(64, static_cast<uint64_t>(value)).trunc(width));
}
Value Emitter::integer(Type type, const llvm::APInt &value) {
  return make<arith::ConstantOp>(IntegerAttr::get(type, value));
}
Value Emitter::real(Type type, double value) {
  return make<arith::ConstantOp>(FloatAttr::get(type, value));
}
Value Emitter::infinity(Value like) {
  auto type = cast<FloatType>(like.getType());
  return make<arith::ConstantOp>(
      FloatAttr::get(type, llvm::APFloat::getInf(type.getFloatSemantics())));
}

//===- Elements -----------------------------------------------------------===//

/// The element type of a tensor, if scalarType() supports it; otherwise null.
static Type elementOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && scalarType(type.getElementType()) ? type.getElementType() : Type();
}

static StringRef nameOf(Operation *op) {
  StringRef name = op->getName().getStringRef();
  return name.consume_front("stablehlo.") ? name : StringRef();
}

/// The table key of an op. For a composite, this is the composite's name.
static StringRef tableName(Operation *op) {
  if (auto composite = dyn_cast<stablehlo::CompositeOp>(op))
    return composite.getName();
  return nameOf(op);
}

static Meaning meaningOf(StringRef name, Kind kind) {
  switch (kind) {
  case Kind::real:
    return realMeaning(name);
  case Kind::complex:
    return complexMeaning(name);
  case Kind::none:
    return nullptr;
  default:
    return integerMeaning(name, kind);
  }
}

/// Whether values of the type can be reinterpreted as bits.
static bool hasPlainBits(Type type) { return isa<IntegerType, FloatType>(type); }

bool canExpress(Operation *op) {
  if (op->getNumResults() != 1 || op->getNumOperands() == 0 || op->getNumRegions() != 0 ||
      !elementOf(op->getResult(0)) || !llvm::all_of(op->getOperands(), elementOf))
    return false;
  Type operand = elementOf(op->getOperand(0)), result = elementOf(op->getResult(0));
  if (auto compare = dyn_cast<stablehlo::CompareOp>(op))
    return kindOf(operand) != Kind::complex ||
           compare.getCompareType() != stablehlo::ComparisonType::TOTALORDER;
  if (isa<stablehlo::ConvertOp, stablehlo::SelectOp>(op))
    return true;
  if (isa<stablehlo::ReducePrecisionOp>(op))
    return kindOf(operand) == Kind::real;
  if (isa<stablehlo::BitcastConvertOp>(op))
    return hasPlainBits(operand) && hasPlainBits(result) &&
           operand.getIntOrFloatBitWidth() == result.getIntOrFloatBitWidth();
  if (isa<stablehlo::ComplexOp>(op))
    return true;
  return meaningOf(tableName(op), kindOf(operand)) != nullptr;
}

/// Computes an op on reals in f32 or f64 and rounds its result once.
static Value emitReal(Emitter &emit, Meaning meaning, ValueRange operands, Type resultType) {
  SmallVector<Value> wide;
  for (Value operand : operands)
    wide.push_back(widen(emit, operand));
  Value result = meaning(emit, wide);
  return isa<FloatType>(resultType) ? narrow(emit, result, resultType) : result;
}

static bool asksForAccuracy(Operation *op) {
  auto accuracy = op->getAttrOfType<stablehlo::ResultAccuracyAttr>("result_accuracy");
  return accuracy && accuracy.getMode().getValue() != stablehlo::ResultAccuracyMode::DEFAULT;
}

Value emitElement(OpBuilder &builder, Operation *op, ValueRange operands) {
  if (!canExpress(op))
    return {};
  Emitter emit{builder, op->getLoc()};
  Type from = elementOf(op->getOperand(0)), to = elementOf(op->getResult(0));
  const Kind kind = kindOf(from);
  if (auto compare = dyn_cast<stablehlo::CompareOp>(op)) {
    Value a = operands[0], b = operands[1];
    if (kind == Kind::real) {
      a = widen(emit, a);
      b = widen(emit, b);
    }
    return emitCompare(emit, stringifyComparisonDirection(compare.getComparisonDirection()), kind,
                       compare.getCompareType() == stablehlo::ComparisonType::TOTALORDER, a, b);
  }
  if (isa<stablehlo::ConvertOp>(op))
    return emitConvert(emit, from, to, operands[0]);
  if (isa<stablehlo::SelectOp>(op))
    return emit.select(operands[0], operands[1], operands[2]);
  if (auto reduce = dyn_cast<stablehlo::ReducePrecisionOp>(op))
    return emitReducePrecision(emit, reduce.getExponentBits(), reduce.getMantissaBits(),
                               operands[0]);
  if (isa<stablehlo::BitcastConvertOp>(op)) {
    Type scalar = scalarType(to);
    return operands[0].getType() == scalar ? operands[0]
                                           : emit.make<arith::BitcastOp>(scalar, operands[0]);
  }
  if (isa<stablehlo::ComplexOp>(op))
    return emit.join(operands[0], operands[1]);
  Meaning meaning = meaningOf(tableName(op), kind);
  emit.isAccurate = asksForAccuracy(op);
  return kind == Kind::real ? emitReal(emit, meaning, operands, scalarType(to))
                            : meaning(emit, operands);
}

Value emitConversion(OpBuilder &builder, Location loc, Type from, Type to, Value value) {
  if (from == to)
    return value;
  Emitter emit{builder, loc};
  return emitConvert(emit, from, to, value);
}

Value emitConstant(OpBuilder &builder, Location loc, ElementsAttr value) {
  auto dense = dyn_cast<DenseElementsAttr>(value);
  if (!dense || !dense.isSplat())
    return {};
  Type type = scalarType(dense.getElementType());
  if (!type)
    return {};
  if (isa<IntegerType>(type))
    return arith::ConstantOp::create(builder, loc,
                                     IntegerAttr::get(type, dense.getSplatValue<APInt>()));
  if (isa<FloatType>(type))
    return arith::ConstantOp::create(builder, loc,
                                     FloatAttr::get(type, dense.getSplatValue<APFloat>()));
  Type component = cast<ComplexType>(type).getElementType();
  if (!isa<FloatType>(component))
    return {};
  auto parts = dense.getSplatValue<std::complex<APFloat>>();
  return complex::ConstantOp::create(
      builder, loc, type,
      builder.getArrayAttr(
          {FloatAttr::get(component, parts.real()), FloatAttr::get(component, parts.imag())}));
}

//===- Regions ------------------------------------------------------------===//

FailureOr<SmallVector<Value>> emitRegion(OpBuilder &builder, Region &region, ValueRange arguments) {
  if (!region.hasOneBlock())
    return failure();
  Block &block = region.front();
  IRMapping scalars;
  scalars.map(block.getArguments(), arguments);
  for (Operation &op : block) {
    SmallVector<Value> operands;
    for (Value operand : op.getOperands()) {
      Value scalar = scalars.lookupOrNull(operand);
      if (!scalar)
        return failure();
      operands.push_back(scalar);
    }
    if (op.hasTrait<OpTrait::IsTerminator>())
      return operands;
    if (isa<stablehlo::ReshapeOp, stablehlo::BroadcastInDimOp>(op)) {
      // Reshapes and broadcasts of scalars are no-ops.
      scalars.map(op.getResult(0), operands[0]);
      continue;
    }
    if (isa<stablehlo::OptimizationBarrierOp>(op)) {
      scalars.map(op.getResults(), operands);
      continue;
    }
    Value result;
    if (auto constant = dyn_cast<stablehlo::ConstantOp>(op))
      result = emitConstant(builder, op.getLoc(), constant.getValue());
    else
      result = emitElement(builder, &op, operands);
    if (!result)
      return failure();
    scalars.map(op.getResult(0), result);
  }
  return failure();
}

/// The scalar types of rank-0 tensor types; fails for other types.
static FailureOr<SmallVector<Type>> scalarTypes(TypeRange types) {
  SmallVector<Type> scalars;
  for (Type type : types) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    Type scalar = tensor && tensor.getRank() == 0 ? scalarType(tensor.getElementType()) : Type();
    if (!scalar)
      return failure();
    scalars.push_back(scalar);
  }
  return scalars;
}

FailureOr<func::FuncOp> buildScalarFunction(Region &region, StringRef name, ModuleOp module) {
  if (!region.hasOneBlock())
    return failure();
  FailureOr<SmallVector<Type>> arguments = scalarTypes(region.front().getArgumentTypes());
  FailureOr<SmallVector<Type>> results =
      scalarTypes(region.front().getTerminator()->getOperandTypes());
  if (failed(arguments) || failed(results))
    return failure();

  MLIRContext *context = module.getContext();
  context->loadDialect<arith::ArithDialect, complex::ComplexDialect, math::MathDialect>();
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto function = func::FuncOp::create(builder, region.getLoc(), name,
                                       builder.getFunctionType(*arguments, *results));
  function.setPrivate();
  builder.setInsertionPointToStart(function.addEntryBlock());
  FailureOr<SmallVector<Value>> values = emitRegion(builder, region, function.getArguments());
  if (failed(values)) {
    function.erase();
    return failure();
  }
  func::ReturnOp::create(builder, region.getLoc(), *values);
  return function;
}

} // namespace tilewright::elements
