// Includes that the generated op classes need.
#ifndef TILEWRIGHT_DIALECT_STABLEHLO_STABLEHLOOPBASE_H
#define TILEWRIGHT_DIALECT_STABLEHLO_STABLEHLOOPBASE_H

#include "tilewright/dialect/stablehlo/StablehloAttrs.h"
#include "tilewright/dialect/stablehlo/StablehloTraits.h"
#include "tilewright/dialect/stablehlo/StablehloTypes.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#endif // TILEWRIGHT_DIALECT_STABLEHLO_STABLEHLOOPBASE_H
