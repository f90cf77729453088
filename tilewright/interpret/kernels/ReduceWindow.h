// reduce_window and select_and_scatter.
#ifndef TILEWRIGHT_INTERPRET_KERNELS_REDUCEWINDOW_H
#define TILEWRIGHT_INTERPRET_KERNELS_REDUCEWINDOW_H

#include "tilewright/interpret/ScalarFunction.h"
#include "tilewright/interpret/kernels/Window.h"

namespace tilewright::interpret {

/// Reduces the elements under the window at each of its positions. Skips padding and the holes of a
/// dilated input: they have the init value, and the specification does not define how many init
/// values a reduction combines.
///  - interpretShape, operandType: operands, window and body do not match.
Result<std::vector<Tensor>> reduceWindow(std::span<const Tensor> inputs,
                                         std::span<const Tensor> inits,
                                         std::span<const WindowDimension> window,
                                         const ScalarFunction &body, Context &context);

/// For each element of `source`, `select` chooses an element of the operand under the corresponding
/// window, and `scatter` combines the source element with the result at that position. A window
/// that covers no element of the operand has no effect.
///  - interpretShape, operandType: as in reduceWindow().
Result<Tensor> selectAndScatter(const Tensor &operand, const Tensor &source, const Tensor &init,
                                std::span<const WindowDimension> window,
                                const ScalarFunction &select, const ScalarFunction &scatter,
                                Context &context);

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_KERNELS_REDUCEWINDOW_H
