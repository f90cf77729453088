// BlockProblem: the ops of a block as steps to be ordered.
#ifndef TILEWRIGHT_TRANSFORM_SCHEDULE_BLOCKPROBLEM_H
#define TILEWRIGHT_TRANSFORM_SCHEDULE_BLOCKPROBLEM_H

#include "tilewright/predict/Order.h"
#include "tilewright/transform/schedule/StepCost.h"

#include "llvm/ADT/DenseMap.h"

namespace tilewright::schedule {

using predict::OrderProblem;
using predict::OrderStep;

bool hasCollective(mlir::Operation *op);

/// Describes the ops of one block as an OrderProblem.
class BlockProblem {
public:
  BlockProblem(mlir::Block &block, const StepCost &cost);
  const OrderProblem &get() const { return problem; }
  mlir::Operation *op(unsigned i) const { return ops[i]; }

private:
  void add(unsigned i);
  void keepInPlace(unsigned i);

  const StepCost &cost;
  OrderProblem problem;
  std::vector<mlir::Operation *> ops;
  llvm::DenseMap<mlir::Operation *, unsigned> number;
  llvm::DenseMap<mlir::Value, unsigned> buffers;                       // by root, of this block
  llvm::DenseMap<mlir::Value, llvm::SmallVector<unsigned, 2>> readers; // by root
  llvm::DenseMap<mlir::Attribute, unsigned> lanes;                     // by the groups of ranks
  llvm::DenseMap<int64_t, unsigned> startOf;                           // by id
  unsigned lastEffect = ~0u;
};

} // namespace tilewright::schedule

#endif // TILEWRIGHT_TRANSFORM_SCHEDULE_BLOCKPROBLEM_H
