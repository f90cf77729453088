#include "Reference.h"

#include "tilewright/numerics/Float.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace tilewright::accuracy {

using numerics::formatOf;

Reference::Reference() { mpfr_inits2(64, x, y, result, nullptr); }
Reference::~Reference() { mpfr_clears(x, y, result, nullptr); }

/// The nearest value of a type.
static double roundTo(double value, ElementType type) {
  return type == ElementType::f32 ? static_cast<float>(value)
                                  : numerics::decode(type, numerics::encode(type, value));
}

/// IEEE 754 maximum and minimum, which MPFR does not have: NaN takes precedence, -0 < +0.
static double larger(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::numeric_limits<double>::quiet_NaN();
  return a > b || (a == b && !std::signbit(a)) ? a : b;
}

void Reference::evaluate(ScalarOp op, double a, double b, mpfr_prec_t precision) {
  mpfr_set_prec(x, 53);
  mpfr_set_prec(y, 53);
  mpfr_set_d(x, a, MPFR_RNDN);
  mpfr_set_d(y, b, MPFR_RNDN);
  mpfr_set_prec(result, precision);
  const mpfr_rnd_t z = MPFR_RNDZ;
  int ternary = 0;
  switch (op) {
  case ScalarOp::abs:
    ternary = mpfr_abs(result, x, z);
    break;
  case ScalarOp::cbrt:
    ternary = mpfr_cbrt(result, x, z);
    break;
  case ScalarOp::ceil:
    mpfr_ceil(result, x);
    break;
  case ScalarOp::cosine:
    ternary = mpfr_cos(result, x, z);
    break;
  case ScalarOp::exponential:
    ternary = mpfr_exp(result, x, z);
    break;
  case ScalarOp::exponentialMinusOne:
    ternary = mpfr_expm1(result, x, z);
    break;
  case ScalarOp::floor:
    mpfr_floor(result, x);
    break;
  case ScalarOp::log:
    ternary = mpfr_log(result, x, z);
    break;
  case ScalarOp::logPlusOne:
    ternary = mpfr_log1p(result, x, z);
    break;
  case ScalarOp::logistic:
    // Three roundings, so compute with extra bits; only x = 0 and infinities are exact.
    mpfr_set_prec(result, precision + 64);
    mpfr_neg(x, x, z);
    ternary = mpfr_exp(result, x, z);
    mpfr_add_ui(result, result, 1, z);
    mpfr_ui_div(result, 1, result, z);
    break;
  case ScalarOp::negate:
    ternary = mpfr_neg(result, x, z);
    break;
  case ScalarOp::roundNearestAfz:
    mpfr_round(result, x);
    break;
  case ScalarOp::roundNearestEven:
    mpfr_roundeven(result, x);
    break;
  case ScalarOp::rsqrt:
    // IEEE 754 has rSqrt(-0) = -infinity; MPFR has +infinity.
    ternary = mpfr_rec_sqrt(result, x, z);
    if (a == 0)
      mpfr_set_inf(result, std::signbit(a) ? -1 : 1);
    break;
  case ScalarOp::sign:
    if (a != 0 && !std::isnan(a))
      mpfr_set_si(result, a > 0 ? 1 : -1, z);
    else
      mpfr_set(result, x, z);
    break;
  case ScalarOp::sine:
    ternary = mpfr_sin(result, x, z);
    break;
  case ScalarOp::sqrt:
    ternary = mpfr_sqrt(result, x, z);
    break;
  case ScalarOp::tan:
    ternary = mpfr_tan(result, x, z);
    break;
  case ScalarOp::tanh:
    ternary = mpfr_tanh(result, x, z);
    break;
  // The sign of a sum of zeros follows the rounding mode, so add with rounding to nearest; 2300
  // bits hold every sum of two doubles.
  case ScalarOp::add:
    mpfr_set_prec(result, 2300);
    ternary = mpfr_add(result, x, y, MPFR_RNDN);
    break;
  case ScalarOp::subtract:
    mpfr_set_prec(result, 2300);
    ternary = mpfr_sub(result, x, y, MPFR_RNDN);
    break;
  case ScalarOp::multiply:
    ternary = mpfr_mul(result, x, y, z);
    break;
  case ScalarOp::divide:
    ternary = mpfr_div(result, x, y, z);
    break;
  case ScalarOp::remainder:
    ternary = mpfr_fmod(result, x, y, z);
    break;
  case ScalarOp::power:
    ternary = mpfr_pow(result, x, y, z);
    break;
  case ScalarOp::atan2:
    ternary = mpfr_atan2(result, x, y, z);
    break;
  case ScalarOp::maximum:
    mpfr_set_d(result, larger(a, b), z);
    break;
  case ScalarOp::minimum:
    mpfr_set_d(result, -larger(-a, -b), z);
    break;
  default:
    mpfr_set_nan(result);
  }
  inexact = ternary != 0;
}

double Reference::roundedTo(ElementType type) const {
  if (type == ElementType::f64)
    return mpfr_get_d(result, MPFR_RNDN);
  // Round to odd: the last bit is odd if anything was dropped, so that rounding again is correct.
  double value = mpfr_get_d(result, MPFR_RNDZ);
  if (std::isfinite(value) && (inexact || mpfr_cmp_d(result, value) != 0))
    value = std::bit_cast<double>(std::bit_cast<uint64_t>(value) | 1);
  return roundTo(value, type);
}

double Reference::errorOf(double value, ElementType type) const {
  const double infinity = std::numeric_limits<double>::infinity();
  const numerics::FloatFormat format = formatOf(type);
  if (std::isnan(value) || mpfr_nan_p(result))
    return std::isnan(value) && mpfr_nan_p(result) ? 0 : infinity;
  if (mpfr_inf_p(result))
    return value == mpfr_get_d(result, MPFR_RNDN) ? 0 : infinity;
  // An infinite value counts as the one that would follow the largest finite value.
  const int top = static_cast<int>(format.maxFinite() >> format.mantissaBits) - format.bias;
  if (std::isinf(value)) {
    if (mpfr_zero_p(result) || mpfr_get_exp(result) - 1 < top)
      return infinity;
    value = std::copysign(std::ldexp(1.0, std::min(top + 1, 1023)), value);
  }
  const long exponent = mpfr_zero_p(result)
                            ? format.minExponent()
                            : std::max<long>(mpfr_get_exp(result) - 1, format.minExponent());
  mpfr_t difference;
  mpfr_init2(difference, 64);
  mpfr_sub_d(difference, result, value, MPFR_RNDA);
  mpfr_mul_2si(difference, difference, format.mantissaBits - exponent, MPFR_RNDA);
  const double error = std::fabs(mpfr_get_d(difference, MPFR_RNDA));
  mpfr_clear(difference);
  return error;
}

/// Rounds to odd, so that rounding the double to a shorter format gives the same as rounding the
/// long double.
static double roundedToOdd(long double value) {
  auto nearest = static_cast<double>(value);
  if (static_cast<long double>(nearest) == value || value != value || std::isinf(value))
    return nearest;
  if (std::isinf(nearest))
    return std::copysign(std::numeric_limits<double>::max(), nearest);
  auto bits = std::bit_cast<uint64_t>(nearest);
  if (std::fabs(static_cast<long double>(nearest)) > std::fabs(value))
    --bits;
  return std::bit_cast<double>(bits | 1);
}

/// An approximation with a relative error of at most about 2^-60. For small x it uses the first
/// terms of the series, which is much faster.
static long double approximate(ScalarOp op, long double x, long double y) {
  const long double size = std::fabs(x);
  // For large arguments every format of at most 32 bits has reached its limit, and any value beyond
  // the limit will do.
  const bool farOut = size > 120;
  const long double huge = 0x1p300L, tiny = 0x1p-300L;
  const long double notANumber = std::numeric_limits<long double>::quiet_NaN();
  switch (op) {
  case ScalarOp::cbrt:
    return std::cbrt(x);
  case ScalarOp::cosine:
    return size < 0x1p-16L ? 1 - x * x / 2 : std::cos(x);
  case ScalarOp::exponential:
    return farOut ? (x > 0 ? huge : tiny) : size < 0x1p-31L ? 1 + x : std::exp(x);
  case ScalarOp::exponentialMinusOne:
    return farOut ? (x > 0 ? huge : -1) : size < 0x1p-31L ? x + x * x / 2 : std::expm1(x);
  case ScalarOp::log:
    return x < 0 ? notANumber : std::log(x);
  case ScalarOp::logPlusOne:
    return x < -1 ? notANumber : size < 0x1p-22L ? x - x * x * (0.5L - x / 3) : std::log1p(x);
  case ScalarOp::logistic:
    return farOut ? (x > 0 ? 1 : tiny) : size < 0x1p-31L ? 0.5L + x / 4 : 1 / (1 + std::exp(-x));
  case ScalarOp::rsqrt:
    return x < 0 ? notANumber : 1 / std::sqrt(x);
  case ScalarOp::sine:
    return size < 0x1p-16L ? x - x * x * x / 6 : std::sin(x);
  case ScalarOp::sqrt:
    return x < 0 ? notANumber : std::sqrt(x);
  case ScalarOp::tan:
    return size < 0x1p-16L ? x + x * x * x / 3 : std::tan(x);
  case ScalarOp::tanh:
    return size < 0x1p-16L ? x - x * x * x / 3 : size > 30 ? std::copysign(1.0L, x) : std::tanh(x);
  case ScalarOp::atan2:
    return std::atan2(x, y);
  default:
    return std::pow(x, y);
  }
}

/// Rounds toward minus infinity by converting to an integer.
static double floorOf(double x) {
  if (!(std::fabs(x) < 0x1p52) || x == 0)
    return x;
  const auto whole = static_cast<double>(static_cast<int64_t>(x));
  return std::copysign(whole > x ? whole - 1 : whole, x);
}

std::optional<double> screen(ScalarOp op, double a, double b, ElementType type) {
  switch (op) {
  // Operations that never round are decided at once. (In f8E8M0FNU even -1 must be rounded.)
  case ScalarOp::abs:
    return roundTo(std::signbit(a) ? -a : a, type);
  case ScalarOp::negate:
    return roundTo(std::copysign(a, std::signbit(a) ? 1 : -1), type);
  case ScalarOp::sign:
    return roundTo(a > 0 ? 1 : a < 0 ? -1 : a, type);
  case ScalarOp::floor:
    return roundTo(floorOf(a), type);
  case ScalarOp::ceil:
    return roundTo(-floorOf(-a), type);
  case ScalarOp::roundNearestAfz:
    return roundTo(std::copysign(floorOf(std::fabs(a) + 0.5), a), type);
  case ScalarOp::roundNearestEven:
    return roundTo(std::nearbyint(a), type);
  case ScalarOp::maximum:
    return roundTo(larger(a, b), type);
  case ScalarOp::minimum:
    return roundTo(-larger(-a, -b), type);
  case ScalarOp::remainder:
    return roundTo(static_cast<double>(fmodl(a, b)), type);
  // The machine's own f32 arithmetic is IEEE 754.
  case ScalarOp::add:
  case ScalarOp::subtract:
  case ScalarOp::multiply:
  case ScalarOp::divide: {
    if (type != ElementType::f32)
      return std::nullopt;
    const auto left = static_cast<float>(a), right = static_cast<float>(b);
    return op == ScalarOp::add        ? left + right
           : op == ScalarOp::subtract ? left - right
           : op == ScalarOp::multiply ? left * right
                                      : left / right;
  }
  default:
    break;
  }
  const long double value = approximate(op, a, b);
  if (value == 0 || !std::isfinite(value))
    return roundTo(static_cast<double>(value), type);
  // Results this close to a midpoint are left to MPFR.
  const long double slack = value * 0x1p-59L;
  const long double low = value - slack, high = value + slack;
  if (type == ElementType::f32) {
    // Handled separately: a conversion that overflows or underflows takes a hundred cycles.
    if (std::fabs(value) < 0x1p-160L)
      return std::copysign(0.0, static_cast<double>(value));
    if (std::fabs(value) > 0x1p130L)
      return std::copysign(std::numeric_limits<double>::infinity(), static_cast<double>(value));
    const auto below = static_cast<float>(low), above = static_cast<float>(high);
    return below == above ? std::optional<double>(below) : std::nullopt;
  }
  const double below = roundTo(roundedToOdd(low), type);
  const double above = roundTo(roundedToOdd(high), type);
  return below == above ? std::optional(below) : std::nullopt;
}

Symmetry symmetryOf(ScalarOp op) {
  switch (op) {
  case ScalarOp::cosine:
    return Symmetry::even;
  case ScalarOp::cbrt:
  case ScalarOp::roundNearestAfz:
  case ScalarOp::roundNearestEven:
  case ScalarOp::sine:
  case ScalarOp::tan:
  case ScalarOp::tanh:
    return Symmetry::odd;
  default:
    return Symmetry::none;
  }
}

bool isExact(ScalarOp op) {
  switch (op) {
  case ScalarOp::abs:
  case ScalarOp::ceil:
  case ScalarOp::floor:
  case ScalarOp::maximum:
  case ScalarOp::minimum:
  case ScalarOp::negate:
  case ScalarOp::remainder:
  case ScalarOp::roundNearestAfz:
  case ScalarOp::roundNearestEven:
  case ScalarOp::sign:
    return true;
  default:
    return false;
  }
}

} // namespace tilewright::accuracy
