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
  // This runs before products of f32 are split into parts, because products with exact factors need
  // no parts.
  functions.addPass(createScaledProductsPass());
  functions.addPass(createOrderScalesPass());
  functions.addPass(createExpandScaledProductsPass());
  // Runs before products and reductions are split, because splitting changes their shapes.
  CascadesPassOptions cascades;
  cascades.attention = options.attention;
  functions.addPass(createCascadesPass(cascades));
  functions.addPass(createSplitKeysPass());
  functions.addPass(createSplitProductsPass());
  SplitReducePassOptions splitting;
  splitting.minElements = options.splitReduceElements;
  functions.addPass(createSplitReducePass(splitting));
  functions.addPass(createSplitConcatenatePass());
  // Runs after reductions are split, so that the sums of split products are not split again.
  functions.addPass(createSplitKPass());
  functions.addPass(createFuseRowsPass());
  FusePassOptions fusing;
  fusing.maxOps = options.maxOps;
  fusing.maxOperands = options.maxOperands;
  functions.addPass(createFusePass(fusing));
  functions.addPass(createFuseProductsPass());
  if (addTargetPasses)
    addTargetPasses(passes);
  OpPassManager &last = passes.nest<func::FuncOp>();
  // Runs after all decisions about kernels, which consider elements and not their representation in
  // memory.
  last.addPass(createPackElementsPass());
  last.addPass(createVerifyFusedPass());
}

void registerFusePasses() {
  registerScaledProductsPass();
  registerOrderScalesPass();
  registerExpandScaledProductsPass();
  registerSplitProductsPass();
  registerSplitReducePass();
  registerSplitConcatenatePass();
  registerSplitKPass();
  registerSplitKeysPass();
  registerCascadesPass();
  registerFusePass();
  registerFuseProductsPass();
  registerFuseRowsPass();
  registerPackElementsPass();
  registerVerifyFusedPass();
  registerPrintFusionsPass();
}

} // namespace tilewright::fuse
