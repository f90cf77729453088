// The correct result of every operation on reals: MPFR, and a fast screen that makes it affordable
// to test all 2^32 inputs.
#ifndef TEST_ACCURACY_REFERENCE_H
#define TEST_ACCURACY_REFERENCE_H

#include "tilewright/numerics/scalar/Operations.h"

#include <mpfr.h>

#include <optional>

namespace tilewright::accuracy {

using numerics::ElementType;
using numerics::ScalarOp;

/// Evaluates one operation at a time with MPFR. Not thread-safe: one for each thread.
class Reference {
public:
  Reference();
  ~Reference();
  Reference(const Reference &) = delete;
  Reference &operator=(const Reference &) = delete;

  /// Computes op(a, b), correctly rounded to `precision` bits toward zero.
  void evaluate(ScalarOp op, double a, double b, mpfr_prec_t precision);

  /// The last result in a type, rounded once.
  double roundedTo(ElementType type) const;

  /// How far `value` is from the last result, in units of the last place that
  /// `type` has there. Infinite if one of them is NaN or only one is infinite.
  double errorOf(double value, ElementType type) const;

private:
  mpfr_t x, y, result;
  bool inexact = false;
};

/// A second opinion from the C library's long double functions, which share no code with the double
/// functions under test: op(a, b) rounded to the type. Nothing if the long double result is too
/// close to a midpoint or the screen does not support the operation.
std::optional<double> screen(ScalarOp op, double a, double b, ElementType type);

/// op(-x) = op(x), -op(x), or neither.
enum class Symmetry { none, even, odd };
Symmetry symmetryOf(ScalarOp op);

/// Whether the operation never rounds: abs, floor, maximum and the like.
bool isExact(ScalarOp op);

} // namespace tilewright::accuracy

#endif // TEST_ACCURACY_REFERENCE_H
