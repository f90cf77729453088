// StepCost: how long a step takes, for the order of steps.
#ifndef TILEWRIGHT_TRANSFORM_SCHEDULE_STEPCOST_H
#define TILEWRIGHT_TRANSFORM_SCHEDULE_STEPCOST_H

#include "tilewright/predict/Price.h"
#include "tilewright/transform/CollectivePrice.h"

#include "mlir/IR/Operation.h"

namespace tilewright::schedule {

/// Predicts times from the bytes that a step moves and the multiplications of products: at typical
/// rates of the target, good to a factor of a few, or at the prices of a cluster.
class StepCost {
public:
  explicit StepCost(exec::TargetAttr target, std::optional<predict::Cluster> cluster = {});

  /// The time of a launch, library call, copy or control flow in nanoseconds. A loop counts all its
  /// iterations, or a few if their number is unknown; a branch counts as its longest arm. The start
  /// of a collective counts as the whole collective.
  double of(mlir::Operation *op) const;
  /// See OrderProblem::separation.
  double separation() const { return wake; }

private:
  double ofBlock(mlir::Block &block) const;
  double onCluster(mlir::Operation *op, double bytes) const;

  const std::optional<predict::Cluster> cluster;
  transform::Link link;
  double flopsPerNano, bytesPerNano, launch, wake;
};

} // namespace tilewright::schedule

#endif // TILEWRIGHT_TRANSFORM_SCHEDULE_STEPCOST_H
