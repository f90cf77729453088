// Block-scaled products for chips whose matrix instructions apply the scales.
#ifndef TILEWRIGHT_TRANSFORM_FUSE_SCALEDPRODUCTS_H
#define TILEWRIGHT_TRANSFORM_FUSE_SCALEDPRODUCTS_H

#include "tilewright/dialect/exec/ScaledOps.h"

#include <optional>

namespace tilewright::fuse {

/// The types in which a tensor core multiplies the elements of both operands.
struct TensorTypes {
  mlir::Type lhs, rhs;
  exec::ScaledKind kind;
};

/// The types that represent all elements of both operands exactly; nullopt if the matrix unit of
/// the target of the operation's module does not multiply such elements with such scales. If the
/// other operand has 8-bit elements, narrower ones become e4m3.
std::optional<TensorTypes> tensorTypesOf(mlir::Operation *op, mlir::Type lhs, mlir::Type rhs,
                                         mlir::Type scale, int64_t block);

} // namespace tilewright::fuse

#endif // TILEWRIGHT_TRANSFORM_FUSE_SCALEDPRODUCTS_H
