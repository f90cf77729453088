#include "tilewright/numerics/scalar/Operations.h"

#include "tilewright/numerics/scalar/Tables.h"

namespace tilewright::numerics {

unsigned arityOf(ScalarOp op) {
  static constexpr uint8_t arities[] = {
#define TILEWRIGHT_SCALAR_OP(name, arity) arity,
#include "tilewright/numerics/scalar/Operations.def"
  };
  return arities[static_cast<size_t>(op)];
}

std::string_view nameOf(ScalarOp op) {
  static constexpr std::string_view names[] = {
#define TILEWRIGHT_SCALAR_OP(name, arity) #name,
#include "tilewright/numerics/scalar/Operations.def"
  };
  return names[static_cast<size_t>(op)];
}

static bool isComparison(ScalarOp op) {
  return op >= ScalarOp::compareEq && op <= ScalarOp::totalOrderLt;
}

ElementType resultTypeOf(ScalarOp op, ElementType operand) {
  if (isComparison(op) || op == ScalarOp::isFinite)
    return ElementType::pred;
  switch (op) {
  case ScalarOp::abs:
  case ScalarOp::real:
  case ScalarOp::imag:
    return numerics::componentOf(operand);
  case ScalarOp::complex:
    return operand == ElementType::f64 ? ElementType::c128 : ElementType::c64;
  case ScalarOp::toBits:
    return unsignedOf(operand);
  default:
    return operand;
  }
}

static Scalar selectScalar(const Scalar &a, const Scalar &b, const Scalar &c) {
  return a.u ? b : c;
}

static Scalar joinComplex(const Scalar &a, const Scalar &b, const Scalar &) {
  return Scalar::ofComplex({a.r, b.r});
}

Operation operationFor(ScalarOp op, ElementType operand) {
  return operationFor(op, operand, resultTypeOf(op, operand));
}

Operation operationFor(ScalarOp op, ElementType operand, ElementType result) {
  switch (op) {
  case ScalarOp::convert:
    return detail::conversion(operand, result);
  case ScalarOp::toBits:
    return detail::bitsOf(operand);
  case ScalarOp::fromBits:
    return detail::elementOf(result);
  case ScalarOp::select:
    return operand == result ? selectScalar : nullptr;
  default:
    break;
  }
  if (result != resultTypeOf(op, operand))
    return nullptr;
  if (op == ScalarOp::complex)
    return operand == ElementType::f32 || operand == ElementType::f64 ? joinComplex : nullptr;
  switch (numerics::kindOf(operand)) {
  case ElementKind::boolean:
    return detail::booleanOperation(op);
  case ElementKind::signedInteger:
  case ElementKind::unsignedInteger:
    return detail::integerOperation(op, operand);
  case ElementKind::real:
    return detail::realOperation(op, operand);
  case ElementKind::complex:
    return detail::complexOperation(op, operand);
  }
  return nullptr;
}

} // namespace tilewright::numerics
