// Expansions of ops into ops that kernels can compute, for targets without a library. Each returns
// a failure with a reason if it does not apply.
#ifndef TILEWRIGHT_TRANSFORM_SIMPLIFY_EXPAND_EXPAND_H
#define TILEWRIGHT_TRANSFORM_SIMPLIFY_EXPAND_EXPAND_H

#include "tilewright/dialect/stablehlo/ops/CallOps.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/dialect/stablehlo/ops/IndexingOps.h"
#include "tilewright/dialect/stablehlo/ops/LinearAlgebraOps.h"
#include "tilewright/dialect/stablehlo/ops/ReductionOps.h"

#include "mlir/IR/PatternMatch.h"

namespace tilewright::simplify {

mlir::LogicalResult expandReduce(stablehlo::ReduceOp op, mlir::RewriterBase &rewriter);
mlir::LogicalResult expandReduceWindow(stablehlo::ReduceWindowOp op, mlir::RewriterBase &rewriter);
mlir::LogicalResult expandSelectAndScatter(stablehlo::SelectAndScatterOp op,
                                           mlir::RewriterBase &rewriter);
mlir::LogicalResult expandRandomBits(stablehlo::RngBitGeneratorOp op, mlir::RewriterBase &rewriter);
mlir::LogicalResult expandScatter(stablehlo::ScatterOp op, mlir::RewriterBase &rewriter);
mlir::LogicalResult expandFft(stablehlo::FftOp op, mlir::RewriterBase &rewriter);
mlir::LogicalResult expandCholesky(stablehlo::CholeskyOp op, mlir::RewriterBase &rewriter);
mlir::LogicalResult expandTriangularSolve(stablehlo::TriangularSolveOp op,
                                          mlir::RewriterBase &rewriter);

/// Expands a call of a LAPACK routine, as JAX writes it for CPUs or GPUs.
mlir::LogicalResult expandRoutineCall(stablehlo::CustomCallOp op, mlir::RewriterBase &rewriter);

/// Transposes the operands and results of a custom call whose handler requests layouts other than
/// row-major.
mlir::LogicalResult transposeCallBuffers(stablehlo::CustomCallOp op, mlir::RewriterBase &rewriter);

} // namespace tilewright::simplify

#endif // TILEWRIGHT_TRANSFORM_SIMPLIFY_EXPAND_EXPAND_H
