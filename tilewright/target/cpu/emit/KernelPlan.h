// Plans the loops of a kernel. Most tiles are evaluated where they are read; only some are stored.
#ifndef TILEWRIGHT_TARGET_CPU_EMIT_KERNELPLAN_H
#define TILEWRIGHT_TARGET_CPU_EMIT_KERNELPLAN_H

#include "tilewright/dialect/tile/TileDialect.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <functional>

namespace tilewright::cpu {

/// A result of a loop nest: an op whose tiles cannot be evaluated at a single index (tile.store,
/// reduce, scan, dot), or a value that is cheaper to store than to recompute or to gather.
struct Root {
  mlir::Operation *op = nullptr; // null: `kept`
  mlir::Value kept;
};

/// Roots that share one loop nest over `shape`.
struct LoopGroup {
  unsigned level = 0;
  llvm::SmallVector<int64_t> shape;
  llvm::SmallVector<int64_t> reduced; // dimensions of `shape` that are combined, ascending
  llvm::SmallVector<Root> roots;
};

/// The sizes that transposedLoad() transposes are multiples of this.
constexpr int64_t transposedBlock = 16;
/// If the tile is a loaded one whose contiguous dimension is no longer the last: the load. Such a
/// tile is transposed in registers and stored. To gather its elements is slower by far: where rows
/// are a power of two of bytes apart, the cache lines of a column evict each other before their
/// other elements are read.
tile::LoadOp transposedLoad(mlir::Value tile);

/// Visits the tiles that a root reads, with the index at which each is read: calls `leaf` for tiles
/// in memory and `inner` for computed tiles. `inner` returns whether to visit the operands too.
struct TileWalk {
  /// Whether a tile is in memory although an op computes it.
  std::function<bool(mlir::Value)> isKept;
  std::function<void(mlir::Value, mlir::AffineMap)> leaf;
  std::function<bool(mlir::Value, mlir::AffineMap)> inner;
  llvm::DenseSet<std::pair<mlir::Value, mlir::AffineMap>> seen;

  void visit(mlir::Value tile, mlir::AffineMap map, llvm::ArrayRef<int64_t> sizes);
};

/// The tiles that a root reads, each with the map from the root's loops to its index.
llvm::SmallVector<std::pair<mlir::Value, mlir::AffineMap>> readsOf(const Root &root);
/// The sizes of a root's loops, and the loops that it reduces.
llvm::SmallVector<int64_t> loopsOf(const Root &root);
llvm::SmallVector<int64_t> reducedOf(const Root &root);

/// Groups `roots` in dependence order. `isHome` returns whether a tile is already in memory.
llvm::SmallVector<LoopGroup> planGroups(llvm::ArrayRef<Root> roots,
                                        llvm::function_ref<bool(mlir::Value)> isHome);

} // namespace tilewright::cpu

#endif // TILEWRIGHT_TARGET_CPU_EMIT_KERNELPLAN_H
