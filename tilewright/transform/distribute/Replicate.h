// replicate(): a program of many devices, each of which computes the whole.
#ifndef TILEWRIGHT_TRANSFORM_DISTRIBUTE_REPLICATE_H
#define TILEWRIGHT_TRANSFORM_DISTRIBUTE_REPLICATE_H

#include "tilewright/support/Status.h"

#include "mlir/IR/BuiltinOps.h"

namespace tilewright::distribute {

/// Turns a module that is written for all devices together into one that each
/// of `partitions` devices can run.
///
///   - A parameter with a sharding becomes the device's piece; the others' are gathered.
///   - What is computed on whole tensors, every device computes whole.
///   - A region written per device (sdy.manual_computation) gets its pieces cut out, and its
///     results are gathered; collectives in it stay as they are.
///   - A result with a sharding is cut to the device's piece; one without is whole on each.
///
/// Right for every program, and fast for those that are written per device
/// (shard_map, pmap). Programs that rely on a partitioner to divide the work
/// compute it on every device.
///
/// Each parameter and result that is divided gets the attribute `exec.sharding`,
/// a serialised xla.OpSharding, which the caller of the program asks for.
///  - planOp (E2101): a sharding that cannot be followed.
Status replicate(mlir::ModuleOp module, int64_t partitions);

} // namespace tilewright::distribute

#endif // TILEWRIGHT_TRANSFORM_DISTRIBUTE_REPLICATE_H
