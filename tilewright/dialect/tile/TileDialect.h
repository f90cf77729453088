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

namespace tilewright::tile {

/// Verifies the interface of a kernel in any dialect: the grid, and block arguments that are its
/// coordinates followed by memrefs, the first `inputs` of which are read-only; `updates` as in
/// tile.kernel.
mlir::LogicalResult verifyKernelFrame(mlir::Operation *kernel, mlir::Block &block,
                                      llvm::ArrayRef<int64_t> grid, uint64_t inputs,
                                      llvm::ArrayRef<int64_t> updates);

} // namespace tilewright::tile

#endif // TILEWRIGHT_DIALECT_TILE_TILEDIALECT_H
