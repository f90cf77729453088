// Loads, stores, gathers and scatters of tiles.
#ifndef TILEWRIGHT_TARGET_GPU_MEMORY_H
#define TILEWRIGHT_TARGET_GPU_MEMORY_H

#include "tilewright/dialect/tile/SortOps.h"
#include "tilewright/target/gpu/OpGroup.h"
#include "tilewright/target/gpu/thread/TransposedRead.h"

#include <map>

namespace tilewright::gpu {

/// Moves tiles between memory and registers.
class MemoryLowering : public OpGroup {
public:
  explicit MemoryLowering(KernelLowering &all) : OpGroup(all) {}

  void load(tile::LoadOp load);
  void store(tile::StoreOp store);
  void gather(tile::GatherOp gather);
  void scatter(tile::ScatterOp scatter);
  void update(tile::UpdateOp update);

  Tile loadTile(const ThreadLayout &threads, const StridedView &view, llvm::ArrayRef<int64_t> shape,
                Lanes outside);
  /// Loads a tile from shared memory with reads that transpose.
  Tile loadTransposed(const ThreadLayout &threads, const StridedView &view,
                      const TransposedRead &read);
  void storeTile(const Tile &tile, const ThreadLayout &threads, const StridedView &view,
                 llvm::ArrayRef<int64_t> shape);
  /// The view of a tile at `offsets` of a window's parts, without a base.
  StridedView partView(Value window, mlir::ValueRange offsets);
  Value addressOf(const ThreadLayout &threads, const StridedView &view, int64_t constant);
  /// Forgets the offsets of threads, because a role changes the thread id.
  void forgetThread() { threadOffsets.clear(); }

private:
  /// The view of a tile at `offsets` of a tensor or, unless `origin` is empty, of the part of the
  /// tensor that begins there. Checks offsets against `bounds`, except where `inBounds` says that
  /// they are inside.
  StridedView viewOf(Value whole, mlir::ValueRange offsets, mlir::ValueRange origin,
                     llvm::ArrayRef<int64_t> bounds, std::optional<llvm::ArrayRef<int64_t>> strides,
                     std::optional<llvm::ArrayRef<bool>> inBounds);
  /// Calls `visit` with each register of a tile that this thread writes to `whole`, its address
  /// there, and the condition (or null) under which its index is inside.
  void forEachPlace(mlir::RankedTensorType type, Value whole, mlir::ValueRange indices,
                    llvm::function_ref<void(unsigned reg, Value address, Value isOn)> visit);

  std::map<std::pair<const ThreadLayout *, std::vector<int64_t>>, Value> threadOffsets;
};

} // namespace tilewright::gpu

#endif // TILEWRIGHT_TARGET_GPU_MEMORY_H
