// Routines of LAPACK that JAX calls by name: the products of the factors are the matrix.
#include "tilewright/transform/simplify/expand/testing/Matrices.h"

using namespace tilewright;
using namespace tilewright::expansion;

namespace {

const std::vector<std::string> elements = {"f32", "f64", "complex<f32>", "complex<f64>"};

std::string letterOf(const std::string &element) {
  return element == "f32" ? "s" : element == "f64" ? "d" : element == "complex<f32>" ? "c" : "z";
}
/// The name for CPUs: un… instead of or… for complex elements.
std::string lapack(const std::string &element, const std::string &routine) {
  const bool isComplex = element[0] == 'c';
  std::string name = routine;
  if (isComplex && routine.substr(0, 2) == "or")
    name = "un" + routine.substr(2);
  if (isComplex && routine.substr(0, 2) == "sy")
    name = "he" + routine.substr(2);
  return concat("lapack_", letterOf(element), name, "_ffi");
}

/// The product of the reflectors below the diagonal `offset` of a matrix.
Matrix productOfReflectors(const Matrix &a, const Tensor &taus, int64_t which, int64_t offset) {
  const int64_t m = a.rows, k = taus.shape()[taus.rank() - 1];
  Matrix product = Matrix::identity(m);
  for (int64_t j = 0; j < k; ++j) {
    Matrix vector(m, 1);
    for (int64_t i = j + offset; i < m; ++i)
      vector.at(i, 0) = i == j + offset ? 1 : a.at(i, j);
    const Scalar tau = taus.at(which * k + j);
    Matrix reflector = vector * vector.adjoint();
    for (Complex &value : reflector.data)
      value *= -Complex(tau.r, tau.im);
    product = product * reflector.plusDiagonal(1);
  }
  return product;
}

} // namespace

TEST(ExpandRoutines, LuTimesItsPermutationIsTheMatrix) {
  for (const char *element : {"f32", "f64", "complex<f32>"})
    for (auto [m, n] : {std::pair<int64_t, int64_t>{1, 1}, {5, 5}, {7, 3}, {3, 6}, {40, 40}}) {
      const int64_t k = std::min(m, n);
      const std::string a = tensorType({2, m, n}, element), p = tensorType({2, k}, "i32");
      const std::string permutation = tensorType({2, m}, "i32");
      const std::string text = concat(
          "func.func @main(%a: ", a, ") -> (", a, ", ", permutation, ", tensor<2xi32>) {\n",
          "  %r:3 = stablehlo.custom_call @cusolver_getrf_ffi(%a) {api_version = 4 : i32} : (", a,
          ") -> (", a, ", ", p, ", tensor<2xi32>)\n  %one = stablehlo.constant dense<1> : ", p,
          "\n  %p = stablehlo.subtract %r#1, %one : ", p,
          "\n  %q = stablehlo.custom_call @cu_lu_pivots_to_permutation(%p) {api_version = 4 : "
          "i32} : (",
          p, ") -> ", permutation, "\n  return %r#0, %q, %r#2 : ", a, ", ", permutation,
          ", tensor<2xi32>\n}\n");
      const Tensor input = randomMatrices({2, m, n}, element, static_cast<uint64_t>(m * n));
      RuntimeValues results = evaluateExpansion(text, {input});
      ASSERT_EQ(results.size(), 3u);
      for (int64_t which = 0; which < 2; ++which) {
        EXPECT_EQ(results[2].tensor().at(which).i, 0);
        Matrix lu(results[0].tensor(), which), original(input, which);
        Matrix lower(m, k), upper(k, n), permuted(m, n);
        for (int64_t i = 0; i < m; ++i)
          for (int64_t j = 0; j < n; ++j) {
            if (j < k)
              lower.at(i, j) = i == j ? 1 : i > j ? lu.at(i, j) : 0;
            if (i < k)
              upper.at(i, j) = i <= j ? lu.at(i, j) : 0;
            permuted.at(i, j) = original.at(results[1].tensor().at(which * m + i).i, j);
          }
        // The largest element below the diagonal is 1 in modulus, or |re| + |im| <= √2.
        for (int64_t i = 0; i < m; ++i)
          for (int64_t j = 0; j < std::min(i, k); ++j)
            EXPECT_LE(std::abs(lower.at(i, j)), 1.5);
        EXPECT_LE((lower * upper).distanceTo(permuted), 8 * double(m) * roundingOf(element))
            << element << " " << m << "x" << n;
      }
    }
}

TEST(ExpandRoutines, QrIsTheMatrixAndItsColumnsAreOrthonormal) {
  for (const char *element : {"f32", "f64", "complex<f32>"})
    for (auto [m, n] : {std::pair<int64_t, int64_t>{1, 1}, {5, 5}, {7, 3}, {3, 6}, {40, 40}}) {
      const int64_t k = std::min(m, n);
      const std::string a = tensorType({2, m, n}, element), taus = tensorType({2, k}, element);
      const std::string q = tensorType({2, m, k}, element);
      const std::string text = concat(
          "func.func @main(%a: ", a, ") -> (", a, ", ", q, ") {\n",
          "  %r:2 = stablehlo.custom_call @cusolver_geqrf_ffi(%a) {api_version = 4 : i32} : (", a,
          ") -> (", a, ", ", taus, ")\n  %v = stablehlo.slice %r#0 [0:2, 0:", m, ", 0:", k, "] : (",
          a, ") -> ", q,
          "\n  %q = stablehlo.custom_call @cusolver_orgqr_ffi(%v, %r#1) {api_version = 4 : i32} "
          ": (",
          q, ", ", taus, ") -> ", q, "\n  return %r#0, %q : ", a, ", ", q, "\n}\n");
      const Tensor input = randomMatrices({2, m, n}, element, static_cast<uint64_t>(m + n));
      RuntimeValues results = evaluateExpansion(text, {input});
      ASSERT_EQ(results.size(), 2u);
      for (int64_t which = 0; which < 2; ++which) {
        Matrix all(results[0].tensor(), which), columns(results[1].tensor(), which);
        Matrix upper(k, n), adjoint(k, m), identity(k, k);
        for (int64_t i = 0; i < k; ++i) {
          identity.at(i, i) = 1;
          for (int64_t j = i; j < n; ++j)
            upper.at(i, j) = all.at(i, j);
          for (int64_t j = 0; j < m; ++j)
            adjoint.at(i, j) = std::conj(columns.at(j, i));
        }
        const double allowed = 16 * double(m) * roundingOf(element);
        EXPECT_LE((columns * upper).distanceTo(Matrix(input, which)), allowed)
            << element << " " << m << "x" << n;
        EXPECT_LE((adjoint * columns).distanceTo(identity), allowed);
      }
    }
}

TEST(ExpandRoutines, CholeskyReportsTheMinorThatIsNotPositive) {
  const std::string text =
      R"(func.func @main(%a: tensor<3x2x2xf32>) -> (tensor<3x2x2xf32>, tensor<3xi32>) {
    %r:2 = stablehlo.custom_call @cusolver_potrf_ffi(%a) {api_version = 4 : i32, backend_config = {lower = true}}
        : (tensor<3x2x2xf32>) -> (tensor<3x2x2xf32>, tensor<3xi32>)
    return %r#0, %r#1 : tensor<3x2x2xf32>, tensor<3xi32>
  }
  )";
  interpret::Context limits;
  Tensor input = *Tensor::allocate(ElementType::f32, *numerics::Shape::create({3, 2, 2}), limits);
  const double numbers[] = {4, 0, 2, 5, 1, 0, 2, 1, 1, 1, 1, 1}; // the last minors: 16, -3, 0
  for (int64_t i = 0; i < 12; ++i)
    input.set(i, Scalar::ofReal(numbers[i]));
  RuntimeValues results = evaluateExpansion(text, {input});
  EXPECT_EQ(results[0].tensor().at(0).r, 2);
  EXPECT_EQ(results[0].tensor().at(3).r, 2);
  EXPECT_EQ(results[1].tensor().at(0).i, 0);
  EXPECT_EQ(results[1].tensor().at(1).i, 2);
  EXPECT_EQ(results[1].tensor().at(2).i, 2);
}

TEST(ExpandRoutines, PivotedQrTakesTheLongestColumnFirst) {
  for (const std::string &element : elements)
    for (auto [m, n] : {std::pair<int64_t, int64_t>{1, 1}, {6, 6}, {8, 3}, {3, 5}}) {
      const int64_t k = std::min(m, n);
      const Tensor input = randomMatrices({2, m, n}, element, static_cast<uint64_t>(m * n));
      for (bool isFixed : {false, true}) {
        // A column that is not zero in the second operand comes first.
        Tensor fixed = zeroTensor({2, n}, "i32");
        if (isFixed)
          fixed.set(n - 1, Scalar::ofSigned(1));
        RuntimeValues results =
            call(m % 2 ? "cuhybrid_geqp3" : lapack(element, "geqp3"), "", {input, fixed},
                 {tensorType({2, m, n}, element), tensorType({2, n}, "i32"),
                  tensorType({2, k}, element)});
        if (isFixed)
          EXPECT_EQ(results[1].tensor().at(0).i, n);
        for (int64_t which = 0; which < 2; ++which) {
          const Matrix all(results[0].tensor(), which), a(input, which);
          Matrix permuted(m, n);
          for (int64_t j = 0; j < n; ++j)
            for (int64_t i = 0; i < m; ++i)
              permuted.at(i, j) = a.at(i, results[1].tensor().at(which * n + j).i - 1);
          Matrix q = productOfReflectors(all, results[2].tensor(), which, 0);
          EXPECT_LE((q * all.upperTriangle()).distanceTo(permuted),
                    16 * double(m) * roundingOf(element));
          for (int64_t j = isFixed ? 2 : 1; j < k; ++j)
            EXPECT_LE(std::abs(all.at(j, j)), std::abs(all.at(j - 1, j - 1)) * (1 + 1e-5));
        }
      }
    }
}

TEST(ExpandRoutines, ReflectorsAreMultipliedFromBothSides) {
  for (const std::string &element : elements)
    for (bool isLeft : {false, true})
      for (bool isAdjoint : {false, true}) {
        const int64_t m = 6, k = 4, width = 3;
        const Tensor a = randomMatrices({2, m, k}, element, 1);
        RuntimeValues qr = call(lapack(element, "geqrf"), "", {a},
                                {tensorType({2, m, k}, element), tensorType({2, k}, element)});
        const Dims shape = isLeft ? Dims{2, m, width} : Dims{2, width, m};
        const Tensor c = randomMatrices(shape, element, 2);
        RuntimeValues results =
            call(isLeft ? "cusolver_ormqr_ffi" : lapack(element, "ormqr"),
                 concat("left = ", isLeft ? "true" : "false",
                        ", transpose = ", isAdjoint ? "true" : "false"),
                 {qr[0].tensor(), qr[1].tensor(), c}, {tensorType(shape, element)});
        for (int64_t which = 0; which < 2; ++which) {
          Matrix q = productOfReflectors(Matrix(qr[0].tensor(), which), qr[1].tensor(), which, 0);
          if (isAdjoint)
            q = q.adjoint();
          const Matrix given(c, which);
          EXPECT_LE(Matrix(results[0].tensor(), which).distanceTo(isLeft ? q * given : given * q),
                    16 * double(m) * roundingOf(element));
        }
      }
}

TEST(ExpandRoutines, HessenbergMatricesAreSimilar) {
  for (const std::string &element : elements)
    for (int64_t n : {1, 2, 6}) {
      const Tensor input = randomMatrices({2, n, n}, element, static_cast<uint64_t>(n));
      RuntimeValues results =
          call(lapack(element, "gehrd"), concat("low = 1 : i32, high = ", n, " : i32"), {input},
               {tensorType({2, n, n}, element), tensorType({2, n - 1}, element), "tensor<2xi32>"});
      for (int64_t which = 0; which < 2; ++which) {
        const Matrix all(results[0].tensor(), which);
        const Matrix h = all.where([](int64_t i, int64_t j) { return i <= j + 1; });
        const Matrix q = productOfReflectors(all, results[1].tensor(), which, 1);
        EXPECT_LE((q * h * q.adjoint()).distanceTo(Matrix(input, which)),
                  32 * double(n) * roundingOf(element));
      }
    }
}

TEST(ExpandRoutines, TridiagonalMatricesAreSimilar) {
  for (const std::string &element : elements)
    for (int64_t n : {1, 2, 6})
      for (bool isLower : {false, true}) {
        const Tensor input = randomMatrices({2, n, n}, element, static_cast<uint64_t>(n));
        const std::string real = realOf(element);
        RuntimeValues results =
            call(isLower ? lapack(element, "sytrd") : "cusolver_sytrd_ffi",
                 isLower ? "uplo = 76 : ui8" : "lower = false", {input},
                 {tensorType({2, n, n}, element), tensorType({2, n}, real),
                  tensorType({2, n - 1}, real), tensorType({2, n - 1}, element), "tensor<2xi32>"});
        for (int64_t which = 0; which < 2; ++which) {
          const Matrix a(input, which);
          Matrix all(results[0].tensor(), which), t = Matrix::diagonal(results[1].tensor(), which);
          Tensor taus = zeroTensor({1, n - 1}, element);
          // The reduction of an upper triangle is that of a lower one from the other end.
          Matrix given = a, turned = all;
          for (int64_t i = 0; i < n - 1; ++i) {
            t.at(i + 1, i) = t.at(i, i + 1) = results[2].tensor().at(which * (n - 1) + i).r;
            taus.set(i, results[3].tensor().at(which * (n - 1) + (isLower ? i : n - 2 - i)));
          }
          for (int64_t i = 0; i < n; ++i)
            for (int64_t j = 0; j < n; ++j) {
              turned.at(i, j) = isLower ? all.at(i, j) : all.at(n - 1 - i, n - 1 - j);
              given.at(i, j) = i == j               ? a.at(i, i).real()
                               : (i > j) == isLower ? a.at(i, j)
                                                    : std::conj(a.at(j, i));
            }
          Matrix reflected = productOfReflectors(turned, taus, 0, 1), q = reflected;
          for (int64_t i = 0; i < n; ++i)
            for (int64_t j = 0; j < n; ++j)
              q.at(i, j) = isLower ? reflected.at(i, j) : reflected.at(n - 1 - i, n - 1 - j);
          EXPECT_LE((q * t * q.adjoint()).distanceTo(given), 32 * double(n) * roundingOf(element))
              << element << " " << n;
        }
      }
}

TEST(ExpandRoutines, TridiagonalSystemsExchangeRows) {
  for (const std::string &element : elements)
    for (int64_t n : {1, 2, 5}) {
      Tensor main = randomMatrices({2, n}, element, 2);
      if (n > 1)
        main.set(0, zeroTensor({1}, element).at(0)); // needs an exchange
      const RuntimeValues inputs = {randomMatrices({2, n}, element, 1), main,
                                    randomMatrices({2, n}, element, 3),
                                    randomMatrices({2, n, 3}, element, 4)};
      const std::string vector = tensorType({2, n}, element), x = tensorType({2, n, 3}, element);
      RuntimeValues cpu =
          call(lapack(element, "gtsv"), "", inputs, {vector, vector, vector, x, "tensor<2xi32>"});
      RuntimeValues gpu = call("cusparse_gtsv2_ffi", "", inputs, {x});
      EXPECT_EQ(compare(cpu[3].tensor(), gpu[0].tensor(), {}), "");
      for (int64_t which = 0; which < 2; ++which) {
        Matrix a = Matrix::diagonal(inputs[1].tensor(), which);
        const Matrix lower = Matrix::diagonal(inputs[0].tensor(), which);
        const Matrix upper = Matrix::diagonal(inputs[2].tensor(), which);
        for (int64_t i = 0; i + 1 < n; ++i) {
          a.at(i + 1, i) = lower.at(i + 1, i + 1);
          a.at(i, i + 1) = upper.at(i, i);
        }
        const Matrix solution(gpu[0].tensor(), which);
        const double size = solution.distanceTo(Matrix(n, 3));
        EXPECT_LE((a * solution).distanceTo(Matrix(inputs[3].tensor(), which)),
                  16 * double(n) * roundingOf(element) * std::max(1.0, size));
        EXPECT_EQ(cpu[4].tensor().at(which).i, 0);
      }
    }
}

TEST(ExpandRoutines, TridiagonalSystemsReportAZeroPivot) {
  const Tensor zero = zeroTensor({1, 3}, "f32");
  Tensor main = zeroTensor({1, 3}, "f32");
  main.set(0, Scalar::ofReal(2));
  RuntimeValues results =
      call("lapack_sgtsv_ffi", "", {zero, main, zero, zeroTensor({1, 3, 1}, "f32")},
           {"tensor<1x3xf32>", "tensor<1x3xf32>", "tensor<1x3xf32>", "tensor<1x3x1xf32>",
            "tensor<1xi32>"});
  EXPECT_EQ(results[4].tensor().at(0).i, 2);
}

TEST(ExpandRoutines, TriangularSystemsTakeTheLettersOfLapack) {
  for (const std::string element : {"f32", "complex<f64>"})
    for (char side : {'L', 'R'})
      for (char triangle : {'L', 'U'})
        for (char transposes : {'N', 'T', 'C'})
          for (char diagonal : {'N', 'U'}) {
            const int64_t n = 4, width = 3;
            Tensor a = randomMatrices({2, n, n}, element, 1);
            const Dims shape = side == 'L' ? Dims{2, n, width} : Dims{2, width, n};
            const Tensor b = randomMatrices(shape, element, 2);
            for (int64_t which = 0; which < 2; ++which)
              store(a, which, Matrix(a, which).plusDiagonal(3));
            RuntimeValues results =
                call(lapack(element, "trsm"),
                     concat("diag = ", int(diagonal), " : ui8, side = ", int(side),
                            " : ui8, trans_x = ", int(transposes), " : ui8, uplo = ", int(triangle),
                            " : ui8"),
                     {a, b}, {tensorType(shape, element)});
            for (int64_t which = 0; which < 2; ++which) {
              Matrix m = Matrix(a, which).where([&](int64_t i, int64_t j) {
                return i == j ? diagonal == 'N' : (i > j) == (triangle == 'L');
              });
              m = diagonal == 'U' ? m.plusDiagonal(1) : m;
              m = transposes == 'N' ? m : transposes == 'T' ? m.transposed() : m.adjoint();
              const Matrix x(results[0].tensor(), which);
              EXPECT_LE((side == 'L' ? m * x : x * m).distanceTo(Matrix(b, which)),
                        256 * roundingOf(element))
                  << element << side << triangle << transposes << diagonal;
            }
          }
}

TEST(ExpandRoutines, UpdatesAndProductsForGpus) {
  for (const std::string element : {"f32", "f64"}) {
    const int64_t n = 5;
    Tensor r = randomMatrices({2, n, n}, element, 1);
    const Tensor w = randomMatrices({2, n}, element, 2);
    for (int64_t which = 0; which < 2; ++which)
      store(r, which, Matrix(r, which).upperTriangle());
    RuntimeValues results = call("cu_cholesky_update_ffi", "", {r, w},
                                 {tensorType({2, n, n}, element), tensorType({2, n}, element)});
    for (int64_t which = 0; which < 2; ++which) {
      const Matrix before(r, which), after(results[0].tensor(), which);
      Matrix expected = before.adjoint() * before;
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j)
          expected.at(i, j) += w.at(which * n + i).r * w.at(which * n + j).r;
      EXPECT_LE((after.adjoint() * after).distanceTo(expected), 64 * roundingOf(element));
      EXPECT_EQ(after.distanceTo(after.upperTriangle()), 0);
    }
    // 2 a aᵀ - c
    Tensor two = zeroTensor({}, element), minus = zeroTensor({}, element);
    two.set(0, Scalar::ofReal(2));
    minus.set(0, Scalar::ofReal(-1));
    const Tensor a = randomMatrices({2, n, 3}, element, 3),
                 c = randomMatrices({2, n, n}, element, 4);
    RuntimeValues product = call("cusolver_syrk_ffi", "transpose = false", {a, c, two, minus},
                                 {tensorType({2, n, n}, element)});
    for (int64_t which = 0; which < 2; ++which) {
      Matrix expected = Matrix(a, which) * Matrix(a, which).adjoint();
      for (size_t i = 0; i < expected.data.size(); ++i)
        expected.data[i] = 2.0 * expected.data[i] - Matrix(c, which).data[i];
      EXPECT_LE(Matrix(product[0].tensor(), which).distanceTo(expected), 32 * roundingOf(element));
    }
  }
}

TEST(ExpandRoutines, MatricesWithoutElementsGiveNoError) {
  RuntimeValues eigen =
      call("lapack_ssyevd_ffi", "mode = 86 : ui8, uplo = 76 : ui8", {zeroTensor({0, 0}, "f32")},
           {"tensor<0x0xf32>", "tensor<0xf32>", "tensor<i32>"});
  EXPECT_EQ(eigen[2].tensor().at(0).i, 0);
  const Tensor c = randomMatrices({2, 3}, "f32", 1);
  RuntimeValues product =
      call("lapack_sormqr_ffi", "left = true, transpose = false",
           {zeroTensor({2, 0}, "f32"), zeroTensor({0}, "f32"), c}, {"tensor<2x3xf32>"});
  EXPECT_EQ(compare(c, product[0].tensor(), {}), "");
}

TEST(ExpandRoutines, GeneralEigenproblemsStay) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<mlir::func::FuncDialect, stablehlo::StablehloDialect, exec::ExecDialect>();
  const std::string matrix = "tensor<3x3xcomplex<f32>>";
  for (const std::string name : {"lapack_cgeev_ffi", "cuhybrid_eig_comp"}) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(
        concat(
            "module attributes {exec.target = #exec.target<gpu = <>>} {\n",
            callOf(name, "", {matrix}, {"tensor<3xcomplex<f32>>", matrix, matrix, "tensor<i32>"}),
            "}\n"),
        &context);
    EXPECT_EQ(expand(*module, "stablehlo.custom_call", false), "the op is not expanded");
  }
}
