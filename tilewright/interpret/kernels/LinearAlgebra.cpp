#include "tilewright/interpret/kernels/LinearAlgebra.h"

#include "tilewright/support/Concat.h"

#include <cmath>
#include <complex>

namespace tilewright::interpret {

using numerics::isComplex;
using numerics::spelling;

template <typename Real> static Real conjugate(Real value) { return value; }
template <typename Real> static std::complex<Real> conjugate(std::complex<Real> value) {
  return std::conj(value);
}
template <typename Real> static Real realPart(Real value) { return value; }
template <typename Real> static Real realPart(std::complex<Real> value) { return value.real(); }

template <typename Real> static Real product(Real a, Real b) { return a * b; }
template <typename Real>
static std::complex<Real> product(std::complex<Real> a, std::complex<Real> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

/// Calls `body` with the type in which elements are stored (after conversion to f64 or
/// complex<f64>) and the type in which they are computed.
template <typename Body> static auto withPrecision(ElementType type, Body &&body) {
  switch (type) {
  case ElementType::c64:
    return body.template operator()<std::complex<double>, std::complex<double>>();
  case ElementType::c128:
    return body.template operator()<std::complex<double>, std::complex<long double>>();
  case ElementType::f64:
    return body.template operator()<double, long double>();
  default:
    return body.template operator()<double, double>();
  }
}

static ElementType wideTypeOf(ElementType type) {
  return isComplex(type) ? ElementType::c128 : ElementType::f64;
}

static Status checkElements(std::string_view op, ElementType type) {
  if (numerics::isReal(type) || isComplex(type))
    return Status();
  return Status(Error::operandType,
                concat(op, ": elements must be floating-point or complex, got ", spelling(type)));
}

/// - interpretShape: the last two dimensions do not exist or are not equal.
static Status checkSquare(std::string_view op, const Tensor &a) {
  if (a.rank() >= 2 && a.shape()[a.rank() - 1] == a.shape()[a.rank() - 2])
    return Status();
  return Status(Error::interpretShape,
                concat(op, ": matrices must be square, got ", a.typeString()));
}

/// Computes in place the Cholesky factor of the matrix whose lower triangle is in `triangle`.
template <typename Element> static void factor(Element *triangle, int64_t n) {
  for (int64_t j = 0; j < n; ++j) {
    Element *const row = triangle + j * n;
    auto rest = realPart(row[j]);
    for (int64_t k = 0; k < j; ++k)
      rest -= realPart(product(row[k], conjugate(row[k])));
    const auto diagonal = std::sqrt(rest);
    row[j] = diagonal;
    for (int64_t i = j + 1; i < n; ++i) {
      Element *const other = triangle + i * n;
      Element sum = other[j];
      for (int64_t k = 0; k < j; ++k)
        sum -= product(other[k], conjugate(row[k]));
      other[j] = sum / diagonal;
    }
  }
}

Result<Tensor> cholesky(const Tensor &a, bool lower, Context &context) {
  TILEWRIGHT_TRY(checkElements("cholesky", a.type()));
  TILEWRIGHT_TRY(checkSquare("cholesky", a));
  const int64_t n = a.shape()[a.rank() - 1];
  TILEWRIGHT_TRY(context.countSteps(saturatingProduct({a.elementCount(), n})));
  TILEWRIGHT_ASSIGN(Tensor wide, converted(a, wideTypeOf(a.type()), context));
  TILEWRIGHT_ASSIGN(Tensor result, Tensor::allocate(wide.type(), a.shape(), context));

  TILEWRIGHT_TRY(withPrecision(a.type(), [&]<typename Stored, typename Element>() -> Status {
    TILEWRIGHT_ASSIGN(auto matrix, Scratch<Element>::allocate(n * n, context));
    const Stored *from = elements<Stored>(wide);
    Stored *to = mutableElements<Stored>(result);
    const int64_t matrices = n == 0 ? 0 : a.elementCount() / (n * n);
    for (int64_t m = 0; m < matrices; ++m, from += n * n, to += n * n) {
      // The upper factor is the adjoint of the lower one.
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j)
          matrix[i * n + j] = j > i   ? Element()
                              : lower ? Element(from[i * n + j])
                                      : conjugate(Element(from[j * n + i]));
      factor(matrix.data(), n);
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j)
          to[i * n + j] = Stored(lower   ? matrix[i * n + j]
                                 : j < i ? Element() // its conjugate would be (0, -0)
                                         : conjugate(Element(matrix[j * n + i])));
    }
    return Status();
  }));
  return converted(result, a.type(), context);
}

static Status checkSystem(const Tensor &a, const Tensor &b, bool leftSide) {
  TILEWRIGHT_TRY(checkElements("triangular_solve", a.type()));
  if (a.type() != b.type())
    return Status(Error::operandType,
                  concat("triangular_solve: operands must have the same element type, got ",
                         spelling(a.type()), " and ", spelling(b.type())));
  TILEWRIGHT_TRY(checkSquare("triangular_solve", a));
  bool fits = a.rank() == b.rank();
  for (int64_t dim = 0; fits && dim < a.rank() - 2; ++dim)
    fits = a.shape()[dim] == b.shape()[dim];
  fits = fits && a.shape()[a.rank() - 1] == b.shape()[b.rank() - (leftSide ? 2 : 1)];
  if (fits)
    return Status();
  return Status(Error::interpretShape, concat("triangular_solve: a and b must have the same batch "
                                              "dimensions, and a must have as many rows as b has ",
                                              leftSide ? "rows" : "columns", ", got ",
                                              a.typeString(), " and ", b.typeString()));
}

/// Loads the matrix M of the system M·y = c: op(a), or its transpose if x is on the left of op(a).
/// Elements outside the triangle are zero.
template <typename Stored, typename Element>
static void loadSystem(const Stored *a, int64_t n, const TriangularSolveParameters &parameters,
                       Element *matrix) {
  const bool swaps = (parameters.transpose != Transpose::none) == parameters.leftSide;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) {
      const int64_t row = swaps ? j : i, column = swaps ? i : j;
      const bool isRead = parameters.lower ? row >= column : row <= column;
      Element value = isRead ? Element(a[row * n + column]) : Element();
      if (parameters.transpose == Transpose::adjoint)
        value = conjugate(value);
      matrix[i * n + j] = i == j && parameters.unitDiagonal ? Element(1) : value;
    }
}

/// Solves M·y = c in place by forward substitution if M is lower triangular, otherwise by back
/// substitution.
template <typename Element>
static void substitute(const Element *matrix, int64_t n, bool isLower, bool unitDiagonal,
                       Element *y) {
  for (int64_t step = 0; step < n; ++step) {
    const int64_t i = isLower ? step : n - 1 - step;
    const int64_t begin = isLower ? 0 : i + 1, end = isLower ? i : n;
    Element sum = y[i];
    for (int64_t j = begin; j < end; ++j)
      sum -= product(matrix[i * n + j], y[j]);
    y[i] = unitDiagonal ? sum : sum / matrix[i * n + i];
  }
}

Result<Tensor> triangularSolve(const Tensor &a, const Tensor &b,
                               const TriangularSolveParameters &parameters, Context &context) {
  TILEWRIGHT_TRY(checkSystem(a, b, parameters.leftSide));
  const int64_t n = a.shape()[a.rank() - 1];
  TILEWRIGHT_TRY(context.countSteps(saturatingProduct({b.elementCount() + a.elementCount(), n})));
  const int64_t rows = b.shape()[b.rank() - 2], columns = b.shape()[b.rank() - 1];
  TILEWRIGHT_ASSIGN(Tensor wideA, converted(a, wideTypeOf(a.type()), context));
  TILEWRIGHT_ASSIGN(Tensor wideB, converted(b, wideTypeOf(b.type()), context));
  TILEWRIGHT_ASSIGN(Tensor result, Tensor::allocate(wideB.type(), b.shape(), context));
  const bool swaps = (parameters.transpose != Transpose::none) == parameters.leftSide;
  const bool isLower = parameters.lower != swaps;

  TILEWRIGHT_TRY(withPrecision(a.type(), [&]<typename Stored, typename Element>() -> Status {
    TILEWRIGHT_ASSIGN(auto matrix, Scratch<Element>::allocate(n * n, context));
    TILEWRIGHT_ASSIGN(auto unknowns, Scratch<Element>::allocate(n, context));
    const Stored *coefficients = elements<Stored>(wideA), *from = elements<Stored>(wideB);
    Stored *to = mutableElements<Stored>(result);
    const int64_t matrices = b.elementCount() == 0 ? 0 : b.elementCount() / (rows * columns);
    for (int64_t m = 0; m < matrices; ++m) {
      loadSystem(coefficients, n, parameters, matrix.data());
      // Solve one system per column of b, or per row if x is on the left.
      const int64_t systems = parameters.leftSide ? columns : rows;
      const int64_t stride = parameters.leftSide ? columns : 1;
      for (int64_t s = 0; s < systems; ++s) {
        const int64_t begin = parameters.leftSide ? s : s * columns;
        for (int64_t i = 0; i < n; ++i)
          unknowns[i] = Element(from[begin + i * stride]);
        substitute(matrix.data(), n, isLower, parameters.unitDiagonal, unknowns.data());
        for (int64_t i = 0; i < n; ++i)
          to[begin + i * stride] = Stored(unknowns[i]);
      }
      coefficients += n * n;
      from += rows * columns;
      to += rows * columns;
    }
    return Status();
  }));
  return converted(result, b.type(), context);
}

} // namespace tilewright::interpret
