// The passes of the tile stage.
#ifndef TILEWRIGHT_TRANSFORM_TILE_PASSES_H
#define TILEWRIGHT_TRANSFORM_TILE_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace tilewright::tile {

#define GEN_PASS_DECL
#include "tilewright/transform/tile/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "tilewright/transform/tile/Passes.h.inc"

/// Turns fusions into kernels on tiles. Adds all passes of the stage; runs on a module. For a GPU,
/// solve::buildLayoutPipeline continues once the target has lowered everything else.
void buildTilePipeline(mlir::OpPassManager &passes);

/// Registers the passes and the pipeline (`tile`) by name.
void registerTilePasses();

} // namespace tilewright::tile

#endif // TILEWRIGHT_TRANSFORM_TILE_PASSES_H
