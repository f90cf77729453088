// Masked: ops that read or write at computed positions of a sharded dimension. Every device does
// what falls into its shard.
//
// A read gives a partial result: the device that holds an element gives it, the others give the
// neutral element of the sum, and the caller adds them up. A write needs no communication.
#ifndef TILEWRIGHT_TRANSFORM_DISTRIBUTE_LOCAL_MASKED_H
#define TILEWRIGHT_TRANSFORM_DISTRIBUTE_LOCAL_MASKED_H

#include "tilewright/dialect/stablehlo/ops/IndexingOps.h"
#include "tilewright/transform/distribute/OpPlan.h"

namespace tilewright::distribute {

Status computeDynamicSlice(stablehlo::DynamicSliceOp op, const OpPlan &plan, ShardBuilder &shards);
Status computeDynamicUpdate(stablehlo::DynamicUpdateSliceOp op, const OpPlan &plan,
                            ShardBuilder &shards);
Status computeGather(stablehlo::GatherOp op, const OpPlan &plan, ShardBuilder &shards);
Status computeScatter(stablehlo::ScatterOp op, const OpPlan &plan, ShardBuilder &shards);

} // namespace tilewright::distribute

#endif // TILEWRIGHT_TRANSFORM_DISTRIBUTE_LOCAL_MASKED_H
