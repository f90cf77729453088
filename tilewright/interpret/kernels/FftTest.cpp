#include "tilewright/interpret/kernels/Fft.h"

#include "tilewright/interpret/kernels/testing/Tensors.h"

#include <complex>
#include <numbers>
#include <random>

using namespace tilewright;
using namespace tilewright::interpret;
using testing::HasSubstr;

using Complex = std::complex<long double>;

/// The discrete Fourier transform as a sum, in long double.
static std::vector<Complex> definition(const std::vector<Complex> &values, bool inverse) {
  const auto n = static_cast<long double>(values.size());
  std::vector<Complex> result(values.size());
  for (size_t k = 0; k < values.size(); ++k) {
    for (size_t j = 0; j < values.size(); ++j) {
      const auto turn = static_cast<long double>(j * k % values.size()) / n;
      const long double angle = (inverse ? 2 : -2) * std::numbers::pi_v<long double> * turn;
      result[k] += values[j] * Complex(std::cos(angle), std::sin(angle));
    }
    if (inverse)
      result[k] /= n;
  }
  return result;
}

static Tensor randomTensor(ElementType type, const std::vector<int64_t> &dims, uint32_t seed) {
  Context context;
  Tensor tensor = *Tensor::allocate(type, *Shape::create(dims), context);
  std::minstd_rand random(seed);
  auto number = [&] { return static_cast<double>(random()) / 2147483648.0 - 0.5; };
  for (int64_t i = 0; i < tensor.elementCount(); ++i) {
    const double re = number(), im = number();
    tensor.set(i, numerics::isComplex(type) ? Scalar::ofComplex({re, im}) : Scalar::ofReal(re));
  }
  return tensor;
}

static std::vector<Complex> complexValues(const Tensor &tensor) {
  std::vector<Complex> values;
  for (int64_t i = 0; i < tensor.elementCount(); ++i) {
    const Scalar scalar = tensor.at(i);
    values.push_back(numerics::isComplex(tensor.type()) ? Complex(scalar.r, scalar.im)
                                                        : Complex(scalar.r));
  }
  return values;
}

/// Largest difference in units of `epsilon` times the largest element.
static long double distance(const std::vector<Complex> &a, const std::vector<Complex> &b,
                            long double epsilon) {
  EXPECT_EQ(a.size(), b.size());
  long double largest = 0, difference = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(b[i]));
    difference = std::max(difference, std::abs(a[i] - b[i]));
  }
  return difference / (largest * epsilon);
}

TEST(Fft, AgreesWithTheDefinitionForEveryLengthWithinOneUnit) {
  Context context;
  for (ElementType type : {ElementType::c64, ElementType::c128}) {
    const long double epsilon = type == ElementType::c64 ? 0x1p-24L : 0x1p-53L;
    for (int64_t n = 1; n <= 130; ++n)
      for (FftKind kind : {FftKind::fft, FftKind::ifft}) {
        Tensor input = randomTensor(type, {n}, static_cast<uint32_t>(n));
        Result<Tensor> result = fft(input, kind, Dims{n}, context);
        ASSERT_TRUE(result.isOk());
        EXPECT_LE(distance(complexValues(*result),
                           definition(complexValues(input), kind == FftKind::ifft), epsilon),
                  1.0L)
            << n;
      }
  }
}

TEST(Fft, RealTransformsAreHalvesOfComplexOnes) {
  Context context;
  for (ElementType type : {ElementType::f32, ElementType::f64})
    for (int64_t n = 1; n <= 40; ++n) {
      const long double epsilon = type == ElementType::f32 ? 0x1p-24L : 0x1p-53L;
      Tensor input = randomTensor(type, {n}, static_cast<uint32_t>(n));
      Tensor half = *fft(input, FftKind::rfft, Dims{n}, context);
      EXPECT_EQ(half.elementCount(), n / 2 + 1);
      EXPECT_EQ(half.at(0).im, 0) << n;
      if (n % 2 == 0)
        EXPECT_EQ(half.at(n / 2).im, 0) << n;
      std::vector<Complex> whole = definition(complexValues(input), false);
      whole.resize(static_cast<size_t>(n / 2 + 1));
      EXPECT_LE(distance(complexValues(half), whole, epsilon), 1.0L) << n;
      Tensor back = *fft(half, FftKind::irfft, Dims{n}, context);
      EXPECT_EQ(back.type(), type);
      EXPECT_LE(distance(complexValues(back), complexValues(input), epsilon), 3.0L) << n;
    }
}

TEST(Fft, IrfftIgnoresWhatARealSignalCannotHave) {
  Context context;
  Tensor half = *Tensor::allocate(ElementType::c64, *Shape::create({3}), context);
  half.set(0, Scalar::ofComplex({4, 100}));
  half.set(1, Scalar::ofComplex({0, 0}));
  half.set(2, Scalar::ofComplex({0, 100}));
  EXPECT_EQ(fft(half, FftKind::irfft, Dims{4}, context)->toString(), "[1, 1, 1, 1]");
}

TEST(Fft, ThreeDimensionsAreOneAfterAnother) {
  Context context;
  Tensor input = randomTensor(ElementType::c128, {2, 3, 4, 5}, 1);
  Tensor together = *fft(input, FftKind::fft, Dims{3, 4, 5}, context);
  // By hand: move each dimension to the end, transform it, move it back.
  Tensor step = input;
  for (int64_t dim : {3, 2, 1}) {
    Dims order = remaining(4, Dims{dim});
    order.push_back(dim);
    Tensor moved = *rearranged(step, pick(step.shape().dims(), order),
                               pick(step.shape().strides(), order), context);
    moved = *fft(moved, FftKind::fft, Dims{step.shape()[dim]}, context);
    Dims back(4);
    for (size_t i = 0; i < 4; ++i)
      back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
    step = *rearranged(moved, pick(moved.shape().dims(), back), pick(moved.shape().strides(), back),
                       context);
  }
  EXPECT_EQ(together.shape(), step.shape());
  EXPECT_LE(distance(complexValues(together), complexValues(step), 0x1p-53L), 4.0L);
  Tensor back = *fft(together, FftKind::ifft, Dims{3, 4, 5}, context);
  EXPECT_LE(distance(complexValues(back), complexValues(input), 0x1p-53L), 4.0L);

  Tensor real = randomTensor(ElementType::f64, {2, 4, 3, 6}, 2);
  Tensor half = *fft(real, FftKind::rfft, Dims{4, 3, 6}, context);
  EXPECT_EQ(half.shape().toString(), "2x4x3x4");
  Tensor again = *fft(half, FftKind::irfft, Dims{4, 3, 6}, context);
  EXPECT_EQ(again.shape().toString(), "2x4x3x6");
  EXPECT_LE(distance(complexValues(again), complexValues(real), 0x1p-53L), 4.0L);
}

TEST(Fft, LongPrimesAreFastAndExact) {
  Context context;
  const int64_t n = 65537;
  Tensor input =
      *Tensor::filled(ElementType::c128, *Shape::create({n}), Scalar::ofComplex({1, 0}), context);
  Tensor result = *fft(input, FftKind::fft, Dims{n}, context);
  EXPECT_NEAR(result.at(0).r, 65537, 1e-10);
  for (int64_t i : {1, 2, 1000, 65536})
    EXPECT_NEAR(std::abs(result.at(i).complex()), 0, 1e-12);
}

TEST(Fft, EmptyTensorsStayEmpty) {
  Context context;
  EXPECT_EQ(fft(randomTensor(ElementType::c64, {0, 4}, 1), FftKind::fft, Dims{4}, context)
                ->shape()
                .toString(),
            "0x4");
  EXPECT_EQ(fft(randomTensor(ElementType::f32, {2, 0}, 1), FftKind::rfft, Dims{0}, context)
                ->shape()
                .toString(),
            "2x0");
}

TEST(Fft, WhatDoesNotFitIsRefused) {
  Context context;
  Tensor input = randomTensor(ElementType::c64, {4, 5}, 1);
  Status status = fft(input, FftKind::fft, Dims{4}, context).takeStatus();
  EXPECT_EQ(status.error(), Error::interpretShape);
  EXPECT_THAT(status.message(),
              HasSubstr("for length 4, dimension 1 of the operand must be 4, got 5"));
  EXPECT_THAT(fft(input, FftKind::irfft, Dims{5}, context).takeStatus().message(),
              HasSubstr("must be 3, got 5"));
  EXPECT_THAT(fft(input, FftKind::fft, Dims{}, context).takeStatus().message(),
              HasSubstr("got 0 entries"));
  EXPECT_THAT(fft(input, FftKind::fft, Dims{1, 4, 5}, context).takeStatus().message(),
              HasSubstr("got 3 entries"));
  EXPECT_THAT(fft(input, FftKind::fft, Dims{-4, 5}, context).takeStatus().message(),
              HasSubstr("length -4"));
  status = fft(input, FftKind::rfft, Dims{4}, context).takeStatus();
  EXPECT_EQ(status.error(), Error::operandType);
  EXPECT_THAT(status.message(),
              HasSubstr("real transform must have elements of f32 or f64, got complex<f32>"));
  EXPECT_EQ(fft(wholeNumbers(ElementType::f16, {4}, 1), FftKind::rfft, Dims{4}, context)
                .takeStatus()
                .error(),
            Error::operandType);
}
