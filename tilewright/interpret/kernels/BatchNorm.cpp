#include "tilewright/interpret/kernels/BatchNorm.h"

#include "tilewright/numerics/Float.h"
#include "tilewright/support/Concat.h"

#include <cmath>

namespace tilewright::interpret {

static Status check(std::string_view op, const Tensor &operand, std::span<const Tensor> perFeature,
                    const BatchNormParameters &parameters) {
  TILEWRIGHT_TRY(checkDims(op, "feature_index", Dims{parameters.featureIndex}, operand.rank()));
  if (!numerics::isReal(operand.type()))
    return Status(Error::operandType, concat(op, ": elements must be floating-point, got ",
                                             numerics::spelling(operand.type())));
  const int64_t features = operand.shape()[parameters.featureIndex];
  for (const Tensor &tensor : perFeature) {
    if (tensor.type() != operand.type())
      return Status(Error::operandType,
                    concat(op, ": operands must have the same element type, got ",
                           operand.typeString(), " and ", tensor.typeString()));
    if (tensor.elementCount() != features || tensor.rank() != 1)
      return Status(Error::interpretShape,
                    concat(op, ": expects one value for each of the ", features, " features, got ",
                           tensor.typeString()));
  }
  return Status();
}

namespace {
/// A tensor as [outer][feature][inner], for loops over the elements of a feature.
struct FeatureView {
  FeatureView(const Shape &shape, int64_t featureIndex)
      : features(shape[featureIndex]), inner(shape.strides()[static_cast<size_t>(featureIndex)]),
        outer(shape.elementCount() == 0 ? 0 : shape.elementCount() / (features * inner)) {}

  int64_t perFeature() const { return outer * inner; }

  /// Calls `visit` with the offset of each element of a feature, in ascending order.
  template <typename Visit> void forEach(int64_t feature, Visit &&visit) const {
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t i = 0; i < inner; ++i)
        visit((o * features + feature) * inner + i);
  }

  int64_t features, inner, outer;
};
} // namespace

/// Calls `body` with the floating-point type to compute in.
template <typename Body> static auto withPrecision(ElementType type, Body &&body) {
  if (type == ElementType::f64)
    return body.template operator()<long double>();
  return body.template operator()<double>();
}

static double epsilonFor(ElementType type, double epsilon) {
  return numerics::decode(type, numerics::encode(type, epsilon));
}

static Result<std::vector<Tensor>> allWide(std::initializer_list<const Tensor *> tensors,
                                           Context &context) {
  std::vector<Tensor> wide;
  for (const Tensor *tensor : tensors) {
    TILEWRIGHT_ASSIGN(Tensor each, converted(*tensor, ElementType::f64, context));
    wide.push_back(std::move(each));
  }
  return wide;
}

Result<Tensor> batchNormInference(const Tensor &operand, const Tensor &scale, const Tensor &offset,
                                  const Tensor &mean, const Tensor &variance,
                                  const BatchNormParameters &parameters, Context &context) {
  const Tensor perFeature[] = {scale, offset, mean, variance};
  TILEWRIGHT_TRY(check("batch_norm_inference", operand, perFeature, parameters));
  TILEWRIGHT_TRY(context.countSteps(saturatingProduct({operand.elementCount(), 4})));
  TILEWRIGHT_ASSIGN(std::vector<Tensor> wide,
                    allWide({&operand, &scale, &offset, &mean, &variance}, context));
  TILEWRIGHT_ASSIGN(Tensor result, Tensor::allocate(ElementType::f64, operand.shape(), context));
  const double *x = elements<double>(wide[0]);
  double *y = mutableElements<double>(result);
  const FeatureView view(operand.shape(), parameters.featureIndex);
  withPrecision(operand.type(), [&]<typename Real>() {
    const Real epsilon = epsilonFor(operand.type(), parameters.epsilon);
    for (int64_t f = 0; f < view.features; ++f) {
      auto of = [&](size_t i) { return static_cast<Real>(elements<double>(wide[i])[f]); };
      const Real factor = of(1), shift = of(2), centre = of(3);
      const Real deviation = std::sqrt(of(4) + epsilon);
      view.forEach(f, [&](int64_t at) {
        y[at] =
            static_cast<double>(factor * ((static_cast<Real>(x[at]) - centre) / deviation) + shift);
      });
    }
  });
  return converted(result, operand.type(), context);
}

Result<BatchNormTraining> batchNormTraining(const Tensor &operand, const Tensor &scale,
                                            const Tensor &offset,
                                            const BatchNormParameters &parameters,
                                            Context &context) {
  const Tensor perFeature[] = {scale, offset};
  TILEWRIGHT_TRY(check("batch_norm_training", operand, perFeature, parameters));
  TILEWRIGHT_TRY(context.countSteps(saturatingProduct({operand.elementCount(), 8})));
  TILEWRIGHT_ASSIGN(std::vector<Tensor> wide, allWide({&operand, &scale, &offset}, context));
  TILEWRIGHT_ASSIGN(Tensor output, Tensor::allocate(ElementType::f64, operand.shape(), context));
  TILEWRIGHT_ASSIGN(Tensor mean, Tensor::allocate(ElementType::f64, scale.shape(), context));
  TILEWRIGHT_ASSIGN(Tensor variance, Tensor::allocate(ElementType::f64, scale.shape(), context));
  const double *x = elements<double>(wide[0]);
  double *y = mutableElements<double>(output);
  const FeatureView view(operand.shape(), parameters.featureIndex);
  withPrecision(operand.type(), [&]<typename Real>() {
    const Real epsilon = epsilonFor(operand.type(), parameters.epsilon);
    const auto count = static_cast<Real>(view.perFeature());
    for (int64_t f = 0; f < view.features; ++f) {
      Real sum = 0, squares = 0;
      view.forEach(f, [&](int64_t at) { sum += static_cast<Real>(x[at]); });
      const Real centre = sum / count;
      view.forEach(f, [&](int64_t at) {
        const Real centred = static_cast<Real>(x[at]) - centre;
        squares += centred * centred;
      });
      const Real spread = squares / count, deviation = std::sqrt(spread + epsilon);
      const Real factor = elements<double>(wide[1])[f], shift = elements<double>(wide[2])[f];
      view.forEach(f, [&](int64_t at) {
        y[at] =
            static_cast<double>(factor * ((static_cast<Real>(x[at]) - centre) / deviation) + shift);
      });
      mutableElements<double>(mean)[f] = static_cast<double>(centre);
      mutableElements<double>(variance)[f] = static_cast<double>(spread);
    }
  });
  BatchNormTraining result;
  TILEWRIGHT_ASSIGN(result.output, converted(output, operand.type(), context));
  TILEWRIGHT_ASSIGN(result.mean, converted(mean, operand.type(), context));
  TILEWRIGHT_ASSIGN(result.variance, converted(variance, operand.type(), context));
  return result;
}

Result<BatchNormGradient> batchNormGrad(const Tensor &operand, const Tensor &scale,
                                        const Tensor &mean, const Tensor &variance,
                                        const Tensor &gradOutput,
                                        const BatchNormParameters &parameters, Context &context) {
  const Tensor perFeature[] = {scale, mean, variance};
  TILEWRIGHT_TRY(check("batch_norm_grad", operand, perFeature, parameters));
  if (gradOutput.type() != operand.type() || gradOutput.shape() != operand.shape())
    return Status(Error::interpretShape,
                  concat("batch_norm_grad: grad_output must have the type of the operand, got ",
                         gradOutput.typeString(), " and ", operand.typeString()));
  TILEWRIGHT_TRY(context.countSteps(saturatingProduct({operand.elementCount(), 12})));
  TILEWRIGHT_ASSIGN(std::vector<Tensor> wide,
                    allWide({&operand, &scale, &mean, &variance, &gradOutput}, context));
  TILEWRIGHT_ASSIGN(Tensor gradOperand,
                    Tensor::allocate(ElementType::f64, operand.shape(), context));
  TILEWRIGHT_ASSIGN(Tensor gradScale, Tensor::allocate(ElementType::f64, scale.shape(), context));
  TILEWRIGHT_ASSIGN(Tensor gradOffset, Tensor::allocate(ElementType::f64, scale.shape(), context));
  const double *x = elements<double>(wide[0]), *dy = elements<double>(wide[4]);
  double *dx = mutableElements<double>(gradOperand);
  const FeatureView view(operand.shape(), parameters.featureIndex);
  withPrecision(operand.type(), [&]<typename Real>() {
    const Real epsilon = epsilonFor(operand.type(), parameters.epsilon);
    const auto count = static_cast<Real>(view.perFeature());
    for (int64_t f = 0; f < view.features; ++f) {
      auto of = [&](size_t i) { return static_cast<Real>(elements<double>(wide[i])[f]); };
      const Real factor = of(1), centre = of(2), spread = of(3) + epsilon;
      const Real deviation = std::sqrt(spread);
      Real sum = 0, weighted = 0;
      view.forEach(f, [&](int64_t at) {
        sum += static_cast<Real>(dy[at]);
        weighted += static_cast<Real>(dy[at]) * (static_cast<Real>(x[at]) - centre);
      });
      view.forEach(f, [&](int64_t at) {
        const Real centred = static_cast<Real>(x[at]) - centre;
        const Real rest = static_cast<Real>(dy[at]) * count - sum - weighted * centred / spread;
        dx[at] = static_cast<double>(factor / deviation / count * rest);
      });
      mutableElements<double>(gradScale)[f] = static_cast<double>(weighted / deviation);
      mutableElements<double>(gradOffset)[f] = static_cast<double>(sum);
    }
  });
  BatchNormGradient result;
  TILEWRIGHT_ASSIGN(result.operand, converted(gradOperand, operand.type(), context));
  TILEWRIGHT_ASSIGN(result.scale, converted(gradScale, operand.type(), context));
  TILEWRIGHT_ASSIGN(result.offset, converted(gradOffset, operand.type(), context));
  return result;
}

} // namespace tilewright::interpret
