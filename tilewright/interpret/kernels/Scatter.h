// scatter.
#ifndef TILEWRIGHT_INTERPRET_KERNELS_SCATTER_H
#define TILEWRIGHT_INTERPRET_KERNELS_SCATTER_H

#include "tilewright/interpret/ScalarFunction.h"
#include "tilewright/interpret/kernels/Indexing.h"

namespace tilewright::interpret {

/// Dimension numbers of scatter, in the order in which the op lists them.
struct ScatterDimensions {
  Dims updateWindowDims;
  Dims insertedWindowDims;
  Dims inputBatchingDims;
  Dims scatterIndicesBatchingDims;
  Dims scatterDimsToOperandDims;
  int64_t indexVectorDim = 0;
};

/// Returns the inputs with each element that an update refers to replaced by `update(element,
/// update)`. Applies updates in the order of their index vectors, and those of one window in
/// row-major order. Skips a window that is partly out of bounds as a whole (see
/// docs/design/out-of-bounds.md). The results have the types of the body's results.
///  - interpretShape, operandType: operands, dimension numbers and body do not match.
Result<std::vector<Tensor>> scatter(std::span<const Tensor> inputs, const Tensor &scatterIndices,
                                    std::span<const Tensor> updates,
                                    const ScatterDimensions &dimensions,
                                    const ScalarFunction &update, Context &context);

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_KERNELS_SCATTER_H
