// The tile dialect: one kernel as a program over tiles.
#ifndef TILEWRIGHT_DIALECT_TILE_TILEDIALECT_H
#define TILEWRIGHT_DIALECT_TILE_TILEDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Attributes.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "tilewright/dialect/tile/TileDialect.h.inc"

#define GET_OP_CLASSES
#include "tilewright/dialect/tile/TileOps.h.inc"

#endif // TILEWRIGHT_DIALECT_TILE_TILEDIALECT_H
