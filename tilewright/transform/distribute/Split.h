// split(): a program for many devices becomes that of one of them, which computes its pieces.
#ifndef TILEWRIGHT_TRANSFORM_DISTRIBUTE_SPLIT_H
#define TILEWRIGHT_TRANSFORM_DISTRIBUTE_SPLIT_H

#include "tilewright/support/Status.h"

#include "mlir/IR/BuiltinOps.h"

namespace tilewright::distribute {

/// Turns a module that is written for all devices together into one that each of `partitions`
/// devices can run.
///
///   - A parameter with a sharding becomes the device's piece.
///   - An op whose operands are divided is computed in pieces where its rule allows it
///   (SplitRules);
///     a sum over what is divided is summed by each device and then over devices by an all_reduce.
///   - What cannot be computed in pieces is gathered and computed whole by every device, with a
///     remark of category "distribute" that says which op and why.
///   - A region written per device (sdy.manual_computation) gets the pieces that it asks for, as
///     they are if they are so already; collectives in it stay.
///   - A result with a sharding becomes the device's piece, one without stays as it is computed.
///
/// Each parameter and result that is divided gets the attribute `exec.sharding`, a serialised
/// xla.OpSharding, which the caller of the program asks for.
///
/// Expects a function @main without calls. Everything is decided before anything is changed.
///  - planOp (E2101): a sharding that cannot be followed.
Status split(mlir::ModuleOp module, int64_t partitions);

} // namespace tilewright::distribute

#endif // TILEWRIGHT_TRANSFORM_DISTRIBUTE_SPLIT_H
