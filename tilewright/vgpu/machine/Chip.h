// The chips that the virtual GPU can emulate.
#ifndef TILEWRIGHT_VGPU_MACHINE_CHIP_H
#define TILEWRIGHT_VGPU_MACHINE_CHIP_H

#include "tilewright/chips/Nvidia.h"

#include <vector>

namespace tilewright::vgpu::machine {

using Chip = chips::NvidiaChip;

/// The rows of the table that the machine can execute, oldest first.
inline const std::vector<Chip> &chips() {
  return tilewright::chips::nvidiaChips(Chip::Use::execute);
}
/// The chip with this name, or null if the machine cannot execute it.
inline const Chip *findChip(std::string_view name) {
  return tilewright::chips::findNvidiaChip(name, Chip::Use::execute);
}

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_CHIP_H
