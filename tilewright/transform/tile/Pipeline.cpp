#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/tile/TileDialect.h"
#include "tilewright/transform/tile/Passes.h"

#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace tilewright::tile {

void buildTilePipeline(OpPassManager &passes) {
  passes.addPass(createTileFusionsPass());
  passes.addPass(createMergeLoadsPass());
  passes.addPass(createUnpackLoadsPass());
  passes.addPass(createVerifyTiledPass());
}

void registerTilePasses() {
  registerTilewrightTilePasses();
  static PassPipelineRegistration<> pipeline("tile", "Turns fusions into kernels on tiles",
                                             buildTilePipeline);
}

} // namespace tilewright::tile
