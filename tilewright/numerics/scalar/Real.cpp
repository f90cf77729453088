// Real scalars. Types up to 32 bits compute in double and round once, which gives correctly rounded
// + - * / sqrt (a double has more than twice their precision). f64 computes these natively and all
// other operations in long double.
#include "tilewright/numerics/scalar/Rounding.h"
#include "tilewright/numerics/scalar/Tables.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

namespace tilewright::numerics::detail {

template <ElementType type, auto compute>
static Scalar unary(const Scalar &a, const Scalar &, const Scalar &) {
  return Scalar::ofReal(roundTo<type>(static_cast<double>(compute(a.r))));
}
template <ElementType type, auto compute>
static Scalar binary(const Scalar &a, const Scalar &b, const Scalar &) {
  return Scalar::ofReal(roundTo<type>(static_cast<double>(compute(a.r, b.r))));
}
template <auto compute> static Scalar predicate(const Scalar &a, const Scalar &b, const Scalar &) {
  return Scalar::ofUnsigned(compute(a.r, b.r));
}

/// e^x and 1 / (1 + e^-x) for types of up to 32 bits, which underflow at e^-104. Rounding the tiny
/// double below that would take a hundred cycles, and attention masks make such values common.
static double exponential(double x) { return x < -120 ? 0 : std::exp(x); }
static long double exponential(long double x) { return std::exp(x); }
static double logistic(double x) { return x < -120 ? 0 : 1 / (1 + std::exp(-x)); }
static long double logistic(long double x) { return 1 / (1 + std::exp(-x)); }

static double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }

/// IEEE-754 maximum and minimum: a NaN wins, and -0 is below +0.
static double maximum(double a, double b) {
  if (a != a || b != b)
    return std::numeric_limits<double>::quiet_NaN();
  if (a == b)
    return std::signbit(a) ? b : a;
  return a > b ? a : b;
}
static double minimum(double a, double b) {
  if (a != a || b != b)
    return std::numeric_limits<double>::quiet_NaN();
  if (a == b)
    return std::signbit(a) ? a : b;
  return a < b ? a : b;
}

/// An integer whose order is IEEE-754 totalOrder.
static int64_t orderKey(double value) {
  const auto bits = std::bit_cast<int64_t>(value);
  return bits ^ ((bits >> 63) & std::numeric_limits<int64_t>::max());
}

/// Rounds to a format of `exponentBits` and `mantissaBits` that has infinities but no subnormals,
/// and back. Works on the bits of the source type, because its subnormals have a fixed absolute,
/// not relative, precision.
template <ElementType type>
static Scalar reducePrecision(const Scalar &a, const Scalar &b, const Scalar &c) {
  constexpr numerics::FloatFormat format = numerics::detail::floatFormat(type);
  const uint64_t exponentBits = b.u, mantissaBits = c.u;
  if (a.r != a.r)
    return a;
  const uint64_t bits = numerics::detail::encodeFrom<type>(a.r) >> format.paddingBits;
  uint64_t sign = bits & format.signBit();
  uint64_t magnitude = bits & format.magnitudeMask();
  if (mantissaBits < format.mantissaBits) {
    const unsigned dropped = format.mantissaBits - static_cast<unsigned>(mantissaBits);
    const uint64_t last = uint64_t(1) << dropped;
    magnitude += (last >> 1) - 1 + ((magnitude >> dropped) & 1);
    magnitude &= ~(last - 1);
    // A format without infinity has numbers or NaN there, or the carry reaches the sign.
    if (!format.hasInfinity)
      magnitude = std::min(magnitude, format.maxFinite());
  }
  if (exponentBits < format.exponentBits) {
    const uint64_t bias = (uint64_t(1) << (format.exponentBits - 1)) - 1;
    const uint64_t reducedBias = (uint64_t(1) << (exponentBits - 1)) - 1;
    const uint64_t exponent = magnitude >> format.mantissaBits;
    if (exponent > bias + reducedBias)
      magnitude = format.hasInfinity ? format.infinity() : format.maxFinite();
    else if (exponent <= bias - reducedBias)
      magnitude = 0;
  }
  if (magnitude == 0 && format.zero == ZeroEncoding::plusOnly)
    sign = 0;
  return Scalar::ofReal(numerics::detail::decodeAs<type>((sign | magnitude) << format.paddingBits));
}

/// The type in which transcendental functions are computed.
template <ElementType type>
using WideFor = std::conditional_t<type == ElementType::f64, long double, double>;

template <ElementType type> static Operation unaryOf(ScalarOp op) {
  using Wide = WideFor<type>;
  switch (op) {
  case ScalarOp::abs:
    return unary<type, [](double x) { return std::fabs(x); }>;
  case ScalarOp::cbrt:
    return unary<type, [](Wide x) { return std::cbrt(x); }>;
  case ScalarOp::ceil:
    return unary<type, [](double x) { return std::ceil(x); }>;
  case ScalarOp::cosine:
    return unary<type, [](Wide x) { return std::cos(x); }>;
  case ScalarOp::exponential:
    return unary<type, [](Wide x) { return exponential(x); }>;
  case ScalarOp::exponentialMinusOne:
    return unary<type, [](Wide x) { return std::expm1(x); }>;
  case ScalarOp::floor:
    return unary<type, [](double x) { return std::floor(x); }>;
  case ScalarOp::imag:
    return unary<type, [](double) { return 0.0; }>;
  case ScalarOp::log:
    return unary<type, [](Wide x) { return std::log(x); }>;
  case ScalarOp::logPlusOne:
    return unary<type, [](Wide x) { return std::log1p(x); }>;
  case ScalarOp::logistic:
    return unary<type, [](Wide x) { return logistic(x); }>;
  case ScalarOp::negate:
    return unary<type, [](double x) { return -x; }>;
  case ScalarOp::real:
    return unary<type, [](double x) { return x; }>;
  case ScalarOp::roundNearestAfz:
    return unary<type, [](double x) { return std::round(x); }>;
  case ScalarOp::roundNearestEven:
    return unary<type, [](double x) { return __builtin_roundeven(x); }>;
  case ScalarOp::rsqrt:
    return unary<type, [](Wide x) { return 1 / std::sqrt(x); }>;
  case ScalarOp::sign:
    return unary<type, [](double x) { return sign(x); }>;
  case ScalarOp::sine:
    return unary<type, [](Wide x) { return std::sin(x); }>;
  case ScalarOp::sqrt:
    return unary<type, [](double x) { return std::sqrt(x); }>;
  case ScalarOp::tan:
    return unary<type, [](Wide x) { return std::tan(x); }>;
  case ScalarOp::tanh:
    return unary<type, [](Wide x) { return std::tanh(x); }>;
  default:
    return nullptr;
  }
}

template <ElementType type> static Operation binaryOf(ScalarOp op) {
  using Wide = WideFor<type>;
  switch (op) {
  case ScalarOp::add:
    return binary<type, [](double a, double b) { return a + b; }>;
  case ScalarOp::atan2:
    return binary<type, [](Wide a, Wide b) { return std::atan2(a, b); }>;
  case ScalarOp::divide:
    return binary<type, [](double a, double b) { return a / b; }>;
  case ScalarOp::maximum:
    return binary<type, [](double a, double b) { return maximum(a, b); }>;
  case ScalarOp::minimum:
    return binary<type, [](double a, double b) { return minimum(a, b); }>;
  case ScalarOp::multiply:
    return binary<type, [](double a, double b) { return a * b; }>;
  case ScalarOp::power:
    return binary<type, [](Wide a, Wide b) {
      // f8E8M0FNU has no zero, so a result below its range must not become zero.
      return type == ElementType::f8E8M0FNU ? std::max<Wide>(std::pow(a, b), 0x1p-1000)
                                            : std::pow(a, b);
    }>;
  case ScalarOp::remainder:
    return binary<type, [](double a, double b) { return std::fmod(a, b); }>;
  case ScalarOp::subtract:
    return binary<type, [](double a, double b) { return a - b; }>;
  default:
    return nullptr;
  }
}

static Operation predicateOf(ScalarOp op) {
  switch (op) {
  case ScalarOp::isFinite:
    return predicate<[](double x, double) { return std::isfinite(x); }>;
  case ScalarOp::compareEq:
    return predicate<[](double a, double b) { return a == b; }>;
  case ScalarOp::compareNe:
    return predicate<[](double a, double b) { return a != b; }>;
  case ScalarOp::compareGe:
    return predicate<[](double a, double b) { return a >= b; }>;
  case ScalarOp::compareGt:
    return predicate<[](double a, double b) { return a > b; }>;
  case ScalarOp::compareLe:
    return predicate<[](double a, double b) { return a <= b; }>;
  case ScalarOp::compareLt:
    return predicate<[](double a, double b) { return a < b; }>;
  case ScalarOp::totalOrderEq:
    return predicate<[](double a, double b) { return orderKey(a) == orderKey(b); }>;
  case ScalarOp::totalOrderNe:
    return predicate<[](double a, double b) { return orderKey(a) != orderKey(b); }>;
  case ScalarOp::totalOrderGe:
    return predicate<[](double a, double b) { return orderKey(a) >= orderKey(b); }>;
  case ScalarOp::totalOrderGt:
    return predicate<[](double a, double b) { return orderKey(a) > orderKey(b); }>;
  case ScalarOp::totalOrderLe:
    return predicate<[](double a, double b) { return orderKey(a) <= orderKey(b); }>;
  case ScalarOp::totalOrderLt:
    return predicate<[](double a, double b) { return orderKey(a) < orderKey(b); }>;
  default:
    return nullptr;
  }
}

static Scalar clamp(const Scalar &low, const Scalar &x, const Scalar &high) {
  return Scalar::ofReal(minimum(maximum(x.r, low.r), high.r));
}

template <ElementType type> static Operation operationOf(ScalarOp op) {
  if (op == ScalarOp::clamp)
    return clamp;
  if (op == ScalarOp::reducePrecision)
    return reducePrecision<type>;
  if (Operation found = unaryOf<type>(op))
    return found;
  if (Operation found = binaryOf<type>(op))
    return found;
  return predicateOf(op);
}

Operation realOperation(ScalarOp op, ElementType type) {
  return withReal(type, [&]<ElementType real>() -> Operation { return operationOf<real>(op); });
}

} // namespace tilewright::numerics::detail
