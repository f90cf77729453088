// Regions of arith, math and complex ops on scalars as ScalarFunctions.
#ifndef TILEWRIGHT_INTERPRET_TILESCALARS_H
#define TILEWRIGHT_INTERPRET_TILESCALARS_H

#include "tilewright/interpret/ScalarFunction.h"

#include "mlir/IR/Block.h"

namespace tilewright::interpret {

/// The element type that a signless scalar is held as: integers are signed, `index` is si64.
std::optional<ElementType> signlessTypeOf(mlir::Type type);

/// The body of a block from scalars to scalars, which ends in a terminator.
///  - interpretOp: an op or a type has no meaning here.
Result<ScalarFunction> scalarFunctionOf(mlir::Block &block);

/// One op from scalars to one scalar; its operands are the arguments.
Result<ScalarFunction> scalarFunctionOf(mlir::Operation &op);

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_TILESCALARS_H
