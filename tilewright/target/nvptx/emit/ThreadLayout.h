// What a layout says to a thread: which elements its registers hold.
#ifndef TILEWRIGHT_TARGET_NVPTX_EMIT_THREADLAYOUT_H
#define TILEWRIGHT_TARGET_NVPTX_EMIT_THREADLAYOUT_H

#include "tilewright/dialect/sm/Layout.h"

#include "llvm/IR/Value.h"

namespace tilewright::nvptx {

/// Along each dimension, the index of a register's element is `base` of the thread plus a constant
/// of the register. Terms count warps of the CTA: groups are multiples of their warps.
struct ThreadLayout {
  sm::Layout layout;
  llvm::SmallVector<sm::IndexForm> forms; // by dimension
  llvm::SmallVector<llvm::Value *> base;  // i32 by dimension; null for zero
  llvm::SmallVector<int64_t> most;        // the greatest that base can be
  llvm::SmallVector<int64_t> divisor;     // of base; 0 for zero
  llvm::Value *isFirst = nullptr;         // i1: its elements are the first copies; null if all are

  explicit ThreadLayout(sm::Layout of);

  unsigned registers() const { return static_cast<unsigned>(layout.extent(sm::Axis::reg)); }
  int64_t constant(size_t dim, unsigned reg) const { return forms[dim].registers[reg]; }
  /// Whether a register holds nothing of account in any thread.
  bool isDead(unsigned reg, llvm::ArrayRef<int64_t> shape) const;
  /// Whether a register's element is in the tile whatever the thread.
  bool isAlive(unsigned reg, llvm::ArrayRef<int64_t> shape) const;
  /// The digits of a dimension on an axis, and copies.
  llvm::SmallVector<sm::IndexTerm> digits(size_t dim, sm::Axis axis) const;
  llvm::SmallVector<sm::IndexTerm> copies(sm::Axis axis) const;
  /// One that counts warps inside a group, or groups, as one that counts warps of the CTA.
  sm::IndexTerm ofCta(sm::IndexTerm term) const;
  /// For each thread of a CTA, the index of its first register's element.
  std::vector<llvm::SmallVector<int64_t>> threadIndices() const;
};

} // namespace tilewright::nvptx

#endif // TILEWRIGHT_TARGET_NVPTX_EMIT_THREADLAYOUT_H
