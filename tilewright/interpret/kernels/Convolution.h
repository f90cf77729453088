// convolution and dynamic_conv.
#ifndef TILEWRIGHT_INTERPRET_KERNELS_CONVOLUTION_H
#define TILEWRIGHT_INTERPRET_KERNELS_CONVOLUTION_H

#include "tilewright/interpret/kernels/Window.h"

namespace tilewright::interpret {

/// The roles of a tensor's dimensions.
struct ConvolutionLayout {
  int64_t first = 0;  // batch of input and output, output feature of the kernel
  int64_t second = 1; // feature of input and output, input feature of the kernel
  Dims spatial;
};

struct ConvolutionParameters {
  ConvolutionLayout input, kernel, output;
  /// One entry per spatial dimension; its size is the kernel's size in that dimension.
  std::vector<WindowDimension> window;
  int64_t featureGroupCount = 1;
  int64_t batchGroupCount = 1;
};

/// Slides the kernel `rhs` over the input `lhs`. Products and sums as in Products.h: each element
/// of the result is rounded once.
///  - interpretShape: dimension numbers, groups, window and operands do not match.
///  - operandType: the element types cannot be combined.
Result<Tensor> convolution(const Tensor &lhs, const Tensor &rhs,
                           const ConvolutionParameters &parameters, ElementType resultType,
                           Context &context);

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_KERNELS_CONVOLUTION_H
