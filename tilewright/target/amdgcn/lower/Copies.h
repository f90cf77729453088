// Copies from global memory to the slots of channels.
#ifndef TILEWRIGHT_TARGET_AMDGCN_LOWER_COPIES_H
#define TILEWRIGHT_TARGET_AMDGCN_LOWER_COPIES_H

#include "tilewright/target/amdgcn/lower/Channels.h"

namespace tilewright::amdgcn {

/// Threads copy pieces of 4 to 16 bytes in the order of LDS, because a load to LDS writes the
/// pieces of a wave one after the other. Swizzles are in the addresses of global memory.
class CopiesLowering : public gpu::OpGroup {
public:
  CopiesLowering(gpu::KernelLowering &all, ChannelsLowering &channels, const Chip &chip)
      : OpGroup(all), channels(channels), chip(chip) {}

  void copy(sm::CopyOp copy);

private:
  struct Copy;

  ChannelsLowering &channels;
  const Chip &chip;
};

} // namespace tilewright::amdgcn

#endif // TILEWRIGHT_TARGET_AMDGCN_LOWER_COPIES_H
