#include "tilewright/transform/PipelineOptions.h"
#include "tilewright/transform/communicate/Passes.h"

#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace tilewright::communicate {

void buildCommunicatePipeline(OpPassManager &passes, const CommunicateOptions &options) {
  OpPassManager &functions = passes.nest<func::FuncOp>();
  functions.addPass(createSimplifyCollectivesPass());
  if (options.loops) {
    MoveOutOfLoopsPassOptions moving;
    moving.memory = options.overlapMemory;
    functions.addPass(createMoveOutOfLoopsPass(moving));
    // An earlier start is worth its memory only if something runs between start and done.
    PipelineLoopsPassOptions pipelining;
    pipelining.memory = options.overlapMemory;
    if (options.overlap)
      functions.addPass(createPipelineLoopsPass(pipelining));
  }
  // Late, because collectives of an iteration that were moved together can be combined.
  CombineCollectivesPassOptions combining;
  combining.bytes = options.combineBytes;
  combining.cluster = options.cluster;
  functions.addPass(createCombineCollectivesPass(combining));
  // After combining, which would join the pieces again.
  if (const bool isAlways = options.windows == "always";
      isAlways || (options.windows == "auto" && options.overlap))
    functions.addPass(createWindowProductsPass({.cluster = options.cluster, .always = isAlways}));
  functions.addPass(createDeviceFormsPass());
  functions.addPass(createVerifyCollectivesPass());
}

void registerCommunicatePasses() {
  registerTilewrightCommunicatePasses();
  static PassPipelineRegistration<transform::communicate_pipeline> pipeline(
      "communicate", "Combines and moves collectives",
      [](OpPassManager &passes, const transform::communicate_pipeline &options) {
        buildCommunicatePipeline(passes, valuesOf(options));
      });
}

} // namespace tilewright::communicate
