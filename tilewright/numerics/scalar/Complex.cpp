// Complex scalars: complex<f32> computes in double, complex<f64> in long
// double, and each component is rounded once at the end.
#include "tilewright/numerics/scalar/Rounding.h"
#include "tilewright/numerics/scalar/Tables.h"

#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <type_traits>

namespace tilewright::numerics::detail {

template <ElementType type>
using WideOf = std::conditional_t<type == ElementType::c128, long double, double>;

template <ElementType type, typename Wide> static Scalar rounded(const std::complex<Wide> &value) {
  constexpr ElementType component = numerics::componentOf(type);
  return Scalar::ofComplex({roundTo<component>(static_cast<double>(value.real())),
                            roundTo<component>(static_cast<double>(value.imag()))});
}
template <typename Wide> static std::complex<Wide> widened(const Scalar &scalar) {
  return {static_cast<Wide>(scalar.r), static_cast<Wide>(scalar.im)};
}

template <ElementType type, auto compute>
static Scalar unary(const Scalar &a, const Scalar &, const Scalar &) {
  using Wide = WideOf<type>;
  return rounded<type, Wide>(compute(widened<Wide>(a)));
}
template <ElementType type, auto compute>
static Scalar binary(const Scalar &a, const Scalar &b, const Scalar &) {
  using Wide = WideOf<type>;
  return rounded<type, Wide>(compute(widened<Wide>(a), widened<Wide>(b)));
}
/// Compares by the real part, then by the imaginary part.
template <auto compute>
static Scalar lexicographic(const Scalar &a, const Scalar &b, const Scalar &) {
  return Scalar::ofUnsigned(a.r == b.r ? compute(a.im, b.im) : compute(a.r, b.r));
}

/// The schoolbook product without C Annex G's recovery of infinities, as in XLA.
template <typename Wide>
static std::complex<Wide> multiply(std::complex<Wide> a, std::complex<Wide> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

template <typename Wide> static std::complex<Wide> expm1(std::complex<Wide> z) {
  const Wide x = z.real(), y = z.imag();
  if (y == 0)
    return {std::expm1(x), y};
  // e^x cos y - 1 without cancellation: cos y - 1 is -2 sin²(y/2).
  const Wide half = std::sin(y / 2);
  return {std::expm1(x) * std::cos(y) - 2 * half * half, std::exp(x) * std::sin(y)};
}

template <typename Wide> static std::complex<Wide> log1p(std::complex<Wide> z) {
  const Wide x = z.real(), y = z.imag();
  const Wide angle = std::atan2(y, 1 + x);
  // |1 + z|² - 1 is accurate while z is small; elsewhere clog's scaling is better.
  if (std::fabs(x) < Wide(0.5) && std::fabs(y) < Wide(0.5))
    return {std::log1p(std::fma(y, y, x * (2 + x))) / 2, angle};
  return {std::log(std::complex<Wide>(1 + x, y)).real(), angle};
}

template <typename Wide> static std::complex<Wide> sign(std::complex<Wide> z) {
  if (std::isnan(z.real()) || std::isnan(z.imag()))
    return {std::numeric_limits<Wide>::quiet_NaN(), std::numeric_limits<Wide>::quiet_NaN()};
  const Wide magnitude = std::hypot(z.real(), z.imag());
  return magnitude == 0 ? z : std::complex<Wide>(z.real() / magnitude, z.imag() / magnitude);
}

template <typename Wide> static std::complex<Wide> rsqrt(std::complex<Wide> z) {
  if (std::isinf(z.real()) || std::isinf(z.imag()))
    return {0, std::copysign(Wide(0), -z.imag())};
  return std::complex<Wide>(1) / std::sqrt(z);
}

template <typename Wide> static std::complex<Wide> logistic(std::complex<Wide> z) {
  // For a very negative real part, e^-z overflows, but the result, e^z, does not.
  if (z.real() < -40)
    return std::exp(z);
  return std::complex<Wide>(1) / (std::complex<Wide>(1) + std::exp(-z));
}

template <typename Wide>
static std::complex<Wide> power(std::complex<Wide> base, std::complex<Wide> exponent) {
  if (exponent == std::complex<Wide>(0))
    return 1;
  if (base == std::complex<Wide>(0))
    return exponent.real() > 0 ? std::complex<Wide>(0)
                               : std::complex<Wide>(std::numeric_limits<Wide>::quiet_NaN(),
                                                    std::numeric_limits<Wide>::quiet_NaN());
  return std::exp(multiply(exponent, std::log(base)));
}

/// -i log((x + iy) / sqrt(x² + y²)), which extends the real atan2.
template <typename Wide>
static std::complex<Wide> atan2(std::complex<Wide> y, std::complex<Wide> x) {
  const std::complex<Wide> i(0, 1);
  const std::complex<Wide> logarithm =
      std::log((x + multiply(i, y)) / std::sqrt(multiply(x, x) + multiply(y, y)));
  const std::complex<Wide> angle(logarithm.imag(), -logarithm.real());
  // Near zero the logarithm loses digits. The arctangent does not, and gives the same angle up to a
  // multiple of pi.
  const std::complex<Wide> arctangent = std::atan(y / x);
  if (!std::isfinite(arctangent.real()) || !std::isfinite(arctangent.imag()))
    return angle;
  const Wide pi = std::numbers::pi_v<Wide>;
  return arctangent + std::round((angle.real() - arctangent.real()) / pi) * pi;
}

static bool isBelow(const Scalar &a, const Scalar &b) {
  return a.r < b.r || (a.r == b.r && a.im < b.im);
}
static Scalar maximum(const Scalar &a, const Scalar &b, const Scalar &) {
  return isBelow(a, b) ? b : a;
}
static Scalar minimum(const Scalar &a, const Scalar &b, const Scalar &) {
  return isBelow(b, a) ? b : a;
}

template <ElementType type> static Operation operationOf(ScalarOp op) {
  using Wide = WideOf<type>;
  using Complex = std::complex<Wide>;
  constexpr ElementType component = numerics::componentOf(type);
  switch (op) {
  case ScalarOp::abs:
    return [](const Scalar &a, const Scalar &, const Scalar &) {
      return Scalar::ofReal(
          roundTo<component>(static_cast<double>(std::hypot(Wide(a.r), Wide(a.im)))));
    };
  case ScalarOp::real:
    return [](const Scalar &a, const Scalar &, const Scalar &) { return Scalar::ofReal(a.r); };
  case ScalarOp::imag:
    return [](const Scalar &a, const Scalar &, const Scalar &) { return Scalar::ofReal(a.im); };
  case ScalarOp::isFinite:
    return [](const Scalar &a, const Scalar &, const Scalar &) {
      return Scalar::ofUnsigned(std::isfinite(a.r) && std::isfinite(a.im));
    };
  case ScalarOp::cbrt:
    return unary<type, [](Complex z) { return power(z, Complex(Wide(1) / 3)); }>;
  case ScalarOp::cosine:
    return unary<type, [](Complex z) { return std::cos(z); }>;
  case ScalarOp::exponential:
    return unary<type, [](Complex z) { return std::exp(z); }>;
  case ScalarOp::exponentialMinusOne:
    return unary<type, [](Complex z) { return expm1(z); }>;
  case ScalarOp::log:
    return unary<type, [](Complex z) { return std::log(z); }>;
  case ScalarOp::logPlusOne:
    return unary<type, [](Complex z) { return log1p(z); }>;
  case ScalarOp::logistic:
    return unary<type, [](Complex z) { return logistic(z); }>;
  case ScalarOp::negate:
    return unary<type, [](Complex z) { return -z; }>;
  case ScalarOp::rsqrt:
    return unary<type, [](Complex z) { return rsqrt(z); }>;
  case ScalarOp::sign:
    return unary<type, [](Complex z) { return sign(z); }>;
  case ScalarOp::sine:
    return unary<type, [](Complex z) { return std::sin(z); }>;
  case ScalarOp::sqrt:
    return unary<type, [](Complex z) { return std::sqrt(z); }>;
  case ScalarOp::tan:
    return unary<type, [](Complex z) { return std::tan(z); }>;
  case ScalarOp::tanh:
    return unary<type, [](Complex z) { return std::tanh(z); }>;

  case ScalarOp::add:
    return binary<type, [](Complex a, Complex b) { return a + b; }>;
  case ScalarOp::subtract:
    return binary<type, [](Complex a, Complex b) { return a - b; }>;
  case ScalarOp::multiply:
    return binary<type, [](Complex a, Complex b) { return multiply(a, b); }>;
  case ScalarOp::divide:
    return binary<type, [](Complex a, Complex b) { return a / b; }>;
  case ScalarOp::power:
    return binary<type, [](Complex a, Complex b) { return power(a, b); }>;
  case ScalarOp::atan2:
    return binary<type, [](Complex a, Complex b) { return atan2(a, b); }>;
  case ScalarOp::maximum:
    return maximum;
  case ScalarOp::minimum:
    return minimum;

  case ScalarOp::compareEq:
    return [](const Scalar &a, const Scalar &b, const Scalar &) {
      return Scalar::ofUnsigned(a.r == b.r && a.im == b.im);
    };
  case ScalarOp::compareNe:
    return [](const Scalar &a, const Scalar &b, const Scalar &) {
      return Scalar::ofUnsigned(a.r != b.r || a.im != b.im);
    };
  case ScalarOp::compareGe:
    return lexicographic<[](double a, double b) { return a >= b; }>;
  case ScalarOp::compareGt:
    return lexicographic<[](double a, double b) { return a > b; }>;
  case ScalarOp::compareLe:
    return lexicographic<[](double a, double b) { return a <= b; }>;
  case ScalarOp::compareLt:
    return lexicographic<[](double a, double b) { return a < b; }>;
  case ScalarOp::clamp:
    return [](const Scalar &low, const Scalar &x, const Scalar &high) {
      return minimum(maximum(x, low, x), high, x);
    };
  default:
    return nullptr;
  }
}

Operation complexOperation(ScalarOp op, ElementType type) {
  return type == ElementType::c64 ? operationOf<ElementType::c64>(op)
                                  : operationOf<ElementType::c128>(op);
}

} // namespace tilewright::numerics::detail
