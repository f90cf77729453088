// Reads words of shared memory that the copy engine or cp.async wrote.
#ifndef TILEWRIGHT_TARGET_NVPTX_LOWER_THREAD_READSHARED_H
#define TILEWRIGHT_TARGET_NVPTX_LOWER_THREAD_READSHARED_H

#include "tilewright/target/nvptx/lower/PtxMachine.h"

namespace tilewright::nvptx {

/// Emits one ldmatrix that reads `count` 8x8 matrices of 16-bit elements from shared memory, at
/// `base` (i32) plus `offset`. Returns a word of each.
llvm::SmallVector<Value, 4> readMatrices(ThreadBuilder &b, unsigned count, bool isTransposed,
                                         Value base, SplitOffset offset);

/// Reads 1, 2 or a multiple of 4 bytes from shared memory with one instruction, as words of 32
/// bits.
llvm::SmallVector<Value, 4> readWords(ThreadBuilder &b, int64_t bytes, Value base,
                                      SplitOffset offset);

/// The address of a pointer into shared memory, as i32.
Value sharedAddress(ThreadBuilder &b, Value pointer);

} // namespace tilewright::nvptx

#endif // TILEWRIGHT_TARGET_NVPTX_LOWER_THREAD_READSHARED_H
