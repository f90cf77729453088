// Merged: ops whose results depend on all shards of a dimension, but of each only on a few rows.
// Every device computes these rows, gathers those of the others, and completes the result.
#ifndef TILEWRIGHT_TRANSFORM_DISTRIBUTE_LOCAL_MERGED_H
#define TILEWRIGHT_TRANSFORM_DISTRIBUTE_LOCAL_MERGED_H

#include "tilewright/dialect/stablehlo/ops/CallOps.h"
#include "tilewright/dialect/stablehlo/ops/ReductionOps.h"
#include "tilewright/transform/distribute/OpPlan.h"

namespace tilewright::distribute {

/// A reduction with a body that no collective has, such as an argmax: reduces the shard, gathers
/// the partial results and reduces them. Of a sum with an initial value that is not neutral, only
/// one device adds that.
Status computeReduce(stablehlo::ReduceOp op, const OpPlan &plan, ShardBuilder &shards);

/// A cumulative sum, product, maximum and so on: scans the shard, gathers the last row of each, and
/// combines its rows with the result of all shards before.
Status computeScan(stablehlo::ReduceWindowOp op, const OpPlan &plan, ShardBuilder &shards);

/// The composite "chlo.top_k": the first k of the shard, and of those of all shards the first k.
Status computeTopK(stablehlo::CompositeOp op, const OpPlan &plan, ShardBuilder &shards);

/// Bytes that a device sends for these ops. Types of `op` are those of the whole program.
int64_t mergedWireBytes(mlir::Operation *op, const OpPlan &plan);

} // namespace tilewright::distribute

#endif // TILEWRIGHT_TRANSFORM_DISTRIBUTE_LOCAL_MERGED_H
