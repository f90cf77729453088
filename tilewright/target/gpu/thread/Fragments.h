// Fragments: the registers of a tile that one matrix instruction multiplies.
#ifndef TILEWRIGHT_TARGET_GPU_THREAD_FRAGMENTS_H
#define TILEWRIGHT_TARGET_GPU_THREAD_FRAGMENTS_H

#include "tilewright/target/gpu/thread/StridedView.h"

#include <map>

namespace tilewright::gpu {

/// Maps the position of each fragment in the tile to its registers, in the instruction's order.
using Fragments = std::map<llvm::SmallVector<int64_t>, llvm::SmallVector<unsigned>>;

/// The fragments of a tile (batch…, rows, columns) whose layout repeats `atom`.
Fragments fragmentsOf(const ThreadLayout &threads, const sm::Layout &atom);

/// A part of an operand: `part`, or zero where the register's element is outside of the tile. Such
/// registers have arbitrary values, which a product would add.
Value zeroOutside(ThreadBuilder &b, Value part, const ThreadLayout &threads,
                  llvm::ArrayRef<int64_t> shape, unsigned reg);

} // namespace tilewright::gpu

#endif // TILEWRIGHT_TARGET_GPU_THREAD_FRAGMENTS_H
