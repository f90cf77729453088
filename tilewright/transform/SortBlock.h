// Puts the ops of a block into an order that respects all dependences.
#ifndef TILEWRIGHT_TRANSFORM_SORTBLOCK_H
#define TILEWRIGHT_TRANSFORM_SORTBLOCK_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <queue>
#include <vector>

namespace tilewright::transform {

/// Calls `visit` for each op of the same block that computes a value that `op`, including its
/// regions, reads.
inline void forEachProducer(mlir::Operation *op,
                            llvm::function_ref<void(mlir::Operation *)> visit) {
  mlir::Block *block = op->getBlock();
  op->walk([&](mlir::Operation *inner) {
    for (mlir::Value operand : inner->getOperands())
      if (mlir::Operation *producer = operand.getDefiningOp();
          producer && producer != op && producer->getBlock() == block)
        visit(producer);
  });
}

/// Sorts the ops topologically; of two ops without a dependence, the first in the present order
/// stays first. The ops must not depend on each other in a cycle. Ops for which `hasEffects` holds
/// keep their order.
inline void sortBlock(mlir::Block &block, llvm::function_ref<bool(mlir::Operation *)> hasEffects) {
  llvm::SmallVector<mlir::Operation *> ops;
  llvm::DenseMap<mlir::Operation *, unsigned> position;
  for (mlir::Operation &op : block.without_terminator()) {
    position[&op] = static_cast<unsigned>(ops.size());
    ops.push_back(&op);
  }
  std::vector<unsigned> waits(ops.size(), 0);
  std::vector<llvm::SmallVector<unsigned, 2>> followers(ops.size());
  unsigned lastEffect = ~0u;
  for (unsigned i = 0; i < ops.size(); ++i) {
    auto follow = [&](unsigned before) {
      followers[before].push_back(i);
      ++waits[i];
    };
    forEachProducer(ops[i], [&](mlir::Operation *producer) { follow(position[producer]); });
    if (hasEffects(ops[i])) {
      if (lastEffect != ~0u)
        follow(lastEffect);
      lastEffect = i;
    }
  }
  std::priority_queue<unsigned, std::vector<unsigned>, std::greater<>> ready;
  for (unsigned i = 0; i < ops.size(); ++i)
    if (waits[i] == 0)
      ready.push(i);
  mlir::Operation *terminator = block.getTerminator();
  while (!ready.empty()) {
    const unsigned next = ready.top();
    ready.pop();
    ops[next]->moveBefore(terminator);
    for (unsigned follower : followers[next])
      if (--waits[follower] == 0)
        ready.push(follower);
  }
}

} // namespace tilewright::transform

#endif // TILEWRIGHT_TRANSFORM_SORTBLOCK_H
