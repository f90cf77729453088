// Local: how one device computes its part of an op.
#ifndef TILEWRIGHT_TRANSFORM_DISTRIBUTE_LOCAL_LOCAL_H
#define TILEWRIGHT_TRANSFORM_DISTRIBUTE_LOCAL_LOCAL_H

#include "tilewright/transform/distribute/OpPlan.h"
#include "tilewright/transform/distribute/Sharding.h"

namespace tilewright::distribute {

/// Turns `op`, whose operands and results already have the types of their shards
/// (`plan.shardingOf(plan.rule.operands[i])`), into what one device computes. Most ops keep their
/// form, and only attributes change (fitAttributes()). Ops along shifted loops, and those that
/// index a sharded dimension, become several ops. The function may insert ops before and after
/// `op`, replace uses of its results, and erase it. If `plan` shards reduced loops, the result is a
/// partial one: the caller reduces it.
///
/// Each file of this folder has the forms of one group of ops; the table is in Local.cpp.
Status computeLocally(mlir::Operation *op, const OpPlan &plan, ShardBuilder &shards);

/// Bytes that a device sends inside of the local form, along shifted loops. `op` still has the
/// types of the whole program.
int64_t localWireBytes(mlir::Operation *op, const OpPlan &plan);

/// Adapts the attributes of an op to the types of its operands and results, which are now shards.
void fitAttributes(mlir::Operation *op);

} // namespace tilewright::distribute

#endif // TILEWRIGHT_TRANSFORM_DISTRIBUTE_LOCAL_LOCAL_H
