#include "Measure.h"

#include "tilewright/numerics/Float.h"

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <thread>
#include <vector>

namespace tilewright::accuracy {

using numerics::decode;
using numerics::encode;
using numerics::formatOf;
using numerics::Operation;
using numerics::Scalar;

void Measurement::merge(const Measurement &other) {
  if (other.largestError > largestError) {
    worstA = other.worstA;
    worstB = other.worstB;
  }
  tested += other.tested;
  byMpfr += other.byMpfr;
  misrounded += other.misrounded;
  largestError = std::max(largestError, other.largestError);
}

std::span<const ScalarOp> unaryOps() {
  using enum ScalarOp;
  static constexpr ScalarOp ops[] = {abs,
                                     cbrt,
                                     ceil,
                                     cosine,
                                     exponential,
                                     exponentialMinusOne,
                                     floor,
                                     log,
                                     logPlusOne,
                                     logistic,
                                     negate,
                                     roundNearestAfz,
                                     roundNearestEven,
                                     rsqrt,
                                     sign,
                                     sine,
                                     sqrt,
                                     tan,
                                     tanh};
  return ops;
}

std::span<const ScalarOp> binaryOps() {
  using enum ScalarOp;
  static constexpr ScalarOp ops[] = {add,      atan2, divide,    maximum, minimum,
                                     multiply, power, remainder, subtract};
  return ops;
}

namespace {

/// MPFR also checks one in this many of the inputs that the screen decided.
constexpr uint64_t confirmEvery = 1 << 13;

/// Equal including the sign of a zero; all NaNs are equal.
bool same(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b) || (a != a && b != b);
}

double valueOf(ElementType type, uint64_t bits) {
  return type == ElementType::f32 ? std::bit_cast<float>(static_cast<uint32_t>(bits))
                                  : decode(type, bits);
}

/// Compares results of one operation, one at a time.
class Comparison {
public:
  Comparison(ScalarOp op, ElementType type, bool useScreen)
      : op(op), type(type), useScreen(useScreen), precision(type == ElementType::f64 ? 192 : 96),
        operation(numerics::operationFor(op, type)) {}

  double ours(double a, double b) const {
    return operation(Scalar::ofReal(a), Scalar::ofReal(b), Scalar()).r;
  }

  void compare(double a, double b) { judge(a, b, ours(a, b)); }

  /// For a symmetric function: checks that the result for -a mirrors the one for a.
  void compareBothSigns(double a, Symmetry symmetry) {
    const double value = ours(a, 0), mirrored = ours(-a, 0);
    judge(a, 0, value);
    const double expected = symmetry == Symmetry::odd ? -value : value;
    if (same(mirrored, expected))
      ++found.tested;
    else
      judge(-a, 0, mirrored);
  }

  Measurement found;

private:
  void judge(double a, double b, double value) {
    const bool confirm = found.tested++ % confirmEvery == 0;
    if (useScreen && !confirm)
      if (std::optional<double> expected = screen(op, a, b, type))
        if (same(*expected, value))
          return;
    ++found.byMpfr;
    reference.evaluate(op, a, b, precision);
    if (same(reference.roundedTo(type), value))
      return;
    ++found.misrounded;
    double error = reference.errorOf(value, type);
    // A zero of the wrong sign is not a rounding error.
    if (error == 0)
      error = std::numeric_limits<double>::infinity();
    if (error > found.largestError) {
      found.largestError = error;
      found.worstA = a;
      found.worstB = b;
    }
  }

  const ScalarOp op;
  const ElementType type;
  const bool useScreen;
  const mpfr_prec_t precision;
  const Operation operation;
  Reference reference;
};

/// Splits [0, count) into one range for each job and merges the results.
Measurement inParallel(unsigned jobs, uint64_t count,
                       const std::function<Measurement(uint64_t begin, uint64_t end)> &piece) {
  std::vector<Measurement> found(jobs);
  std::vector<std::thread> threads;
  for (unsigned job = 0; job < jobs; ++job)
    threads.emplace_back([&, job] {
      found[job] = piece(count / jobs * job, job + 1 == jobs ? count : count / jobs * (job + 1));
      mpfr_free_cache(); // MPFR keeps constants for each thread
    });
  Measurement total;
  for (unsigned job = 0; job < jobs; ++job) {
    threads[job].join();
    total.merge(found[job]);
  }
  return total;
}

/// Zeros, infinities, NaN, the limits of the normal and subnormal ranges, small integers and
/// halves, with both signs.
std::vector<double> specialValues(ElementType type) {
  const numerics::FloatFormat format = formatOf(type);
  std::vector<double> values;
  for (double value : {0.0, 0.5, 1.0, 1.5, 2.0, 3.0, std::numeric_limits<double>::infinity(),
                       std::numeric_limits<double>::quiet_NaN(),
                       std::ldexp(1.0, std::max(format.minQuantum(), -1074)),
                       std::ldexp(1.0, format.minExponent()),
                       decode(type, format.maxFinite() << format.paddingBits)})
    for (double sign : {1.0, -1.0})
      values.push_back(decode(type, encode(type, sign * value)));
  return values;
}

double randomSized(std::mt19937_64 &random, ElementType type, int range) {
  const uint64_t bits = random();
  const double mantissa = 1 + static_cast<double>(bits >> 12) * 0x1p-52;
  const int exponent = static_cast<int>(random() % static_cast<uint64_t>(2 * range)) - range;
  return decode(type, encode(type, std::ldexp(bits & 1 ? -mantissa : mantissa, exponent)));
}

/// A random value of the type: a third uniform over all bit patterns, a third of moderate size, a
/// third near one.
double randomValue(std::mt19937_64 &random, ElementType type) {
  switch (random() % 3) {
  case 0:
    return decode(type, random() >> (64 - numerics::bitWidth(type)));
  case 1:
    return randomSized(random, type, 10);
  default:
    return randomSized(random, type, 2);
  }
}

} // namespace

double randomModerate(std::mt19937_64 &random, ElementType type) {
  return randomSized(random, type, 10);
}

Measurement measureUnary(ScalarOp op, ElementType type, const Effort &effort) {
  const numerics::FloatFormat format = formatOf(type);
  const bool small = numerics::bitWidth(type) <= 16;
  const uint64_t stride = format.bits() <= 19 ? 1 : effort.stride;
  const Symmetry symmetry = format.hasSign() ? symmetryOf(op) : Symmetry::none;
  const uint64_t patterns =
      symmetry == Symmetry::none || small ? uint64_t(1) << format.bits() : format.signBit();
  Measurement total = inParallel(
      small ? 1 : effort.jobs, (patterns + stride - 1) / stride, [&](uint64_t begin, uint64_t end) {
        Comparison comparison(op, type, /*useScreen=*/!small);
        for (uint64_t i = begin; i < end; ++i) {
          const double x = valueOf(type, i * stride << format.paddingBits);
          if (patterns == format.signBit())
            comparison.compareBothSigns(x, symmetry);
          else
            comparison.compare(x, 0);
        }
        return comparison.found;
      });
  if (stride > 1) {
    Comparison specials(op, type, /*useScreen=*/false);
    for (double x : specialValues(type))
      specials.compare(x, 0);
    total.merge(specials.found);
  }
  return total;
}

/// Random pairs and all pairs of special values.
static Measurement measurePairs(ScalarOp op, ElementType type, uint64_t samples, bool useScreen,
                                const Effort &effort) {
  Measurement total = inParallel(effort.jobs, samples, [&](uint64_t begin, uint64_t end) {
    std::mt19937_64 random(effort.seed * 1000003 + begin);
    Comparison comparison(op, type, useScreen);
    for (uint64_t i = begin; i < end; ++i) {
      const double a = randomValue(random, type);
      comparison.compare(a, randomValue(random, type));
    }
    return comparison.found;
  });
  Comparison specials(op, type, /*useScreen=*/false);
  for (double a : specialValues(type))
    for (double b : specialValues(type))
      specials.compare(a, b);
  total.merge(specials.found);
  return total;
}

Measurement measureBinary(ScalarOp op, ElementType type, const Effort &effort) {
  if (numerics::bitWidth(type) > 8)
    return measurePairs(op, type, effort.samples, /*useScreen=*/true, effort);
  const uint64_t patterns = uint64_t(1) << numerics::bitWidth(type);
  return inParallel(effort.jobs, patterns, [&](uint64_t begin, uint64_t end) {
    Comparison comparison(op, type, /*useScreen=*/false);
    for (uint64_t a = begin; a < end; ++a)
      for (uint64_t b = 0; b < patterns; ++b)
        comparison.compare(decode(type, a), decode(type, b));
    return comparison.found;
  });
}

Measurement measureF64(ScalarOp op, const Effort &effort) {
  return measurePairs(op, ElementType::f64, effort.wideSamples, /*useScreen=*/false, effort);
}

} // namespace tilewright::accuracy
