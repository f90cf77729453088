// Windows: memory of several devices that a kernel accesses, and the ops by which the devices'
// kernels wait for each other. In a header of their own, because few files need them.
#ifndef TILEWRIGHT_DIALECT_TILE_WINDOWOPS_H
#define TILEWRIGHT_DIALECT_TILE_WINDOWOPS_H

#include "tilewright/dialect/tile/TileDialect.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"

#define GET_OP_CLASSES
#include "tilewright/dialect/tile/WindowOps.h.inc"

namespace tilewright::tile {

/// The memory space of windows. A window is a kernel's memref whose first dimension is the rank:
/// each rank has one part of it, at an address of its own. Loads and stores access one part.
mlir::StringAttr windowSpace(mlir::MLIRContext *context);
/// The memory space of windows on NVSHMEM's symmetric heap. Peers may be on other nodes, so a
/// kernel loads and stores only its own rank's part, and sends to others by `tile.put`.
mlir::StringAttr heapSpace(mlir::MLIRContext *context);
/// Whether it is a window, on the heap or not.
bool isWindow(mlir::Type type);
bool isOnHeap(mlir::Type type);

/// The number of words that the signals take in one part, for a kernel with this many points and
/// `flags` flags.
inline constexpr int64_t wordsOfSignals(int64_t ranks, int64_t points) {
  return points * 2 * ranks;
}
inline constexpr int64_t wordsOfFlags(int64_t flags, int64_t points) {
  return flags * (1 + points);
}

/// The rules of a load or a store of a window: one part at a time.
mlir::LogicalResult verifyWindowAccess(mlir::Operation *op, mlir::MemRefType window,
                                       mlir::RankedTensorType tile,
                                       std::optional<llvm::ArrayRef<bool>> inBounds);
/// The rules of a kernel's window: its shape, and the ops that use it.
mlir::LogicalResult verifyWindow(mlir::Operation *kernel, mlir::BlockArgument window);

} // namespace tilewright::tile

#endif // TILEWRIGHT_DIALECT_TILE_WINDOWOPS_H
