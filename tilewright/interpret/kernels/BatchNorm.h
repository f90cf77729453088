// batch_norm_inference, batch_norm_training and batch_norm_grad.
#ifndef TILEWRIGHT_INTERPRET_KERNELS_BATCHNORM_H
#define TILEWRIGHT_INTERPRET_KERNELS_BATCHNORM_H

#include "tilewright/interpret/kernels/Indexing.h"

namespace tilewright::interpret {

// All three compute elements of up to 32 bits in double and f64 in long double, and round each
// element of a result once. A feature is an index of dimension `featureIndex`; scale, offset, mean
// and variance have one element per feature.
//  - interpretShape: operands or the feature index do not match.
//  - operandType: the elements are not real, or not of the same type.

struct BatchNormParameters {
  double epsilon = 0; // rounded to the operand's type before use
  int64_t featureIndex = 0;
};

/// scale * (operand - mean) / sqrt(variance + epsilon) + offset
Result<Tensor> batchNormInference(const Tensor &operand, const Tensor &scale, const Tensor &offset,
                                  const Tensor &mean, const Tensor &variance,
                                  const BatchNormParameters &parameters, Context &context);

struct BatchNormTraining {
  Tensor output, mean, variance;
};
/// Like batchNormInference(), with the mean and variance of the operand itself.
Result<BatchNormTraining> batchNormTraining(const Tensor &operand, const Tensor &scale,
                                            const Tensor &offset,
                                            const BatchNormParameters &parameters,
                                            Context &context);

struct BatchNormGradient {
  Tensor operand, scale, offset;
};
/// The gradients of batchNormTraining(), given the gradient of its output.
Result<BatchNormGradient> batchNormGrad(const Tensor &operand, const Tensor &scale,
                                        const Tensor &mean, const Tensor &variance,
                                        const Tensor &gradOutput,
                                        const BatchNormParameters &parameters, Context &context);

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_KERNELS_BATCHNORM_H
