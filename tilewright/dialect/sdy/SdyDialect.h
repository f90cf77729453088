// The `sdy` dialect (Shardy): meshes, shardings, and manual computations.
//
// To build attributes from untrusted data, call `getChecked`; `get` asserts that its arguments are
// valid.
#ifndef TILEWRIGHT_DIALECT_SDY_SDYDIALECT_H
#define TILEWRIGHT_DIALECT_SDY_SDYDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Attributes.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <optional>

#include "tilewright/dialect/sdy/SdyDialect.h.inc"
#include "tilewright/dialect/sdy/SdyEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "tilewright/dialect/sdy/SdyAttrs.h.inc"

#define GET_OP_CLASSES
#include "tilewright/dialect/sdy/SdyOps.h.inc"

#endif // TILEWRIGHT_DIALECT_SDY_SDYDIALECT_H
