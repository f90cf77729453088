#include "tilewright/transform/tile/Passes.h"
#include "tilewright/transform/tile/solve/Passes.h"

using namespace mlir;

namespace tilewright::solve {

void buildLayoutPipeline(OpPassManager &passes) {
  // The first pass turns matmuls into pipelined kernels where it can. It leaves all other kernels
  // unchanged; the second pass chooses their layouts.
  passes.addPass(tile::createTilePipelinePass());
  passes.addPass(createSolveLayoutsPass());
}

} // namespace tilewright::solve
