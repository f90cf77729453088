#include "tilewright/interpret/kernels/LinearAlgebra.h"

#include "tilewright/interpret/kernels/testing/Tensors.h"

#include <complex>

using namespace tilewright;
using namespace tilewright::interpret;
using testing::HasSubstr;

using Complex = std::complex<double>;

static Complex at(const Tensor &tensor, int64_t index) {
  const Scalar scalar = tensor.at(index);
  return numerics::isComplex(tensor.type()) ? scalar.complex() : Complex(scalar.r);
}

/// Small integers, complex ones with an imaginary part.
static Tensor numbers(ElementType type, const std::vector<int64_t> &dims, uint32_t seed) {
  Tensor tensor = wholeNumbers(type, dims, seed);
  Tensor imaginary = wholeNumbers(ElementType::f64, dims, seed + 1000);
  for (int64_t i = 0; numerics::isComplex(type) && i < tensor.elementCount(); ++i)
    tensor.set(i, Scalar::ofComplex({tensor.at(i).r, imaginary.at(i).r}));
  return tensor;
}

static double tolerance(ElementType type) {
  switch (numerics::componentOf(type)) {
  case ElementType::f64:
    return 1e-13;
  case ElementType::f32:
    return 1e-4;
  default:
    return 0.3;
  }
}

TEST(Cholesky, FactorsMultiplyToTheMatrix) {
  Context context;
  for (ElementType type :
       {ElementType::f32, ElementType::f64, ElementType::c64, ElementType::c128, ElementType::bf16})
    for (bool lower : {true, false})
      for (int64_t n : {1, 2, 5, 9}) {
        // A = B·Bᴴ + n·I, whole numbers throughout.
        Tensor b = numbers(type, {2, n, n}, static_cast<uint32_t>(n));
        Tensor a = *Tensor::allocate(type, b.shape(), context);
        for (int64_t m = 0; m < 2; ++m)
          for (int64_t i = 0; i < n; ++i)
            for (int64_t j = 0; j < n; ++j) {
              Complex sum = i == j ? static_cast<double>(n) : 0.0;
              for (int64_t k = 0; k < n; ++k)
                sum += at(b, (m * n + i) * n + k) * std::conj(at(b, (m * n + j) * n + k));
              // The triangle that must not be read is poisoned.
              const bool isRead = lower ? i >= j : i <= j;
              if (!isRead)
                sum = NAN;
              a.set((m * n + i) * n + j, numerics::isComplex(type) ? Scalar::ofComplex(sum)
                                                                   : Scalar::ofReal(sum.real()));
            }
        Tensor factor = *cholesky(a, lower, context);
        EXPECT_EQ(factor.type(), type);
        for (int64_t m = 0; m < 2; ++m)
          for (int64_t i = 0; i < n; ++i)
            for (int64_t j = 0; j <= i; ++j) {
              Complex sum = 0;
              for (int64_t k = 0; k < n; ++k)
                sum += lower ? at(factor, (m * n + i) * n + k) *
                                   std::conj(at(factor, (m * n + j) * n + k))
                             : std::conj(at(factor, (m * n + k) * n + i)) *
                                   at(factor, (m * n + k) * n + j);
              const Complex expected =
                  lower ? at(a, (m * n + i) * n + j) : std::conj(at(a, (m * n + j) * n + i));
              EXPECT_LE(std::abs(sum - expected), tolerance(type) * static_cast<double>(n * n))
                  << spelling(type);
              if (i != j)
                EXPECT_EQ(at(factor, lower ? (m * n + j) * n + i : (m * n + i) * n + j), 0.0);
            }
      }
}

TEST(Cholesky, TheSpecificationsExample) {
  Context context;
  Tensor a = tensorOf(ElementType::f32, {3, 3}, {1, 2, 3, 2, 20, 26, 3, 26, 70});
  EXPECT_EQ(cholesky(a, true, context)->toString(), "[[1, 0, 0], [2, 4, 0], [3, 5, 6]]");
}

TEST(Cholesky, IndefiniteMatricesGiveNaN) {
  Context context;
  Tensor a = tensorOf(ElementType::f64, {2, 2}, {1, 2, 2, 1});
  EXPECT_TRUE(std::isnan(cholesky(a, true, context)->at(3).r));
}

TEST(TriangularSolve, SolutionsSolveForEveryCombinationOfFlags) {
  Context context;
  for (ElementType type : {ElementType::f64, ElementType::c128, ElementType::f32, ElementType::c64})
    for (bool leftSide : {true, false})
      for (bool lower : {true, false})
        for (bool unit : {true, false})
          for (Transpose transpose : {Transpose::none, Transpose::transpose, Transpose::adjoint}) {
            const int64_t n = 4, other = 3;
            Tensor a = numbers(type, {2, n, n}, 11);
            const int64_t rows = leftSide ? n : other, columns = leftSide ? other : n;
            Tensor b = numbers(type, {2, rows, columns}, 12);
            for (int64_t m = 0; m < 2; ++m)
              for (int64_t i = 0; i < n; ++i) // far from singular
                a.set((m * n + i) * n + i,
                      numerics::isComplex(type) ? Scalar::ofComplex({5, 1}) : Scalar::ofReal(5));
            Tensor x = *triangularSolve(a, b, {leftSide, lower, unit, transpose}, context);
            auto op = [&](int64_t m, int64_t i, int64_t j) -> Complex {
              const int64_t row = transpose == Transpose::none ? i : j,
                            column = transpose == Transpose::none ? j : i;
              if (unit && i == j)
                return 1;
              if (lower ? row < column : row > column)
                return 0;
              const Complex value = at(a, (m * n + row) * n + column);
              return transpose == Transpose::adjoint ? std::conj(value) : value;
            };
            for (int64_t m = 0; m < 2; ++m)
              for (int64_t i = 0; i < rows; ++i)
                for (int64_t j = 0; j < columns; ++j) {
                  Complex sum = 0;
                  for (int64_t k = 0; k < n; ++k)
                    sum += leftSide ? op(m, i, k) * at(x, (m * rows + k) * columns + j)
                                    : at(x, (m * rows + i) * columns + k) * op(m, k, j);
                  const double size = unit ? 5000 : 10; // without the diagonal, solutions grow
                  EXPECT_LE(std::abs(sum - at(b, (m * rows + i) * columns + j)),
                            tolerance(type) * size)
                      << spelling(type) << leftSide << lower << unit << static_cast<int>(transpose);
                }
          }
}

TEST(TriangularSolve, TheSpecificationsExample) {
  Context context;
  Tensor a = tensorOf(ElementType::f32, {3, 3}, {1, 0, 0, 2, 4, 0, 3, 5, 6});
  Tensor b = tensorOf(ElementType::f32, {3, 3}, {2, 0, 0, 4, 8, 0, 6, 10, 12});
  EXPECT_EQ(triangularSolve(a, b, {}, context)->toString(), "[[2, 0, 0], [0, 2, 0], [0, 0, 2]]");
}

TEST(TriangularSolve, EmptyBatchesAndMatrices) {
  Context context;
  EXPECT_EQ(triangularSolve(wholeNumbers(ElementType::f32, {0, 2, 2}, 1),
                            wholeNumbers(ElementType::f32, {0, 2, 3}, 1), {}, context)
                ->shape()
                .toString(),
            "0x2x3");
  EXPECT_EQ(triangularSolve(wholeNumbers(ElementType::f32, {0, 0}, 1),
                            wholeNumbers(ElementType::f32, {0, 3}, 1), {}, context)
                ->shape()
                .toString(),
            "0x3");
  EXPECT_EQ(cholesky(wholeNumbers(ElementType::f32, {0, 0}, 1), true, context)->shape().toString(),
            "0x0");
}

TEST(LinearAlgebra, WhatDoesNotFitIsRefused) {
  Context context;
  Tensor a = wholeNumbers(ElementType::f32, {2, 3}, 1),
         square = wholeNumbers(ElementType::f32, {3, 3}, 1);
  Status status = cholesky(a, true, context).takeStatus();
  EXPECT_EQ(status.error(), Error::interpretShape);
  EXPECT_THAT(status.message(), HasSubstr("matrices must be square, got 2x3xf32"));
  status = cholesky(wholeNumbers(ElementType::i32, {2, 2}, 1), true, context).takeStatus();
  EXPECT_EQ(status.error(), Error::operandType);
  status = triangularSolve(square, a, {}, context).takeStatus();
  EXPECT_EQ(status.error(), Error::interpretShape);
  EXPECT_THAT(status.message(), HasSubstr("3x3xf32 and 2x3xf32"));
  EXPECT_TRUE(triangularSolve(square, a, {false}, context).isOk());
  status =
      triangularSolve(square, wholeNumbers(ElementType::f64, {3, 3}, 1), {}, context).takeStatus();
  EXPECT_EQ(status.error(), Error::operandType);
}
