// communicationPlanOf(): the collectives of a scheduled module, for all of its ranks.
#ifndef TILEWRIGHT_DRIVER_COMMUNICATIONPLAN_H
#define TILEWRIGHT_DRIVER_COMMUNICATIONPLAN_H

#include "tilewright/plan/CommPlan.h"

#include "mlir/IR/BuiltinOps.h"

namespace tilewright::driver {

/// The plan of @main, over the mesh that distribute left on the module. Its sites are in the order
/// in which emitExecutable() numbers collectives, and a site's `collectiveId` is that number.
Result<collective::CommPlan> communicationPlanOf(mlir::ModuleOp module);

/// Proves that the ranks cannot deadlock.
///  - E6015 to E6018: the ranks could deadlock; the message names them and the collectives.
///  - commUnproven (E6019): the plan is too large to verify.
Status proveCommunication(const collective::CommPlan &plan);

} // namespace tilewright::driver

#endif // TILEWRIGHT_DRIVER_COMMUNICATIONPLAN_H
