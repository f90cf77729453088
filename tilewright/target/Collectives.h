// Collectives as steps of the plan, for every target.
#ifndef TILEWRIGHT_TARGET_COLLECTIVES_H
#define TILEWRIGHT_TARGET_COLLECTIVES_H

#include "tilewright/numerics/Collective.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

#include <string>

namespace tilewright::target {

/// How a collective combines two elements: `none` if it moves data only, `function` if no name of
/// ReductionKind describes its region.
numerics::ReductionKind reductionOf(mlir::Operation *collective);

/// Replaces the collective with an `exec.collective_start` and an `exec.collective_done`, which
/// name ranks instead of replicas and partitions. `id` is unique in the module; `bodies` is the
/// function of a reduction that is a `function`. Returns an empty string, or the reason why that is
/// impossible, worded to follow the op's name in a message.
std::string lowerCollective(mlir::Operation *collective, int64_t id,
                            mlir::ArrayAttr bodies = mlir::ArrayAttr());

} // namespace tilewright::target

#endif // TILEWRIGHT_TARGET_COLLECTIVES_H
