// simplify-canonicalize: applies all patterns until nothing changes.
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/transform/RewriteGreedily.h"
#include "tilewright/transform/simplify/Passes.h"
#include "tilewright/transform/simplify/Patterns.h"
#include "tilewright/transform/simplify/RewriteWatch.h"

using namespace mlir;

namespace tilewright::simplify {
#define GEN_PASS_DEF_CANONICALIZEPASS
#include "tilewright/transform/simplify/Passes.h.inc"

void addAllPatterns(RewritePatternSet &patterns, interpret::OpEvaluator &evaluator,
                    int64_t maxFoldElements, int64_t maxFoldSteps, bool keepShardings) {
  addFoldPatterns(patterns, evaluator, maxFoldElements, maxFoldSteps);
  addAlgebraPatterns(patterns);
  addAlgorithmPatterns(patterns);
  if (!keepShardings) {
    addAnnotationPatterns(patterns);
    addCollectivePatterns(patterns);
  }
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
}

namespace {

struct Canonicalize : impl::CanonicalizePassBase<Canonicalize> {
  using CanonicalizePassBase::CanonicalizePassBase;

  void runOnOperation() override {
    interpret::OpEvaluator evaluator(getOperation()->getParentOfType<ModuleOp>());
    RewritePatternSet patterns(&getContext());
    addAllPatterns(patterns, evaluator, maxFoldElements, maxFoldSteps, keepShardings);
    RewriteWatch watch(getOperation(), maxRewrites, checkProgress);
    watch.watch(patterns);

    GreedyRewriteConfig config;
    // Visit operands before users, because the rewrite of an op depends on its operands.
    config.setUseTopDownTraversal(true)
        .setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled)
        // Only FoldConstants folds constants, and constants must stay inside scalar regions.
        .enableFolding(false)
        .enableConstantCSE(false)
        .setListener(&watch);
    // Not converging is not an error: every intermediate state is correct.
    (void)transform::rewriteGreedily(getArgument(), getOperation(), std::move(patterns), config);
    if (failed(watch.verdict()))
      signalPassFailure();
  }
};

} // namespace
} // namespace tilewright::simplify
