// Bounds of elementwise ops: evaluates the op at the corners of its operands' intervals and adds
// the op's own rounding.
#include "tilewright/interpret/bounds/BoundsEvaluator.h"

#include <algorithm>
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

/// One element of an elementwise op.
struct Element {
  Operation *op;
  llvm::StringRef name;   // of the op, without the dialect
  const RealOp *real;     // null if the op is not in the table
  ElementType from, type; // of the first operand and of the result
  size_t count;           // of operands
  Scalar x[3] = {};       // the operands
  double r[3] = {};       // the operands as real numbers
  double e[3] = {};       // the bounds of the operands
  Scalar value = {};      // the result

  bool hasUnknown() const { return std::find(e, e + count, unknown) != e + count; }
  bool isExact() const {
    return std::all_of(e, e + count, [](double bound) { return bound == 0; });
  }
  bool hasNan() const {
    return std::any_of(r, r + count, [](double part) { return std::isnan(part); });
  }
  /// Whether an operand is not zero but has a magnitude less than `limit`.
  bool hasSmaller(double limit) const {
    return std::any_of(r, r + count,
                       [&](double part) { return part != 0 && std::fabs(part) < limit; });
  }
};

/// Whether a product or quotient is exact, so that contraction does not change the result.
bool isExactProduct(double x, double y, double product) { return std::fma(x, y, -product) == 0; }

/// Whether the op may give a result that is not close if its subnormal operands are flushed.
bool magnifiesSubnormals(llvm::StringRef name) {
  static constexpr llvm::StringLiteral others[] = {
      "add", "subtract", "maximum", "minimum", "clamp", "multiply", "convert", "abs", "negate"};
  return !llvm::is_contained(others, name);
}

/// The bound of an op of the table on reals.
double boundOfReal(const Element &at, const Allowance &allowance) {
  const RealOp &op = *at.real;
  const double value = at.value.r, *x = at.r;
  const bool isExact = at.isExact();
  if (std::isnan(value)) {
    // A NaN operand makes the result NaN whatever the other operands are. For ops such as maximum,
    // this holds only if the operand is certainly NaN.
    return isExact || isSame(op.function(x), value) ? 1 : unknown;
  }
  // In a format without NaN, the sign of a NaN determines the result, but the sign of a NaN that
  // this op produces is unspecified.
  for (unsigned i = 0; i < op.operands; ++i)
    if (std::isnan(x[i]) && at.e[i] > 0)
      return unknown;
  if (!at.hasNan() && std::isnan(op.function(x)))
    return unknown;
  const double spread = spreadOf(op, x, at.e);
  if (spread == unknown)
    return unknown;
  double ulps = op.ulps + (op.isFunction ? allowance.functionUlps : 0);
  if (!isExact && op.course != Course::wave)
    ulps += numerics::bitWidth(at.type) == 64 ? 4 : 1; // corners were computed in double
  else if (!isExact)
    ulps += 1;
  if (allowance.contracts && op.name == "multiply" && !isExactProduct(x[0], x[1], value))
    ulps = std::max(ulps, 1.0);
  const double small = std::max(smallestNormal(at.type), smallestNormal(at.from));
  const bool flushesOperand = allowance.flushesSubnormals && at.hasSmaller(small);
  if (!std::isfinite(value) && flushesOperand)
    return unknown; // infinity times zero is NaN
  if (!std::isfinite(value))
    // An infinity from an operand is certain. An infinity from rounding may be the largest finite
    // number in another implementation.
    return ulps == 0 || isSame(op.function(x), value) ? (spread == 0 ? 0 : unknown) : unknown;
  double bound = spread + (ulps == 0 ? 0 : ulps * ulpAt(at.type, std::fabs(value) + spread));
  if (flushesOperand && magnifiesSubnormals(op.name))
    return unknown;
  if (flushesOperand || (allowance.flushesSubnormals && std::fabs(value) < small && value != 0))
    bound += 2 * small;
  if (bound > 0 && std::fabs(value) + bound > largestFinite(at.type))
    return unknown;
  // f8E8M0FNU has no zero, so values that underflow in f32 become NaN.
  if (at.type == ElementType::f8E8M0FNU && (value <= bound || op.function(x) < 0x1p-127))
    return unknown;
  return bound;
}

/// The bound of an arithmetic op or a function on complex numbers.
double boundOfComplexMath(const Element &at, const Allowance &allowance) {
  const bool isBinary = at.count > 1;
  bool finite = std::isfinite(std::abs(at.value.complex()));
  for (size_t i = 0; i < at.count; ++i)
    finite &= std::isfinite(std::abs(at.x[i].complex()));
  const double u = unitRoundoff(at.type), size = std::abs(at.value.complex()),
               a = std::abs(at.x[0].complex()), b = isBinary ? std::abs(at.x[1].complex()) : 0,
               ea = at.e[0], eb = isBinary ? at.e[1] : 0;
  const llvm::StringRef name = at.name;
  if (name == "negate")
    return ea;
  // The results of complex arithmetic with infinities and NaNs are unspecified.
  if (!finite)
    return unknown;
  double bound = unknown;
  if (name == "add" || name == "subtract")
    bound = at.isExact() ? 0 : ea + eb + 4 * u * (size + ea + eb);
  else if (name == "multiply")
    bound = a * eb + b * ea + ea * eb + 8 * u * (a + ea) * (b + eb);
  else if (name == "divide" && b > 2 * eb)
    bound = (ea + size * eb) / (b - eb) + 32 * u * (size + ea / b);
  else if (name == "exponential")
    bound = size * std::expm1(ea) + (16 + allowance.functionUlps) * 2 * u * size;
  else if (at.isExact() && allowance.functionUlps == 0)
    bound = 32 * u * size; // both call the same scalar functions
  // The bound holds only if products of parts neither overflow nor underflow. The bound of nonzero
  // numbers is 0 only if it underflows itself.
  const bool isProduct = (name == "multiply" || name == "divide") && a != 0 && b != 0;
  if ((bound != 0 || isProduct) && bound != unknown) {
    const double most = std::sqrt(largestFinite(at.type)) / 4,
                 least = std::sqrt(smallestNormal(at.type)) * 4;
    for (double part : {a, b, size})
      if (part > most || (part != 0 && part < least))
        return unknown;
    bound += smallestSubnormal(at.type);
  }
  return bound;
}

double boundOfComplex(const Element &at, const Allowance &allowance) {
  if (at.name == "abs")
    return std::isfinite(at.value.r) ? at.e[0] + 4 * ulpAt(at.type, at.value.r + at.e[0]) : unknown;
  if (at.name == "convert")
    return at.isExact() && !allowance.contracts ? 0 : unknown;
  return boundOfComplexMath(at, allowance);
}

double boundOfSelect(const Element &at) {
  const double chosen = at.x[0].u ? at.e[1] : at.e[2];
  if (at.e[0] != unknown)
    return chosen;
  // Another implementation may select the other operand.
  if (!numerics::isReal(at.type) || !std::isfinite(at.r[1]) || !std::isfinite(at.r[2]))
    return unknown;
  return std::max(chosen, std::fabs(at.r[1] - at.r[2]) + (at.x[0].u ? at.e[2] : at.e[1]));
}

bool isTotalOrder(Operation *op) {
  Attribute type = op->getAttr("compare_type");
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text.find("TOTALORDER") != std::string::npos;
}

/// Zero if the comparison gives the same result for all values within the bounds.
double boundOfCompare(const Element &at, const Allowance &allowance) {
  const double *r = at.r, *e = at.e;
  if (allowance.flushesSubnormals && numerics::isReal(at.from) &&
      std::min(std::fabs(r[0]), std::fabs(r[1])) < smallestNormal(at.from) && r[0] != r[1])
    return unknown;
  if (at.isExact())
    return 0;
  if (numerics::isComplex(at.from))
    return unknown;
  if (at.hasNan())
    return isTotalOrder(at.op) ? unknown : 0;
  return std::fabs(r[0] - r[1]) > e[0] + e[1] ? 0 : unknown;
}

/// Integers are exact. A float converted to an integer is exact if no value within its bound
/// converts differently.
double boundOfInteger(const Element &at) {
  const double r = at.r[0], e = at.e[0];
  if (!numerics::isReal(at.from) || at.isExact() || std::isnan(r))
    return 0;
  const bool isSame =
      at.type == ElementType::pred ? std::fabs(r) > e : std::trunc(r - e) == std::trunc(r + e);
  return isSame ? 0 : unknown;
}

double boundOfRemainder(const Element &at) {
  const double *r = at.r, *e = at.e;
  if (at.isExact()) // the sign of a NaN is unspecified, and matters if the format has no NaN
    return std::isnan(at.value.r) ? 1 : std::isnan(std::fmod(r[0], r[1])) ? unknown : 0;
  const double quotient = std::trunc(r[0] / r[1]);
  const bool hasOneQuotient = std::fabs(r[1]) > e[1] &&
                              quotient == std::trunc((r[0] - e[0]) / r[1]) &&
                              quotient == std::trunc((r[0] + e[0]) / r[1]) && e[1] == 0;
  return hasOneQuotient ? e[0] + 2 * ulpAt(at.type, std::fabs(r[0]) + e[0]) : unknown;
}

double boundOfAtan2(const Element &at, const Allowance &allowance) {
  const double *r = at.r, *e = at.e;
  const double ulps = 2 + allowance.functionUlps, size = std::hypot(r[0], r[1]);
  if (std::isnan(at.value.r))
    return 1;
  if (at.isExact())
    return ulps * ulpAt(at.type, std::fabs(at.value.r));
  if ((std::fabs(r[0]) <= e[0] && r[1] <= e[1]) || size <= 2 * (e[0] + e[1]) ||
      !std::isfinite(size))
    return unknown;
  return 2 * (e[0] + e[1]) / size + (ulps + 1) * ulpAt(at.type, std::fabs(at.value.r));
}

double boundOfElement(const Element &at, const Allowance &allowance) {
  const llvm::StringRef name = at.name;
  if (name == "select")
    return boundOfSelect(at);
  if (at.hasUnknown())
    return unknown;
  if (name == "compare")
    return boundOfCompare(at, allowance);
  if (name == "is_finite")
    return std::isfinite(at.r[0]) == std::isfinite(at.r[0] + at.e[0]) ? 0 : unknown;
  if (name == "real" || name == "imag")
    return at.e[0];
  if (name == "complex")
    return std::hypot(at.e[0], at.e[1]);
  if (numerics::isComplex(at.from))
    return boundOfComplex(at, allowance);
  if (numerics::isComplex(at.type))
    return at.isExact() ? 0 : unknown; // convert from a real type
  if (!numerics::isReal(at.type))
    return boundOfInteger(at);
  if (!numerics::isReal(at.from))
    return 0; // converted integers, rounded once
  if (name == "remainder" || name == "atan2") {
    if (allowance.flushesSubnormals && at.hasSmaller(smallestNormal(at.from)))
      return unknown; // with a zero, these ops give an unrelated result
    return name == "remainder" ? boundOfRemainder(at) : boundOfAtan2(at, allowance);
  }
  if (name == "reduce_precision")
    return std::isnan(at.value.r) ? 1 : at.isExact() ? 0 : unknown;
  // All ops on reals without a rule above are in the table.
  return boundOfReal(at, allowance);
}

/// An element is unknown if one of the elements that its bits come from is not exact.
void setBitcast(const Bounded &operand, BoundList &bounds) {
  const size_t in = operand.bounds.size(), out = bounds.size();
  for (size_t i = 0; i < std::max(in, out); ++i) {
    const size_t source = in >= out ? i : i / (out / in), target = out >= in ? i : i / (in / out);
    if (operand.bounds[source] != 0)
      bounds[target] = unknown;
  }
}

} // namespace

bool BoundsEvaluator::setElementwise(Operation *op, const Operands &operands, Results &results) {
  const llvm::StringRef full = op->getName().getStringRef();
  if (results.size() != 1 || !full.starts_with("stablehlo.") || !results[0].value.isTensor())
    return false;
  const llvm::StringRef name = full.drop_front(10);
  static constexpr llvm::StringLiteral notInTable[] = {"atan2",
                                                       "remainder",
                                                       "compare",
                                                       "select",
                                                       "is_finite",
                                                       "complex",
                                                       "real",
                                                       "imag",
                                                       "reduce_precision",
                                                       "and",
                                                       "or",
                                                       "xor",
                                                       "not",
                                                       "shift_left",
                                                       "shift_right_arithmetic",
                                                       "popcnt",
                                                       "bitcast_convert",
                                                       "shift_right_logical",
                                                       "count_leading_zeros"};
  const RealOp *real = realOpNamed(name);
  if (!real && !llvm::is_contained(notInTable, name))
    return false;

  BoundList &bounds = results[0].bounds;
  if (name == "bitcast_convert")
    return setBitcast(operands[0], bounds), true;
  Element element{
      op, name, real, operands[0].tensor().type(), results[0].tensor().type(), operands.size()};
  for (size_t i = 0; i < bounds.size(); ++i) {
    for (size_t k = 0; k < operands.size(); ++k) {
      // A scalar bound of clamp or a scalar predicate of select applies to all elements.
      const size_t at = operands[k].bounds.size() == 1 ? 0 : i;
      const Scalar x = operands[k].tensor().at(static_cast<int64_t>(at));
      const ElementType kind = operands[k].tensor().type();
      element.x[k] = x;
      element.e[k] = operands[k].bounds[at];
      element.r[k] = numerics::isReal(kind)     ? x.r
                     : numerics::isSigned(kind) ? static_cast<double>(x.i)
                                                : static_cast<double>(x.u);
    }
    element.value = results[0].tensor().at(static_cast<int64_t>(i));
    bounds[i] = boundOfElement(element, allowance);
  }
  return true;
}

} // namespace tilewright::interpret
