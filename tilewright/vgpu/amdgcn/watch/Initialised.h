// Which registers of a wave hold values that the kernel computed.
#ifndef TILEWRIGHT_VGPU_AMDGCN_WATCH_INITIALISED_H
#define TILEWRIGHT_VGPU_AMDGCN_WATCH_INITIALISED_H

#include "tilewright/vgpu/amdgcn/execute/Op.h"

#include <bitset>

namespace tilewright::vgpu::amdgcn {

class WaveWatch;

/// Reports a memory address that depends on a register that was never written, or was not written
/// in the lane that uses it. Copies and integer arithmetic propagate the missing value. The result
/// of any other instruction counts as a value, because selections and bit operations may ignore
/// parts of their operands, and compilers rely on that.
class Initialised {
public:
  /// At the start, `scalarCount` scalar registers and v0 have values.
  void start(unsigned scalarCount);
  void execute(WaveWatch &watch, const Wave &wave, const Op &op);

private:
  LaneMask missing(const Slot &slot, LaneMask lanes) const;
  void set(const Slot &slot, LaneMask lanes, LaneMask missingLanes);
  void check(WaveWatch &watch, const Op &op, const Slot &slot, LaneMask lanes,
             std::string_view use) const;

  std::array<LaneMask, vectorSlots> vectors{}; // lanes with a value
  std::bitset<scalarSlots> scalars;
};

} // namespace tilewright::vgpu::amdgcn

#endif // TILEWRIGHT_VGPU_AMDGCN_WATCH_INITIALISED_H
