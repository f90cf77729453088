// Uneven: pads dimensions that a constraint shards although their size is not divisible.
#ifndef TILEWRIGHT_TRANSFORM_DISTRIBUTE_UNEVEN_H
#define TILEWRIGHT_TRANSFORM_DISTRIBUTE_UNEVEN_H

#include "tilewright/transform/distribute/Sharding.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tilewright::distribute {

/// Makes all constraints divisible, before the program is planned. A constraint that divides 10
/// elements by 4 becomes a constraint on 12 elements:
///
///   %b = tanh %a : 10                    %p = pad %a : 12
///   %c = sharding_constraint %b : 10     %q = tanh %p : 12
///   %s = reduce add %c                   %c = sharding_constraint %q : 12
///                                        %m = select iota < 10, %c, -0.0 : 12
///                                        %s = reduce add %m
///
/// Ops before and after the constraint are computed with the padding too, as far as their sharding
/// rules have the dimension in a loop of its own. The padding holds arbitrary values, and only
/// reductions and contractions along it are masked. An op that cannot be padded reads a slice
/// without the padding.
void padUneven(mlir::func::FuncOp main, ShardBuilder &shards);

} // namespace tilewright::distribute

#endif // TILEWRIGHT_TRANSFORM_DISTRIBUTE_UNEVEN_H
