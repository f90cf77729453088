// split(): turns a program for many devices into the program of one device (SPMD partitioning).
#ifndef TILEWRIGHT_TRANSFORM_DISTRIBUTE_SPLIT_H
#define TILEWRIGHT_TRANSFORM_DISTRIBUTE_SPLIT_H

#include "tilewright/support/Status.h"

#include "mlir/IR/BuiltinOps.h"

namespace tilewright::distribute {

/// Turns a module that is written for all devices together into one that each of `partitions`
/// devices can run.
///
///   - A parameter with a sharding becomes the device's shard.
///   - An op with sharded operands is computed on shards where its sharding rule (ShardingRules)
///     allows it. A sum over a sharded dimension becomes a local sum and an all_reduce.
///   - For every other op the operands are gathered, and every device computes the op on replicated
///     operands. A remark of category "distribute" names the op and the reason.
///   - A region written per device (sdy.manual_computation) gets the shards that it declares,
///     resharded only if necessary; its collectives are kept.
///   - A result with a sharding becomes the device's shard; any other result keeps the sharding
///     that it was computed with.
///
/// Each sharded parameter and result gets the attribute `exec.sharding`, a serialized
/// xla.OpSharding, which the caller of the program reads.
///
/// Expects a function @main without calls. All decisions are made before any change.
///  - planOp (E2101): a sharding cannot be followed.
Status split(mlir::ModuleOp module, int64_t partitions, int64_t memoryLimit = 0);

} // namespace tilewright::distribute

#endif // TILEWRIGHT_TRANSFORM_DISTRIBUTE_SPLIT_H
