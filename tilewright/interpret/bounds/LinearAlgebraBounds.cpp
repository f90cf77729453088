// Bounds of fft, cholesky, triangular_solve and batch_norm from their textbook error analysis.
#include "tilewright/dialect/stablehlo/StablehloOps.h"
#include "tilewright/interpret/bounds/BoundsEvaluator.h"

#include <algorithm>
#include <cmath>
#include <complex>

using namespace mlir;

namespace tilewright::interpret {
namespace {

using Number = std::complex<double>;
/// Row-major.
struct Matrix {
  size_t size = 0;
  std::vector<Number> at;
  Number &operator()(size_t i, size_t j) { return at[i * size + j]; }
  const Number &operator()(size_t i, size_t j) const { return at[i * size + j]; }
};

Number numberAt(const Tensor &tensor, size_t i) {
  const Scalar scalar = tensor.at(static_cast<int64_t>(i));
  return {scalar.r, numerics::isComplex(tensor.type()) ? scalar.im : 0.0};
}

/// The inverse of a lower triangular matrix.
Matrix inverseOf(const Matrix &lower) {
  const size_t n = lower.size;
  Matrix inverse{n, std::vector<Number>(n * n)};
  for (size_t j = 0; j < n; ++j) {
    inverse(j, j) = 1.0 / lower(j, j);
    for (size_t i = j + 1; i < n; ++i) {
      Number sum = 0;
      for (size_t k = j; k < i; ++k)
        sum += lower(i, k) * inverse(k, j);
      inverse(i, j) = -sum / lower(i, i);
    }
  }
  return inverse;
}

} // namespace

void BoundsEvaluator::setFft(Operation *op, const Operands &operands, Results &results) {
  auto fft = cast<stablehlo::FftOp>(op);
  BoundList &bounds = results[0].bounds;
  int64_t length = 1, inBlock = 1, outBlock = 1;
  const auto in = operands[0].tensor().shape().dims(), out = results[0].tensor().shape().dims();
  const size_t dims = fft.getFftLength().size();
  for (size_t i = 0; i < dims; ++i) {
    length *= fft.getFftLength()[i];
    inBlock *= in[in.size() - dims + i];
    outBlock *= out[out.size() - dims + i];
  }
  const bool isInverse =
      fft.getFftType() == stablehlo::FftType::IFFT || fft.getFftType() == stablehlo::FftType::IRFFT;
  const BoundList sizes = magnitudes(operands[0]);
  const double u = unitRoundoff(results[0].tensor().type());
  for (size_t i = 0; i < bounds.size(); ++i) {
    // Every result is a sum over the whole block. Each of the log2(n) levels rounds a constant
    // number of times, four times as many if the length is not a power of two (Bluestein).
    const size_t block = i / static_cast<size_t>(outBlock);
    double size = 0, inherited = 0;
    bool finite = true;
    for (size_t k = 0; k < static_cast<size_t>(inBlock); ++k) {
      const size_t at = block * static_cast<size_t>(inBlock) + k;
      size += sizes[at];
      inherited += operands[0].bounds[at];
      const Number number = numberAt(operands[0].tensor(), at);
      finite &= std::isfinite(number.real()) && std::isfinite(number.imag());
    }
    // Count every element twice, because irfft reads only half of a symmetric spectrum.
    size *= 2, inherited *= 2;
    if (isInverse)
      size /= static_cast<double>(length), inherited /= static_cast<double>(length);
    const double levels = std::log2(static_cast<double>(std::max<int64_t>(length, 2))) + 2;
    bounds[i] =
        finite ? inherited + 64 * levels * u * size + smallestSubnormal(results[0].tensor().type())
               : unknown;
  }
}

/// Higham, Accuracy and Stability of Numerical Algorithms, theorem 8.5: the computed solution
/// solves (T + D) x = b with |D| <= gamma(n) |T|.
void BoundsEvaluator::setTriangularSolve(Operation *op, const Operands &operands,
                                         Results &results) {
  auto solve = cast<stablehlo::TriangularSolveOp>(op);
  BoundList &bounds = results[0].bounds;
  const Tensor &a = operands[0].tensor(), &x = results[0].tensor();
  if (!operands[0].isExact() || !operands[1].isExact())
    return std::ranges::fill(bounds, unknown), void();
  const int64_t rank = a.rank();
  const auto n = static_cast<size_t>(a.shape()[rank - 1]);
  const auto rows = static_cast<size_t>(x.shape()[rank - 2]),
             columns = static_cast<size_t>(x.shape()[rank - 1]);
  if (bounds.empty())
    return;
  const double u = unitRoundoff(a.type());
  for (size_t batch = 0; batch < bounds.size() / (rows * columns); ++batch) {
    // Copy the triangle as a lower one; an upper triangle is transposed.
    Matrix lower{n, std::vector<Number>(n * n)};
    bool finite = true;
    for (size_t i = 0; i < n; ++i)
      for (size_t j = 0; j <= i; ++j) {
        const size_t row = solve.getLower() ? i : j, column = solve.getLower() ? j : i;
        lower(i, j) =
            i == j && solve.getUnitDiagonal() ? 1.0 : numberAt(a, (batch * n + row) * n + column);
        finite &= std::isfinite(std::abs(lower(i, j))) && (i != j || lower(i, j) != 0.0);
      }
    const Matrix inverse = inverseOf(lower);
    // condition(i, k) bounds the effect of a relative error of |x[k]| on x[i]. `turned` is the same
    // for the transposed matrix.
    std::vector<double> condition(n * n);
    for (size_t i = 0; i < n; ++i)
      for (size_t k = 0; k < n; ++k)
        for (size_t j = 0; j < n; ++j)
          condition[i * n + k] += std::abs(inverse(i, j)) * std::abs(lower(j, k));
    std::vector<double> turned(n * n);
    for (size_t i = 0; i < n; ++i)
      for (size_t k = 0; k < n; ++k)
        for (size_t j = 0; j < n; ++j)
          turned[i * n + k] += std::abs(inverse(j, i)) * std::abs(lower(k, j));
    for (size_t i = 0; i < rows; ++i)
      for (size_t j = 0; j < columns; ++j) {
        double moved = 0;
        for (size_t k = 0; k < n; ++k) {
          const size_t along = solve.getLeftSide() ? i : j;
          const size_t at = solve.getLeftSide() ? k * columns + j : i * columns + k;
          moved += std::max(condition[along * n + k], turned[along * n + k]) *
                   std::abs(numberAt(x, batch * rows * columns + at));
        }
        double &bound = bounds[batch * rows * columns + i * columns + j];
        bound = finite && std::isfinite(moved)
                    ? 16 * static_cast<double>(n + 2) * u * moved + smallestSubnormal(a.type())
                    : unknown;
      }
  }
}

/// Higham, theorem 10.3 with the first-order perturbation of the factor: A + D = L L', |D| <=
/// gamma(n + 1) |L| |L'|, and |dL| <= |L| lower(|inv(L)| |D| |inv(L)'|).
void BoundsEvaluator::setCholesky(Operation *op, const Operands &operands, Results &results) {
  auto cholesky = cast<stablehlo::CholeskyOp>(op);
  BoundList &bounds = results[0].bounds;
  const Tensor &l = results[0].tensor();
  if (!operands[0].isExact())
    return std::ranges::fill(bounds, unknown), void();
  if (bounds.empty())
    return;
  const auto n = static_cast<size_t>(l.shape()[l.rank() - 1]);
  const double u = unitRoundoff(l.type());
  for (size_t batch = 0; batch < bounds.size() / (n * n); ++batch) {
    Matrix lower{n, std::vector<Number>(n * n)};
    bool finite = true;
    for (size_t i = 0; i < n; ++i)
      for (size_t j = 0; j <= i; ++j) {
        lower(i, j) = numberAt(l, (batch * n + (cholesky.getLower() ? i : j)) * n +
                                      (cholesky.getLower() ? j : i));
        finite &= std::isfinite(std::abs(lower(i, j)));
      }
    if (!finite) {
      // The matrix is not positive definite, possibly only because of rounding.
      std::fill_n(bounds.begin() + static_cast<ptrdiff_t>(batch * n * n), n * n, unknown);
      continue;
    }
    const Matrix inverse = inverseOf(lower);
    std::vector<double> residual(n * n), scaled(n * n);
    for (size_t i = 0; i < n; ++i)
      for (size_t j = 0; j < n; ++j)
        for (size_t k = 0; k < n; ++k)
          residual[i * n + j] += std::abs(lower(i, k)) * std::abs(lower(j, k));
    for (size_t i = 0; i < n; ++i)
      for (size_t j = 0; j < n; ++j)
        for (size_t k = 0; k < n; ++k)
          for (size_t m = 0; m < n; ++m)
            scaled[i * n + j] +=
                std::abs(inverse(i, k)) * residual[k * n + m] * std::abs(inverse(j, m));
    for (size_t i = 0; i < n; ++i)
      for (size_t j = 0; j <= i; ++j) {
        double moved = 0;
        for (size_t k = j; k <= i; ++k)
          moved += std::abs(lower(i, k)) * scaled[k * n + j];
        const double relative = 16 * static_cast<double>(n + 2) * u;
        bounds[(batch * n + (cholesky.getLower() ? i : j)) * n + (cholesky.getLower() ? j : i)] =
            relative * scaled[i * n + j] < 0.1 ? relative * moved + smallestSubnormal(l.type())
                                               : unknown;
      }
  }
}

void BoundsEvaluator::setBatchNorm(Operation *op, const Operands &operands, Results &results) {
  for (const Bounded &operand : operands)
    if (!operand.isExact()) {
      for (Bounded &result : results)
        std::ranges::fill(result.bounds, unknown);
      return;
    }
  const Tensor &x = operands[0].tensor();
  const auto feature =
      static_cast<size_t>(op->getAttrOfType<IntegerAttr>("feature_index").getInt());
  const double epsilon = op->getAttrOfType<FloatAttr>("epsilon").getValueAsDouble();
  const auto dims = x.shape().dims();
  size_t inner = 1;
  for (size_t i = feature + 1; i < dims.size(); ++i)
    inner *= static_cast<size_t>(dims[i]);
  const auto features = static_cast<size_t>(dims[feature]);
  const size_t total = operands[0].bounds.size();
  auto featureOf = [&](size_t i) { return i / inner % features; };
  auto real = [](const Tensor &tensor, size_t i) { return tensor.at(static_cast<int64_t>(i)).r; };
  const bool isGrad = isa<stablehlo::BatchNormGradOp>(op);
  const bool isTraining = isa<stablehlo::BatchNormTrainingOp>(op);
  const double perFeature = features ? static_cast<double>(total / features) : 0;
  const double u = 16 * (perFeature + 8) * unitRoundoff(x.type());
  // Per feature, the magnitudes of the terms of each sum.
  std::vector<double> size(features), square(features), grad(features), gradSize(features);
  for (size_t i = 0; i < total; ++i) {
    size[featureOf(i)] += std::fabs(real(x, i));
    square[featureOf(i)] += real(x, i) * real(x, i);
  }
  for (size_t f = 0; f < features && perFeature > 0; ++f)
    size[f] /= perFeature, square[f] /= perFeature;
  auto parameter = [&](size_t operand, size_t f) {
    return std::fabs(real(operands[operand].tensor(), f));
  };
  std::vector<double> mean(features), variance(features), relative(features, u);
  for (size_t f = 0; f < features; ++f) {
    mean[f] = isTraining ? std::fabs(real(results[1].tensor(), f)) : parameter(isGrad ? 2 : 3, f);
    variance[f] = isTraining ? real(results[2].tensor(), f) : parameter(isGrad ? 3 : 4, f);
    if (isTraining) // its terms cancel
      relative[f] += u * square[f] / (variance[f] + epsilon);
  }
  auto set = [&](Bounded &result, size_t i, size_t f, double terms) {
    const double bound = relative[f] * terms + smallestSubnormal(x.type());
    const bool known = relative[f] < 0.1 && std::isfinite(bound) && variance[f] + epsilon > 0 &&
                       terms < largestFinite(x.type()) / 4 &&
                       square[f] < largestFinite(x.type()) / 4;
    result.bounds[i] = known ? bound : unknown;
  };
  auto norm = [&](size_t f) { return std::sqrt(variance[f] + epsilon); };
  if (!isGrad) {
    for (size_t i = 0; i < total; ++i) {
      const size_t f = featureOf(i);
      set(results[0], i, f,
          parameter(1, f) * (std::fabs(real(x, i)) + mean[f]) / norm(f) + parameter(2, f));
    }
    for (size_t f = 0; isTraining && f < features; ++f) {
      set(results[1], f, f, size[f]);
      set(results[2], f, f, square[f]);
    }
    return;
  }
  const Tensor &g = operands[4].tensor();
  for (size_t i = 0; i < total; ++i) {
    const size_t f = featureOf(i);
    grad[f] += std::fabs(real(g, i));
    gradSize[f] += std::fabs(real(g, i)) * (std::fabs(real(x, i)) + mean[f]);
  }
  for (size_t i = 0; i < total; ++i) {
    const size_t f = featureOf(i);
    set(results[0], i, f,
        parameter(1, f) / norm(f) *
            (std::fabs(real(g, i)) + grad[f] / perFeature +
             (std::fabs(real(x, i)) + mean[f]) * gradSize[f] / perFeature /
                 (variance[f] + epsilon)));
  }
  for (size_t f = 0; f < features; ++f) {
    set(results[1], f, f, gradSize[f] / norm(f));
    set(results[2], f, f, grad[f]);
  }
}

} // namespace tilewright::interpret
