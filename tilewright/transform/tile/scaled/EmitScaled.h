// Kernels of block-scaled products (exec.scaled_matmul).
#ifndef TILEWRIGHT_TRANSFORM_TILE_SCALED_EMITSCALED_H
#define TILEWRIGHT_TRANSFORM_TILE_SCALED_EMITSCALED_H

#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/tile/TileDialect.h"
#include "tilewright/transform/tile/Tiling.h"

#include <string>

namespace tilewright::tile {

/// Whether the fusion contains a block-scaled product.
bool hasScaledProduct(exec::FusionOp fusion);

/// Emits the kernel of a fusion of one block-scaled product and an epilogue: elementwise ops of the
/// result's shape, on operands of this shape or broadcast to it. The kernel's inputs are the
/// fusion's. The matrix unit determines its tiles, whatever the sizes, so it is built directly and
/// not from a FusionGraph. On failure emits nothing, returns null and sets `reason`.
KernelOp emitScaledKernel(mlir::OpBuilder &builder, exec::FusionOp fusion, llvm::StringRef name,
                          const Capacities &capacities, std::string &reason);

} // namespace tilewright::tile

#endif // TILEWRIGHT_TRANSFORM_TILE_SCALED_EMITSCALED_H
