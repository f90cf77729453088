// Assigns the registers of a function to slots of its frame.
#ifndef TILEWRIGHT_VGPU_MACHINE_DECODE_REGISTERSLOTS_H
#define TILEWRIGHT_VGPU_MACHINE_DECODE_REGISTERSLOTS_H

#include "tilewright/vgpu/ptx/Module.h"

#include <cstdint>
#include <vector>

namespace tilewright::vgpu::machine {

/// Assigns a slot to each register, starting at `frameBytes`, and advances `frameBytes` past them.
///
/// PTX has a new register for nearly every value: thousands, of 128 bytes each. Registers whose
/// live intervals do not overlap share a slot, so that a warp's registers stay in the L1 cache. A
/// guarded write does not end a live interval, since the other lanes keep their value.
std::vector<uint32_t> assignSlots(const ptx::Module &module, const ptx::Function &function,
                                  uint32_t &frameBytes);

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_DECODE_REGISTERSLOTS_H
