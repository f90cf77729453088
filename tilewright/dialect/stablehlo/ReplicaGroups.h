// Checks of who talks to whom: replica groups and source-target pairs.
#ifndef TILEWRIGHT_DIALECT_STABLEHLO_REPLICAGROUPS_H
#define TILEWRIGHT_DIALECT_STABLEHLO_REPLICAGROUPS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

#include <optional>

namespace tilewright::stablehlo {

/// What an op asks of its replica groups beyond different ids.
enum class GroupRules {
  any,             ///< some processes may be in no group; groups may be padded with -1
  complete,        ///< ids are 0 to n-1 in some order; groups may be padded with -1
  equalAndComplete ///< as complete, and all groups have one size
};

/// Checks `groups`, rows of process ids or axes of a mesh, and gives the size
/// of the groups where it is known: not for a mesh named by symbol, for no
/// groups at all (which stands for one of all processes), or with padding.
mlir::FailureOr<std::optional<int64_t>>
verifyReplicaGroups(mlir::Operation *op, mlir::Attribute groups, GroupRules rules);

/// Checks rows of a source and a target: no process sends or receives twice.
mlir::LogicalResult verifySourceTargetPairs(mlir::Operation *op, mlir::DenseIntElementsAttr pairs);

} // namespace tilewright::stablehlo

#endif // TILEWRIGHT_DIALECT_STABLEHLO_REPLICAGROUPS_H
