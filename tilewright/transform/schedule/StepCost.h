// StepCost: estimates how long a step takes, to order the steps.
#ifndef TILEWRIGHT_TRANSFORM_SCHEDULE_STEPCOST_H
#define TILEWRIGHT_TRANSFORM_SCHEDULE_STEPCOST_H

#include "tilewright/transform/Prices.h"

#include "mlir/IR/Operation.h"

namespace tilewright::schedule {

/// Predicts times from the bytes that a step moves and the multiplications of products.
class StepCost {
public:
  explicit StepCost(transform::Prices prices) : prices(std::move(prices)) {}

  /// The time of a launch, library call, copy or control flow in nanoseconds. A loop counts all its
  /// iterations, or a few if their number is unknown; a branch counts as its longest arm. The start
  /// of a collective counts as the whole collective.
  double of(mlir::Operation *op) const;
  /// See OrderProblem::separation.
  double separation() const { return prices.separation(); }

private:
  double ofBlock(mlir::Block &block) const;
  double ofKernel(mlir::Operation *op, double bytes) const;

  const transform::Prices prices;
};

} // namespace tilewright::schedule

#endif // TILEWRIGHT_TRANSFORM_SCHEDULE_STEPCOST_H
