// gather, dynamic_gather and torch_index_select.
#ifndef TILEWRIGHT_INTERPRET_KERNELS_GATHER_H
#define TILEWRIGHT_INTERPRET_KERNELS_GATHER_H

#include "tilewright/interpret/kernels/Indexing.h"

namespace tilewright::interpret {

/// Dimension numbers of gather, as the op lists them.
struct GatherDimensions {
  Dims offsetDims;
  Dims collapsedSliceDims;
  Dims operandBatchingDims;
  Dims startIndicesBatchingDims;
  Dims startIndexMap;
  int64_t indexVectorDim = 0;
};

/// One slice of `operand` for each index vector of `startIndices`. A slice that
/// would begin or end outside is moved inwards.
///  - interpretShape: dimension numbers, slice sizes or operands do not fit.
///  - operandType: the indices are not integers.
Result<Tensor> gather(const Tensor &operand, const Tensor &startIndices,
                      const GatherDimensions &dimensions, std::span<const int64_t> sliceSizes,
                      Context &context);

/// Rows of `operand` along `dimension`, one for each element of `index`. The
/// first `batchDims` dimensions of both are looked at together. An index
/// outside is moved inwards.
///  - interpretShape, operandType: as gather().
Result<Tensor> torchIndexSelect(const Tensor &operand, const Tensor &index, int64_t dimension,
                                int64_t batchDims, Context &context);

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_KERNELS_GATHER_H
