// SortBlock: puts the ops of a block into an order that respects all dependences.
#ifndef TILEWRIGHT_TRANSFORM_COMMUNICATE_SORTBLOCK_H
#define TILEWRIGHT_TRANSFORM_COMMUNICATE_SORTBLOCK_H

#include "mlir/IR/Block.h"

namespace tilewright::communicate {

/// Whether an op may do more than compute its results and communicate. Such ops keep their order.
bool hasEffects(mlir::Operation *op);

/// Calls `visit` for each op of the same block that computes a value that `op`, including its
/// regions, reads.
void forEachProducer(mlir::Operation *op, llvm::function_ref<void(mlir::Operation *)> visit);

/// Sorts the ops topologically; of two ops without a dependence, the first in the present order
/// stays first. The ops must not depend on each other in a cycle. Ops with effects keep their
/// order.
void sortBlock(mlir::Block &block);

} // namespace tilewright::communicate

#endif // TILEWRIGHT_TRANSFORM_COMMUNICATE_SORTBLOCK_H
