// Evaluates a tile.kernel.
#ifndef TILEWRIGHT_INTERPRET_EVALUATE_EVALUATETILE_H
#define TILEWRIGHT_INTERPRET_EVALUATE_EVALUATETILE_H

#include "tilewright/dialect/sm/SmDialect.h"
#include "tilewright/dialect/tile/TileDialect.h"
#include "tilewright/interpret/Tensor.h"

namespace tilewright::interpret {

/// Runs a kernel at every point of its grid. Each of `inputs` has the number of elements of the
/// kernel's input, in any shape and signedness; the outputs have the kernel's shapes, with signed
/// integers. Slow, and strict: an element that is written twice or never, or an out-of-bounds index
/// that the kernel declares in bounds, is an INTERNAL error.
///  - interpretOp: an op or a type is not supported.
Result<std::vector<Tensor>> evaluateKernel(tile::KernelOp kernel, const std::vector<Tensor> &inputs,
                                           Context &context);

/// Like evaluateKernel() above, for a kernel whose tiles have layouts, which do not affect values.
Result<std::vector<Tensor>> evaluateKernel(sm::KernelOp kernel, const std::vector<Tensor> &inputs,
                                           Context &context);

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_EVALUATE_EVALUATETILE_H
