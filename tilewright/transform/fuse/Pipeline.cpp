#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/transform/fuse/Passes.h"

#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace tilewright::fuse {
namespace {
#define GEN_PASS_REGISTRATION
#include "tilewright/transform/fuse/Passes.h.inc"
} // namespace

void buildFusePipeline(OpPassManager &passes, const FuseOptions &options,
                       llvm::function_ref<void(OpPassManager &)> addTargetPasses) {
  // The remaining private functions are decompositions of composites; they do not run.
  OpPassManager &functions = passes.nest<func::FuncOp>();
  SplitReducePassOptions splitting;
  splitting.minElements = options.splitReduceElements;
  functions.addPass(createSplitReducePass(splitting));
  functions.addPass(createFuseRowsPass());
  FusePassOptions fusing;
  fusing.maxOps = options.maxOps;
  fusing.maxOperands = options.maxOperands;
  functions.addPass(createFusePass(fusing));
  functions.addPass(createFuseProductsPass());
  if (addTargetPasses)
    addTargetPasses(passes);
  passes.nest<func::FuncOp>().addPass(createVerifyFusedPass());
}

void registerFusePasses() {
  registerSplitReducePass();
  registerFusePass();
  registerFuseProductsPass();
  registerFuseRowsPass();
  registerVerifyFusedPass();
  registerPrintFusionsPass();
}

} // namespace tilewright::fuse
