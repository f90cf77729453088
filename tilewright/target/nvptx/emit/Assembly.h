// Inline assembly: instructions that LLVM has no suitable intrinsics for.
#ifndef TILEWRIGHT_TARGET_NVPTX_EMIT_ASSEMBLY_H
#define TILEWRIGHT_TARGET_NVPTX_EMIT_ASSEMBLY_H

#include "tilewright/target/lanes/Lanes.h"

#include "llvm/ADT/Twine.h"

#include <string_view>

namespace tilewright::nvptx {

/// Emits inline assembly that the optimizer neither moves nor removes.
llvm::Value *assembly(lanes::LaneBuilder &b, llvm::Type *result, const llvm::Twine &text,
                      const llvm::Twine &constraints, llvm::ArrayRef<llvm::Value *> operands);

/// A byte offset in shared memory: a part that varies between threads, and an immediate.
struct SplitOffset {
  llvm::Value *varying; // i32
  int64_t constant;
};

/// Emits one ld or ldmatrix that reads `count` words of 32 bits from shared memory, at `base` (i32)
/// plus `offset`.
llvm::SmallVector<llvm::Value *, 4> readWords(lanes::LaneBuilder &b, std::string_view instruction,
                                              unsigned count, llvm::Value *base,
                                              SplitOffset offset);

/// The address of a pointer into shared memory, as i32.
llvm::Value *sharedAddress(lanes::LaneBuilder &b, llvm::Value *pointer);

} // namespace tilewright::nvptx

#endif // TILEWRIGHT_TARGET_NVPTX_EMIT_ASSEMBLY_H
