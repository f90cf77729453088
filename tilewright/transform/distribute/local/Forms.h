// Forms: what one device computes for each kind of op; computeLocally() chooses among them.
#ifndef TILEWRIGHT_TRANSFORM_DISTRIBUTE_LOCAL_FORMS_H
#define TILEWRIGHT_TRANSFORM_DISTRIBUTE_LOCAL_FORMS_H

#include "tilewright/dialect/stablehlo/ops/CallOps.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/dialect/stablehlo/ops/LinearAlgebraOps.h"
#include "tilewright/dialect/stablehlo/ops/ReductionOps.h"
#include "tilewright/transform/distribute/OpPlan.h"

namespace tilewright::distribute {

/// A dimension whose only loop is split.
struct SplitDim {
  size_t dim;
  Axes axes;
  LoopKind kind;
};
/// The dimensions of a value whose only loop is of one of `kinds` and split.
llvm::SmallVector<SplitDim> splitDims(const OpPlan &plan, const ShardingRule::Dims &dims,
                                      llvm::ArrayRef<LoopKind> kinds);

// Movement.cpp
Status computeSlice(stablehlo::SliceOp op, const OpPlan &plan, ShardBuilder &shards);
Status computePad(stablehlo::PadOp op, const OpPlan &plan, ShardBuilder &shards);
Status computeReverse(stablehlo::ReverseOp op, const OpPlan &plan, ShardBuilder &shards);
Status computeConcatenate(stablehlo::ConcatenateOp op, const OpPlan &plan, ShardBuilder &shards);

/// What foldSlices() made.
Status computeFoldedSlices(stablehlo::CustomCallOp op, const OpPlan &plan, ShardBuilder &shards);

// Wire.cpp
// The bytes of rows that a device sends to others for a slice, a pad, a reverse, a concatenation or
// windows, if `plan` splits the op, which has its global shape; 0 for other ops.
int64_t rowsWireBytes(mlir::Operation *op, const OpPlan &plan);

// Random.cpp
Status computeRandomBits(stablehlo::RngBitGeneratorOp op, const OpPlan &plan, ShardBuilder &shards);

// Windows.cpp
Status computeReduceWindow(stablehlo::ReduceWindowOp op, const OpPlan &plan, ShardBuilder &shards);
Status computeSelectAndScatter(stablehlo::SelectAndScatterOp op, const OpPlan &plan,
                               ShardBuilder &shards);
Status computeConvolution(stablehlo::ConvolutionOp op, const OpPlan &plan, ShardBuilder &shards);

} // namespace tilewright::distribute

#endif // TILEWRIGHT_TRANSFORM_DISTRIBUTE_LOCAL_FORMS_H
