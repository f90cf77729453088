// Sums of products, the heart of dot and convolution, in the arithmetic that
// comes closest to the meaning of the op.
//
//   operands      products                sum                     result
//   pred          and                     or                      -
//   integers      modulo 2^64             modulo 2^64             modulo 2^bits
//   reals <= 32   exact in double         double                  rounded once
//   f64           long double (64 bits)   long double             rounded once
//   complex       as their components     as their components     rounded once each
//
// The specification sums in the result's type in any order; what is computed
// here is what all those sums approximate. The order is fixed (ascending), so
// the result is the same bits in every run.
#ifndef TILEWRIGHT_INTERPRET_KERNELS_PRODUCTS_H
#define TILEWRIGHT_INTERPRET_KERNELS_PRODUCTS_H

#include "tilewright/interpret/Tensor.h"

#include <complex>
#include <string_view>

namespace tilewright::interpret {

enum class Arithmetic : uint8_t { integer, real, wideReal, complex, wideComplex };

/// The arithmetic for products of `lhs` and `rhs` that are summed up to `result`.
///  - operandType: the result cannot hold what the operands give.
Result<Arithmetic> arithmeticFor(std::string_view op, ElementType lhs, ElementType rhs,
                                 ElementType result);

/// The type to which operands are converted first: ui64, f64 or complex<f64>.
ElementType operandTypeOf(Arithmetic arithmetic);

/// Calls `body.template operator()<Operand, Sum>()` with the C++ types of an arithmetic.
template <typename Body> auto withArithmetic(Arithmetic arithmetic, Body &&body) {
  switch (arithmetic) {
  case Arithmetic::integer:
    return body.template operator()<uint64_t, uint64_t>();
  case Arithmetic::real:
    return body.template operator()<double, double>();
  case Arithmetic::wideReal:
    return body.template operator()<double, long double>();
  case Arithmetic::complex:
    return body.template operator()<std::complex<double>, std::complex<double>>();
  case Arithmetic::wideComplex:
    break;
  }
  return body.template operator()<std::complex<double>, std::complex<long double>>();
}

/// sum + a * b. Complex products by the formula of the textbook, without the
/// recovery of infinities that C's multiplication does and no backend does.
template <typename Operand, typename Sum>
inline void addProduct(Sum &sum, const Operand &a, const Operand &b) {
  sum += Sum(a) * Sum(b);
}
template <typename Real>
inline void addProduct(std::complex<Real> &sum, const std::complex<double> &a,
                       const std::complex<double> &b) {
  const Real ar = a.real(), ai = a.imag(), br = b.real(), bi = b.imag();
  sum = {sum.real() + ar * br - ai * bi, sum.imag() + ar * bi + ai * br};
}

/// sums[n] += row[0] * matrix[0][n] + row[1] * matrix[1][n] + …, in this order.
/// The inner loop runs over n, so it vectorises without reordering any sum.
template <typename Operand, typename Sum>
void addProducts(const Operand *row, int64_t rows, const Operand *matrix, int64_t matrixStride,
                 int64_t columns, Sum *sums) {
  for (int64_t k = 0; k < rows; ++k) {
    const Operand factor = row[k];
    const Operand *line = matrix + k * matrixStride;
    for (int64_t n = 0; n < columns; ++n)
      addProduct(sums[n], factor, line[n]);
  }
}

/// Writes elements [first, first + count) of `result`, rounding each sum once.
void storeSums(const uint64_t *sums, int64_t count, Tensor &result, int64_t first);
void storeSums(const double *sums, int64_t count, Tensor &result, int64_t first);
void storeSums(const long double *sums, int64_t count, Tensor &result, int64_t first);
void storeSums(const std::complex<double> *sums, int64_t count, Tensor &result, int64_t first);
void storeSums(const std::complex<long double> *sums, int64_t count, Tensor &result, int64_t first);

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_KERNELS_PRODUCTS_H
