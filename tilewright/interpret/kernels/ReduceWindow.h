// reduce_window and select_and_scatter.
#ifndef TILEWRIGHT_INTERPRET_KERNELS_REDUCEWINDOW_H
#define TILEWRIGHT_INTERPRET_KERNELS_REDUCEWINDOW_H

#include "tilewright/interpret/ScalarFunction.h"
#include "tilewright/interpret/kernels/Window.h"

namespace tilewright::interpret {

/// Reduces what lies under the window at each of its positions. Padding and the
/// holes of a dilated input take no part: they would be init values, and how
/// many of those a reduction meets is left open by the specification.
///  - interpretShape, operandType: operands, window and body do not fit together.
Result<std::vector<Tensor>> reduceWindow(std::span<const Tensor> inputs,
                                         std::span<const Tensor> inits,
                                         std::span<const WindowDimension> window,
                                         const ScalarFunction &body, Context &context);

/// Adds each element of `source` with `scatter` to the element of the result at
/// the place that `select` chose under the window of that source element. A
/// window that covers no element of the operand chooses none.
///  - interpretShape, operandType: as above.
Result<Tensor> selectAndScatter(const Tensor &operand, const Tensor &source, const Tensor &init,
                                std::span<const WindowDimension> window,
                                const ScalarFunction &select, const ScalarFunction &scatter,
                                Context &context);

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_KERNELS_REDUCEWINDOW_H
