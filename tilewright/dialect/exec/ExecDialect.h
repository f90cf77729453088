// The exec dialect: the host's plan.
#ifndef TILEWRIGHT_DIALECT_EXEC_EXECDIALECT_H
#define TILEWRIGHT_DIALECT_EXEC_EXECDIALECT_H

#include "tilewright/numerics/Collective.h"
#include "tilewright/numerics/LibraryEnums.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Attributes.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "tilewright/dialect/exec/ExecDialect.h.inc"
#include "tilewright/dialect/exec/ExecEnums.h"

#define GET_ATTRDEF_CLASSES
#include "tilewright/dialect/exec/ExecAttrs.h.inc"

#define GET_OP_CLASSES
#include "tilewright/dialect/exec/ExecOps.h.inc"

namespace tilewright::exec {

/// The target of the module that contains `op`; for a module without a target, a CPU with the
/// defaults of ExecTarget.td.
TargetAttr targetOf(mlir::Operation *op);

/// Writes `exec.target`.
void setTarget(mlir::ModuleOp module, TargetAttr target);

} // namespace tilewright::exec

#endif // TILEWRIGHT_DIALECT_EXEC_EXECDIALECT_H
