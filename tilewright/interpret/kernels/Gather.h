// gather, dynamic_gather and torch_index_select.
#ifndef TILEWRIGHT_INTERPRET_KERNELS_GATHER_H
#define TILEWRIGHT_INTERPRET_KERNELS_GATHER_H

#include "tilewright/interpret/kernels/Indexing.h"

namespace tilewright::interpret {

/// Dimension numbers of gather, in the order in which the op lists them.
struct GatherDimensions {
  Dims offsetDims;
  Dims collapsedSliceDims;
  Dims operandBatchingDims;
  Dims startIndicesBatchingDims;
  Dims startIndexMap;
  int64_t indexVectorDim = 0;
};

/// Gathers one slice of `operand` per index vector of `startIndices`. The start of a slice is
/// clamped so that the slice fits.
///  - interpretShape: dimension numbers, slice sizes or operands do not match.
///  - operandType: the indices are not integers.
Result<Tensor> gather(const Tensor &operand, const Tensor &startIndices,
                      const GatherDimensions &dimensions, std::span<const int64_t> sliceSizes,
                      Context &context);

/// Selects rows of `operand` along `dimension`, one per element of `index`. The first `batchDims`
/// dimensions of both tensors are batch dimensions. An out-of-bounds index is clamped.
///  - interpretShape, operandType: as in gather().
Result<Tensor> torchIndexSelect(const Tensor &operand, const Tensor &index, int64_t dimension,
                                int64_t batchDims, Context &context);

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_KERNELS_GATHER_H
