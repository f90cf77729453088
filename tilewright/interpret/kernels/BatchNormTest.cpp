#include "tilewright/interpret/kernels/BatchNorm.h"

#include "tilewright/interpret/kernels/testing/Tensors.h"

#include <cmath>

using namespace tilewright;
using namespace tilewright::interpret;
using testing::HasSubstr;

TEST(BatchNorm, TheSpecificationsExamples) {
  Context context;
  Tensor operand = tensorOf(ElementType::f64, {2, 2, 2}, {1, 2, 3, 4, 3, 4, 1, 2});
  Tensor ones = tensorOf(ElementType::f64, {2}, {1, 1}),
         mean = tensorOf(ElementType::f64, {2}, {2, 3});
  const BatchNormParameters parameters{0, 2};
  EXPECT_EQ(batchNormInference(operand, ones, ones, mean, ones, parameters, context)->toString(),
            "[[[0, 0], [2, 2]], [[2, 2], [0, 0]]]");
  BatchNormTraining training = *batchNormTraining(operand, ones, ones, parameters, context);
  EXPECT_EQ(training.output.toString(), "[[[0, 0], [2, 2]], [[2, 2], [0, 0]]]");
  EXPECT_EQ(training.mean.toString(), "[2, 3]");
  EXPECT_EQ(training.variance.toString(), "[1, 1]");
  Tensor grad = tensorOf(ElementType::f64, {2, 2, 2}, std::vector<double>(8, 0.25));
  BatchNormGradient gradient = *batchNormGrad(operand, ones, mean, ones, grad, parameters, context);
  EXPECT_EQ(valuesOf(gradient.operand), std::vector<double>(8, 0));
  EXPECT_EQ(gradient.scale.toString(), "[0, 0]");
  EXPECT_EQ(gradient.offset.toString(), "[1, 1]");
}

/// The sum of the training output times `weights`: batch_norm_grad computes its gradient.
static double loss(const Tensor &operand, const Tensor &scale, const Tensor &offset,
                   const Tensor &weights, const BatchNormParameters &parameters) {
  Context context;
  const std::vector<double> output =
      valuesOf(batchNormTraining(operand, scale, offset, parameters, context)->output);
  const std::vector<double> factors = valuesOf(weights);
  double sum = 0;
  for (size_t i = 0; i < output.size(); ++i)
    sum += output[i] * factors[i];
  return sum;
}

static Tensor nudged(const Tensor &tensor, int64_t index, double by) {
  Context context;
  Tensor copy = *Tensor::allocate(tensor.type(), tensor.shape(), context);
  for (int64_t i = 0; i < tensor.elementCount(); ++i)
    copy.set(i, Scalar::ofReal(tensor.at(i).r + (i == index ? by : 0)));
  return copy;
}

TEST(BatchNorm, GradientsAreDifferences) {
  Context context;
  for (int64_t feature : {0, 1, 2}) {
    const BatchNormParameters parameters{0.5, feature};
    Tensor operand = wholeNumbers(ElementType::f64, {3, 3, 3}, 1),
           weights = wholeNumbers(ElementType::f64, {3, 3, 3}, 2);
    Tensor scale = wholeNumbers(ElementType::f64, {3}, 3, 1, 4),
           offset = wholeNumbers(ElementType::f64, {3}, 4);
    BatchNormTraining training = *batchNormTraining(operand, scale, offset, parameters, context);
    BatchNormGradient gradient = *batchNormGrad(operand, scale, training.mean, training.variance,
                                                weights, parameters, context);
    const double h = 1e-5;
    for (int64_t i = 0; i < operand.elementCount(); ++i)
      EXPECT_NEAR(gradient.operand.at(i).r,
                  (loss(nudged(operand, i, h), scale, offset, weights, parameters) -
                   loss(nudged(operand, i, -h), scale, offset, weights, parameters)) /
                      (2 * h),
                  1e-6);
    for (int64_t i = 0; i < 3; ++i) {
      EXPECT_NEAR(gradient.scale.at(i).r,
                  (loss(operand, nudged(scale, i, h), offset, weights, parameters) -
                   loss(operand, nudged(scale, i, -h), offset, weights, parameters)) /
                      (2 * h),
                  1e-6);
      EXPECT_NEAR(gradient.offset.at(i).r,
                  (loss(operand, scale, nudged(offset, i, h), weights, parameters) -
                   loss(operand, scale, nudged(offset, i, -h), weights, parameters)) /
                      (2 * h),
                  1e-6);
    }
  }
}

TEST(BatchNorm, EveryRealTypeIsRoundedOnce) {
  Context context;
  for (ElementType type : {ElementType::f16, ElementType::bf16, ElementType::f32}) {
    Tensor operand = wholeNumbers(type, {7, 5}, 1), scale = wholeNumbers(type, {5}, 2),
           offset = wholeNumbers(type, {5}, 3);
    const BatchNormParameters parameters{0.25, 1};
    BatchNormTraining narrow = *batchNormTraining(operand, scale, offset, parameters, context);
    Tensor wideOperand = wholeNumbers(ElementType::f64, {7, 5}, 1);
    BatchNormTraining wide =
        *batchNormTraining(wideOperand, wholeNumbers(ElementType::f64, {5}, 2),
                           wholeNumbers(ElementType::f64, {5}, 3), parameters, context);
    EXPECT_EQ(valuesOf(narrow.output), valuesOf(*converted(wide.output, type, context)));
    EXPECT_EQ(valuesOf(narrow.variance), valuesOf(*converted(wide.variance, type, context)));
  }
}

TEST(BatchNorm, EmptyBatchesAndFeatures) {
  Context context;
  Tensor none = wholeNumbers(ElementType::f32, {0, 2}, 1),
         two = wholeNumbers(ElementType::f32, {2}, 1);
  BatchNormTraining training = *batchNormTraining(none, two, two, {0, 1}, context);
  EXPECT_EQ(training.output.elementCount(), 0);
  EXPECT_TRUE(std::isnan(training.mean.at(0).r));
  Tensor featureless = wholeNumbers(ElementType::f32, {2, 0}, 1),
         empty = wholeNumbers(ElementType::f32, {0}, 1);
  EXPECT_EQ(batchNormTraining(featureless, empty, empty, {0, 1}, context)->mean.elementCount(), 0);
}

TEST(BatchNorm, WhatDoesNotFitIsRefused) {
  Context context;
  Tensor operand = wholeNumbers(ElementType::f32, {2, 3}, 1),
         three = wholeNumbers(ElementType::f32, {3}, 1);
  Status status = batchNormTraining(operand, three, three, {0, 0}, context).takeStatus();
  EXPECT_EQ(status.error(), Error::interpretShape);
  EXPECT_THAT(status.message(), HasSubstr("one value for each of the 2 features, got 3xf32"));
  EXPECT_THAT(batchNormTraining(operand, three, three, {0, 2}, context).takeStatus().message(),
              HasSubstr("feature_index must be in [0, 2)"));
  status =
      batchNormTraining(operand, wholeNumbers(ElementType::f16, {3}, 1), three, {0, 1}, context)
          .takeStatus();
  EXPECT_EQ(status.error(), Error::operandType);
  EXPECT_EQ(
      batchNormTraining(wholeNumbers(ElementType::i32, {2, 3}, 1), three, three, {0, 1}, context)
          .takeStatus()
          .error(),
      Error::operandType);
  EXPECT_THAT(
      batchNormGrad(operand, three, three, three, three, {0, 1}, context).takeStatus().message(),
      HasSubstr("grad_output must have the type of the operand"));
}
