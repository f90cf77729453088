// Emits one tile.kernel as an LLVM function in the kernel ABI.
#ifndef TILEWRIGHT_TARGET_CPU_EMIT_KERNELEMITTER_H
#define TILEWRIGHT_TARGET_CPU_EMIT_KERNELEMITTER_H

#include "tilewright/target/cpu/emit/KernelPlan.h"
#include "tilewright/target/lanes/Lanes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilewright::cpu {

using lanes::LaneBuilder;
using lanes::Lanes;

/// `void symbol(void *const *buffers, int64_t begin, int64_t end, std::byte *scratch)`.
///
/// A tile is a function of its index and is evaluated inside the loops of its reader (LoopEmitter);
/// only tiles that KernelPlan selects are stored in scratch memory.
class KernelEmitter {
public:
  KernelEmitter(LaneBuilder &builder, tile::KernelOp kernel) : b(builder), kernel(kernel) {}

  llvm::Function *emit(llvm::StringRef symbol);

  /// Outputs for which aligned vectors are written by non-temporal stores.
  llvm::SmallDenseSet<mlir::Value> streamed;
  int64_t scratchBytes = 0;
  /// Estimated nanoseconds per work item.
  int64_t itemCost = 0;

private:
  friend class LoopEmitter;

  /// Where a stored tile is: in a row-major buffer or, if it has a single element, in a register.
  struct Home {
    Lanes element;
    llvm::Value *buffer = nullptr;
  };

  LaneBuilder &b;
  tile::KernelOp kernel;
  llvm::Function *function = nullptr;
  llvm::Value *scratch = nullptr;
  llvm::DenseMap<mlir::Value, Lanes> scalars; // index and element values, memrefs as pointers
  llvm::DenseMap<mlir::Value, Home> homes;
  llvm::SmallVector<Root> pending;
  /// Tiles whose home has only the row that the current loop computes.
  llvm::DenseSet<mlir::Value> rowTiles;
  double nanoseconds = 0, repeats = 1;
  bool hasStreamed = false; // whether there is a non-temporal store

  void emitPoints(llvm::Value *begin, llvm::Value *end);
  void emitBlock(mlir::Block &block);
  void emitScalar(mlir::Operation *op);
  void emitFor(mlir::scf::ForOp loop);
  void emitIf(mlir::scf::IfOp branch);
  void copyTile(mlir::Value tile, llvm::Value *buffer);
  void flush(bool isLast = false);
  /// Emits one loop over rows around all groups, so that intermediate rows stay in registers and
  /// the L1 cache. Returns false without emitting anything if the groups do not share rows.
  bool emitByRows(llvm::ArrayRef<LoopGroup> groups);
  /// Stores tiles in the homes `where`, or in new homes if `where` is empty.
  void keepTiles(llvm::ArrayRef<mlir::Value> tiles, llvm::ArrayRef<Home> where);
  Home newHome(mlir::Value tile);
  llvm::Value *newBuffer(int64_t bytes);
  llvm::Value *pointerTo(mlir::Value memref) { return scalars.lookup(memref).value; }
};

} // namespace tilewright::cpu

#endif // TILEWRIGHT_TARGET_CPU_EMIT_KERNELEMITTER_H
