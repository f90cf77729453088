// Types of the dialect, and the questions that type constraints ask.
#ifndef TILEWRIGHT_DIALECT_STABLEHLO_STABLEHLOTYPES_H
#define TILEWRIGHT_DIALECT_STABLEHLO_STABLEHLOTYPES_H

#include "mlir/IR/BuiltinTypes.h"

#define GET_TYPEDEF_CLASSES
#include "tilewright/dialect/stablehlo/StablehloTypes.h.inc"

namespace tilewright::stablehlo {

/// One scale for the whole tensor, of a storage type the language allows.
bool isPerTensorQuantized(mlir::Type elementType);

/// One scale per slice of a dimension, of a storage type the language allows.
bool isPerAxisQuantized(mlir::Type elementType);

/// The element type is not per-axis quantized, or its axis exists and has one
/// scale per slice.
bool hasValidQuantizedAxis(mlir::Type tensorType);

/// Every dimension is static or has an upper bound.
bool hasStaticOrBoundedShape(mlir::Type tensorType);

/// The upper bounds that `type` carries, one per dimension with kDynamic for
/// none; empty if it carries no bounds at all.
llvm::ArrayRef<int64_t> getBounds(mlir::RankedTensorType type);

/// Equal up to scales and zero points: `baseline_element_type` is the same.
bool haveSameBaseline(mlir::Type lhsElement, mlir::Type rhsElement);

} // namespace tilewright::stablehlo

#endif // TILEWRIGHT_DIALECT_STABLEHLO_STABLEHLOTYPES_H
