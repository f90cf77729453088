#include "test/library/Differential.h"

#include "tilewright/interpret/kernels/LinearAlgebra.h"

#include <algorithm>
#include <cmath>

namespace tilewright::runtime::cpu {

static Context context;

static void expectNear(TestCall &call, Result<Tensor> expected, double tolerance) {
  ASSERT_TRUE(expected.isOk());
  call.result(typeOf(*expected));
  const Status status = call.run();
  ASSERT_TRUE(status.isOk()) << status.message();
  ASSERT_FALSE(call.results[0].overran());
  const bool isComplex = numerics::isComplex(call.results[0].type.element);
  for (int64_t i = 0; i < call.results[0].count(); ++i) {
    const Scalar a = call.results[0].at(i), b = (*expected).at(i);
    if (std::isnan(b.r)) {
      EXPECT_TRUE(std::isnan(a.r)) << i;
      continue;
    }
    ASSERT_LE(std::hypot(a.r - b.r, isComplex ? a.im - b.im : 0),
              tolerance * (1 + std::hypot(b.r, isComplex ? b.im : 0)))
        << i;
  }
}

static double toleranceOf(ElementType type) {
  const ElementType component = numerics::componentOf(type);
  return component == ElementType::f64 ? 1e-12 : component == ElementType::f32 ? 1e-6 : 0;
}

TEST(LinearAlgebraDifferential, Cholesky) {
  Random random(61);
  for (int round = 0; round < 80; ++round) {
    const ElementType type = random.oneOf({ElementType::f32, ElementType::f64, ElementType::c64,
                                           ElementType::c128, ElementType::bf16});
    const int64_t n = random.number(0, 40);
    Dims dims = random.dims(random.number(0, 2), 0, 3);
    dims.insert(dims.end(), {n, n});
    TestBuffer a = random.buffer(type, dims, -3, 3);
    for (int64_t i = 0; n > 0 && i < a.count(); i += n * n)
      for (int64_t k = 0; k < n; ++k) // one matrix in eight is not positive definite
        a.set(
            i + k * n + k,
            Scalar::ofComplex(round % 8 == 0 && k == n / 2 ? -1.0 : 8.0 * static_cast<double>(n)));
    const bool lower = round % 2 == 0;
    TestCall call(CholeskyCall{.lower = lower});
    call.operand(std::move(a));
    expectNear(call, interpret::cholesky(tensorOf(call.operands[0]), lower, context),
               toleranceOf(type));
  }
}

TEST(LinearAlgebraDifferential, TriangularSolve) {
  Random random(62);
  for (int round = 0; round < 160; ++round) {
    const ElementType type = random.oneOf({ElementType::f32, ElementType::f64, ElementType::c64,
                                           ElementType::c128, ElementType::f16});
    const int64_t n = random.number(0, 20), other = random.number(0, 9);
    interpret::TriangularSolveParameters parameters;
    parameters.leftSide = random.number(0, 1) == 0;
    parameters.lower = random.number(0, 1) == 0;
    parameters.unitDiagonal = random.number(0, 1) == 0;
    parameters.transpose = static_cast<interpret::Transpose>(random.number(0, 2));
    Dims a = random.dims(random.number(0, 2), 0, 3), b = a;
    a.insert(a.end(), {n, n});
    b.insert(b.end(), {parameters.leftSide ? n : other, parameters.leftSide ? other : n});
    TestBuffer matrix = random.buffer(type, a, -1, 1);
    for (int64_t i = 0; n > 0 && i < matrix.count(); i += n * n)
      for (int64_t k = 0; k < n * n; ++k)
        if (k % (n + 1) == 0)
          matrix.set(i + k, Scalar::ofComplex(8));
        else if (n > 6) // well conditioned, or rounding differs by more than the tolerance
          matrix.set(i + k, Scalar::ofComplex(matrix.at(i + k).complex() * 0.125));
    TestCall call(TriangularSolveCall{.leftSide = parameters.leftSide,
                                      .lower = parameters.lower,
                                      .unitDiagonal = parameters.unitDiagonal,
                                      .transposeA = static_cast<Transpose>(
                                          parameters.transpose)}); // the enumerators are the same
    call.operand(std::move(matrix)).operand(random.buffer(type, b, -4, 4));
    expectNear(call,
               interpret::triangularSolve(tensorOf(call.operands[0]), tensorOf(call.operands[1]),
                                          parameters, context),
               toleranceOf(type) * 10);
  }
}

} // namespace tilewright::runtime::cpu
