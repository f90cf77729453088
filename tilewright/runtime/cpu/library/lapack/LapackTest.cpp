#include "tilewright/runtime/cpu/library/lapack/Lapack.h"

#include "tilewright/runtime/cpu/library/testing/Calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <random>

namespace tilewright::runtime::cpu {

using Complex = std::complex<double>;
using Dims = std::vector<int64_t>;
using testing::HasSubstr;

namespace {
/// A dense matrix for checking.
struct Dense {
  int64_t rows, columns;
  std::vector<Complex> values;
  Complex &at(int64_t i, int64_t j) { return values[static_cast<size_t>(i * columns + j)]; }
  Complex at(int64_t i, int64_t j) const { return values[static_cast<size_t>(i * columns + j)]; }
};

class LapackKernels : public testing::TestWithParam<char> {
protected:
  void SetUp() override {
    if (!Lapack::find().isOk())
      GTEST_SKIP() << "no LAPACK on this machine";
  }
  char letter() const { return GetParam(); }
  bool isComplex() const { return letter() == 'c' || letter() == 'z'; }
  ElementType element() const {
    return letter() == 's'   ? ElementType::f32
           : letter() == 'd' ? ElementType::f64
           : letter() == 'c' ? ElementType::c64
                             : ElementType::c128;
  }
  ElementType real() const { return numerics::componentOf(element()); }
  ElementType complex() const {
    return real() == ElementType::f32 ? ElementType::c64 : ElementType::c128;
  }
  double tolerance() const { return real() == ElementType::f32 ? 2e-5 : 1e-12; }
  static LapackCall lapack(LapackRoutine routine, std::string options = {}) {
    return {.routine = routine, .options = std::move(options)};
  }

  TestBuffer random(Dims dims, uint32_t seed = 1) const {
    TestBuffer buffer({element(), std::move(dims)});
    std::minstd_rand engine(seed);
    auto next = [&] { return static_cast<double>((engine() >> 8) % 2001) / 1000 - 1; };
    for (int64_t i = 0; i < buffer.count(); ++i)
      buffer.set(i, numerics::Scalar::ofComplex({next(), isComplex() ? next() : 0}));
    return buffer;
  }
  /// Matrix `number` of a batch; a vector is a column.
  static Dense matrix(const TestBuffer &buffer, int64_t number, bool isVector = false) {
    const Dims &dims = buffer.type.dims;
    Dense dense{isVector ? dims.back() : dims[dims.size() - 2], isVector ? 1 : dims.back(), {}};
    for (int64_t i = 0; i < dense.rows * dense.columns; ++i) {
      const numerics::Scalar value = buffer.at(number * dense.rows * dense.columns + i);
      dense.values.push_back(numerics::isComplex(buffer.type.element) ? value.complex()
                                                                      : Complex(value.r));
    }
    return dense;
  }
  static Dense product(const Dense &a, const Dense &b) {
    Dense c{a.rows, b.columns, std::vector<Complex>(static_cast<size_t>(a.rows * b.columns))};
    for (int64_t i = 0; i < a.rows; ++i)
      for (int64_t j = 0; j < b.columns; ++j)
        for (int64_t k = 0; k < a.columns; ++k)
          c.at(i, j) += a.at(i, k) * b.at(k, j);
    return c;
  }
  static Dense adjoint(const Dense &a) {
    Dense b{a.columns, a.rows, std::vector<Complex>(a.values.size())};
    for (int64_t i = 0; i < a.rows; ++i)
      for (int64_t j = 0; j < a.columns; ++j)
        b.at(j, i) = std::conj(a.at(i, j));
    return b;
  }
  void expectNear(const Dense &a, const Dense &b) const {
    ASSERT_EQ(a.rows, b.rows);
    ASSERT_EQ(a.columns, b.columns);
    for (size_t i = 0; i < a.values.size(); ++i)
      ASSERT_LT(std::abs(a.values[i] - b.values[i]), 10 * tolerance()) << i;
  }
  void run(TestCall &call) {
    const Status status = call.run();
    ASSERT_TRUE(status.isOk()) << status.message();
    for (const TestBuffer &result : call.results)
      ASSERT_FALSE(result.overran());
  }
};
} // namespace

TEST_P(LapackKernels, LuTimesItsParts) {
  const int64_t m = 5, n = 7;
  TestCall call(lapack(LapackRoutine::getrf));
  call.operand(random({2, 3, m, n}));
  call.result({element(), {2, 3, m, n}}).result({ElementType::i32, {2, 3, m}});
  call.result({ElementType::i32, {2, 3}});
  run(call);
  for (int64_t b = 0; b < 6; ++b) {
    const Dense lu = matrix(call.results[0], b);
    Dense l{m, m, std::vector<Complex>(25)}, u{m, n, std::vector<Complex>(35)};
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j)
        (j < i ? l.at(i, j) : u.at(i, j)) = lu.at(i, j);
      l.at(i, i) = 1;
    }
    Dense a = product(l, u);
    for (int64_t i = m; i-- > 0;) {
      const int64_t other = call.results[1].as<int32_t>()[b * m + i] - 1;
      for (int64_t j = 0; j < n; ++j)
        std::swap(a.at(i, j), a.at(other, j));
    }
    expectNear(a, matrix(call.operands[0], b));
    EXPECT_EQ(call.results[2].as<int32_t>()[b], 0);
  }
}

TEST_P(LapackKernels, QrAndItsProducts) {
  const int64_t m = 6, n = 4;
  TestCall factor(lapack(LapackRoutine::geqrf));
  factor.operand(random({2, m, n})).result({element(), {2, m, n}}).result({element(), {2, n}});
  run(factor);
  TestCall make(lapack(LapackRoutine::orgqr));
  make.operand(std::move(factor.results[0])).operand(std::move(factor.results[1]));
  make.result({element(), {2, m, n}});
  run(make);
  for (int64_t b = 0; b < 2; ++b) {
    Dense r = matrix(make.operands[0], b);
    r.rows = n;
    r.values.resize(static_cast<size_t>(n * n));
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < i; ++j)
        r.at(i, j) = 0;
    const Dense q = matrix(make.results[0], b);
    expectNear(product(q, r), matrix(factor.operands[0], b));
    Dense one{n, n, std::vector<Complex>(16)};
    for (int64_t i = 0; i < n; ++i)
      one.at(i, i) = 1;
    expectNear(product(adjoint(q), q), one);
  }
  // Qᴴ times the matrix is r.
  TestCall apply(lapack(LapackRoutine::ormqr, isComplex() ? "LC" : "LT"));
  apply.operand(std::move(make.operands[0])).operand(std::move(make.operands[1]));
  apply.operand(random({2, m, n})).result({element(), {2, m, n}});
  run(apply);
  for (int64_t b = 0; b < 2; ++b) {
    Dense r = matrix(apply.operands[0], b);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < std::min(i, n); ++j)
        r.at(i, j) = 0;
    expectNear(matrix(apply.results[0], b), r);
  }
}

TEST_P(LapackKernels, PivotedQr) {
  const int64_t m = 5, n = 3;
  TestCall call(lapack(LapackRoutine::geqp3));
  call.operand(random({m, n})).operand(bufferOf(ElementType::i32, {n}, {0, 0, 0}));
  call.result({element(), {m, n}}).result({ElementType::i32, {n}}).result({element(), {n}});
  run(call);
  std::vector<double> places = call.results[1].reals();
  std::sort(places.begin(), places.end());
  EXPECT_THAT(places, testing::ElementsAre(1, 2, 3));
  EXPECT_GE(std::abs(call.results[0].at(0).complex()),
            std::abs(call.results[0].at(n + 1).complex()));
}

TEST_P(LapackKernels, SingularValues) {
  for (LapackRoutine routine : {LapackRoutine::gesdd, LapackRoutine::gesvd})
    for (char mode : {'A', 'S', 'N'})
      for (auto [m, n] : {std::pair<int64_t, int64_t>{5, 3}, {3, 6}}) {
        const int64_t k = std::min(m, n), columns = mode == 'A' ? m : k, rows = mode == 'A' ? n : k;
        TestCall call(lapack(routine, std::string(1, mode)));
        call.operand(random({2, m, n})).result({element(), {2, m, n}}).result({real(), {2, k}});
        call.result({element(), {2, m, columns}}).result({element(), {2, rows, n}});
        call.result({ElementType::i32, {2}});
        run(call);
        for (int64_t b = 0; b < 2; ++b) {
          EXPECT_EQ(call.results[4].as<int32_t>()[b], 0);
          if (mode == 'N')
            continue;
          Dense u = matrix(call.results[2], b), vt = matrix(call.results[3], b);
          Dense scaled{m, k, std::vector<Complex>(static_cast<size_t>(m * k))};
          for (int64_t i = 0; i < m; ++i)
            for (int64_t j = 0; j < k; ++j)
              scaled.at(i, j) = u.at(i, j) * call.results[1].real(b * k + j);
          vt.rows = k;
          vt.values.resize(static_cast<size_t>(k * n));
          expectNear(product(scaled, vt), matrix(call.operands[0], b));
        }
      }
}

TEST_P(LapackKernels, EigenvaluesOfAHermitianMatrix) {
  const int64_t n = 6;
  TestBuffer a = random({2, n, n});
  for (int64_t b = 0; b < 2; ++b) {
    const Dense half = matrix(a, b), other = adjoint(half);
    for (size_t i = 0; i < half.values.size(); ++i)
      a.set(b * n * n + static_cast<int64_t>(i),
            numerics::Scalar::ofComplex((half.values[i] + other.values[i]) * 0.5));
  }
  TestCall call(lapack(LapackRoutine::syevd, "VL"));
  call.operand(std::move(a)).result({element(), {2, n, n}}).result({real(), {2, n}});
  call.result({ElementType::i32, {2}});
  run(call);
  for (int64_t b = 0; b < 2; ++b) {
    Dense v = matrix(call.results[0], b), scaled = v;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j)
        scaled.at(i, j) *= call.results[1].real(b * n + j);
    expectNear(product(matrix(call.operands[0], b), v), scaled);
  }
}

TEST_P(LapackKernels, EigenvaluesOfAnyMatrix) {
  const int64_t n = 5;
  TestCall call(lapack(LapackRoutine::geev, "NV"));
  call.operand(random({2, n, n}));
  call.result({element(), {2, n}});
  if (!isComplex())
    call.result({element(), {2, n}});
  call.result({complex(), {2, n, n}})
      .result({complex(), {2, n, n}})
      .result({ElementType::i32, {2}});
  run(call);
  const size_t at = isComplex() ? 2 : 3;
  for (int64_t b = 0; b < 2; ++b) {
    Dense v = matrix(call.results[at], b), scaled = v;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j) {
        const Complex value =
            isComplex() ? call.results[0].at(b * n + j).complex()
                        : Complex(call.results[0].real(b * n + j), call.results[1].real(b * n + j));
        scaled.at(i, j) *= value;
      }
    expectNear(product(matrix(call.operands[0], b), v), scaled);
  }
}

TEST_P(LapackKernels, SchurForm) {
  const int64_t n = 5;
  TestCall call(lapack(LapackRoutine::gees, "V"));
  call.operand(random({n, n})).result({element(), {n, n}}).result({element(), {n, n}});
  call.result({element(), {n}});
  if (!isComplex())
    call.result({element(), {n}});
  call.result({ElementType::i32, {}}).result({ElementType::i32, {}});
  run(call);
  const Dense t = matrix(call.results[0], 0), z = matrix(call.results[1], 0);
  expectNear(product(product(z, t), adjoint(z)), matrix(call.operands[0], 0));
}

TEST_P(LapackKernels, HessenbergAndTridiagonalForms) {
  const int64_t n = 5;
  TestCall call(LapackCall{.routine = LapackRoutine::gehrd, .low = 1, .high = n});
  call.operand(random({n, n})).result({element(), {n, n}}).result({element(), {n - 1}});
  call.result({ElementType::i32, {}});
  run(call);
  EXPECT_EQ(call.results[2].as<int32_t>()[0], 0);
  TestCall other(lapack(LapackRoutine::sytrd, "L"));
  other.operand(random({n, n})).result({element(), {n, n}}).result({real(), {n}});
  other.result({real(), {n - 1}}).result({element(), {n - 1}}).result({ElementType::i32, {}});
  run(other);
  // Both preserve the trace.
  Complex before = 0, after = 0;
  double diagonal = 0, realBefore = 0;
  for (int64_t i = 0; i < n; ++i) {
    before += matrix(call.operands[0], 0).at(i, i);
    after += matrix(call.results[0], 0).at(i, i);
    realBefore += matrix(other.operands[0], 0).at(i, i).real();
    diagonal += other.results[1].real(i);
  }
  EXPECT_LT(std::abs(before - after), 10 * tolerance());
  EXPECT_NEAR(realBefore, diagonal, 10 * tolerance());
}

TEST_P(LapackKernels, SolvesTriangularAndTridiagonalSystems) {
  const int64_t n = 4, k = 3;
  TestBuffer a = random({2, n, n});
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t i = 0; i < n; ++i)
      a.set(b * n * n + i * n + i, numerics::Scalar::ofComplex(3.0 + static_cast<double>(i)));
  TestCall call(lapack(LapackRoutine::trsm, "LLNN"));
  call.operand(std::move(a)).operand(random({2, n, k}, 5)).result({element(), {2, n, k}});
  run(call);
  for (int64_t b = 0; b < 2; ++b) {
    Dense lower = matrix(call.operands[0], b);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = i + 1; j < n; ++j)
        lower.at(i, j) = 0;
    expectNear(product(lower, matrix(call.results[0], b)), matrix(call.operands[1], b));
  }

  TestCall tri(lapack(LapackRoutine::gtsv));
  TestBuffer diagonal = random({n}, 7);
  for (int64_t i = 0; i < n; ++i)
    diagonal.set(i, numerics::Scalar::ofComplex(4));
  tri.operand(random({n}, 6)).operand(std::move(diagonal)).operand(random({n}, 8));
  tri.operand(random({n, k}, 9));
  for (int i = 0; i < 3; ++i)
    tri.result({element(), {n}});
  tri.result({element(), {n, k}}).result({ElementType::i32, {}});
  run(tri);
  Dense band{n, n, std::vector<Complex>(static_cast<size_t>(n * n))};
  for (int64_t i = 0; i < n; ++i) {
    band.at(i, i) = matrix(tri.operands[1], 0, true).at(i, 0);
    if (i > 0)
      band.at(i, i - 1) = matrix(tri.operands[0], 0, true).at(i, 0);
    if (i + 1 < n)
      band.at(i, i + 1) = matrix(tri.operands[2], 0, true).at(i, 0);
  }
  expectNear(product(band, matrix(tri.results[3], 0)), matrix(tri.operands[3], 0));
}

TEST_P(LapackKernels, CholeskySaysWhatIsNotPositive) {
  const int64_t n = 3;
  TestBuffer a({element(), {2, n, n}});
  for (int64_t i = 0; i < 2 * n * n; ++i)
    a.set(i,
          numerics::Scalar::ofComplex(i % (n * n) % (n + 1) == 0 ? (i < n * n ? 4.0 : -1.0) : 0.0));
  TestCall call(lapack(LapackRoutine::potrf, "L"));
  call.operand(std::move(a)).result({element(), {2, n, n}}).result({ElementType::i32, {2}});
  run(call);
  EXPECT_EQ(call.results[0].at(0).r, 2);
  EXPECT_EQ(call.results[1].as<int32_t>()[0], 0);
  EXPECT_EQ(call.results[1].as<int32_t>()[1], 1);
}

TEST_P(LapackKernels, InfinitiesAreReported) {
  TestBuffer a = random({3, 3});
  a.set(4, numerics::Scalar::ofComplex(INFINITY));
  TestCall call(lapack(LapackRoutine::syevd, "VL"));
  call.operand(std::move(a)).result({element(), {3, 3}}).result({real(), {3}});
  call.result({ElementType::i32, {}});
  run(call);
  EXPECT_EQ(call.results[2].as<int32_t>()[0], -4);
}

INSTANTIATE_TEST_SUITE_P(Letters, LapackKernels, testing::Values('s', 'd', 'c', 'z'));

TEST(Lapack, AMissingRoutineIsAnError) {
  Result<const Lapack *> lapack = Lapack::find();
  if (!lapack.isOk())
    GTEST_SKIP() << "no LAPACK on this machine";
  const Status status = (*lapack)->routine("sfrobnicate").takeStatus();
  EXPECT_EQ(status.error(), Error::lapackMissing);
  EXPECT_THAT(status.message(), HasSubstr("TILEWRIGHT_LAPACK"));
}

TEST(Lapack, WrongShapesAreRefusedBeforeAnythingRuns) {
  TestCall call(LapackCall{.routine = LapackRoutine::getrf});
  call.operand(bufferOf(ElementType::f32, {2, 2}, {1, 2, 3, 4}));
  call.result({ElementType::f32, {2, 2}}).result({ElementType::i32, {3}});
  call.result({ElementType::i32, {}});
  const Status status = call.run();
  EXPECT_EQ(status.error(), Error::libraryCall);
  EXPECT_THAT(status.message(), HasSubstr("getrf"));
}

} // namespace tilewright::runtime::cpu
