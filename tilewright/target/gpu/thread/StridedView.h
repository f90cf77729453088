// StridedView: where the elements of a tile are in memory.
#ifndef TILEWRIGHT_TARGET_GPU_THREAD_STRIDEDVIEW_H
#define TILEWRIGHT_TARGET_GPU_THREAD_STRIDEDVIEW_H

#include "tilewright/target/gpu/thread/ThreadBuilder.h"
#include "tilewright/target/gpu/thread/ThreadLayout.h"

namespace tilewright::gpu {

/// The address of a tile's elements as a function of their index: `base` plus, in units of
/// elements, `offset` plus the sum of `strides` times the index.
struct StridedView {
  Value base;       // in global or shared memory
  Type elementType; // as stored
  llvm::SmallVector<int64_t> strides;
  Value offset = nullptr; // uniform over threads; i32 or i64
  int64_t divisor = 0;    // of the offset; 0 if it is zero
  bool isWide = false;    // more than 2^31 bytes: addresses in 64 bits
  /// `0 ≤ offset + index * stride < size` in one dimension; out-of-bounds elements are not
  /// accessed.
  struct Check {
    size_t dim;
    Value offset;    // i64, null for zero
    int64_t divisor; // of the offset
    int64_t stride;
    int64_t size;
  };
  llvm::SmallVector<Check> checks = {};
};

/// The distance between adjacent indices of each dimension, with the last dimension contiguous.
llvm::SmallVector<int64_t> rowMajor(llvm::ArrayRef<int64_t> shape);

/// The registers that one access moves: consecutive elements, aligned to their number. If several
/// registers hold copies of an element, it lists all of them.
struct Chunk {
  llvm::SmallVector<llvm::SmallVector<unsigned, 1>, 4> elements;
  int64_t constant; // of the first element, in elements of memory
};
/// Divides the registers of a tile into as few accesses as possible.
llvm::SmallVector<Chunk> chunksOf(const ThreadLayout &threads, const StridedView &view,
                                  llvm::ArrayRef<int64_t> shape);

/// Whether a register's element is in the tile and in memory; null if it always is.
Value isInside(ThreadBuilder &b, const ThreadLayout &threads, const StridedView &view,
               llvm::ArrayRef<int64_t> shape, unsigned reg);

} // namespace tilewright::gpu

#endif // TILEWRIGHT_TARGET_GPU_THREAD_STRIDEDVIEW_H
