// Sums of products, the core of dot and convolution.
//
//   operands      products and short sums   long sums              result
//   pred          and, or                   or                     -
//   integers      modulo 2^64               modulo 2^64            modulo 2^bits
//   reals <= 32   f32                       double                 rounded
//   f64           f64                       long double (64 bits)  rounded
//   complex       as their components       as their components    rounded
//
// The specification multiplies and adds in the result's type, in any order. Here, as in every
// backend, types below f32 are widened to f32. Runs of `productsPerRun` products are summed
// sequentially in ascending order, and the runs are summed in the wider type, so that the error
// does not grow with the length. The order is fixed, so results are bitwise reproducible.
#ifndef TILEWRIGHT_INTERPRET_KERNELS_PRODUCTS_H
#define TILEWRIGHT_INTERPRET_KERNELS_PRODUCTS_H

#include "tilewright/interpret/Tensor.h"

#include <complex>
#include <string_view>

namespace tilewright::interpret {

enum class Arithmetic : uint8_t { integer, real, wideReal, complex, wideComplex };

/// The types to compute a product in. Operands and result may be of different kinds (pred, integer,
/// real, complex) because of JAX's preferred_element_type; the product is computed in the highest
/// kind.
struct ProductTypes {
  ElementType lhs, rhs; // operands are converted to these first
  ElementType sum;      // the result is converted from this last
};
ProductTypes productTypes(ElementType lhs, ElementType rhs, ElementType result);

/// The arithmetic for products of `lhs` and `rhs` that are summed to `result`.
///  - operandType: the result type cannot represent the products.
Result<Arithmetic> arithmeticFor(std::string_view op, ElementType lhs, ElementType rhs,
                                 ElementType result);

/// The number of products that are summed in the operand type before the sum is widened.
inline constexpr int64_t productsPerRun = 64;

/// The type to which operands are converted first, and in which short sums are computed: ui64, f32,
/// f64, complex<f32> or complex<f64>.
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

/// sum + a * b, each operation rounded. Complex products use the textbook formula, without C's
/// recovery of infinities, which no backend does.
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

/// sums[n] += row[0] * matrix[0][n] + row[1] * matrix[1][n] + …, in this order. The inner loop runs
/// over n, so it vectorizes without reordering any sum.
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

/// Adds the short sums to the long sums and resets the short ones to zero.
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
