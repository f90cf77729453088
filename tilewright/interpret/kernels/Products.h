// Sums of products, the heart of dot and convolution.
//
//   operands      products and short sums   long sums              result
//   pred          and, or                   or                     -
//   integers      modulo 2^64               modulo 2^64            modulo 2^bits
//   reals <= 32   f32                       double                 rounded
//   f64           f64                       long double (64 bits)  rounded
//   complex       as their components       as their components    rounded
//
// The specification multiplies and adds in the result's type, in any order.
// Here, as in every backend, types below f32 are widened to it; runs of
// `productsPerRun` products are summed up one after the other in ascending order,
// and the runs in the wider type, so that the error does not grow with the
// length. The order is fixed: the result is the same bits in every run.
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

/// Products that are summed up before the sum is widened.
inline constexpr int64_t productsPerRun = 64;

/// The type to which operands are converted first, and in which short sums are
/// taken: ui64, f32, f64, complex<f32> or complex<f64>.
ElementType operandTypeOf(Arithmetic arithmetic);

/// Calls `body.template operator()<Operand, Sum>()` with the C++ types of an arithmetic.
template <typename Body> auto withArithmetic(Arithmetic arithmetic, Body &&body) {
  switch (arithmetic) {
  case Arithmetic::integer:
    return body.template operator()<uint64_t, uint64_t>();
  case Arithmetic::real:
    return body.template operator()<float, double>();
  case Arithmetic::wideReal:
    return body.template operator()<double, long double>();
  case Arithmetic::complex:
    return body.template operator()<std::complex<float>, std::complex<double>>();
  case Arithmetic::wideComplex:
    break;
  }
  return body.template operator()<std::complex<double>, std::complex<long double>>();
}

/// sum + a * b, each operation rounded. Complex products by the formula of the
/// textbook, without the recovery of infinities that C's multiplication does
/// and no backend does.
template <typename Operand>
inline void addProduct(Operand &sum, const Operand &a, const Operand &b) {
  sum += a * b;
}
template <typename Real>
inline void addProduct(std::complex<Real> &sum, const std::complex<Real> &a,
                       const std::complex<Real> &b) {
  sum += std::complex<Real>(a.real() * b.real() - a.imag() * b.imag(),
                            a.real() * b.imag() + a.imag() * b.real());
}

/// sums[n] += row[0] * matrix[0][n] + row[1] * matrix[1][n] + …, in this order.
/// The inner loop runs over n, so it vectorises without reordering any sum.
template <typename Operand>
void addProducts(const Operand *row, int64_t rows, const Operand *matrix, int64_t matrixStride,
                 int64_t columns, Operand *sums) {
  for (int64_t k = 0; k < rows; ++k) {
    const Operand factor = row[k];
    const Operand *line = matrix + k * matrixStride;
    for (int64_t n = 0; n < columns; ++n)
      addProduct(sums[n], factor, line[n]);
  }
}

/// Adds short sums to long ones and begins them anew.
template <typename Operand, typename Sum>
void widenSums(Operand *shortSums, int64_t count, Sum *sums) {
  for (int64_t n = 0; n < count; ++n) {
    sums[n] += Sum(shortSums[n]);
    shortSums[n] = Operand();
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
