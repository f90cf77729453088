// TransposedRead: reads of shared memory by which 16 lanes transpose a block.
#ifndef TILEWRIGHT_TARGET_GPU_THREAD_TRANSPOSEDREAD_H
#define TILEWRIGHT_TARGET_GPU_THREAD_TRANSPOSEDREAD_H

#include "tilewright/target/gpu/thread/StridedView.h"

namespace tilewright::gpu {

/// A tile's registers as a machine with such an instruction reads them: 16 consecutive lanes read a
/// block of 16 columns, which are consecutive in shared memory, and `count` rows. Lane l reads
/// `count` elements of row l * count / 16, and gets those of column l.
struct TransposedRead {
  size_t row = 0, column = 0;        // dimensions of the tile
  int64_t count = 0;                 // elements of a lane
  llvm::SmallVector<unsigned> first; // a register of each block, that of its first row

  static constexpr int64_t lanes = 16;
  /// The row and the column, in the block, of the elements that a lane reads.
  int64_t rowOf(int64_t lane) const { return lane % lanes * count / lanes; }
  int64_t columnOf(int64_t lane) const { return lane % lanes * count % lanes; }
};

/// nullopt if the machine cannot read a tile with these strides so.
std::optional<TransposedRead> findTransposedRead(const ThreadLayout &threads,
                                                 llvm::ArrayRef<int64_t> strides,
                                                 llvm::ArrayRef<int64_t> shape, int64_t bytes,
                                                 const Machine::Limits &limits);

/// The bytes between the element that a lane gets first and those that it reads.
Value transposedOffset(ThreadBuilder &b, const TransposedRead &read, int64_t rowBytes,
                       int64_t bytes, Value lane);

} // namespace tilewright::gpu

#endif // TILEWRIGHT_TARGET_GPU_THREAD_TRANSPOSEDREAD_H
