#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/transform/simplify/Passes.h"

#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace tilewright::simplify {
namespace {
#define GEN_PASS_REGISTRATION
#include "tilewright/transform/simplify/Passes.h.inc"

struct PipelineOptions : PassPipelineOptions<PipelineOptions> {
  SimplifyOptions defaults;
  Option<int64_t> maxOps{*this, "max-ops", llvm::cl::desc("Most ops after inlining"),
                         llvm::cl::init(defaults.maxOps)};
  Option<int64_t> maxFoldElements{*this, "max-fold-elements",
                                  llvm::cl::desc("Largest constant that folding may make"),
                                  llvm::cl::init(defaults.maxFoldElements)};
  Option<int64_t> maxFoldSteps{*this, "max-fold-steps",
                               llvm::cl::desc("Most scalar operations of folding one op"),
                               llvm::cl::init(defaults.maxFoldSteps)};
};
} // namespace

void buildSimplifyPipeline(OpPassManager &passes, const SimplifyOptions &options) {
  InlinePassOptions inlining;
  inlining.maxOps = options.maxOps;
  passes.addPass(createInlinePass(inlining));

  CanonicalizePassOptions folding;
  folding.maxFoldElements = options.maxFoldElements;
  folding.maxFoldSteps = options.maxFoldSteps;
  OpPassManager &functions = passes.nest<func::FuncOp>();
  functions.addPass(createCanonicalizePass(folding));
  functions.addPass(createCSEPass());
  // Equal values are one value now, which some identities ask for.
  functions.addPass(createCanonicalizePass(folding));
  functions.addPass(createCSEPass());
  functions.addPass(createFinishPass());
  functions.addPass(createVerifySimplifiedPass());
}

void registerSimplifyPasses() {
  registerInlinePass();
  registerCanonicalizePass();
  registerFinishPass();
  registerVerifySimplifiedPass();
  static PassPipelineRegistration<PipelineOptions> pipeline(
      "simplify", "One flat, canonical StableHLO function",
      [](OpPassManager &passes, const PipelineOptions &given) {
        SimplifyOptions options;
        options.maxOps = given.maxOps;
        options.maxFoldElements = given.maxFoldElements;
        options.maxFoldSteps = given.maxFoldSteps;
        buildSimplifyPipeline(passes, options);
      });
}

} // namespace tilewright::simplify
