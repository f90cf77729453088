// The scalar semantics of StableHLO ops, expressed in arith, math and complex.
#ifndef TILEWRIGHT_DIALECT_ELEMENTS_SCALARSEMANTICS_H
#define TILEWRIGHT_DIALECT_ELEMENTS_SCALARSEMANTICS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace tilewright::elements {

/// The scalar type that represents a StableHLO element type in arith and complex: integers become
/// signless, other types are unchanged. Null for types without a scalar (quantized types, tokens).
mlir::Type scalarType(mlir::Type elementType);

/// Whether `op` computes each element of its single result from the elements of its operands at the
/// same index, and emitElement() can emit it.
bool canExpress(mlir::Operation *op);

/// Emits the computation of one element of `op` from its operands' elements `operands`, whose types
/// must be those that scalarType() returns. Emits extra ops where StableHLO defines a result that
/// the upstream op leaves undefined or defines differently: division by zero, shifts by the width
/// or more, saturating conversions, NaNs in maximum, unsigned integers. Floats narrower than f32
/// are widened to f32 and rounded back in each op. Returns null if canExpress() is false.
mlir::Value emitElement(mlir::OpBuilder &builder, mlir::Operation *op, mlir::ValueRange operands);

/// Like emitElement(), for a whole scalar region (the body of a reduce, sort, scatter, …); returns
/// the operands of its terminator. Fails, having emitted at most dead code, if an op cannot be
/// expressed or uses a value from outside the region.
mlir::FailureOr<llvm::SmallVector<mlir::Value>>
emitRegion(mlir::OpBuilder &builder, mlir::Region &region, mlir::ValueRange arguments);

/// Emits the conversion of one element with the semantics of stablehlo.convert. Integer types may
/// have a signedness (ui8).
mlir::Value emitConversion(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type from,
                           mlir::Type to, mlir::Value value);

/// Emits the element of a scalar or splat constant as an op of arith or complex; returns null for
/// other constants.
mlir::Value emitConstant(mlir::OpBuilder &builder, mlir::Location loc, mlir::ElementsAttr value);

/// Adds to `module` a private scalar function that is equivalent to `region`:
///
///   stablehlo.reduce … { ^bb0(%a: tensor<f32>, %b: tensor<f32>): … add … }
///   -> func.func private @name(%a: f32, %b: f32) -> f32 { arith.addf … }
///
/// Fails, leaving the module unchanged, if emitRegion() fails.
mlir::FailureOr<mlir::func::FuncOp> buildScalarFunction(mlir::Region &region, llvm::StringRef name,
                                                        mlir::ModuleOp module);

} // namespace tilewright::elements

#endif // TILEWRIGHT_DIALECT_ELEMENTS_SCALARSEMANTICS_H
