// Software wait states: the number of instructions that must separate two instructions that use the
// same registers, where the hardware does not interlock.
#ifndef TILEWRIGHT_VGPU_AMDGCN_WATCH_WAITSTATES_H
#define TILEWRIGHT_VGPU_AMDGCN_WATCH_WAITSTATES_H

#include "tilewright/vgpu/amdgcn/execute/Op.h"

#include <deque>

namespace tilewright::vgpu::amdgcn {

class WaveWatch;

/// The classes of an instruction in the table of wait states, and the registers that it uses.
struct HazardTraits {
  uint32_t classes = 0;
  uint8_t passes = 0;      // of a matrix instruction
  uint16_t waitStates = 1; // that it provides to those around it
  bool writesExec = false;
  bool writesM0 = false;
  Slot result, scalarResult, c, data, laneSelect;
  std::array<Slot, 6> sources;

  static HazardTraits of(const Op &op);
};

/// An instruction that a wave has issued.
struct Issued {
  const Op *op;
  const HazardTraits *traits;
  uint64_t time;
  uint32_t overwritten = 0; // a bit for each register of its result

  /// Whether a source has a register of the result that no later matrix instruction has
  /// overwritten.
  bool isReadBy(const Slot &source) const;
  /// Remembers that a later matrix instruction writes these registers.
  void overwrite(const Slot &result);
};

/// The wait states of one wave.
class WaitStates {
public:
  /// Reports if the instruction comes too soon after an earlier one.
  void issue(WaveWatch &watch, const Op &op, const HazardTraits &traits);

private:
  std::deque<Issued> past; // those to which the table may apply
  uint64_t time = 0;       // in wait states
};

} // namespace tilewright::vgpu::amdgcn

#endif // TILEWRIGHT_VGPU_AMDGCN_WATCH_WAITSTATES_H
