// The passes of the tile stage.
#ifndef TILEWRIGHT_TRANSFORM_TILE_PASSES_H
#define TILEWRIGHT_TRANSFORM_TILE_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace tilewright::tile {

#define GEN_PASS_DECL
#include "tilewright/transform/tile/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "tilewright/transform/tile/Passes.h.inc"

} // namespace tilewright::tile

#endif // TILEWRIGHT_TRANSFORM_TILE_PASSES_H
