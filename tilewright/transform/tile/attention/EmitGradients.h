// Kernels of the gradients of attention (exec.softmax_dot_backward).
#ifndef TILEWRIGHT_TRANSFORM_TILE_ATTENTION_EMITGRADIENTS_H
#define TILEWRIGHT_TRANSFORM_TILE_ATTENTION_EMITGRADIENTS_H

#include "tilewright/dialect/exec/SoftmaxOps.h"
#include "tilewright/dialect/tile/TileDialect.h"
#include "tilewright/transform/tile/Tiling.h"

namespace tilewright::tile {

/// The gradients of attention in a fusion; null if it has none.
exec::SoftmaxDotBackwardOp gradientsOf(exec::FusionOp fusion);

/// Emits the kernel of a fusion of such an op alone. A point computes the gradient of a block of
/// queries in a loop over blocks of keys, or those of a block of keys and values in a loop over
/// blocks of queries. On failure, returns null and sets `reason`.
KernelOp emitGradientKernel(mlir::OpBuilder &builder, exec::FusionOp fusion, llvm::StringRef name,
                            const Capacities &capacities, std::string &reason);

} // namespace tilewright::tile

#endif // TILEWRIGHT_TRANSFORM_TILE_ATTENTION_EMITGRADIENTS_H
