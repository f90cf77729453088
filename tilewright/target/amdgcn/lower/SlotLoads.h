// Loads the operands of MFMA from the slots of channels.
#ifndef TILEWRIGHT_TARGET_AMDGCN_LOWER_SLOTLOADS_H
#define TILEWRIGHT_TARGET_AMDGCN_LOWER_SLOTLOADS_H

#include "tilewright/target/amdgcn/lower/Mfma.h"

namespace tilewright::amdgcn {

/// A lane reads its 16 bytes of a fragment with one instruction if they are consecutive in LDS,
/// else with two that transpose (gfx950). The tile has one vector of four words for each fragment.
class SlotLoadsLowering : public gpu::OpGroup {
public:
  SlotLoadsLowering(gpu::KernelLowering &all, MfmaLowering &mfma, const Chip &chip)
      : OpGroup(all), mfma(mfma), chip(chip) {}

  void load(sm::CopyOp copy);

private:
  struct Load;

  MfmaLowering &mfma;
  const Chip &chip;
};

} // namespace tilewright::amdgcn

#endif // TILEWRIGHT_TARGET_AMDGCN_LOWER_SLOTLOADS_H
