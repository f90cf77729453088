// Integers, which wrap at their width, and pred. Where the specification leaves a result undefined,
// this follows XLA: x / 0 is all ones, x % 0 is x, and a shift by the width or more shifts out
// every bit.
#include "tilewright/numerics/scalar/Rounding.h"
#include "tilewright/numerics/scalar/Tables.h"

#include <algorithm>
#include <bit>
#include <type_traits>

namespace tilewright::numerics::detail {

template <ElementType type>
using ValueOf = std::conditional_t<numerics::isSigned(type), int64_t, uint64_t>;

template <ElementType type> static ValueOf<type> valueOf(const Scalar &scalar) {
  if constexpr (numerics::isSigned(type))
    return scalar.i;
  else
    return scalar.u;
}

template <ElementType type, auto compute>
static Scalar unary(const Scalar &a, const Scalar &, const Scalar &) {
  return wrapTo<type>(static_cast<uint64_t>(compute(valueOf<type>(a))));
}
template <ElementType type, auto compute>
static Scalar binary(const Scalar &a, const Scalar &b, const Scalar &) {
  return wrapTo<type>(static_cast<uint64_t>(compute(valueOf<type>(a), valueOf<type>(b))));
}
/// Implements operations whose low bits do not depend on the sign, in unsigned arithmetic, which
/// cannot overflow.
template <ElementType type, auto compute>
static Scalar modular(const Scalar &a, const Scalar &b, const Scalar &) {
  return wrapTo<type>(compute(a.u, b.u));
}
template <ElementType type, auto compute>
static Scalar predicate(const Scalar &a, const Scalar &b, const Scalar &) {
  return Scalar::ofUnsigned(compute(valueOf<type>(a), valueOf<type>(b)));
}

template <ElementType type> static uint64_t bitsOfValue(const Scalar &scalar) {
  return scalar.u & (~uint64_t(0) >> (64 - numerics::bitWidth(type)));
}

template <typename Value> static Value divide(Value a, Value b) {
  if (b == 0)
    return ~Value(0);
  // The only quotient that overflows; it wraps to the dividend.
  if (std::is_signed_v<Value> && b == Value(-1))
    return static_cast<Value>(0 - static_cast<uint64_t>(a));
  return a / b;
}

template <typename Value> static Value remainder(Value a, Value b) {
  if (b == 0)
    return a;
  if (std::is_signed_v<Value> && b == Value(-1))
    return 0;
  return a % b;
}

/// For a negative exponent, returns the integer part of the fraction: 0 unless |base| is 1.
template <typename Value> static uint64_t power(Value base, Value exponent) {
  if (exponent < 0) {
    if (base == 1)
      return 1;
    if (base == Value(-1))
      return exponent % 2 == 0 ? 1 : ~uint64_t(0);
    return 0;
  }
  uint64_t result = 1, square = static_cast<uint64_t>(base);
  for (auto rest = static_cast<uint64_t>(exponent); rest; rest >>= 1) {
    if (rest & 1)
      result *= square;
    square *= square;
  }
  return result;
}

template <ElementType type>
static Scalar shiftLeft(const Scalar &a, const Scalar &b, const Scalar &) {
  const uint64_t amount = bitsOfValue<type>(b);
  return wrapTo<type>(amount < numerics::bitWidth(type) ? a.u << amount : 0);
}
template <ElementType type>
static Scalar shiftRightLogical(const Scalar &a, const Scalar &b, const Scalar &) {
  const uint64_t amount = bitsOfValue<type>(b);
  return wrapTo<type>(amount < numerics::bitWidth(type) ? bitsOfValue<type>(a) >> amount : 0);
}
template <ElementType type>
static Scalar shiftRightArithmetic(const Scalar &a, const Scalar &b, const Scalar &) {
  constexpr unsigned width = numerics::bitWidth(type);
  const uint64_t amount = std::min<uint64_t>(bitsOfValue<type>(b), width - 1);
  // Unsigned types also shift in their top bit, as in XLA.
  const int64_t extended = static_cast<int64_t>(a.u << (64 - width)) >> (64 - width);
  return wrapTo<type>(static_cast<uint64_t>(extended >> amount));
}

template <ElementType type> static Operation operationOf(ScalarOp op) {
  using Value = ValueOf<type>;
  constexpr unsigned width = numerics::bitWidth(type);
  switch (op) {
  case ScalarOp::abs:
    return unary<type, [](Value x) { return x < 0 ? 0 - static_cast<uint64_t>(x) : uint64_t(x); }>;
  case ScalarOp::negate:
    return unary<type, [](Value x) { return 0 - static_cast<uint64_t>(x); }>;
  case ScalarOp::sign:
    return unary<type, [](Value x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }>;
  case ScalarOp::bitNot:
    return unary<type, [](Value x) { return ~x; }>;
  case ScalarOp::popcnt:
    return [](const Scalar &a, const Scalar &, const Scalar &) {
      return wrapTo<type>(static_cast<uint64_t>(std::popcount(bitsOfValue<type>(a))));
    };
  case ScalarOp::countLeadingZeros:
    return [](const Scalar &a, const Scalar &, const Scalar &) {
      return wrapTo<type>(static_cast<uint64_t>(std::countl_zero(bitsOfValue<type>(a))) -
                          (64 - width));
    };

  case ScalarOp::add:
    return modular<type, [](uint64_t a, uint64_t b) { return a + b; }>;
  case ScalarOp::subtract:
    return modular<type, [](uint64_t a, uint64_t b) { return a - b; }>;
  case ScalarOp::multiply:
    return modular<type, [](uint64_t a, uint64_t b) { return a * b; }>;
  case ScalarOp::bitAnd:
    return modular<type, [](uint64_t a, uint64_t b) { return a & b; }>;
  case ScalarOp::bitOr:
    return modular<type, [](uint64_t a, uint64_t b) { return a | b; }>;
  case ScalarOp::bitXor:
    return modular<type, [](uint64_t a, uint64_t b) { return a ^ b; }>;
  case ScalarOp::divide:
    return binary<type, [](Value a, Value b) { return divide(a, b); }>;
  case ScalarOp::remainder:
    return binary<type, [](Value a, Value b) { return remainder(a, b); }>;
  case ScalarOp::maximum:
    return binary<type, [](Value a, Value b) { return std::max(a, b); }>;
  case ScalarOp::minimum:
    return binary<type, [](Value a, Value b) { return std::min(a, b); }>;
  case ScalarOp::power:
    return binary<type, [](Value a, Value b) { return power(a, b); }>;
  case ScalarOp::shiftLeft:
    return shiftLeft<type>;
  case ScalarOp::shiftRightArithmetic:
    return shiftRightArithmetic<type>;
  case ScalarOp::shiftRightLogical:
    return shiftRightLogical<type>;

  case ScalarOp::compareEq:
  case ScalarOp::totalOrderEq:
    return predicate<type, [](Value a, Value b) { return a == b; }>;
  case ScalarOp::compareNe:
  case ScalarOp::totalOrderNe:
    return predicate<type, [](Value a, Value b) { return a != b; }>;
  case ScalarOp::compareGe:
  case ScalarOp::totalOrderGe:
    return predicate<type, [](Value a, Value b) { return a >= b; }>;
  case ScalarOp::compareGt:
  case ScalarOp::totalOrderGt:
    return predicate<type, [](Value a, Value b) { return a > b; }>;
  case ScalarOp::compareLe:
  case ScalarOp::totalOrderLe:
    return predicate<type, [](Value a, Value b) { return a <= b; }>;
  case ScalarOp::compareLt:
  case ScalarOp::totalOrderLt:
    return predicate<type, [](Value a, Value b) { return a < b; }>;

  case ScalarOp::clamp:
    return [](const Scalar &low, const Scalar &x, const Scalar &high) {
      return wrapTo<type>(static_cast<uint64_t>(
          std::min(std::max(valueOf<type>(x), valueOf<type>(low)), valueOf<type>(high))));
    };
  default:
    return nullptr;
  }
}

Operation integerOperation(ScalarOp op, ElementType type) {
  return withType(type, [&]<ElementType integer>() -> Operation {
    if constexpr (numerics::isInteger(integer))
      return operationOf<integer>(op);
    else
      return nullptr;
  });
}

/// pred as a one-bit number: + and max are `or`, * and min are `and`.
Operation booleanOperation(ScalarOp op) {
  constexpr ElementType pred = ElementType::pred;
  switch (op) {
  case ScalarOp::bitNot:
    return unary<pred, [](uint64_t x) { return x ^ 1; }>;
  case ScalarOp::add:
  case ScalarOp::bitOr:
  case ScalarOp::maximum:
    return modular<pred, [](uint64_t a, uint64_t b) { return a | b; }>;
  case ScalarOp::multiply:
  case ScalarOp::bitAnd:
  case ScalarOp::minimum:
    return modular<pred, [](uint64_t a, uint64_t b) { return a & b; }>;
  case ScalarOp::bitXor:
    return modular<pred, [](uint64_t a, uint64_t b) { return a ^ b; }>;
  case ScalarOp::compareEq:
  case ScalarOp::compareNe:
  case ScalarOp::compareGe:
  case ScalarOp::compareGt:
  case ScalarOp::compareLe:
  case ScalarOp::compareLt:
  case ScalarOp::totalOrderEq:
  case ScalarOp::totalOrderNe:
  case ScalarOp::totalOrderGe:
  case ScalarOp::totalOrderGt:
  case ScalarOp::totalOrderLe:
  case ScalarOp::totalOrderLt:
  case ScalarOp::clamp:
    return operationOf<pred>(op);
  default:
    return nullptr;
  }
}

} // namespace tilewright::numerics::detail
