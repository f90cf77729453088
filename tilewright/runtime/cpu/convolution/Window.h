// Window: the checked parameters of a convolution.
#ifndef TILEWRIGHT_RUNTIME_CPU_CONVOLUTION_WINDOW_H
#define TILEWRIGHT_RUNTIME_CPU_CONVOLUTION_WINDOW_H

#include "tilewright/runtime/cpu/library/CallReader.h"

namespace tilewright::runtime::cpu {

inline constexpr int64_t maxConvolutionRank = 18;

/// One spatial dimension of a convolution without input dilation: output `o` and kernel element
/// (tap) `t` read input element base + o * perOutput + t * perTap, if it exists. Counts and steps
/// are those of a phase: every `outputStep`-th output from `outputFirst` on, and likewise for the
/// kernel.
struct Axis {
  int64_t outputs = 1, outputFirst = 0, outputStep = 1;
  int64_t taps = 1, tapFirst = 0, tapStep = 1;
  int64_t base = 0, perOutput = 1, perTap = 1;
  int64_t inputSize = 1;

  int64_t inputAt(int64_t output, int64_t tap) const {
    return base + output * perOutput + tap * perTap;
  }
  bool isInside(int64_t input) const { return input >= 0 && input < inputSize; }
  /// Whether all taps of all outputs are inside the input.
  bool isAlwaysInside() const;
  /// The outputs [first, last) for which `tap` is inside the input.
  std::pair<int64_t, int64_t> outputsInside(int64_t tap) const;
  /// The taps [first, last) of `output` that are inside the input.
  std::pair<int64_t, int64_t> tapsInside(int64_t output) const;
};

/// One spatial dimension as StableHLO specifies it.
struct WindowDimension {
  int64_t inputSize = 1, kernelSize = 1, outputSize = 1;
  int64_t stride = 1, padLow = 0, padHigh = 0;
  int64_t inputDilation = 1, kernelDilation = 1;
  bool isReversed = false;
};

/// The strides of a tensor's dimensions, in elements.
struct TensorStrides {
  int64_t first = 0;  // batch of input and output, output features of the kernel
  int64_t second = 0; // features of input and output, input features of the kernel
  Dims spatial;
};

struct ConvolutionShape {
  ElementType lhsType, rhsType, resultType;
  std::vector<WindowDimension> window;
  TensorStrides input, kernel, output;
  int64_t images = 0;       // of the output
  int64_t groups = 1;       // of features or of the batch
  bool groupsBatch = false; // groups are parts of the input's batch
  int64_t groupInputs = 0;  // input features of a group
  int64_t groupOutputs = 0; // output features of a group
  /// The stride from one group to the next.
  int64_t inputGroupStride = 0, kernelGroupStride = 0, outputGroupStride = 0;
};

/// Checks a call of `convolution`.
Result<ConvolutionShape> readConvolution(const artifact::ConvolutionCall &call,
                                         const LibrarySignature &types);

/// A dilated input has elements only at every n-th position, so outputs fall into phases that use
/// different taps. Each phase is a separate dense convolution; together they produce all outputs.
/// The outputs of a phase without taps are zero.
std::vector<Axis> phasesOf(const WindowDimension &dim);
int64_t phaseCount(const WindowDimension &dim);

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_CONVOLUTION_WINDOW_H
