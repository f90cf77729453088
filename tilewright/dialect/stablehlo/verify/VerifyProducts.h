// Rules that dot_general, dot and convolutions share.
#ifndef TILEWRIGHT_DIALECT_STABLEHLO_VERIFY_VERIFYPRODUCTS_H
#define TILEWRIGHT_DIALECT_STABLEHLO_VERIFY_VERIFYPRODUCTS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

namespace tilewright::stablehlo {

/// Checks the element types of a product of `lhs` and `rhs`: numbers of the same kind, or all
/// quantized, or a float `lhs` with a quantized `rhs`.
mlir::LogicalResult verifyProductElements(mlir::Operation *op, mlir::Type lhs, mlir::Type rhs,
                                          mlir::Type result);

/// Checks that `precision`, if present, has one entry per operand or none.
mlir::LogicalResult verifyPrecisionConfig(mlir::Operation *op, mlir::ArrayAttr precision);

} // namespace tilewright::stablehlo

#endif // TILEWRIGHT_DIALECT_STABLEHLO_VERIFY_VERIFYPRODUCTS_H
