// scatter.
#ifndef TILEWRIGHT_INTERPRET_KERNELS_SCATTER_H
#define TILEWRIGHT_INTERPRET_KERNELS_SCATTER_H

#include "tilewright/interpret/ScalarFunction.h"
#include "tilewright/interpret/kernels/Indexing.h"

namespace tilewright::interpret {

/// Dimension numbers of scatter, as the op lists them.
struct ScatterDimensions {
  Dims updateWindowDims;
  Dims insertedWindowDims;
  Dims inputBatchingDims;
  Dims scatterIndicesBatchingDims;
  Dims scatterDimsToOperandDims;
  int64_t indexVectorDim = 0;
};

/// The inputs with `update(element, update)` in place of each element that an
/// update points at. Updates are applied in the order of their index vectors,
/// those of one window in row-major order; one that points outside is skipped.
/// (XLA skips the whole window then; the specification decides by element.)
/// Results have the types of the body's results.
///  - interpretShape, operandType: operands, dimension numbers and body do not fit.
Result<std::vector<Tensor>> scatter(std::span<const Tensor> inputs, const Tensor &scatterIndices,
                                    std::span<const Tensor> updates,
                                    const ScatterDimensions &dimensions,
                                    const ScalarFunction &update, Context &context);

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_KERNELS_SCATTER_H
