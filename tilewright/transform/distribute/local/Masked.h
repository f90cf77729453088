// Masked: ops that read or write at computed positions of a sharded dimension. Every device
// performs the accesses that fall into its shard.
//
// A read returns a partial result: the device that holds an element contributes it, the others
// contribute the neutral element of the sum, and the caller adds the contributions. A write needs
// no communication.
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
