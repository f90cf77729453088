// One tile.kernel as one LLVM function in the kernel ABI.
#ifndef TILEWRIGHT_TARGET_CPU_EMIT_KERNELEMITTER_H
#define TILEWRIGHT_TARGET_CPU_EMIT_KERNELEMITTER_H

#include "tilewright/target/cpu/emit/KernelPlan.h"
#include "tilewright/target/elements/Lanes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilewright::cpu {

using lanes::LaneBuilder;
using lanes::Lanes;

/// `void symbol(void *const *buffers, int64_t begin, int64_t end, std::byte *scratch)`.
///
/// A tile is a function of its index and is evaluated inside the loops of whoever reads it
/// (LoopEmitter); only what KernelPlan says is kept in scratch memory.
class KernelEmitter {
public:
  KernelEmitter(LaneBuilder &builder, tile::KernelOp kernel) : b(builder), kernel(kernel) {}

  llvm::Function *emit(llvm::StringRef symbol);

  int64_t scratchBytes = 0;
  /// Estimated nanoseconds for one work item.
  int64_t itemCost = 0;

private:
  friend class LoopEmitter;

  /// Where a tile is that was computed before: a buffer, row-major, or, for a single element,
  /// a register.
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
  /// Tiles of which a home holds one row only, that of the loop being emitted.
  llvm::DenseSet<mlir::Value> rowTiles;
  double nanoseconds = 0, repeats = 1;

  void emitPoints(llvm::Value *begin, llvm::Value *end);
  void emitBlock(mlir::Block &block);
  void emitScalar(mlir::Operation *op);
  void emitFor(mlir::scf::ForOp loop);
  void emitIf(mlir::scf::IfOp branch);
  void copyTile(mlir::Value tile, llvm::Value *buffer);
  void flush(bool isLast = false);
  /// Runs groups row by row, so that what one leaves for the next stays in registers and in the
  /// first cache. False if they do not share rows.
  bool emitByRows(llvm::ArrayRef<LoopGroup> groups);
  /// Puts tiles into new homes, or into the given ones.
  void keepTiles(llvm::ArrayRef<mlir::Value> tiles, llvm::ArrayRef<Home> where);
  Home newHome(mlir::Value tile);
  llvm::Value *newBuffer(int64_t bytes);
  llvm::Value *pointerTo(mlir::Value memref) { return scalars.lookup(memref).value; }
};

} // namespace tilewright::cpu

#endif // TILEWRIGHT_TARGET_CPU_EMIT_KERNELEMITTER_H
