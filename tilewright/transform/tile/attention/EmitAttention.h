// Kernels of attention (exec.softmax_dot).
#ifndef TILEWRIGHT_TRANSFORM_TILE_ATTENTION_EMITATTENTION_H
#define TILEWRIGHT_TRANSFORM_TILE_ATTENTION_EMITATTENTION_H

#include "tilewright/dialect/exec/SoftmaxOps.h"
#include "tilewright/dialect/tile/TileDialect.h"
#include "tilewright/transform/tile/Tiling.h"

namespace tilewright::tile {

/// The attention of a fusion; null if it has none.
exec::SoftmaxDotOp attentionOf(exec::FusionOp fusion);

/// Emits the kernel of a fusion of attention and an epilogue: elementwise ops on the result and on
/// what is broadcast to its shape. A point computes a block of queries of one head, in a loop over
/// blocks of keys. The kernel's inputs are the fusion's.
KernelOp emitAttentionKernel(mlir::OpBuilder &builder, exec::FusionOp fusion, llvm::StringRef name,
                             const Capacities &capacities);

} // namespace tilewright::tile

#endif // TILEWRIGHT_TRANSFORM_TILE_ATTENTION_EMITATTENTION_H
