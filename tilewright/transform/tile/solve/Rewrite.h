// Rewrite: a tile.kernel with chosen layouts as an sm.kernel.
#ifndef TILEWRIGHT_TRANSFORM_TILE_SOLVE_REWRITE_H
#define TILEWRIGHT_TRANSFORM_TILE_SOLVE_REWRITE_H

#include "tilewright/dialect/sm/SmDialect.h"
#include "tilewright/transform/tile/solve/Certificate.h"

namespace tilewright::solve {

/// Puts an sm.kernel of the same name in the kernel's place: types with layouts, an `sm.convert`
/// behind a value for each other layout that it is used in, and a copy of what is computed again
/// for each use. The certificate is checked.
sm::KernelOp rewriteKernel(tile::KernelOp kernel, const Certificate &certificate);

} // namespace tilewright::solve

#endif // TILEWRIGHT_TRANSFORM_TILE_SOLVE_REWRITE_H
