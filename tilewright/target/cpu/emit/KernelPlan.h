// Which loops a kernel needs: tiles are functions of their index, and only some are kept.
#ifndef TILEWRIGHT_TARGET_CPU_EMIT_KERNELPLAN_H
#define TILEWRIGHT_TARGET_CPU_EMIT_KERNELPLAN_H

#include "tilewright/dialect/tile/TileDialect.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <functional>

namespace tilewright::cpu {

/// Something that a loop nest computes: an op whose tiles cannot be functions of the index
/// (tile.store, reduce, scan, dot), or a value that is cheaper to keep than to compute again.
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

/// Visits what a root reads, at which index: `leaf` for everything that is in memory, `inner`
/// for what is computed; `inner` says whether to go on below.
struct TileWalk {
  /// Tiles that are in memory although an op computes them.
  std::function<bool(mlir::Value)> isKept;
  std::function<void(mlir::Value, mlir::AffineMap)> leaf;
  std::function<bool(mlir::Value, mlir::AffineMap)> inner;
  llvm::DenseSet<std::pair<mlir::Value, mlir::AffineMap>> seen;

  void visit(mlir::Value tile, mlir::AffineMap map, llvm::ArrayRef<int64_t> sizes);
};

/// The tiles that a root reads, each with the map from the root's loops to its index.
llvm::SmallVector<std::pair<mlir::Value, mlir::AffineMap>> readsOf(const Root &root);
/// The sizes of the loops of a root, and which of them it combines.
llvm::SmallVector<int64_t> loopsOf(const Root &root);
llvm::SmallVector<int64_t> reducedOf(const Root &root);

/// Groups `roots`, in an order that respects what they read. `isHome` says which tiles are in
/// memory already.
llvm::SmallVector<LoopGroup> planGroups(llvm::ArrayRef<Root> roots,
                                        llvm::function_ref<bool(mlir::Value)> isHome);

} // namespace tilewright::cpu

#endif // TILEWRIGHT_TARGET_CPU_EMIT_KERNELPLAN_H
