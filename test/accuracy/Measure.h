// Runs operations of tilewright/numerics/scalar over inputs and compares each
// result with the correctly rounded one.
#ifndef TEST_ACCURACY_MEASURE_H
#define TEST_ACCURACY_MEASURE_H

#include "Reference.h"

#include <cstdint>
#include <random>
#include <span>

namespace tilewright::accuracy {

/// The results for one operation on one type.
struct Measurement {
  uint64_t tested = 0;
  uint64_t byMpfr = 0;     // of these, how many MPFR decided; the rest passed the screen
  uint64_t misrounded = 0; // results that are not the correctly rounded ones
  double largestError = 0; // of the misrounded ones, in ulps; for complex numbers of all results
  double worstA = 0, worstB = 0;

  void merge(const Measurement &other);
};

/// How many inputs to test.
struct Effort {
  uint64_t stride = 1;           // over the inputs of unary operations on f32
  uint64_t samples = 1'000'000;  // pairs for binary operations
  uint64_t wideSamples = 20'000; // inputs for f64 and complex, where MPFR decides all
  unsigned jobs = 1;
  uint64_t seed = 1;
};

std::span<const ScalarOp> unaryOps();
std::span<const ScalarOp> binaryOps();
std::span<const ScalarOp> complexOps();

/// All inputs of a type up to tf32, every stride-th one of f32.
Measurement measureUnary(ScalarOp op, ElementType type, const Effort &effort);
/// All pairs of a type of at most 8 bits, random pairs of a larger one, and all pairs of special
/// values.
Measurement measureBinary(ScalarOp op, ElementType type, const Effort &effort);
/// The same for f64: random inputs, each decided by MPFR.
Measurement measureF64(ScalarOp op, const Effort &effort);
/// The same for complex numbers. Does not count misrounded results: the error is that of the
/// complex number, not of its parts.
Measurement measureComplex(ScalarOp op, ElementType type, const Effort &effort);

/// A value of a real type between 2^-10 and 2^10 in size, of either sign.
double randomModerate(std::mt19937_64 &random, ElementType type);

} // namespace tilewright::accuracy

#endif // TEST_ACCURACY_MEASURE_H
