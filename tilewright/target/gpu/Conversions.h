// Conversions of tiles between layouts.
#ifndef TILEWRIGHT_TARGET_GPU_CONVERSIONS_H
#define TILEWRIGHT_TARGET_GPU_CONVERSIONS_H

#include "tilewright/target/gpu/OpGroup.h"

namespace tilewright::gpu {

/// Renames registers, shuffles, or goes through shared memory.
class ConversionsLowering : public OpGroup {
public:
  explicit ConversionsLowering(KernelLowering &all) : OpGroup(all) {}

  void convert(sm::ConvertOp convert);

private:
  bool convertByShuffles(sm::ConvertOp convert, const ThreadLayout &from, const ThreadLayout &to,
                         int64_t sharedCost);
  void rearrange(sm::ConvertOp convert, const ThreadLayout &from, const ThreadLayout &to);
  void convertByMemory(sm::ConvertOp convert, const ThreadLayout &from, const ThreadLayout &to,
                       llvm::ArrayRef<int64_t> strides, int64_t elements);
};

} // namespace tilewright::gpu

#endif // TILEWRIGHT_TARGET_GPU_CONVERSIONS_H
