// The bits of elements of at most a byte, as StableHLO ops.
#ifndef TILEWRIGHT_DIALECT_STABLEHLO_ELEMENTBITS_H
#define TILEWRIGHT_DIALECT_STABLEHLO_ELEMENTBITS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace tilewright::stablehlo {

/// The bits of the elements of `value`, which are integers or floats of at most 8 bits, in the low
/// bits of ui8. Uses only elementwise ops, so that they can be fused with any kernel.
mlir::Value bitsOfElements(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value);

/// The elements whose bits are the low bits of `bits`, a tensor of ui8. Its high bits must be zero.
mlir::Value elementsOfBits(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value bits,
                           mlir::Type element);

} // namespace tilewright::stablehlo

#endif // TILEWRIGHT_DIALECT_STABLEHLO_ELEMENTBITS_H
