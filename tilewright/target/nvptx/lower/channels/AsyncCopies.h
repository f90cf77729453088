// Copies that threads issue themselves (cp.async).
#ifndef TILEWRIGHT_TARGET_NVPTX_LOWER_CHANNELS_ASYNCCOPIES_H
#define TILEWRIGHT_TARGET_NVPTX_LOWER_CHANNELS_ASYNCCOPIES_H

#include "tilewright/target/nvptx/lower/OpGroup.h"

namespace tilewright::nvptx {

/// Copies from global memory to the slots of channels of kernels without roles.
class AsyncCopiesLowering : public OpGroup {
public:
  explicit AsyncCopiesLowering(KernelLowering &all) : OpGroup(all) {}

  void copy(sm::CopyOp copy);

private:
  struct AsyncCopy;
};

} // namespace tilewright::nvptx

#endif // TILEWRIGHT_TARGET_NVPTX_LOWER_CHANNELS_ASYNCCOPIES_H
