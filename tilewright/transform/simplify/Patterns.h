// The rewrite patterns of simplify-canonicalize, by topic.
#ifndef TILEWRIGHT_TRANSFORM_SIMPLIFY_PATTERNS_H
#define TILEWRIGHT_TRANSFORM_SIMPLIFY_PATTERNS_H

#include "tilewright/dialect/stablehlo/ops/BinaryOps.h"
#include "tilewright/dialect/stablehlo/ops/LinearAlgebraOps.h"
#include "tilewright/dialect/stablehlo/ops/ReductionOps.h"
#include "tilewright/dialect/stablehlo/ops/UnaryOps.h"
#include "tilewright/interpret/evaluate/OpEvaluator.h"
#include "tilewright/support/Options.h"

#include "mlir/IR/PatternMatch.h"

namespace tilewright::simplify {

void addAlgebraPatterns(mlir::RewritePatternSet &patterns);
void addAlgorithmPatterns(mlir::RewritePatternSet &patterns);
void addAnnotationPatterns(mlir::RewritePatternSet &patterns);
void addBatchNormPatterns(mlir::RewritePatternSet &patterns);
void addCollectivePatterns(mlir::RewritePatternSet &patterns);
void addControlFlowPatterns(mlir::RewritePatternSet &patterns);
void addDynamicShapePatterns(mlir::RewritePatternSet &patterns);
void addIndexingPatterns(mlir::RewritePatternSet &patterns);
void addLegacyPatterns(mlir::RewritePatternSet &patterns);
void addLoopPatterns(mlir::RewritePatternSet &patterns);
void addMovementPatterns(mlir::RewritePatternSet &patterns);
void addProductPatterns(mlir::RewritePatternSet &patterns);
void addReductionPatterns(mlir::RewritePatternSet &patterns);
void addSinkPatterns(mlir::RewritePatternSet &patterns);

/// Evaluates ops on constants, within the limits. `evaluator` must outlive the patterns.
void addFoldPatterns(mlir::RewritePatternSet &patterns, interpret::OpEvaluator &evaluator,
                     int64_t maxElements, int64_t maxSteps);

/// Adds a pattern made from a function, under its name in Rules.def:
/// addPattern<stablehlo::SliceOp>(patterns, "simplifySlice", simplifySlice).
template <typename Op>
void addPattern(mlir::RewritePatternSet &patterns, llvm::StringLiteral name,
                mlir::LogicalResult (*rewrite)(Op, mlir::PatternRewriter &)) {
  struct FromFunction : mlir::OpRewritePattern<Op> {
    FromFunction(mlir::MLIRContext *context, llvm::StringLiteral name,
                 mlir::LogicalResult (*rewrite)(Op, mlir::PatternRewriter &))
        : mlir::OpRewritePattern<Op>(context), rewrite(rewrite) {
      this->setDebugName(name);
    }
    mlir::LogicalResult matchAndRewrite(Op op, mlir::PatternRewriter &rewriter) const override {
      return rewrite(op, rewriter);
    }
    mlir::LogicalResult (*rewrite)(Op, mlir::PatternRewriter &);
  };
  patterns.add<FromFunction>(patterns.getContext(), name, rewrite);
}

/// 0 to 3 for booleans, integers, floats and complex numbers; -1 for other element types.
int kindOfNumber(mlir::Type element);
/// The bits of a number, of a complex one those of its real part.
unsigned widthOfNumber(mlir::Type element);

/// Whether the operands and the result of a matmul are predicates, of static shape.
bool multipliesPredicates(stablehlo::DotGeneralOp op);

/// Whether a matmul has an algorithm of one product that its element types do not express yet.
bool hasUnspelledAlgorithm(stablehlo::DotGeneralOp op);

/// Whether a bitcast changes the width of elements and one of the two widths is less than a byte.
bool splitsBytes(stablehlo::BitcastConvertOp op);

/// The op of a body that combines its two arguments with a single commutative op: add, multiply,
/// maximum, minimum, and, or, xor. Null for other bodies.
mlir::Operation *commutativeCombiner(mlir::Region &body);
/// Whether combining a value with `init` returns the value. A sum may turn -0 into 0.
bool isIdentityOf(mlir::Operation *combiner, mlir::Value init);

/// If `op` is JAX's argmax or argmin with a body in which the left of two NaNs wins, the select
/// that yields the index; otherwise null.
stablehlo::SelectOp indexOfFirstNan(stablehlo::ReduceOp op);

/// Adds all patterns, or all that keep shardings, manual computations and collectives. `evaluator`
/// must outlive them.
void addAllPatterns(mlir::RewritePatternSet &patterns, interpret::OpEvaluator &evaluator,
                    int64_t maxFoldElements, int64_t maxFoldSteps, bool keepShardings = false);

} // namespace tilewright::simplify

#endif // TILEWRIGHT_TRANSFORM_SIMPLIFY_PATTERNS_H
