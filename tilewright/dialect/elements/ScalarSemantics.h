// What an element of a StableHLO result is: the op's meaning for scalars, written
// out in arith, math and complex.
#ifndef TILEWRIGHT_DIALECT_ELEMENTS_SCALARSEMANTICS_H
#define TILEWRIGHT_DIALECT_ELEMENTS_SCALARSEMANTICS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace tilewright::elements {

/// The type of an element below StableHLO: integers lose their sign, everything
/// else stays. Null for what has no scalar (quantized types, tokens).
mlir::Type scalarType(mlir::Type elementType);

/// Whether `op` computes each element of its one result from the elements of its
/// operands at the same index, and emitElement() can say how.
bool canExpress(mlir::Operation *op);

/// Emits the computation of one element of `op`, whose operands' elements are
/// `operands`, with types as scalarType() gives them. What StableHLO says beyond the
/// upstream ops is written out: division by zero, shifts by the width, saturating
/// conversion, NaNs in maximum, the sign of integers. Types narrower than f32 are
/// widened to f32, computed and rounded, op by op.
/// Null if canExpress() is false.
mlir::Value emitElement(mlir::OpBuilder &builder, mlir::Operation *op, mlir::ValueRange operands);

/// The same for a whole region over scalars (the body of a reduce, sort, scatter, …):
/// gives the values that its terminator returns. Fails, having emitted at most dead
/// code, if some op is not expressible or a value comes from outside the region.
mlir::FailureOr<llvm::SmallVector<mlir::Value>>
emitRegion(mlir::OpBuilder &builder, mlir::Region &region, mlir::ValueRange arguments);

/// Emits the conversion of one element between types that may have signs, as
/// stablehlo.convert does it.
mlir::Value emitConversion(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type from,
                           mlir::Type to, mlir::Value value);

/// The element of a scalar or splat constant, as an op of arith or complex; null
/// if the constant is neither.
mlir::Value emitConstant(mlir::OpBuilder &builder, mlir::Location loc, mlir::ElementsAttr value);

/// Adds to `module` a private function of scalars that does what `region` does:
///
///   stablehlo.reduce … { ^bb0(%a: tensor<f32>, %b: tensor<f32>): … add … }
///   -> func.func private @name(%a: f32, %b: f32) -> f32 { arith.addf … }
///
/// Fails, leaving the module as it was, where emitRegion() does.
mlir::FailureOr<mlir::func::FuncOp> buildScalarFunction(mlir::Region &region, llvm::StringRef name,
                                                        mlir::ModuleOp module);

} // namespace tilewright::elements

#endif // TILEWRIGHT_DIALECT_ELEMENTS_SCALARSEMANTICS_H
