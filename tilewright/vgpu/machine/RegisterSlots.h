// Where the registers of a function lie in a frame.
#ifndef TILEWRIGHT_VGPU_MACHINE_REGISTERSLOTS_H
#define TILEWRIGHT_VGPU_MACHINE_REGISTERSLOTS_H

#include "tilewright/vgpu/ptx/Module.h"

#include <cstdint>
#include <vector>

namespace tilewright::vgpu::machine {

/// The slot of each register, from `frameBytes` on, which is moved behind them.
///
/// PTX names a new register for nearly every value: thousands, of 128 bytes each.
/// Registers that are never live at the same time share a slot, so a warp's
/// registers stay in the first cache. A write under a guard ends no life, since
/// the other lanes keep their value.
std::vector<uint32_t> assignSlots(const ptx::Module &module, const ptx::Function &function,
                                  uint32_t &frameBytes);

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_REGISTERSLOTS_H
