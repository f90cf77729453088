// communicationPlanOf(): the collectives of a scheduled module, for all of its ranks.
#ifndef TILEWRIGHT_DRIVER_COMMUNICATIONPLAN_H
#define TILEWRIGHT_DRIVER_COMMUNICATIONPLAN_H

#include "tilewright/collective/plan/CommPlan.h"

#include "mlir/IR/BuiltinOps.h"

namespace tilewright::driver {

/// The plan of @main, over the mesh that distribute left on the module. Its sites are in the order
/// in which emitExecutable() numbers collectives, and their meeting is that number.
Result<collective::CommPlan> communicationPlanOf(mlir::ModuleOp module);

/// - E6015 to E6018: the ranks could wait for each other for ever; says who, where and when.
/// - commUnproven (E6019)
Status proveCommunication(const collective::CommPlan &plan);

} // namespace tilewright::driver

#endif // TILEWRIGHT_DRIVER_COMMUNICATIONPLAN_H
