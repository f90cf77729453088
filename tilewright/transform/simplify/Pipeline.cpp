#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/transform/PipelineOptions.h"
#include "tilewright/transform/simplify/Passes.h"

#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace tilewright::simplify {
namespace {
#define GEN_PASS_REGISTRATION
#include "tilewright/transform/simplify/Passes.h.inc"

struct PipelineOptions : transform::simplify_pipeline {
  Option<bool> checkProgress{*this, "check-progress",
                             llvm::cl::desc("Check that every rewrite makes progress; slow"),
                             llvm::cl::init(false)};
};
} // namespace

static InlinePassOptions inliningOf(const SimplifyOptions &options) {
  InlinePassOptions inlining;
  inlining.maxOps = options.maxOps;
  return inlining;
}

static CanonicalizePassOptions foldingOf(const SimplifyOptions &options) {
  CanonicalizePassOptions folding;
  folding.maxFoldElements = options.maxFoldElements;
  folding.maxFoldSteps = options.maxFoldSteps;
  folding.maxRewrites = options.maxRewrites;
  return folding;
}

void addPreparationPasses(OpPassManager &passes, const SimplifyOptions &options) {
  passes.addPass(createInlinePass(inliningOf(options)));
  CanonicalizePassOptions folding = foldingOf(options);
  folding.keepShardings = true;
  OpPassManager &functions = passes.nest<func::FuncOp>();
  functions.addPass(createCanonicalizePass(folding));
  functions.addPass(createCSEPass());
}

void buildSimplifyPipeline(OpPassManager &passes, const SimplifyOptions &options,
                           bool checkProgress) {
  passes.addPass(createInlinePass(inliningOf(options)));
  CanonicalizePassOptions folding = foldingOf(options);
  folding.checkProgress = checkProgress;
  OpPassManager &functions = passes.nest<func::FuncOp>();
  functions.addPass(createCanonicalizePass(folding));
  functions.addPass(createCSEPass());
  functions.addPass(createConvolutionsPass());
  // Expand what constant folding and other rules have left. Expansions are simplified once more.
  functions.addPass(createExpandPass());
  // Canonicalize again, because some identities apply only after CSE has merged equal values.
  functions.addPass(createCanonicalizePass(folding));
  functions.addPass(createCSEPass());
  functions.addPass(createFinishPass());
  functions.addPass(createVerifySimplifiedPass());
}

void registerSimplifyPasses() {
  registerInlinePass();
  registerCanonicalizePass();
  registerConvolutionsPass();
  registerExpandPass();
  registerFinishPass();
  registerVerifySimplifiedPass();
  static PassPipelineRegistration<PipelineOptions> pipeline(
      "simplify", "One flat, canonical StableHLO function",
      [](OpPassManager &passes, const PipelineOptions &given) {
        buildSimplifyPipeline(passes, valuesOf(given), given.checkProgress);
      });
}

} // namespace tilewright::simplify
