// The exec dialect: the host's plan.
#ifndef TILEWRIGHT_DIALECT_EXEC_EXECDIALECT_H
#define TILEWRIGHT_DIALECT_EXEC_EXECDIALECT_H

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

#define GET_ATTRDEF_CLASSES
#include "tilewright/dialect/exec/ExecAttrs.h.inc"

#define GET_OP_CLASSES
#include "tilewright/dialect/exec/ExecOps.h.inc"

namespace tilewright::exec {

/// A word of the module's `exec.target`, as "kind" or "chip"; empty if it has none.
llvm::StringRef targetWord(mlir::ModuleOp module, llvm::StringRef key);

} // namespace tilewright::exec

#endif // TILEWRIGHT_DIALECT_EXEC_EXECDIALECT_H
