// cholesky and triangular_solve without LAPACK, for every real and complex type.
#include "tilewright/numerics/scalar/Scalar.h"
#include "tilewright/runtime/cpu/library/CallReader.h"
#include "tilewright/runtime/cpu/library/Isa.h"
#include "tilewright/runtime/cpu/library/Scratch.h"

#include <cmath>
#include <complex>

namespace tilewright::runtime::cpu {

using numerics::isComplex;

namespace {
/// Kernels compute in double or std::complex<double> and round once.
using Complex = std::complex<double>;

double conjugate(double value) { return value; }
Complex conjugate(Complex value) { return std::conj(value); }
double product(double a, double b) { return a * b; }
Complex product(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

template <typename Element>
void loadRow(ElementType type, const std::byte *from, int64_t count, Element *to) {
  const auto bytes = static_cast<int64_t>(numerics::storageBytes(type));
  if (type == ElementType::f32)
    for (int64_t i = 0; i < count; ++i)
      to[i] = Element(reinterpret_cast<const float *>(from)[i]);
  else
    for (int64_t i = 0; i < count; ++i) {
      const numerics::Scalar value = numerics::loadScalar(type, from + i * bytes);
      if constexpr (std::is_same_v<Element, Complex>)
        to[i] = value.complex();
      else
        to[i] = value.r;
    }
}
template <typename Element>
void storeRow(ElementType type, const Element *from, int64_t count, std::byte *to) {
  const auto bytes = static_cast<int64_t>(numerics::storageBytes(type));
  for (int64_t i = 0; i < count; ++i) {
    if constexpr (std::is_same_v<Element, Complex>)
      numerics::storeScalar(type, to + i * bytes, numerics::Scalar::ofComplex(from[i]));
    else
      numerics::storeScalar(type, to + i * bytes, numerics::Scalar::ofReal(from[i]));
  }
}

/// The sum over k of a[k] · conj(b[k]), vectorised.
TILEWRIGHT_INLINE double dot(const double *a, const double *b, int64_t n) {
  using V = Vector<double, 8>;
  V sum = V(0.0), other = V(0.0);
  int64_t k = 0;
  for (; k + 16 <= n; k += 16) {
    sum += loadVector<V>(a + k) * loadVector<V>(b + k);
    other += loadVector<V>(a + k + 8) * loadVector<V>(b + k + 8);
  }
  sum += other;
  double total = ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
  for (; k < n; ++k)
    total += a[k] * b[k];
  return total;
}
TILEWRIGHT_INLINE Complex dot(const Complex *a, const Complex *b, int64_t n) {
  Complex total;
  for (int64_t k = 0; k < n; ++k)
    total += product(a[k], std::conj(b[k]));
  return total;
}

/// Computes for each matrix the triangle L with L·Lᴴ = A, or U with Uᴴ·U = A. Reads only that
/// triangle; a matrix that is not positive definite gives NaNs.
template <typename Element> class CholeskyKernel final : public LibraryKernel {
public:
  CholeskyKernel(ElementType type, int64_t n, int64_t batch, bool lower)
      : type(type), n(n), batch(batch), lower(lower) {}

  Status run(const LibraryRun &run) const override {
    const int64_t bytes = n * n * static_cast<int64_t>(numerics::storageBytes(type));
    run.pool.parallelFor(batch, std::max<int64_t>(1, 32768 / std::max<int64_t>(1, n * n * n)),
                         [&](int64_t begin, int64_t end) {
                           const Scratch memory(2 * n * n * int64_t(sizeof(Element)));
                           for (int64_t i = begin; i < end; ++i)
                             factor(run.operands[0] + i * bytes, run.results[0] + i * bytes,
                                    memory.as<Element>());
                         });
    return Status();
  }

private:
  void factor(const std::byte *from, std::byte *to, Element *matrix) const {
    Element *whole = matrix + n * n;
    loadRow(type, from, n * n, whole);
    // The upper factor is the adjoint of the lower factor of the same matrix.
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j)
        matrix[i * n + j] = j > i   ? Element()
                            : lower ? whole[i * n + j]
                                    : conjugate(whole[j * n + i]);
    withVectors([&](auto) TILEWRIGHT_LAMBDA {
      for (int64_t j = 0; j < n; ++j) {
        Element *const row = matrix + j * n;
        const double diagonal = std::sqrt(std::real(row[j]) - std::real(dot(row, row, j)));
        row[j] = diagonal;
        for (int64_t i = j + 1; i < n; ++i) {
          Element *const other = matrix + i * n;
          other[j] = (other[j] - dot(other, row, j)) / diagonal;
        }
      }
    });
    if (!lower)
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j <= i; ++j) {
          const Element below = matrix[i * n + j];
          matrix[i * n + j] = i == j ? conjugate(below) : Element();
          matrix[j * n + i] = conjugate(below);
        }
    storeRow(type, matrix, n * n, to);
  }

  ElementType type;
  int64_t n, batch;
  bool lower;
};

template <typename Element> class TriangularSolveKernel final : public LibraryKernel {
public:
  TriangularSolveKernel(ElementType type, artifact::TriangularSolveCall system, int64_t n,
                        int64_t rows, int64_t columns, int64_t batch)
      : type(type), system(system), n(n), rows(rows), columns(columns), batch(batch) {}

  Status run(const LibraryRun &run) const override {
    const auto bytes = static_cast<int64_t>(numerics::storageBytes(type));
    const int64_t size = rows * columns;
    run.pool.parallelFor(batch, std::max<int64_t>(1, 32768 / std::max<int64_t>(1, n * size)),
                         [&](int64_t begin, int64_t end) {
                           const Scratch memory((2 * n * n + 2 * size) * int64_t(sizeof(Element)));
                           for (int64_t i = begin; i < end; ++i)
                             solve(run.operands[0] + i * n * n * bytes,
                                   run.operands[1] + i * size * bytes,
                                   run.results[0] + i * size * bytes, memory.as<Element>());
                         });
    return Status();
  }

private:
  /// Solves M·y = c. A row of y holds one unknown of all right-hand sides, so that rows are
  /// processed as vectors.
  void solve(const std::byte *a, const std::byte *b, std::byte *to, Element *matrix) const {
    Element *const whole = matrix + n * n, *const y = whole + n * n, *const c = y + rows * columns;
    loadRow(type, a, n * n, whole);
    const bool swaps = (system.transposeA != Transpose::none) == system.leftSide;
    const bool isLower = system.lower != swaps;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j) {
        const int64_t row = swaps ? j : i, column = swaps ? i : j;
        const bool isRead = system.lower ? row >= column : row <= column;
        Element value = isRead ? whole[row * n + column] : Element();
        matrix[i * n + j] = system.transposeA == Transpose::adjoint ? conjugate(value) : value;
      }
    loadRow(type, b, rows * columns, c);
    const int64_t systems = system.leftSide ? columns : rows;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t s = 0; s < systems; ++s)
        y[i * systems + s] = system.leftSide ? c[i * columns + s] : c[s * columns + i];
    withVectors([&](auto) TILEWRIGHT_LAMBDA {
      for (int64_t step = 0; step < n; ++step) {
        const int64_t i = isLower ? step : n - 1 - step;
        Element *const row = y + i * systems;
        if (!system.unitDiagonal)
          for (int64_t s = 0; s < systems; ++s)
            row[s] /= matrix[i * n + i];
        const int64_t begin = isLower ? i + 1 : 0, end = isLower ? n : i;
        for (int64_t k = begin; k < end; ++k) {
          const Element factor = matrix[k * n + i];
          Element *const other = y + k * systems;
          for (int64_t s = 0; s < systems; ++s)
            other[s] -= product(factor, row[s]);
        }
      }
    });
    for (int64_t i = 0; i < n; ++i)
      for (int64_t s = 0; s < systems; ++s)
        (system.leftSide ? c[i * columns + s] : c[s * columns + i]) = y[i * systems + s];
    storeRow(type, c, rows * columns, to);
  }

  ElementType type;
  artifact::TriangularSolveCall system;
  int64_t n, rows, columns, batch;
};
} // namespace

static Status checkElements(const CallReader &reader, ElementType type) {
  if (numerics::isReal(type) || isComplex(type))
    return Status();
  return reader.failure("takes real or complex elements, got ", numerics::spelling(type));
}

KernelResult prepareCholesky(const artifact::CholeskyCall &call, const LibrarySignature &types) {
  CallReader reader(call.name, types);
  TILEWRIGHT_TRY(reader.expectCounts(1, 1));
  TILEWRIGHT_ASSIGN(Shape shape, reader.operandShape(0));
  const ElementType type = types.operands[0].element;
  TILEWRIGHT_TRY(checkElements(reader, type));
  const int64_t rank = shape.rank();
  if (rank < 2 || shape[rank - 1] != shape[rank - 2])
    return reader.failure("takes square matrices, got ", typeString(types.operands[0]));
  TILEWRIGHT_TRY(reader.expectResult(0, type, shape.dims()));
  const int64_t n = shape[rank - 1];
  const int64_t batch = n == 0 ? 0 : shape.elementCount() / (n * n);
  if (isComplex(type))
    return makeKernel<CholeskyKernel<Complex>>(type, n, batch, call.lower);
  return makeKernel<CholeskyKernel<double>>(type, n, batch, call.lower);
}

KernelResult prepareTriangularSolve(const artifact::TriangularSolveCall &call,
                                    const LibrarySignature &types) {
  CallReader reader(call.name, types);
  TILEWRIGHT_TRY(reader.expectCounts(2, 1));
  TILEWRIGHT_ASSIGN(Shape a, reader.operandShape(0));
  TILEWRIGHT_ASSIGN(Shape b, reader.operandShape(1));
  const ElementType type = types.operands[0].element;
  TILEWRIGHT_TRY(checkElements(reader, type));
  const int64_t rank = a.rank();
  bool fits = rank >= 2 && b.rank() == rank && types.operands[1].element == type &&
              a[rank - 1] == a[rank - 2] && a[rank - 1] == b[rank - (call.leftSide ? 2 : 1)];
  int64_t batch = 1;
  for (int64_t dim = 0; fits && dim < rank - 2; ++dim) {
    fits = a[dim] == b[dim];
    batch *= a[dim];
  }
  if (!fits)
    return reader.failure(
        "a and b must have the same batch dimensions, and a must have as many rows as b has ",
        call.leftSide ? "rows" : "columns", ", got ", typeString(types.operands[0]), " and ",
        typeString(types.operands[1]));
  TILEWRIGHT_TRY(reader.expectResult(0, type, b.dims()));
  const int64_t n = a[rank - 1], rows = b[rank - 2], columns = b[rank - 1];
  batch = b.elementCount() == 0 ? 0 : batch;
  if (isComplex(type))
    return makeKernel<TriangularSolveKernel<Complex>>(type, call, n, rows, columns, batch);
  return makeKernel<TriangularSolveKernel<double>>(type, call, n, rows, columns, batch);
}

} // namespace tilewright::runtime::cpu
