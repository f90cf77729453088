// Collective: the properties in which two collectives must agree to be merged, and their cost.
#ifndef TILEWRIGHT_TRANSFORM_COMMUNICATE_COLLECTIVE_H
#define TILEWRIGHT_TRANSFORM_COMMUNICATE_COLLECTIVE_H

#include "tilewright/numerics/Collective.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

#include <compare>
#include <optional>
#include <string>

namespace tilewright::communicate {

/// The function that a collective computes, apart from the shapes of its operands. Two collectives
/// with equal keys compute the same function.
struct CollectiveKey {
  mlir::OperationName name;
  mlir::Attribute groups; // replica_groups or source_target_pairs
  /// How the groups number processes: by the channel, and by use_global_device_ids.
  bool hasChannel = false, isGlobal = false;
  mlir::Attribute dimensions;  // the other attributes of the op
  mlir::Attribute annotations; // the user's, such as mhlo.frontend_attributes
  mlir::Type element;
  std::string reduction; // "stablehlo.add"; empty if nothing is reduced
  bool operator==(const CollectiveKey &) const = default;
};

/// The key of an all_reduce, all_gather, reduce_scatter, all_to_all or collective_permute; nullopt
/// for other collectives, for reductions that are not a single op, and if operands and results do
/// not all have the same element type.
std::optional<CollectiveKey> keyOf(mlir::Operation *op);

/// The kind of an all_reduce, all_gather, reduce_scatter, all_to_all or collective_permute; nullopt
/// for other ops.
std::optional<numerics::CollectiveKind> kindOf(mlir::Operation *op);

/// The replica groups of such a collective, or the pairs of a permute; null if they are not a
/// matrix of constants.
mlir::DenseIntElementsAttr groupsOf(mlir::Operation *op);

/// The op that combines two elements if `region` is (x, y) -> op(x, y); null otherwise.
mlir::Operation *combinerOf(mlir::Region &region);

/// Clones a collective with other operands and result types at the builder's insertion point.
mlir::Operation *cloneWith(mlir::OpBuilder &builder, mlir::Operation *op, mlir::ValueRange operands,
                           mlir::TypeRange types);

/// The bytes of an op's operands; 0 for dynamic shapes.
int64_t operandBytes(mlir::Operation *op);

/// The size of the op's groups; 1 if they are not valid.
int64_t ranksOf(mlir::Operation *op);

} // namespace tilewright::communicate

#endif // TILEWRIGHT_TRANSFORM_COMMUNICATE_COLLECTIVE_H
