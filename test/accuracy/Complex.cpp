// Complex operations against the same functions in 640 bits.
//
// The error is that of the complex number: its distance from the exact one, in ulps of the exact
// one's magnitude. Samples whose exact result is outside the normal range of the components are
// left out.
#include "Measure.h"

#include "tilewright/numerics/FloatFormat.h"

#include <cmath>
#include <complex>
#include <limits>

namespace tilewright::accuracy {
namespace {

/// A real of 640 bits.
class Big {
public:
  Big(double value = 0) {
    mpfr_init2(number, 640);
    mpfr_set_d(number, value, MPFR_RNDN);
  }
  Big(const Big &other) {
    mpfr_init2(number, 640);
    mpfr_set(number, other.number, MPFR_RNDN);
  }
  Big &operator=(const Big &other) {
    mpfr_set(number, other.number, MPFR_RNDN);
    return *this;
  }
  ~Big() { mpfr_clear(number); }

  using Unary = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);
  using Binary = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);
  static Big apply(Unary function, const Big &a) {
    Big result;
    function(result.number, a.number, MPFR_RNDN);
    return result;
  }
  static Big apply(Binary function, const Big &a, const Big &b) {
    Big result;
    function(result.number, a.number, b.number, MPFR_RNDN);
    return result;
  }

  mpfr_t number;
};

Big operator+(const Big &a, const Big &b) { return Big::apply(mpfr_add, a, b); }
Big operator-(const Big &a, const Big &b) { return Big::apply(mpfr_sub, a, b); }
Big operator*(const Big &a, const Big &b) { return Big::apply(mpfr_mul, a, b); }
Big operator/(const Big &a, const Big &b) { return Big::apply(mpfr_div, a, b); }
Big hypot(const Big &a, const Big &b) { return Big::apply(mpfr_hypot, a, b); }

struct BigComplex {
  Big re, im;
};

using C = BigComplex;
C operator+(const C &a, const C &b) { return {a.re + b.re, a.im + b.im}; }
C operator-(const C &a, const C &b) { return {a.re - b.re, a.im - b.im}; }
C operator*(const C &a, const C &b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
C operator/(const C &a, const C &b) {
  const Big size = b.re * b.re + b.im * b.im;
  const C numerator = a * C{b.re, Big(0) - b.im};
  return {numerator.re / size, numerator.im / size};
}

C exp(const C &z) {
  const Big size = Big::apply(mpfr_exp, z.re);
  return {size * Big::apply(mpfr_cos, z.im), size * Big::apply(mpfr_sin, z.im)};
}
C log(const C &z) {
  return {Big::apply(mpfr_log, hypot(z.re, z.im)), Big::apply(mpfr_atan2, z.im, z.re)};
}
C sqrt(const C &z) {
  const Big size = hypot(z.re, z.im), absolute = Big::apply(mpfr_abs, z.re);
  const Big root = Big::apply(mpfr_sqrt, (size + absolute) / 2);
  const Big other = z.im / (root * 2);
  if (mpfr_sgn(z.re.number) >= 0)
    return {root, other};
  return {Big::apply(mpfr_abs, other), mpfr_signbit(z.im.number) ? Big(0) - root : root};
}
C sine(const C &z) {
  return {Big::apply(mpfr_sin, z.re) * Big::apply(mpfr_cosh, z.im),
          Big::apply(mpfr_cos, z.re) * Big::apply(mpfr_sinh, z.im)};
}
C cosine(const C &z) {
  return {Big::apply(mpfr_cos, z.re) * Big::apply(mpfr_cosh, z.im),
          Big(0) - Big::apply(mpfr_sin, z.re) * Big::apply(mpfr_sinh, z.im)};
}
C timesI(const C &z) { return {Big(0) - z.im, z.re}; }
C tan(const C &z) { return sine(z) / cosine(z); }

C evaluate(ScalarOp op, const C &a, const C &b) {
  const C one = {1, 0};
  switch (op) {
  case ScalarOp::abs:
    return {hypot(a.re, a.im), 0};
  case ScalarOp::add:
    return a + b;
  case ScalarOp::atan2: {
    const C angle = log((b + timesI(a)) / sqrt(b * b + a * a));
    return {angle.im, Big(0) - angle.re};
  }
  case ScalarOp::cbrt:
    return exp(log(a) / C{3, 0});
  case ScalarOp::cosine:
    return cosine(a);
  case ScalarOp::divide:
    return a / b;
  case ScalarOp::exponential:
    return exp(a);
  case ScalarOp::exponentialMinusOne:
    return exp(a) - one;
  case ScalarOp::log:
    return log(a);
  case ScalarOp::logPlusOne:
    return log(a + one);
  case ScalarOp::logistic:
    return one / (one + exp(C{0, 0} - a));
  case ScalarOp::multiply:
    return a * b;
  case ScalarOp::negate:
    return C{0, 0} - a;
  case ScalarOp::power:
    return exp(b * log(a));
  case ScalarOp::rsqrt:
    return one / sqrt(a);
  case ScalarOp::sign:
    return a / C{hypot(a.re, a.im), 0};
  case ScalarOp::sine:
    return sine(a);
  case ScalarOp::sqrt:
    return sqrt(a);
  case ScalarOp::subtract:
    return a - b;
  case ScalarOp::tan:
    return tan(a);
  default: { // tanh z = -i tan iz
    const C turned = tan(timesI(a));
    return {turned.im, Big(0) - turned.re};
  }
  }
}

} // namespace

std::span<const ScalarOp> complexOps() {
  using enum ScalarOp;
  static constexpr ScalarOp ops[] = {
      abs,  add,        atan2,    cbrt,     cosine, divide, exponential, exponentialMinusOne,
      log,  logPlusOne, logistic, multiply, negate, power,  rsqrt,       sign,
      sine, sqrt,       subtract, tan,      tanh};
  return ops;
}

Measurement measureComplex(ScalarOp op, ElementType type, const Effort &effort) {
  const ElementType component = numerics::componentOf(type);
  const numerics::FloatFormat format = numerics::formatOf(component);
  const numerics::Operation operation = numerics::operationFor(op, type);
  std::mt19937_64 random(effort.seed);
  Measurement found;
  for (uint64_t i = 0; i < effort.wideSamples; ++i) {
    const auto next = [&] { return randomModerate(random, component); };
    const std::complex<double> a(next(), next()), b(next(), next());
    const C exact = evaluate(op, {a.real(), a.imag()}, {b.real(), b.imag()});
    const Big size = hypot(exact.re, exact.im);
    if (!mpfr_regular_p(size.number))
      continue;
    const long exponent = mpfr_get_exp(size.number) - 1;
    if (exponent < format.minExponent() || exponent >= format.bias)
      continue;
    ++found.tested;
    ++found.byMpfr;
    const numerics::Scalar ours = operation(numerics::Scalar::ofComplex(a),
                                            numerics::Scalar::ofComplex(b), numerics::Scalar());
    const Big distance = hypot(exact.re - ours.r, exact.im - ours.im);
    const double error = std::isfinite(ours.r) && std::isfinite(ours.im)
                             ? std::ldexp(mpfr_get_d(distance.number, MPFR_RNDA),
                                          static_cast<int>(format.mantissaBits - exponent))
                             : std::numeric_limits<double>::infinity();
    if (error > found.largestError) {
      found.largestError = error;
      found.worstA = a.real();
      found.worstB = a.imag();
    }
  }
  return found;
}

} // namespace tilewright::accuracy
