// Depthwise: convolutions of many groups with one or few features each, without a matrix product.
#ifndef TILEWRIGHT_RUNTIME_CPU_CONVOLUTION_DEPTHWISE_H
#define TILEWRIGHT_RUNTIME_CPU_CONVOLUTION_DEPTHWISE_H

#include "tilewright/runtime/cpu/convolution/Window.h"
#include "tilewright/runtime/cpu/matmul/Conversion.h"
#include "tilewright/support/ThreadPool.h"

namespace tilewright::runtime::cpu {

/// Adds input times kernel along rows of the result: along groups if adjacent groups are adjacent
/// in memory, otherwise along positions. A matrix product would have only one column.
class Depthwise {
public:
  /// Whether this is faster than a matrix product.
  static bool isSuited(const ConvolutionShape &shape);

  /// Computes the outputs of one phase of each axis.
  Depthwise(const ConvolutionShape &shape, std::vector<Axis> axes);
  void run(const std::byte *lhs, const std::byte *rhs, std::byte *result, ThreadPool &pool) const;

private:
  /// A loop over the result, with strides in the three tensors, in elements.
  struct Loop {
    static constexpr int64_t notSpatial = -1;
    int64_t size = 1;
    int64_t input = 0, kernel = 0, output = 0;
    int64_t axis = notSpatial; // a spatial dimension, in which the input also depends on the tap
  };
  struct RowSegment;
  template <typename T> void runRow(const RowSegment &segment) const;

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
