// Inline assembly: instructions that LLVM has no suitable intrinsics for.
#ifndef TILEWRIGHT_TARGET_NVPTX_LOWER_ASSEMBLY_H
#define TILEWRIGHT_TARGET_NVPTX_LOWER_ASSEMBLY_H

#include "tilewright/target/nvptx/lower/ThreadBuilder.h"

#include "llvm/ADT/Twine.h"

#include <string_view>

namespace tilewright::nvptx {

/// A byte offset in shared memory: a part that varies between threads, and an immediate.
struct SplitOffset {
  Value varying; // i32
  int64_t constant;
};

/// Emits one ld or ldmatrix that reads `count` words of 32 bits from shared memory, at `base` (i32)
/// plus `offset`.
llvm::SmallVector<Value, 4> readWords(ThreadBuilder &b, std::string_view instruction,
                                      unsigned count, Value base, SplitOffset offset);

/// The address of a pointer into shared memory, as i32.
Value sharedAddress(ThreadBuilder &b, Value pointer);

} // namespace tilewright::nvptx

#endif // TILEWRIGHT_TARGET_NVPTX_LOWER_ASSEMBLY_H
