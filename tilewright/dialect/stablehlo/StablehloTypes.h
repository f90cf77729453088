// Types of the dialect, and the predicates of type constraints.
#ifndef TILEWRIGHT_DIALECT_STABLEHLO_STABLEHLOTYPES_H
#define TILEWRIGHT_DIALECT_STABLEHLO_STABLEHLOTYPES_H

#include "mlir/IR/BuiltinTypes.h"

#define GET_TYPEDEF_CLASSES
#include "tilewright/dialect/stablehlo/StablehloTypes.h.inc"

namespace tilewright::stablehlo {

/// Whether the type is quantized with one scale for the whole tensor, and StableHLO allows its
/// storage type.
bool isPerTensorQuantized(mlir::Type elementType);

/// Whether the type is quantized with one scale per slice of a dimension, and StableHLO allows its
/// storage type.
bool isPerAxisQuantized(mlir::Type elementType);

/// Whether the element type is not per-axis quantized, or its axis exists and has one scale per
/// slice.
bool hasValidQuantizedAxis(mlir::Type tensorType);

/// Whether every dimension is static or has an upper bound.
bool hasStaticOrBoundedShape(mlir::Type tensorType);

/// The upper bound of each dimension of `type`, kDynamic for a dimension without one; empty if no
/// dimension has one.
llvm::ArrayRef<int64_t> getBounds(mlir::RankedTensorType type);

/// Whether the types are equal up to scales and zero points: their `baseline_element_type` is the
/// same.
bool haveSameBaseline(mlir::Type lhsElement, mlir::Type rhsElement);

} // namespace tilewright::stablehlo

#endif // TILEWRIGHT_DIALECT_STABLEHLO_STABLEHLOTYPES_H
