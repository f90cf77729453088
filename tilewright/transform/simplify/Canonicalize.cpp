// simplify-canonicalize: all patterns until nothing changes.
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/transform/simplify/Passes.h"
#include "tilewright/transform/simplify/Patterns.h"

#include "mlir/Rewrite/FrozenRewritePatternSet.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace tilewright::simplify {
#define GEN_PASS_DEF_CANONICALIZEPASS
#include "tilewright/transform/simplify/Passes.h.inc"

namespace {

struct Canonicalize : impl::CanonicalizePassBase<Canonicalize> {
  using CanonicalizePassBase::CanonicalizePassBase;

  void runOnOperation() override {
    interpret::OpEvaluator evaluator(getOperation()->getParentOfType<ModuleOp>());
    RewritePatternSet patterns(&getContext());
    addFoldPatterns(patterns, evaluator, maxFoldElements, maxFoldSteps);
    addAlgebraPatterns(patterns);
    addAnnotationPatterns(patterns);
    addBatchNormPatterns(patterns);
    addControlFlowPatterns(patterns);
    addDynamicShapePatterns(patterns);
    addIndexingPatterns(patterns);
    addLegacyPatterns(patterns);
    addLoopPatterns(patterns);
    addMovementPatterns(patterns);
    addProductPatterns(patterns);
    addReductionPatterns(patterns);
    addSinkPatterns(patterns);

    GreedyRewriteConfig config;
    // Operands first: what an op becomes depends on what they became.
    config.setUseTopDownTraversal(true)
        .setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled)
        // Constants have no folder but ours, and must stay inside scalar regions.
        .enableFolding(false)
        .enableConstantCSE(false);
    // Not to have converged is no failure: every state on the way is right.
    (void)applyPatternsGreedily(getOperation(), std::move(patterns), config);
  }
};

} // namespace
} // namespace tilewright::simplify
