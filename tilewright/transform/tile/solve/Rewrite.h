// Rewrite: turns a tile.kernel with chosen layouts into an sm.kernel.
#ifndef TILEWRIGHT_TRANSFORM_TILE_SOLVE_REWRITE_H
#define TILEWRIGHT_TRANSFORM_TILE_SOLVE_REWRITE_H

#include "tilewright/dialect/sm/SmDialect.h"
#include "tilewright/transform/tile/solve/Certificate.h"

namespace tilewright::solve {

/// Replaces the kernel by an sm.kernel of the same name, in which tile types have layouts. If a use
/// needs a layout that differs from the value's, an `sm.convert` follows the value. Rematerialized
/// values are cloned for each layout. The certificate must have been checked.
sm::KernelOp rewriteKernel(tile::KernelOp kernel, const Certificate &certificate);

} // namespace tilewright::solve

#endif // TILEWRIGHT_TRANSFORM_TILE_SOLVE_REWRITE_H
