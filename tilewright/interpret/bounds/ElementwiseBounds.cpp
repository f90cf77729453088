// Bounds of elementwise ops: evaluates the op at the corners of its operands' intervals and adds
// the op's own rounding.
#include "tilewright/interpret/bounds/BoundsEvaluator.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

using namespace mlir;

namespace tilewright::interpret {
namespace {

/// A real function of up to three numbers, in double.
using Function = double (*)(const double *);

/// How an op behaves between the corners of its operands' intervals.
enum class Course : uint8_t {
  monotone, // in each operand, so the corners are the extremes
  wave,     // its slope is at most 1
  pole,     // monotone between poles: tan
};

struct RealOp {
  llvm::StringLiteral name;
  unsigned operands;
  Function function;
  Course course;
  double ulps;     // between our implementation and the evaluator; 0 if both are correctly rounded
  bool isFunction; // other implementations approximate it
};

double largest(double x, double y) { return std::isnan(x) || std::isnan(y) ? NAN : x > y ? x : y; }
double least(double x, double y) { return std::isnan(x) || std::isnan(y) ? NAN : x < y ? x : y; }

// Ulps: the largest errors in target/cpu/README.md plus the evaluator's 0.5, rounded up.
constexpr RealOp realOps[] = {
    {"add", 2, [](const double *x) { return x[0] + x[1]; }, Course::monotone, 0, false},
    {"subtract", 2, [](const double *x) { return x[0] - x[1]; }, Course::monotone, 0, false},
    {"multiply", 2, [](const double *x) { return x[0] * x[1]; }, Course::monotone, 0, false},
    {"divide", 2, [](const double *x) { return x[0] / x[1]; }, Course::monotone, 0, false},
    {"maximum", 2, [](const double *x) { return largest(x[0], x[1]); }, Course::monotone, 0, false},
    {"minimum", 2, [](const double *x) { return least(x[0], x[1]); }, Course::monotone, 0, false},
    {"clamp", 3, [](const double *x) { return least(largest(x[1], x[0]), x[2]); }, Course::monotone,
     0, false},
    {"abs", 1, [](const double *x) { return std::fabs(x[0]); }, Course::wave, 0, false},
    {"negate", 1, [](const double *x) { return -x[0]; }, Course::monotone, 0, false},
    {"sign", 1, [](const double *x) { return x[0] > 0   ? 1.
                                             : x[0] < 0 ? -1.
                                                        : x[0]; },
     Course::monotone, 0, false},
    {"ceil", 1, [](const double *x) { return std::ceil(x[0]); }, Course::monotone, 0, false},
    {"floor", 1, [](const double *x) { return std::floor(x[0]); }, Course::monotone, 0, false},
    {"round_nearest_afz", 1, [](const double *x) { return std::round(x[0]); }, Course::monotone, 0,
     false},
    {"round_nearest_even", 1, [](const double *x) { return std::nearbyint(x[0]); },
     Course::monotone, 0, false},
    {"sqrt", 1, [](const double *x) { return std::sqrt(x[0]); }, Course::monotone, 0, false},
    {"rsqrt", 1, [](const double *x) { return 1 / std::sqrt(x[0]); }, Course::monotone, 2, true},
    {"cbrt", 1, [](const double *x) { return std::cbrt(x[0]); }, Course::monotone, 2, true},
    {"exponential", 1, [](const double *x) { return std::exp(x[0]); }, Course::monotone, 2, true},
    {"exponential_minus_one", 1, [](const double *x) { return std::expm1(x[0]); }, Course::monotone,
     2, true},
    {"log", 1, [](const double *x) { return std::log(x[0]); }, Course::monotone, 2, true},
    {"log_plus_one", 1, [](const double *x) { return std::log1p(x[0]); }, Course::monotone, 2,
     true},
    {"logistic", 1, [](const double *x) { return 1 / (1 + std::exp(-x[0])); }, Course::monotone, 4,
     true},
    {"tanh", 1, [](const double *x) { return std::tanh(x[0]); }, Course::monotone, 2, true},
    {"sine", 1, [](const double *x) { return std::sin(x[0]); }, Course::wave, 2, true},
    {"cosine", 1, [](const double *x) { return std::cos(x[0]); }, Course::wave, 2, true},
    {"tan", 1, [](const double *x) { return std::tan(x[0]); }, Course::pole, 2, true},
    // 4 ulps, because x^3 and x^4 may be computed as products.
    {"power", 2, [](const double *x) { return std::pow(x[0], x[1]); }, Course::monotone, 4, true},
    {"convert", 1, [](const double *x) { return x[0]; }, Course::monotone, 0, false},
};

const RealOp *realOpNamed(llvm::StringRef name) {
  for (const RealOp &op : realOps)
    if (op.name == name)
      return &op;
  return nullptr;
}

bool isSame(double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); }

/// The maximum deviation of the op from its value at the center, before rounding; unknown if
/// unbounded.
double spreadOf(const RealOp &op, const double *x, const double *e) {
  const double middle = op.function(x);
  double inherited = 0;
  for (unsigned i = 0; i < op.operands; ++i)
    inherited = std::max(inherited, e[i]);
  if (inherited == 0)
    return 0;
  if (op.course == Course::wave && std::isfinite(middle))
    return inherited;
  if (op.course == Course::pole && std::floor((x[0] - e[0]) / std::numbers::pi + 0.5) !=
                                       std::floor((x[0] + e[0]) / std::numbers::pi + 0.5))
    return unknown;
  // Division is monotone only on each side of zero, and power only for positive bases.
  if ((op.name == "divide" && std::fabs(x[1]) <= e[1]) || (op.name == "power" && x[0] - e[0] <= 0))
    return unknown;
  double spread = 0;
  for (unsigned corner = 0; corner < (1u << op.operands); ++corner) {
    double at[3];
    for (unsigned i = 0; i < op.operands; ++i)
      at[i] = std::isnan(x[i]) ? x[i] : corner >> i & 1 ? x[i] + e[i] : x[i] - e[i];
    const double there = op.function(at);
    if (isSame(there, middle))
      continue;
    if (!std::isfinite(there) || !std::isfinite(middle))
      return unknown;
    spread = std::max(spread, std::fabs(there - middle));
  }
  return spread * (1 + 0x1p-40);
}

} // namespace

/// Whether a product or quotient is exact, so that contraction does not change the result.
static bool isExactProduct(double x, double y, double product) {
  return std::fma(x, y, -product) == 0;
}

static double boundOfReal(const RealOp &op, ElementType type, ElementType from, double value,
                          const double *x, const double *e, const Allowance &allowance) {
  for (unsigned i = 0; i < op.operands; ++i)
    if (e[i] == unknown)
      return unknown;
  const bool isExact =
      e[0] == 0 && (op.operands < 2 || e[1] == 0) && (op.operands < 3 || e[2] == 0);
  if (std::isnan(value)) {
    // A NaN operand makes the result NaN whatever the other operands are. For ops such as maximum,
    // this holds only if the operand is certainly NaN.
    return isExact || isSame(op.function(x), value) ? 1 : unknown;
  }
  // In a format without NaN, the sign of a NaN determines the result, but the sign of a NaN that
  // this op produces is unspecified.
  bool hasNan = false;
  for (unsigned i = 0; i < op.operands; ++i) {
    hasNan |= std::isnan(x[i]);
    if (std::isnan(x[i]) && e[i] > 0)
      return unknown;
  }
  if (!hasNan && std::isnan(op.function(x)))
    return unknown;
  const double spread = spreadOf(op, x, e);
  if (spread == unknown)
    return unknown;
  double ulps = op.ulps + (op.isFunction ? allowance.functionUlps : 0);
  if (!isExact && op.course != Course::wave)
    ulps += numerics::bitWidth(type) == 64 ? 4 : 1; // corners were computed in double
  else if (!isExact)
    ulps += 1;
  if (allowance.contracts && op.name == "multiply" && !isExactProduct(x[0], x[1], value))
    ulps = std::max(ulps, 1.0);
  const double small = std::max(smallestNormal(type), smallestNormal(from));
  const bool hasSubnormal = std::any_of(
      x, x + op.operands, [&](double part) { return part != 0 && std::fabs(part) < small; });
  if (!std::isfinite(value) && allowance.flushesSubnormals && hasSubnormal)
    return unknown; // infinity times zero is NaN
  if (!std::isfinite(value))
    // An infinity from an operand is certain. An infinity from rounding may be the largest finite
    // number in another implementation.
    return ulps == 0 || isSame(op.function(x), value) ? (spread == 0 ? 0 : unknown) : unknown;
  double bound = spread + (ulps == 0 ? 0 : ulps * ulpAt(type, std::fabs(value) + spread));
  if (allowance.flushesSubnormals) {
    if (hasSubnormal && op.name != "add" && op.name != "subtract" && op.name != "maximum" &&
        op.name != "minimum" && op.name != "clamp" && op.name != "multiply" &&
        op.name != "convert" && op.name != "abs" && op.name != "negate")
      return unknown;
    if (hasSubnormal || (std::fabs(value) < small && value != 0))
      bound += 2 * small;
  }
  if (bound > 0 && std::fabs(value) + bound > largestFinite(type))
    return unknown;
  // f8E8M0FNU has no zero, so values that underflow in f32 become NaN.
  if (type == ElementType::f8E8M0FNU && (value <= bound || op.function(x) < 0x1p-127))
    return unknown;
  return bound;
}

static double boundOfComplex(llvm::StringRef name, ElementType type, const Scalar &value,
                             const Scalar *x, const double *e, size_t operands,
                             const Allowance &allowance) {
  double inherited = 0;
  bool finite = std::isfinite(std::abs(value.complex()));
  for (size_t i = 0; i < operands; ++i) {
    inherited = std::max(inherited, e[i]);
    finite &= std::isfinite(std::abs(x[i].complex()));
  }
  if (inherited == unknown)
    return unknown;
  const double u = unitRoundoff(type), size = std::abs(value.complex()),
               a = std::abs(x[0].complex()), b = operands > 1 ? std::abs(x[1].complex()) : 0,
               ea = e[0], eb = operands > 1 ? e[1] : 0;
  if (name == "negate")
    return ea;
  // How complex arithmetic propagates infinities and NaN is unspecified.
  if (!finite)
    return unknown;
  double bound = unknown;
  if (name == "add" || name == "subtract")
    bound = inherited == 0 ? 0 : ea + eb + 4 * u * (size + ea + eb);
  else if (name == "multiply")
    bound = a * eb + b * ea + ea * eb + 8 * u * (a + ea) * (b + eb);
  else if (name == "divide" && b > 2 * eb)
    bound = (ea + size * eb) / (b - eb) + 32 * u * (size + ea / b);
  else if (name == "exponential")
    bound = size * std::expm1(ea) + (16 + allowance.functionUlps) * 2 * u * size;
  else if (inherited == 0 && allowance.functionUlps == 0)
    bound = 32 * u * size; // the same table of scalar functions
  // The bound holds only if products of parts neither overflow nor underflow.
  if (bound != 0 && bound != unknown) {
    const double most = std::sqrt(largestFinite(type)) / 4,
                 least = std::sqrt(smallestNormal(type)) * 4;
    for (double part : {a, b, size})
      if (part > most || (part != 0 && part < least))
        return unknown;
    bound += smallestSubnormal(type);
  }
  return bound;
}

/// Whether the comparison gives the same result for all values within the bounds.
static bool comparesTheSame(Operation *op, const double *x, const double *e) {
  if (std::isnan(x[0]) || std::isnan(x[1]))
    return e[0] != unknown && e[1] != unknown;
  // The operands are both exact, or further apart than the sum of their bounds.
  return (e[0] == 0 && e[1] == 0) || std::fabs(x[0] - x[1]) > e[0] + e[1];
}

static bool isTotalOrder(Operation *op) {
  Attribute type = op->getAttr("compare_type");
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text.find("TOTALORDER") != std::string::npos;
}

bool BoundsEvaluator::setElementwise(Operation *op, const Operands &operands, Results &results) {
  const llvm::StringRef full = op->getName().getStringRef();
  if (results.size() != 1 || !full.starts_with("stablehlo.") || !results[0].value.isTensor())
    return false;
  const llvm::StringRef name = full.drop_front(10);
  static constexpr std::array<llvm::StringLiteral, 20> plain = {"atan2",
                                                                "remainder",
                                                                "compare",
                                                                "select",
                                                                "is_finite",
                                                                "complex",
                                                                "real",
                                                                "imag",
                                                                "reduce_precision",
                                                                "bitcast_convert",
                                                                "and",
                                                                "or",
                                                                "xor",
                                                                "not",
                                                                "shift_left",
                                                                "shift_right_arithmetic",
                                                                "shift_right_logical",
                                                                "popcnt",
                                                                "count_leading_zeros",
                                                                "map"};
  const RealOp *real = realOpNamed(name);
  if (!real && !llvm::is_contained(plain, name))
    return false;
  if (name == "map")
    return false;

  const Tensor &result = results[0].tensor();
  const ElementType type = result.type();
  BoundList &bounds = results[0].bounds;
  const ElementType from = operands[0].tensor().type();
  const bool toFloat = numerics::isReal(type) || numerics::isComplex(type);

  if (name == "bitcast_convert") {
    const auto in = static_cast<size_t>(operands[0].tensor().elementCount()), out = bounds.size();
    for (size_t i = 0; i < std::max(in, out); ++i) {
      const size_t source = in >= out ? i : i / (out / in), target = out >= in ? i : i / (in / out);
      if (operands[0].bounds[source] != 0)
        bounds[target] = unknown;
    }
    return true;
  }
  for (size_t i = 0; i < bounds.size(); ++i) {
    Scalar x[3];
    double r[3] = {}, e[3] = {};
    for (size_t k = 0; k < operands.size(); ++k) {
      // A scalar bound of clamp or a scalar predicate of select applies to all elements.
      const size_t at = operands[k].bounds.size() == 1 ? 0 : i;
      x[k] = operands[k].tensor().at(static_cast<int64_t>(at));
      e[k] = operands[k].bounds[at];
      const ElementType kind = operands[k].tensor().type();
      r[k] = numerics::isReal(kind)     ? x[k].r
             : numerics::isSigned(kind) ? static_cast<double>(x[k].i)
                                        : static_cast<double>(x[k].u);
    }
    const Scalar value = result.at(static_cast<int64_t>(i));
    const bool anyUnknown =
        std::any_of(e, e + operands.size(), [](double b) { return b == unknown; });
    const bool allExact = std::all_of(e, e + operands.size(), [](double b) { return b == 0; });
    double &bound = bounds[i];
    if (name == "select") {
      bound = x[0].u ? e[1] : e[2];
      if (e[0] == unknown) {
        // Another implementation may select the other operand.
        const bool isReal = numerics::isReal(type) && std::isfinite(r[1]) && std::isfinite(r[2]);
        const double other = std::fabs(r[1] - r[2]) + (x[0].u ? e[2] : e[1]);
        bound = isReal ? std::max(bound, other) : unknown;
      }
    } else if (anyUnknown) {
      bound = unknown;
    } else if (name == "compare") {
      if (numerics::isComplex(from))
        bound = allExact ? 0 : unknown;
      else if (isTotalOrder(op) && (std::isnan(r[0]) || std::isnan(r[1])))
        bound = allExact ? 0 : unknown;
      else
        bound = comparesTheSame(op, r, e) ? 0 : unknown;
      if (allowance.flushesSubnormals && numerics::isReal(from) &&
          std::min(std::fabs(r[0]), std::fabs(r[1])) < smallestNormal(from) && r[0] != r[1])
        bound = unknown;
    } else if (name == "is_finite") {
      bound = std::isfinite(r[0]) == std::isfinite(r[0] + e[0]) ? 0 : unknown;
    } else if (name == "real" || name == "imag") {
      bound = e[0];
    } else if (name == "complex") {
      bound = std::hypot(e[0], e[1]);
    } else if (numerics::isComplex(from)) {
      if (name == "abs")
        bound = std::isfinite(value.r) ? e[0] + 4 * ulpAt(type, value.r + e[0]) : unknown;
      else if (name == "convert")
        bound = allExact && !allowance.contracts ? 0 : unknown;
      else
        bound = boundOfComplex(name, type, value, x, e, operands.size(), allowance);
    } else if (!toFloat) {
      // Integers are exact. A float converted to an integer is exact if no value within its bound
      // converts differently.
      if (!numerics::isReal(from) || allExact)
        bound = 0;
      else if (type == ElementType::pred)
        bound = std::fabs(r[0]) > e[0] || std::isnan(r[0]) ? 0 : unknown;
      else
        bound =
            std::isnan(r[0]) || std::trunc(r[0] - e[0]) == std::trunc(r[0] + e[0]) ? 0 : unknown;
    } else if (numerics::isComplex(type)) {
      bound = allExact ? 0 : unknown; // convert from a real type
    } else if (!numerics::isReal(from)) {
      bound = 0; // converted integers, rounded once
    } else if (allowance.flushesSubnormals && (name == "remainder" || name == "atan2") &&
               std::any_of(r, r + operands.size(), [&](double part) {
                 return part != 0 && std::fabs(part) < smallestNormal(from);
               })) {
      bound = unknown; // replacing them by zero is a different case
    } else if (name == "remainder") {
      const double turns = std::trunc(r[0] / r[1]);
      if (allExact) // the sign of a NaN is unspecified, and matters if the format has no NaN
        bound = std::isnan(value.r) ? 1 : std::isnan(std::fmod(r[0], r[1])) ? unknown : 0;
      else if (std::fabs(r[1]) > e[1] && turns == std::trunc((r[0] - e[0]) / r[1]) &&
               turns == std::trunc((r[0] + e[0]) / r[1]) && e[1] == 0)
        bound = e[0] + 2 * ulpAt(type, std::fabs(r[0]) + e[0]);
      else
        bound = unknown;
    } else if (name == "atan2") {
      const double ulps = 2 + allowance.functionUlps, size = std::hypot(r[0], r[1]);
      if (std::isnan(value.r))
        bound = 1;
      else if (allExact)
        bound = ulps * ulpAt(type, std::fabs(value.r));
      else if ((std::fabs(r[0]) <= e[0] && r[1] <= e[1]) || size <= 2 * (e[0] + e[1]) ||
               !std::isfinite(size))
        bound = unknown;
      else
        bound = 2 * (e[0] + e[1]) / size + (ulps + 1) * ulpAt(type, std::fabs(value.r));
    } else if (name == "reduce_precision") {
      bound = std::isnan(value.r) ? 1 : allExact ? 0 : unknown;
    } else if (real) {
      bound = boundOfReal(*real, type, from, value.r, r, e, allowance);
    } else {
      return false;
    }
  }
  return true;
}

} // namespace tilewright::interpret
