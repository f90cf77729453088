#include "tilewright/dialect/stablehlo/Collectives.h"

#include "tilewright/dialect/stablehlo/ops/CollectiveOps.h"

namespace tilewright::stablehlo {

bool isCollective(mlir::Operation *op) {
  return mlir::isa<AllGatherOp, AllReduceOp, AllToAllOp, CollectiveBroadcastOp, CollectivePermuteOp,
                   CollectiveReduceOp, CrossReplicaSumOp, ReduceScatterOp>(op);
}

} // namespace tilewright::stablehlo
