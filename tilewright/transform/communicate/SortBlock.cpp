#include "tilewright/transform/communicate/SortBlock.h"

#include "tilewright/dialect/stablehlo/Collectives.h"
#include "tilewright/dialect/stablehlo/ops/CallOps.h"

#include "mlir/IR/Operation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseMap.h"

#include <queue>

using namespace mlir;

namespace tilewright::communicate {

bool hasEffects(Operation *op) {
  if (stablehlo::isCollective(op) || isa<stablehlo::CompositeOp>(op) ||
      op->hasTrait<OpTrait::IsTerminator>())
    return false;
  if (auto call = dyn_cast<stablehlo::CustomCallOp>(op))
    return call.getHasSideEffect();
  if (op->getNumRegions() == 0 || op->getName().getStringRef() == "stablehlo.custom_call")
    return !isMemoryEffectFree(op);
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (Operation &inner : block)
        if (hasEffects(&inner))
          return true;
  return false;
}

void forEachProducer(Operation *op, llvm::function_ref<void(Operation *)> visit) {
  Block *block = op->getBlock();
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (Operation *producer = operand.getDefiningOp();
          producer && producer != op && producer->getBlock() == block)
        visit(producer);
  });
}

void sortBlock(Block &block) {
  SmallVector<Operation *> ops;
  DenseMap<Operation *, unsigned> position;
  for (Operation &op : block.without_terminator()) {
    position[&op] = static_cast<unsigned>(ops.size());
    ops.push_back(&op);
  }
  std::vector<unsigned> waits(ops.size(), 0);
  std::vector<SmallVector<unsigned, 2>> followers(ops.size());
  unsigned lastEffect = ~0u;
  for (unsigned i = 0; i < ops.size(); ++i) {
    auto follow = [&](unsigned before) {
      followers[before].push_back(i);
      ++waits[i];
    };
    forEachProducer(ops[i], [&](Operation *producer) { follow(position[producer]); });
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
  Operation *terminator = block.getTerminator();
  while (!ready.empty()) {
    const unsigned next = ready.top();
    ready.pop();
    ops[next]->moveBefore(terminator);
    for (unsigned follower : followers[next])
      if (--waits[follower] == 0)
        ready.push(follower);
  }
}

} // namespace tilewright::communicate
