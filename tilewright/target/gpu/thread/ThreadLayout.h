// ThreadLayout: which elements of a tile the registers of each thread hold.
#ifndef TILEWRIGHT_TARGET_GPU_THREAD_THREADLAYOUT_H
#define TILEWRIGHT_TARGET_GPU_THREAD_THREADLAYOUT_H

#include "tilewright/dialect/sm/Layout.h"

#include "mlir/IR/Value.h"

namespace tilewright::gpu {

using mlir::Value;

/// Along each dimension, the index of a register's element is the thread's `base` plus the
/// register's constant. Terms refer to warps of the CTA: terms over warpgroups are converted to
/// warps.
struct ThreadLayout {
  sm::Layout layout;
  llvm::SmallVector<sm::IndexForm> forms; // by dimension
  llvm::SmallVector<Value> base;          // i32 by dimension; null for zero
  llvm::SmallVector<int64_t> most;        // the maximum of base
  llvm::SmallVector<int64_t> divisor;     // of base; 0 for zero
  Value isFirst;                          // i1: its elements are the first copies; null if all are

  explicit ThreadLayout(sm::Layout of);

  unsigned registers() const { return static_cast<unsigned>(layout.extent(sm::Axis::reg)); }
  int64_t constant(size_t dim, unsigned reg) const { return forms[dim].registers[reg]; }
  /// The register's constants of all dimensions: the index of its element in thread 0.
  std::vector<int64_t> constants(unsigned reg) const;
  /// Whether the register's element is outside of the tile for every thread.
  bool isDead(unsigned reg, llvm::ArrayRef<int64_t> shape) const;
  /// Whether the register's element is inside the tile for every thread.
  bool isAlive(unsigned reg, llvm::ArrayRef<int64_t> shape) const;
  /// digits: the terms of `axis` in the index of dimension `dim`. copies: the terms of `axis` along
  /// which elements are replicated.
  llvm::SmallVector<sm::IndexTerm> digits(size_t dim, sm::Axis axis) const;
  llvm::SmallVector<sm::IndexTerm> copies(sm::Axis axis) const;
  /// Converts a term over the warps of a group, or over groups, to a term over the warps of the
  /// CTA.
  sm::IndexTerm ofCta(sm::IndexTerm term) const;
  /// For each thread of a CTA, the index of its first register's element.
  std::vector<llvm::SmallVector<int64_t>> threadIndices() const;
};

/// The number of CTAs of a cluster over which dimension `dim` is distributed.
int64_t clusterDigit(const sm::Layout &layout, size_t dim);

} // namespace tilewright::gpu

#endif // TILEWRIGHT_TARGET_GPU_THREAD_THREADLAYOUT_H
