// The lane dialect: scalar code of one thread, between `sm` and LLVM IR.
#ifndef TILEWRIGHT_DIALECT_LANE_LANEDIALECT_H
#define TILEWRIGHT_DIALECT_LANE_LANEDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "tilewright/dialect/lane/LaneDialect.h.inc"

#define GET_OP_CLASSES
#include "tilewright/dialect/lane/LaneOps.h.inc"

namespace tilewright::lane {

/// The type of one part of an element in registers: f32 for bf16, i64 for index.
mlir::Type registerType(mlir::Type element);

/// The number of registers that an element takes: two for a complex number.
inline unsigned registersOf(mlir::Type element) {
  return mlir::isa<mlir::ComplexType>(element) ? 2 : 1;
}

/// The name of the attribute for instructions that are convergent (see the dialect).
inline constexpr llvm::StringLiteral convergentAttr = "lane.convergent";

} // namespace tilewright::lane

#endif // TILEWRIGHT_DIALECT_LANE_LANEDIALECT_H
