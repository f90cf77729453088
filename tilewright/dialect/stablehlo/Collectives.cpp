#include "tilewright/dialect/stablehlo/Collectives.h"

#include "tilewright/dialect/stablehlo/ops/CallOps.h"
#include "tilewright/dialect/stablehlo/ops/CollectiveOps.h"

namespace tilewright::stablehlo {

bool isCollective(mlir::Operation *op) {
  return mlir::isa<AllGatherOp, AllReduceOp, AllToAllOp, CollectiveBroadcastOp, CollectivePermuteOp,
                   CollectiveReduceOp, CrossReplicaSumOp, ReduceScatterOp>(op) ||
         isRaggedAllToAll(op);
}

bool hasCollective(mlir::Operation *op) {
  return op
      ->walk([](mlir::Operation *inner) {
        return isCollective(inner) ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

bool isRaggedAllToAll(mlir::Operation *op) {
  auto call = mlir::dyn_cast<CustomCallOp>(op);
  return call && call.getCallTargetName() == "ragged_all_to_all";
}

mlir::DictionaryAttr raggedConfigOf(mlir::Operation *op) {
  if (auto config = op->getAttrOfType<mlir::DictionaryAttr>("mhlo.backend_config"))
    return config;
  return mlir::dyn_cast_if_present<mlir::DictionaryAttr>(
      mlir::cast<CustomCallOp>(op).getBackendConfigAttr());
}

} // namespace tilewright::stablehlo
