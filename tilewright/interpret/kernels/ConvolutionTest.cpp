#include "tilewright/interpret/kernels/Convolution.h"

#include "tilewright/interpret/kernels/testing/Tensors.h"
#include "tilewright/support/testing/Slowness.h"

#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>

using namespace tilewright;
using namespace tilewright::interpret;
using testing::HasSubstr;

static double element(const std::vector<double> &values, const Shape &shape, const Dims &index) {
  int64_t offset = 0;
  for (size_t i = 0; i < index.size(); ++i)
    offset = offset * shape[static_cast<int64_t>(i)] + index[i];
  return values[static_cast<size_t>(offset)];
}

/// Builds an index from its parts according to a layout.
static Dims placed(const ConvolutionLayout &layout, int64_t first, int64_t second,
                   const Dims &spatial) {
  Dims index(layout.spatial.size() + 2);
  index[static_cast<size_t>(layout.first)] = first;
  index[static_cast<size_t>(layout.second)] = second;
  for (size_t i = 0; i < spatial.size(); ++i)
    index[static_cast<size_t>(layout.spatial[i])] = spatial[i];
  return index;
}

/// The sum for one element of the result, written from the definition: the
/// padded and dilated input is looked up position by position.
static double definition(const Tensor &lhs, const Tensor &rhs, const ConvolutionParameters &p,
                         const std::vector<double> &lhsValues, const std::vector<double> &rhsValues,
                         int64_t n, int64_t o, const Dims &at) {
  const int64_t outputs = rhs.shape()[p.kernel.first], inputs = rhs.shape()[p.kernel.second];
  const int64_t featureGroup = o / (outputs / p.featureGroupCount);
  const int64_t batchGroup = o / (outputs / p.batchGroupCount);
  const int64_t image = batchGroup * (lhs.shape()[p.input.first] / p.batchGroupCount) + n;
  Dims kernelSizes = pick(rhs.shape().dims(), p.kernel.spatial), zeros(kernelSizes.size(), 0);
  double sum = 0;
  for (StridedWalk<1> k(kernelSizes, {zeros}); !k.done(); k.next()) {
    Dims place, kernelIndex;
    bool inside = true;
    for (size_t d = 0; d < kernelSizes.size(); ++d) {
      const WindowDimension &w = p.window[d];
      const int64_t padded = at[d] * w.stride + k.index()[d] * w.windowDilation - w.padLow;
      inside &= padded >= 0 && padded % w.baseDilation == 0 &&
                padded / w.baseDilation < lhs.shape()[p.input.spatial[d]];
      place.push_back(padded / w.baseDilation);
      kernelIndex.push_back(w.reversed ? kernelSizes[d] - 1 - k.index()[d] : k.index()[d]);
    }
    // Positions outside are zeros of the padding, which turn an infinity into NaN.
    for (int64_t i = 0; i < inputs; ++i)
      sum += (inside ? element(lhsValues, lhs.shape(),
                               placed(p.input, image, featureGroup * inputs + i, place))
                     : 0) *
             element(rhsValues, rhs.shape(), placed(p.kernel, o, i, kernelIndex));
  }
  return sum;
}

static void compare(const Tensor &lhs, const Tensor &rhs, const ConvolutionParameters &p,
                    ElementType type) {
  Context context;
  Result<Tensor> result = convolution(lhs, rhs, p, type, context);
  ASSERT_TRUE(result.isOk()) << std::move(result).takeStatus().toString();
  const std::vector<double> values = valuesOf(*result), lhsValues = valuesOf(lhs),
                            rhsValues = valuesOf(rhs);
  Dims sizes;
  for (size_t d = 0; d < p.window.size(); ++d) {
    WindowDimension window = p.window[d];
    window.size = rhs.shape()[p.kernel.spatial[d]];
    sizes.push_back(*windowPositions("test", lhs.shape()[p.input.spatial[d]], window));
    EXPECT_EQ(result->shape()[p.output.spatial[d]], sizes.back());
  }
  EXPECT_EQ(result->shape()[p.output.first], lhs.shape()[p.input.first] / p.batchGroupCount);
  EXPECT_EQ(result->shape()[p.output.second], rhs.shape()[p.kernel.first]);
  const Dims zeros(sizes.size(), 0);
  for (int64_t n = 0; n < result->shape()[p.output.first]; ++n)
    for (int64_t o = 0; o < result->shape()[p.output.second]; ++o)
      for (StridedWalk<1> at(sizes, {zeros}); !at.done(); at.next()) {
        const Dims place(at.index().begin(), at.index().end());
        const double computed = element(values, result->shape(), placed(p.output, n, o, place)),
                     expected = definition(lhs, rhs, p, lhsValues, rhsValues, n, o, place);
        ASSERT_TRUE(computed == expected || (std::isnan(computed) && std::isnan(expected)))
            << computed << ", expected " << expected;
      }
}

/// NHWC, HWIO, NHWC.
static ConvolutionParameters images(std::vector<WindowDimension> window) {
  ConvolutionParameters p;
  p.input = {0, 3, {1, 2}};
  p.kernel = {3, 2, {0, 1}};
  p.output = {0, 3, {1, 2}};
  p.window = std::move(window);
  return p;
}

TEST(Convolution, PaddingIsZerosAlsoBesideInfinities) {
  Tensor lhs = wholeNumbers(ElementType::f32, {2, 5, 6, 3}, 1),
         rhs = wholeNumbers(ElementType::f32, {2, 3, 3, 4}, 2);
  rhs.set(5, Scalar::ofReal(std::numeric_limits<double>::infinity()));
  rhs.set(40, Scalar::ofReal(std::numeric_limits<double>::quiet_NaN()));
  for (int64_t low : {-1, 0, 2})
    compare(lhs, rhs, images({{0, 1, 1, 1, low, 1}, {0, 2, 1, 2, 1, low}}), ElementType::f32);
}

TEST(Convolution, AgreesWithItsDefinitionForAllWindows) {
  Tensor lhs = wholeNumbers(ElementType::f32, {2, 5, 6, 3}, 1),
         rhs = wholeNumbers(ElementType::f32, {2, 3, 3, 4}, 2);
  for (int64_t stride : {1, 2})
    for (int64_t base : {1, 3})
      for (int64_t dilation : {1, 2})
        for (int64_t low : {-1, 0, 2})
          for (int64_t high : {-1, 1})
            for (bool reversed : {false, true})
              compare(lhs, rhs,
                      images({{0, stride, base, dilation, low, high, reversed},
                              {0, 3 - stride, 1, 1, high, low, !reversed}}),
                      ElementType::f32);
}

TEST(Convolution, AgreesWithItsDefinitionForGroups) {
  const std::vector<WindowDimension> window = {{0, 1, 1, 1, 1, 1}, {0, 1, 1, 1, 0, 1}};
  for (ElementType type :
       {ElementType::f32, ElementType::f64, ElementType::i32, ElementType::c64}) {
    ConvolutionParameters features = images(window);
    features.featureGroupCount = 3;
    compare(wholeNumbers(type, {2, 4, 4, 6}, 1), wholeNumbers(type, {2, 2, 2, 9}, 2), features,
            type);
    ConvolutionParameters depthwise = images(window);
    depthwise.featureGroupCount = 6;
    compare(wholeNumbers(type, {2, 4, 4, 6}, 3), wholeNumbers(type, {3, 3, 1, 6}, 4), depthwise,
            type);
    ConvolutionParameters batches = images(window);
    batches.batchGroupCount = 2;
    compare(wholeNumbers(type, {4, 4, 4, 3}, 5), wholeNumbers(type, {2, 2, 3, 6}, 6), batches,
            type);
  }
}

TEST(Convolution, AgreesWithItsDefinitionForAnyDimensionNumbers) {
  Dims order{0, 1, 2, 3};
  do {
    ConvolutionParameters p = images({{0, 1, 1, 1, 1, 0}, {0, 2, 1, 1, 0, 1}});
    p.input = {order[0], order[1], {order[2], order[3]}};
    p.kernel = {order[3], order[2], {order[0], order[1]}};
    p.output = {order[1], order[3], {order[0], order[2]}};
    std::vector<int64_t> lhs(4), rhs(4);
    const int64_t lhsSizes[] = {2, 3, 4, 5}, rhsSizes[] = {4, 3, 2, 3};
    lhs[static_cast<size_t>(p.input.first)] = lhsSizes[0];
    lhs[static_cast<size_t>(p.input.second)] = lhsSizes[1];
    rhs[static_cast<size_t>(p.kernel.first)] = rhsSizes[0];
    rhs[static_cast<size_t>(p.kernel.second)] = rhsSizes[1];
    for (size_t i = 0; i < 2; ++i) {
      lhs[static_cast<size_t>(p.input.spatial[i])] = lhsSizes[2 + i];
      rhs[static_cast<size_t>(p.kernel.spatial[i])] = rhsSizes[2 + i];
    }
    compare(wholeNumbers(ElementType::f32, lhs, 1), wholeNumbers(ElementType::f32, rhs, 2), p,
            ElementType::f32);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(Convolution, WithoutSpatialDimensionsIsAMatrixProduct) {
  Context context;
  ConvolutionParameters p;
  p.input = {0, 1, {}};
  p.kernel = {1, 0, {}};
  p.output = {0, 1, {}};
  EXPECT_EQ(convolution(tensorOf(ElementType::f32, {1, 2}, {1, 2}),
                        tensorOf(ElementType::f32, {2, 2}, {1, 2, 3, 4}), p, ElementType::f32,
                        context)
                ->toString(),
            "[[7, 10]]");
}

TEST(Convolution, NarrowOperandsWithAWideResult) {
  Context context;
  ConvolutionParameters p;
  p.input = {0, 1, {2}};
  p.kernel = {0, 1, {2}};
  p.output = {0, 1, {2}};
  p.window = {{}};
  Tensor lhs = tensorOf(ElementType::i8, {1, 1, 2}, {127, 127}),
         rhs = tensorOf(ElementType::i8, {1, 1, 2}, {127, 127});
  EXPECT_EQ(convolution(lhs, rhs, p, ElementType::i32, context)->toString(), "[[[32258]]]");
  EXPECT_EQ(convolution(lhs, rhs, p, ElementType::i8, context)->toString(), "[[[2]]]");
}

TEST(Convolution, WhatDoesNotFitIsRefused) {
  Context context;
  const std::vector<WindowDimension> window = {{}, {}};
  Tensor lhs = wholeNumbers(ElementType::f32, {2, 4, 4, 6}, 1),
         rhs = wholeNumbers(ElementType::f32, {2, 2, 6, 9}, 2);
  auto failure = [&](const Tensor &kernel, const ConvolutionParameters &p) {
    Status status = convolution(lhs, kernel, p, ElementType::f32, context).takeStatus();
    EXPECT_EQ(status.error(), Error::interpretShape);
    return status.message();
  };
  ConvolutionParameters p = images(window);
  EXPECT_THAT(failure(wholeNumbers(ElementType::f32, {2, 2, 5, 9}, 1), p),
              HasSubstr("got 5 and 6"));
  EXPECT_THAT(failure(wholeNumbers(ElementType::f32, {2, 2, 5}, 1), p),
              HasSubstr("must have the same rank"));
  p.featureGroupCount = 4;
  EXPECT_THAT(failure(rhs, p),
              HasSubstr("input features must be a multiple of feature_group_count, got 6 and 4"));
  p.featureGroupCount = 2;
  EXPECT_THAT(failure(rhs, p),
              HasSubstr("output features must be a multiple of the group count, got 9 and 2"));
  p.batchGroupCount = 2;
  EXPECT_THAT(failure(rhs, p), HasSubstr("at least one must be 1"));
  p = images(window);
  p.input.spatial = {1, 1};
  EXPECT_THAT(failure(rhs, p), HasSubstr("dimensions of the input must be distinct, got 1 twice"));
  p = images({{}});
  EXPECT_THAT(failure(rhs, p),
              HasSubstr("the window has 1 dimensions, but the operands have 2 spatial dimensions"));
  p = images(window);
  p.output.spatial = {1};
  EXPECT_THAT(failure(rhs, p), HasSubstr("output of rank 4 must have 2 spatial dimensions, got 1"));
}

TEST(Convolution, TooMuchWorkEndsAtOnce) {
  Context context;
  const std::byte nothing{};
  Tensor lhs =
      Tensor::view(ElementType::f32, *Shape::create({1000, 10000, 10000, 100}), &nothing, nullptr);
  Tensor rhs =
      Tensor::view(ElementType::f32, *Shape::create({1000, 1000, 100, 1000}), &nothing, nullptr);
  const auto start = std::chrono::steady_clock::now();
  Status status = convolution(lhs, rhs, images({{}, {}}), ElementType::f32, context).takeStatus();
  EXPECT_EQ(status.error(), Error::interpretSteps);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1) * slowness());
}
