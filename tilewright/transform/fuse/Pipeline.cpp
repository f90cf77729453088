#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/transform/PipelineOptions.h"
#include "tilewright/transform/fuse/Passes.h"

#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace tilewright::fuse {
namespace {
#define GEN_PASS_REGISTRATION
#include "tilewright/transform/fuse/Passes.h.inc"
} // namespace

void buildFusePipeline(OpPassManager &passes, const FuseOptions &options) {
  // The remaining private functions are decompositions of composites; they do not run.
  OpPassManager &functions = passes.nest<func::FuncOp>();
  SplitReducePassOptions splitting;
  splitting.minElements = options.splitReduceElements;
  functions.addPass(createSplitReducePass(splitting));
  FusePassOptions fusing;
  fusing.maxOps = options.maxOps;
  fusing.maxOperands = options.maxOperands;
  functions.addPass(createFusePass(fusing));
  functions.addPass(createVerifyFusedPass());
  functions.addPass(createFuseProductsPass());
}

void registerFusePasses() {
  registerSplitReducePass();
  registerFusePass();
  registerFuseProductsPass();
  registerVerifyFusedPass();
  registerPrintFusionsPass();
  static PassPipelineRegistration<transform::fuse_pipeline> pipeline(
      "fuse", "Groups ops into fusions, one kernel each",
      [](OpPassManager &passes, const transform::fuse_pipeline &given) {
        buildFusePipeline(passes, valuesOf(given));
      });
}

} // namespace tilewright::fuse
