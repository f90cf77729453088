// Constraints of elementwise ops. The traits SameShape and SameBaselineElementType check that
// shapes and element types agree, which is (C1) of nearly all of these ops.
#include "tilewright/dialect/stablehlo/ops/BinaryOps.h"
#include "tilewright/dialect/stablehlo/ops/UnaryOps.h"
#include "tilewright/dialect/stablehlo/verify/VerifyRules.h"

#include "mlir/Dialect/Quant/IR/QuantTypes.h"

using namespace mlir;
using namespace tilewright::stablehlo;

/// The component type of a complex type; any other type itself.
static Type realPart(Type element) {
  auto complex = dyn_cast<ComplexType>(element);
  return complex ? complex.getElementType() : element;
}

/// Checks that `result` has the component type of `operand`.
static LogicalResult verifyRealPart(Operation *op, Value operand, Value result) {
  Type expected = realPart(elementOf(operand.getType()));
  if (haveSameBaseline(expected, elementOf(result.getType())))
    return success();
  return op->emitOpError() << "result must have the operand's real element type, " << expected
                           << ", got " << elementOf(result.getType());
}

//===----------------------------------------------------------------------===//
// One operand
//===----------------------------------------------------------------------===//

LogicalResult AbsOp::verify() { return verifyRealPart(*this, getOperand(), getResult()); } // abs_c2
LogicalResult RealOp::verify() {
  return verifyRealPart(*this, getOperand(), getResult()); // real_c2
}
LogicalResult ImagOp::verify() {
  return verifyRealPart(*this, getOperand(), getResult()); // imag_c2
}

LogicalResult ReducePrecisionOp::verify() {
  int32_t exponentBits = getExponentBits(), mantissaBits = getMantissaBits();
  if (exponentBits < 1) // reduce_precision_c2
    return emitOpError() << "exponent_bits must be at least 1, got " << exponentBits;
  if (mantissaBits < 0) // reduce_precision_c3
    return emitOpError() << "mantissa_bits must not be negative, got " << mantissaBits;
  return success();
}

LogicalResult UniformQuantizeOp::verify() {
  Type source = elementOf(getOperand().getType());
  if (auto quantized = dyn_cast<quant::QuantizedType>(source))
    source = quantized.getExpressedType();
  Type expressed = cast<quant::QuantizedType>(elementOf(getResult().getType())).getExpressedType();
  if (source != expressed) // uniform_quantize_c2
    return emitOpError() << "result must have the operand's float type as its expressed type, "
                         << source << ", got " << expressed;
  return success();
}

LogicalResult UniformDequantizeOp::verify() {
  Type expressed = cast<quant::QuantizedType>(elementOf(getOperand().getType())).getExpressedType();
  Type result = elementOf(getResult().getType());
  if (result != expressed) // uniform_dequantize_c2
    return emitOpError() << "result must have the expressed type of the operand, " << expressed
                         << ", got " << result;
  return success();
}

/// The width of a value of `element` in memory, in bits.
static int64_t bitWidth(Type element) {
  if (auto quantized = dyn_cast<quant::QuantizedType>(element))
    return quantized.getStorageTypeIntegralWidth();
  if (auto complex = dyn_cast<ComplexType>(element))
    return 2 * complex.getElementType().getIntOrFloatBitWidth();
  return element.getIntOrFloatBitWidth();
}

LogicalResult BitcastConvertOp::verify() {
  auto operand = cast<RankedTensorType>(getOperand().getType());
  auto result = cast<RankedTensorType>(getResult().getType());
  bool operandIsComplex = isa<ComplexType>(operand.getElementType());
  if (operandIsComplex != isa<ComplexType>(result.getElementType())) // bitcast_convert_c2
    return emitOpError() << "operand and result must both be complex or both be non-complex, got "
                         << operand.getElementType() << " and " << result.getElementType();

  // bitcast_convert_c1: the type with narrower elements has one more dimension.
  int64_t operandBits = bitWidth(operand.getElementType());
  int64_t resultBits = bitWidth(result.getElementType());
  auto [narrow, wide] =
      operandBits < resultBits ? std::pair(operand, result) : std::pair(result, operand);
  SmallVector<int64_t> expected(wide.getShape());
  if (operandBits != resultBits) {
    auto [narrowBits, wideBits] = std::minmax(operandBits, resultBits);
    if (wideBits % narrowBits != 0)
      return emitOpError()
             << "the width of one element type must be a multiple of the width of the other, got "
             << operandBits << " and " << resultBits << " bits";
    expected.push_back(wideBits / narrowBits);
  }
  if (!shapesAgree(narrow.getShape(), expected))
    return emitOpError() << (narrow == operand ? "operand" : "result") << " must have the shape "
                         << shapeText(expected) << " to hold the bits of " << wide << ", got "
                         << shapeText(narrow.getShape());
  return success();
}

//===----------------------------------------------------------------------===//
// Two and three operands
//===----------------------------------------------------------------------===//

/// The dimension of per-axis quantization, or nullopt.
static std::optional<int32_t> quantizedAxis(Type element) {
  if (auto perAxis = dyn_cast<quant::UniformQuantizedPerAxisType>(element))
    return perAxis.getQuantizedDimension();
  return std::nullopt;
}

LogicalResult AddOp::verify() {
  Type elements[] = {elementOf(getLhs().getType()), elementOf(getRhs().getType()),
                     elementOf(getResult().getType())};
  auto [lhs, rhs, result] = elements;
  auto reject = [&](StringRef rule) {
    return emitOpError() << rule << ", got " << lhs << ", " << rhs << " and " << result;
  };
  SmallVector<quant::QuantizedType, 3> quantized;
  for (Type element : elements)
    if (auto type = dyn_cast<quant::QuantizedType>(element))
      quantized.push_back(type);
  if (quantized.empty()) { // add_c1
    if (lhs != rhs || lhs != result)
      return reject("operands and result must have the same element type");
    return success();
  }
  if (quantized.size() != 3) // add_c2
    return reject("either all operands and the result must be quantized, or none of them");
  auto sameIn = [&](auto get) {
    return get(quantized[0]) == get(quantized[1]) && get(quantized[0]) == get(quantized[2]);
  };
  if (!sameIn([](auto type) { return std::pair(type.getStorageType(), type.isSigned()); }))
    return reject("operands and result must have the same storage type"); // add_c3
  if (!sameIn([](auto type) { return type.getExpressedType(); }))         // add_c4
    return reject("operands and result must have the same expressed type");
  std::optional<int32_t> lhsAxis = quantizedAxis(lhs), rhsAxis = quantizedAxis(rhs),
                         resultAxis = quantizedAxis(result);
  if ((lhsAxis || rhsAxis) != resultAxis.has_value()) // add_c5
    return reject("result must be quantized per axis if and only if an operand is");
  if (lhsAxis && lhsAxis != resultAxis) // add_c6
    return reject("lhs and result must be quantized along the same dimension");
  if (rhsAxis && rhsAxis != resultAxis) // add_c7
    return reject("rhs and result must be quantized along the same dimension");
  return success();
}

LogicalResult ComplexOp::verify() {
  Type lhs = elementOf(getLhs().getType()), rhs = elementOf(getRhs().getType());
  if (lhs != rhs) // complex_c1
    return emitOpError() << "lhs and rhs must have the same element type, got " << lhs << " and "
                         << rhs;
  Type result = elementOf(getResult().getType());
  if (realPart(result) != lhs) // complex_c3
    return emitOpError() << "components of the result must have the operands' element type, " << lhs
                         << ", got " << result;
  return success();
}

/// Whether `type` is a valid comparison type for `element`. Quantized types accept any comparison
/// type. So do floats: the published compatibility artifacts compare f32 as SIGNED and UNSIGNED,
/// which means FLOAT.
static bool canCompareAs(Type element, ComparisonType type) {
  if (type == ComparisonType::NOTYPE || isa<quant::QuantizedType, FloatType>(element))
    return true;
  if (isa<ComplexType>(element))
    return type == ComparisonType::FLOAT;
  bool isUnsigned = element.isUnsignedInteger() || element.isInteger(1);
  return type == (isUnsigned ? ComparisonType::UNSIGNED : ComparisonType::SIGNED);
}

LogicalResult CompareOp::verify() {
  Type lhs = elementOf(getLhs().getType()), rhs = elementOf(getRhs().getType());
  if (!haveSameBaseline(lhs, rhs)) // compare_c1
    return emitOpError() << "lhs and rhs must have the same element type, got " << lhs << " and "
                         << rhs;
  if (std::optional<ComparisonType> type = getCompareType(); type && !canCompareAs(lhs, *type)) {
    InFlightDiagnostic diag = emitOpError() << "compare_type must match the element type " << lhs
                                            << ", got " << stringifyComparisonType(*type);
    diag.attachNote() << "omit compare_type to derive it from the element type";
    return diag; // compare_c3
  }
  return success();
}

LogicalResult SelectOp::verify() {
  auto onTrue = cast<RankedTensorType>(getOnTrue().getType());
  for (auto [name, type] :
       {std::pair("on_false", getOnFalse().getType()), std::pair("result", getResult().getType())})
    if (!shapesAgree(shapeOf(type), onTrue.getShape()) ||
        !haveSameBaseline(elementOf(type), onTrue.getElementType())) // select_c2
      return emitOpError() << name << " must have the type of on_true, " << onTrue << ", got "
                           << type;
  auto pred = cast<RankedTensorType>(getPred().getType());
  if (pred.getRank() != 0 && !shapesAgree(pred.getShape(), onTrue.getShape())) // select_c1
    return emitOpError() << "pred must be a scalar or have the shape of on_true, "
                         << shapeText(onTrue.getShape()) << ", got " << shapeText(pred.getShape());
  return success();
}

LogicalResult ClampOp::verify() { // clamp_c3: see SameBaselineElementType
  auto operand = cast<RankedTensorType>(getOperand().getType());
  for (auto [name, type] :
       {std::pair("min", getMin().getType()), std::pair("max", getMax().getType())}) {
    ArrayRef<int64_t> shape = shapeOf(type);
    if (!shape.empty() && !shapesAgree(shape, operand.getShape())) // clamp_c1, clamp_c2
      return emitOpError() << name << " must be a scalar or have the shape of the operand, "
                           << shapeText(operand.getShape()) << ", got " << shapeText(shape);
  }
  if (!shapesAgree(shapeOf(getResult().getType()), operand.getShape())) // clamp_c4
    return emitOpError() << "result must have the shape of the operand, "
                         << shapeText(operand.getShape()) << ", got "
                         << shapeText(shapeOf(getResult().getType()));
  return success();
}
