// Depthwise: convolutions of many groups of one or few features, without a product of matrices.
#ifndef TILEWRIGHT_RUNTIME_CPU_CONVOLUTION_DEPTHWISE_H
#define TILEWRIGHT_RUNTIME_CPU_CONVOLUTION_DEPTHWISE_H

#include "tilewright/runtime/cpu/convolution/Window.h"
#include "tilewright/runtime/cpu/matmul/Conversion.h"
#include "tilewright/support/ThreadPool.h"

namespace tilewright::runtime::cpu {

/// Adds input times kernel along rows of the result: over groups where neighbouring groups are
/// neighbours in memory, else over positions. A product of matrices would have one column.
class Depthwise {
public:
  /// Whether rows are the better way to compute this.
  static bool isSuited(const ConvolutionShape &shape);

  /// The outputs of one phase of each axis.
  Depthwise(const ConvolutionShape &shape, std::vector<Axis> axes);
  void run(const std::byte *lhs, const std::byte *rhs, std::byte *result, ThreadPool &pool) const;

private:
  /// A loop over the result; the steps are those of the three tensors, in elements.
  struct Loop {
    static constexpr int64_t notSpatial = -1;
    int64_t size = 1;
    int64_t input = 0, kernel = 0, output = 0;
    int64_t axis = notSpatial; // a spatial dimension, where the input depends on the tap
  };
  struct Row;
  template <typename T> void runRow(const Row &here) const;

  ConvolutionShape shape;
  std::vector<Axis> axes;
  ElementType sums;
  std::vector<Loop> outer; // of rows
  Loop row;                // along a row
  int64_t rowCount = 1, tapCount = 1;
  int64_t kernelOffset = 0, outputOffset = 0; // of the phase
  Conversion lhsToSums, rhsToSums, sumsToResult;
};

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_CONVOLUTION_DEPTHWISE_H
