// Merged: ops whose results depend on all shards of a dimension, but on only a few rows of each.
// Every device computes these rows, gathers those of the others, and completes the result.
#ifndef TILEWRIGHT_TRANSFORM_DISTRIBUTE_LOCAL_MERGED_H
#define TILEWRIGHT_TRANSFORM_DISTRIBUTE_LOCAL_MERGED_H

#include "tilewright/dialect/stablehlo/ops/CallOps.h"
#include "tilewright/dialect/stablehlo/ops/ReductionOps.h"
#include "tilewright/transform/distribute/OpPlan.h"

namespace tilewright::distribute {

/// A reduction with a body for which there is no collective, such as an argmax: reduces the shard,
/// gathers the partial results and reduces them. If a sum has an initial value that is not neutral,
/// only one device adds it.
Status computeReduce(stablehlo::ReduceOp op, const OpPlan &plan, ShardBuilder &shards);

/// A cumulative sum, product, maximum and so on: scans the shard, gathers the last row of each
/// shard, and combines its rows with the result of all earlier shards.
Status computeScan(stablehlo::ReduceWindowOp op, const OpPlan &plan, ShardBuilder &shards);

/// The composite "chlo.top_k": takes the first k of the shard, gathers them from all shards, and
/// takes the first k of those.
Status computeTopK(stablehlo::CompositeOp op, const OpPlan &plan, ShardBuilder &shards);

/// The bytes that a device sends for these ops. `op` has the types of the whole program.
int64_t mergedWireBytes(mlir::Operation *op, const OpPlan &plan);

} // namespace tilewright::distribute

#endif // TILEWRIGHT_TRANSFORM_DISTRIBUTE_LOCAL_MERGED_H
