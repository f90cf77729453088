// Eigenvalues and singular values: the products of the factors are the matrix, and the vectors are
// orthonormal, up to n roundings of the largest element.
#include "tilewright/transform/simplify/expand/testing/Matrices.h"

using namespace tilewright;
using namespace tilewright::expansion;

namespace {

const std::vector<std::string> elements = {"f32", "f64", "complex<f32>", "complex<f64>"};

/// Eigenvalues on the diagonal in a random basis.
Matrix hermitianWith(const std::vector<double> &eigenvalues, const std::string &element,
                     uint64_t seed) {
  const auto n = static_cast<int64_t>(eigenvalues.size());
  // Reflections at random vectors.
  Matrix result(n, n);
  for (int64_t i = 0; i < n; ++i)
    result.at(i, i) = eigenvalues[static_cast<size_t>(i)];
  for (uint64_t round = 0; round < 3; ++round) {
    Matrix v(randomMatrices({1, n, 1}, element, seed + round), 0);
    const double square = (v.adjoint() * v).at(0, 0).real();
    Matrix mirror = v * v.adjoint();
    for (Complex &value : mirror.data)
      value *= -2 / square;
    mirror = mirror.plusDiagonal(1);
    result = mirror * result * mirror;
  }
  return result;
}

double largestOf(const Matrix &a) { return a.distanceTo(Matrix(a.rows, a.columns)); }

RuntimeValues eigen(const Tensor &input, const std::string &element, bool isLower, bool isLapack) {
  const std::string letter = element == "f32"            ? "ssy"
                             : element == "f64"          ? "dsy"
                             : element == "complex<f32>" ? "che"
                                                         : "zhe";
  const int64_t batch = input.shape()[0], n = input.shape()[1];
  const std::vector<std::string> results = {tensorType({batch, n, n}, element),
                                            tensorType({batch, n}, realOf(element)),
                                            tensorType({batch}, "i32")};
  if (isLapack)
    return call(concat("lapack_", letter, "evd_ffi"),
                concat("mode = 86 : ui8, uplo = ", isLower ? 76 : 85, " : ui8"), {input}, results);
  return call("cusolver_syevd_ffi",
              concat("algorithm = 0 : ui8, lower = ", isLower ? "true" : "false"), {input},
              results);
}

/// Compares with the matrices, whose largest elements give the tolerance.
void expectEigen(const RuntimeValues &results, const std::vector<Matrix> &matrices,
                 const std::string &element) {
  const Tensor &values = results[1].tensor();
  for (int64_t which = 0; which < static_cast<int64_t>(matrices.size()); ++which) {
    const Matrix &a = matrices[static_cast<size_t>(which)];
    const int64_t n = a.rows;
    const double allowed = 8 * double(n) * roundingOf(element);
    Matrix vectors(results[0].tensor(), which);
    EXPECT_LE(vectors.distanceToUnitary(), allowed) << element << " " << n;
    EXPECT_LE((vectors * Matrix::diagonal(values, which) * vectors.adjoint()).distanceTo(a),
              allowed * largestOf(a))
        << element << " " << n;
    EXPECT_EQ(results[2].tensor().at(which).i, 0);
    for (int64_t i = 1; i < n; ++i)
      EXPECT_LE(values.at(which * n + i - 1).r, values.at(which * n + i).r);
  }
}

Matrix hermitian(const Tensor &tensor, int64_t which) {
  Matrix a(tensor, which), all = a;
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t j = 0; j < a.rows; ++j)
      all.at(i, j) = i == j ? a.at(i, i).real() : i > j ? a.at(i, j) : std::conj(a.at(j, i));
  return all;
}

} // namespace

TEST(ExpandEigen, OneTriangleDeterminesValuesAndVectors) {
  const Complex nan = std::nan("");
  for (const std::string &element : elements)
    for (int64_t n : {1, 2, 3, 10})
      for (bool isLower : {false, true}) {
        Tensor input = randomMatrices({2, n, n}, element, static_cast<uint64_t>(n));
        std::vector<Matrix> matrices;
        for (int64_t which = 0; which < 2; ++which) {
          matrices.push_back(hermitian(input, which));
          store(input, which,
                matrices.back().where(
                    [&](int64_t i, int64_t j) { return i == j || (i > j) == isLower; }, nan));
        }
        expectEigen(eigen(input, element, isLower, n % 2 == 0), matrices, element);
      }
}

TEST(ExpandEigen, EqualSmallAndLargeEigenvaluesConverge) {
  const int64_t n = 12;
  for (const std::string &element : elements) {
    const double large = realOf(element) == "f32" ? 1e30 : 1e250;
    std::vector<Matrix> matrices;
    std::vector<std::vector<double>> spectra(6, std::vector<double>(n, 0));
    for (size_t i = 0; i < n; ++i) {
      spectra[1][i] = 3;                         // a multiple of the identity
      spectra[2][i] = i % 2 ? 1 : -1;            // two values, six times each
      spectra[3][i] = std::pow(10, -double(i));  // graded
      spectra[4][i] = large * double(i % 3 + 1); // squares overflow
      spectra[5][i] = double(i) / large;         // squares vanish
    }
    Tensor input = zeroTensor({6, n, n}, element);
    for (size_t which = 0; which < spectra.size(); ++which) {
      store(input, static_cast<int64_t>(which), hermitianWith(spectra[which], element, which));
      matrices.push_back(hermitian(input, static_cast<int64_t>(which)));
    }
    expectEigen(eigen(input, element, true, true), matrices, element);
  }
}

TEST(ExpandEigen, NanAndInfinityStayInTheirMatrix) {
  for (const std::string element : {"f32", "complex<f64>"}) {
    Tensor input = randomMatrices({3, 4, 4}, element, 1);
    const Matrix good = hermitian(input, 1);
    for (int64_t which : {0, 2}) {
      Matrix bad = hermitian(input, which);
      bad.at(2, 1) = which ? HUGE_VAL : std::nan("");
      store(input, which, bad);
    }
    RuntimeValues results = eigen(input, element, true, true);
    Tensor vectors = zeroTensor({1, 4, 4}, element), values = zeroTensor({1, 4}, realOf(element));
    for (int64_t i = 0; i < 4; ++i) {
      EXPECT_TRUE(std::isnan(results[1].tensor().at(i).r));
      EXPECT_TRUE(std::isnan(results[1].tensor().at(8 + i).r));
      EXPECT_TRUE(std::isnan(results[0].tensor().at(i).r));
      values.set(i, results[1].tensor().at(4 + i));
    }
    store(vectors, 0, Matrix(results[0].tensor(), 1));
    expectEigen({vectors, values, zeroTensor({1}, "i32")}, {good}, element);
  }
}

namespace {

/// The singular values and vectors as an adjoint, from one of the routines.
enum class Form { lapackFull, lapackThin, jacobi, gpuQr };

void expectSingular(const Tensor &input, const std::string &element, Form form) {
  const int64_t batch = input.shape()[0], m = input.shape()[1], n = input.shape()[2];
  const int64_t k = std::min(m, n);
  const bool isFull = form != Form::lapackThin;
  // The routine of GPUs takes wide matrices as tall ones, and then exchanges the vectors.
  const bool isSwapped = form == Form::gpuQr && m < n;
  const std::string u = tensorType({batch, m, isFull ? m : k}, element);
  const std::string vt = form == Form::jacobi ? tensorType({batch, n, n}, element)
                                              : tensorType({batch, isFull ? n : k, n}, element);
  const std::string letter = element == "f32"            ? "s"
                             : element == "f64"          ? "d"
                             : element == "complex<f32>" ? "c"
                                                         : "z";
  const std::string name = form == Form::jacobi  ? "cusolver_gesvdj_ffi"
                           : form == Form::gpuQr ? "cusolver_gesvd_ffi"
                                                 : concat("lapack_", letter, "gesdd_ffi");
  const std::string config = form == Form::jacobi ? "compute_uv = true, full_matrices = true"
                             : form == Form::gpuQr
                                 ? concat("compute_uv = true, full_matrices = true, transposed = ",
                                          isSwapped ? "true" : "false")
                                 : concat("mode = ", isFull ? 65 : 83, " : ui8");
  RuntimeValues results =
      call(name, config, {input},
           {tensorType({batch, m, n}, element), tensorType({batch, k}, realOf(element)),
            isSwapped ? vt : u, isSwapped ? u : vt, tensorType({batch}, "i32")});
  const Tensor &values = results[1].tensor();
  for (int64_t which = 0; which < batch; ++which) {
    const Matrix a(input, which), left(results[isSwapped ? 3 : 2].tensor(), which);
    Matrix right(results[isSwapped ? 2 : 3].tensor(), which);
    if (form == Form::jacobi)
      right = right.adjoint();
    const double allowed = 8 * double(std::max(m, n)) * roundingOf(element);
    EXPECT_LE(left.distanceToUnitary(), allowed) << element << " " << m << "x" << n;
    EXPECT_LE(right.adjoint().distanceToUnitary(), allowed) << element << " " << m << "x" << n;
    EXPECT_LE(
        (left.firstColumns(k) * Matrix::diagonal(values, which) * right.firstRows(k)).distanceTo(a),
        allowed * std::max(largestOf(a), std::numeric_limits<double>::min()))
        << element << " " << m << "x" << n << " " << which;
    EXPECT_EQ(results[4].tensor().at(which).i, 0);
    for (int64_t i = 0; i < k; ++i)
      EXPECT_GE(values.at(which * k + i).r, i + 1 < k ? values.at(which * k + i + 1).r : 0);
  }
}

} // namespace

TEST(ExpandSingular, MatricesOfEveryShapeAndRoutine) {
  for (const std::string &element : elements)
    for (auto [m, n] : {std::pair<int64_t, int64_t>{1, 1}, {1, 4}, {5, 5}, {7, 3}, {4, 6}}) {
      const Tensor input = randomMatrices({2, m, n}, element, static_cast<uint64_t>(m + n));
      expectSingular(input, element, m % 2 ? Form::lapackFull : Form::lapackThin);
      if (element != "f32" && element != "complex<f64>")
        continue;
      expectSingular(input, element, m == n ? Form::lapackThin : Form::gpuQr);
      expectSingular(input, element, Form::jacobi);
    }
}

TEST(ExpandSingular, SingularSmallAndLargeMatricesConverge) {
  const int64_t m = 9, n = 7;
  for (const std::string &element : elements) {
    const double large = realOf(element) == "f32" ? 1e30 : 1e250;
    Tensor input = randomMatrices({6, m, n}, element, 3);
    Matrix zero(m, n), equal(m, n), ones = zero.where([](int64_t, int64_t) { return false; }, 1);
    const Matrix any(input, 5);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j)
        equal.at(i, j) = any.at(i, j / 2); // equal columns
    Matrix huge = any, tiny = any;
    for (size_t i = 0; i < any.data.size(); ++i) {
      huge.data[i] *= large;
      tiny.data[i] /= large;
    }
    int64_t which = 0;
    for (const Matrix &matrix : {zero, ones, equal, huge, tiny})
      store(input, which++, matrix);
    expectSingular(input, element, Form::lapackFull);
  }
}

TEST(ExpandSingular, ValuesAloneAreThoseWithVectors) {
  for (const std::string element : {"f64", "complex<f32>"}) {
    const Tensor input = randomMatrices({2, 6, 4}, element, 5);
    const std::string a = tensorType({2, 6, 4}, element), s = tensorType({2, 4}, realOf(element));
    const std::string u = tensorType({2, 6, 4}, element), vt = tensorType({2, 4, 4}, element);
    const std::string letter = element == "f64" ? "d" : "c", scalar = tensorType({}, element);
    RuntimeValues with = call(concat("lapack_", letter, "gesvd_ffi"), "mode = 83 : ui8", {input},
                              {a, s, u, vt, "tensor<2xi32>"});
    RuntimeValues alone = call(concat("lapack_", letter, "gesvd_ffi"), "mode = 78 : ui8", {input},
                               {a, s, u, vt, "tensor<2xi32>"});
    RuntimeValues gpu =
        call("cusolver_gesvd_ffi", "compute_uv = false, full_matrices = true, transposed = false",
             {input}, {a, s, scalar, scalar, "tensor<2xi32>"});
    EXPECT_EQ(compare(with[1].tensor(), alone[1].tensor(), {}), "");
    EXPECT_EQ(compare(with[1].tensor(), gpu[1].tensor(), {}), "");
  }
}

TEST(ExpandSingular, NanAndInfinityGiveNan) {
  Tensor input = randomMatrices({2, 3, 2}, "f32", 1);
  input.set(4, Scalar::ofReal(-HUGE_VAL));
  RuntimeValues results = call("lapack_sgesdd_ffi", "mode = 65 : ui8", {input},
                               {"tensor<2x3x2xf32>", "tensor<2x2xf32>", "tensor<2x3x3xf32>",
                                "tensor<2x2x2xf32>", "tensor<2xi32>"});
  for (size_t number : {1u, 2u, 3u}) {
    const Tensor &result = results[number].tensor();
    const int64_t half = result.elementCount() / 2;
    for (int64_t i = 0; i < half; ++i) {
      EXPECT_TRUE(std::isnan(result.at(i).r));
      EXPECT_TRUE(std::isfinite(result.at(half + i).r));
    }
  }
}
