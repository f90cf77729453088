// The rewrites of simplify-canonicalize, by subject.
#ifndef TILEWRIGHT_TRANSFORM_SIMPLIFY_PATTERNS_H
#define TILEWRIGHT_TRANSFORM_SIMPLIFY_PATTERNS_H

#include "tilewright/interpret/OpEvaluator.h"
#include "tilewright/support/Options.h"

#include "mlir/IR/PatternMatch.h"

namespace tilewright::simplify {

void addAlgebraPatterns(mlir::RewritePatternSet &patterns);
void addAnnotationPatterns(mlir::RewritePatternSet &patterns);
void addBatchNormPatterns(mlir::RewritePatternSet &patterns);
void addControlFlowPatterns(mlir::RewritePatternSet &patterns);
void addDynamicShapePatterns(mlir::RewritePatternSet &patterns);
void addIndexingPatterns(mlir::RewritePatternSet &patterns);
void addLegacyPatterns(mlir::RewritePatternSet &patterns);
void addLoopPatterns(mlir::RewritePatternSet &patterns);
void addMovementPatterns(mlir::RewritePatternSet &patterns);
void addProductPatterns(mlir::RewritePatternSet &patterns);
void addReductionPatterns(mlir::RewritePatternSet &patterns);
void addSinkPatterns(mlir::RewritePatternSet &patterns);

/// Ops on constants are evaluated, within the limits. `evaluator` outlives the patterns.
void addFoldPatterns(mlir::RewritePatternSet &patterns, interpret::OpEvaluator &evaluator,
                     int64_t maxElements, int64_t maxSteps);

/// A pattern from a function: addPattern<stablehlo::SliceOp>(patterns, rewriteSlice).
template <typename Op>
void addPattern(mlir::RewritePatternSet &patterns,
                mlir::LogicalResult (*rewrite)(Op, mlir::PatternRewriter &)) {
  patterns.add(rewrite);
}

} // namespace tilewright::simplify

#endif // TILEWRIGHT_TRANSFORM_SIMPLIFY_PATTERNS_H
