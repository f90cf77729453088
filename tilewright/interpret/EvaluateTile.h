// What a tile.kernel computes.
#ifndef TILEWRIGHT_INTERPRET_EVALUATETILE_H
#define TILEWRIGHT_INTERPRET_EVALUATETILE_H

#include "tilewright/dialect/sm/SmDialect.h"
#include "tilewright/dialect/tile/TileDialect.h"
#include "tilewright/interpret/Tensor.h"

namespace tilewright::interpret {

/// Runs every point of a kernel. `inputs` have the sizes of the kernel's inputs, in any
/// shape and with any sign; the outputs have the kernel's shapes, integers signed.
/// Slow, and strict: an element that is written twice or never, or an index outside where
/// the kernel claims to be inside, is INTERNAL.
///  - interpretOp: an op or a type has no meaning here.
Result<std::vector<Tensor>> evaluateKernel(tile::KernelOp kernel, const std::vector<Tensor> &inputs,
                                           Context &context);

/// The same for a kernel whose tiles have layouts, which change where elements are and not what.
Result<std::vector<Tensor>> evaluateKernel(sm::KernelOp kernel, const std::vector<Tensor> &inputs,
                                           Context &context);

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_EVALUATETILE_H
