// Checks of communication patterns: replica groups and source-target pairs.
#ifndef TILEWRIGHT_DIALECT_STABLEHLO_REPLICAGROUPS_H
#define TILEWRIGHT_DIALECT_STABLEHLO_REPLICAGROUPS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

#include <optional>

namespace tilewright::stablehlo {

/// The requirements of an op on its replica groups, besides distinct ids.
enum class GroupRules {
  any,             ///< some processes may be in no group; groups may be padded with -1
  complete,        ///< ids are 0 to n-1 in some order; groups may be padded with -1
  equalAndComplete ///< as complete, and all groups have the same size
};

/// Checks `groups`, rows of process ids or axes of a mesh, and returns the size of the groups if it
/// is known. It is unknown if a symbol names the mesh, if there are no groups (which means one
/// group of all processes), or if groups are padded.
mlir::FailureOr<std::optional<int64_t>>
verifyReplicaGroups(mlir::Operation *op, mlir::Attribute groups, GroupRules rules);

/// Checks source-target pairs: no process may send twice or receive twice.
mlir::LogicalResult verifySourceTargetPairs(mlir::Operation *op, mlir::DenseIntElementsAttr pairs);

} // namespace tilewright::stablehlo

#endif // TILEWRIGHT_DIALECT_STABLEHLO_REPLICAGROUPS_H
