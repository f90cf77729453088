// Translates regions of scalar arith, math and complex ops to ScalarFunctions.
#ifndef TILEWRIGHT_INTERPRET_EVALUATE_TILESCALARS_H
#define TILEWRIGHT_INTERPRET_EVALUATE_TILESCALARS_H

#include "tilewright/interpret/ScalarFunction.h"

#include "mlir/IR/Block.h"

namespace tilewright::interpret {

/// The element type that represents a signless scalar: integers are signed, `index` is si64.
std::optional<ElementType> signlessTypeOf(mlir::Type type);

/// Translates a block from scalars to scalars, which must end in a terminator.
///  - interpretOp: an op or a type is not supported.
Result<ScalarFunction> scalarFunctionOf(mlir::Block &block);

/// Translates one op from scalars to one scalar; the op's operands become the arguments.
Result<ScalarFunction> scalarFunctionOf(mlir::Operation &op);

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_EVALUATE_TILESCALARS_H
