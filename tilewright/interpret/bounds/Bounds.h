// Bounds: the results of a program, with bounds on how far a correct implementation may deviate.
//
// A test with a fixed tolerance passes if a small result is wrong, and fails if terms cancel. Here
// each element has its own bound, derived from the terms that it was computed from: zero for
// integers, data movement and operations that are rounded once; for a sum, the sum of the terms'
// magnitudes times the number of roundings.
#ifndef TILEWRIGHT_INTERPRET_BOUNDS_BOUNDS_H
#define TILEWRIGHT_INTERPRET_BOUNDS_BOUNDS_H

#include "tilewright/interpret/RuntimeValue.h"
#include "tilewright/support/Options.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"

#include <vector>

namespace tilewright::interpret {

/// The deviations that a correct implementation is allowed.
struct Allowance {
  /// A multiplication and an addition may be rounded once instead of twice.
  bool contracts = false;
  /// Subnormal numbers may be flushed to zero.
  bool flushesSubnormals = false;
  /// Ulps of transcendental functions, in addition to those of our kernels (target/cpu/README.md).
  double functionUlps = 0;

  /// The padding of a convolution may be skipped instead of multiplied by zero, which differs if
  /// the kernel has infinities.
  bool skipsPadding = false;
  /// Tensor cores multiply f32: factors of products at the default precision may be rounded to
  /// tf32, and products at a higher precision may omit what docs/design/split-products.md lists.
  bool roundsToTf32 = false;
  /// The bf16 instructions of CPUs flush subnormal numbers in sums of products, and have no mode
  /// that keeps them.
  bool flushesBf16Products = true;

  /// The allowance for kernels of this compiler: no contraction, no other flushing.
  static Allowance ours() { return {}; }
  /// The same for GPUs.
  static Allowance tensorCores() { return {false, false, 0, false, true, false}; }
  /// The allowance for XLA's CPU compiler, as jaxlib configures it.
  static Allowance xla() { return {true, true, 16, true}; }
};

/// A value with a bound for each element of its tensor:
///
///   0           the same bits; for NaN, a NaN with these bits
///   finite      |other - value| <= bound, for complex numbers the modulus of the difference;
///               for NaN, any NaN
///   infinity    unknown: the element depends on a comparison of inexact elements
///
/// Bounds of integers and booleans are 0 or infinity.
struct Bounded {
  RuntimeValue value;
  std::vector<double> bounds;    // of a tensor
  std::vector<Bounded> elements; // of a tuple

  const Tensor &tensor() const { return value.tensor(); }
  bool isExact() const;
};

/// Evaluates a function like interpret::evaluate, with bounds on its results for exact inputs.
///  - errors of interpret::evaluate.
///  - interpretOp: an op has a scalar region that captures outer values.
Result<std::vector<Bounded>> evaluateWithBounds(mlir::ModuleOp module, llvm::StringRef function,
                                                RuntimeValues inputs,
                                                const Allowance &allowance = {},
                                                const InterpretOptions &limits = {});

/// The bounds of a tensor's elements as a tensor of f64, for storing in a file.
Result<Tensor> boundsTensor(const Bounded &of, Context &context);

/// The number of compared elements by kind of bound.
struct Compared {
  int64_t exact = 0, bounded = 0, unknown = 0;
  void operator+=(const Compared &other) {
    exact += other.exact;
    bounded += other.bounded;
    unknown += other.unknown;
  }
};

/// Describes the first element of `actual` that deviates from `expected` by more than its bound,
/// with both values; "" if none does. Adds the counts to `compared`.
std::string differenceFrom(const Bounded &expected, const Tensor &actual,
                           Compared *compared = nullptr);

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_BOUNDS_BOUNDS_H
