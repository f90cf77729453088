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

/// Whether a chip runs code for a target. Code for sm_80 runs on sm_80 and above, code for sm_90a
/// only on sm_90a, and code for sm_100f on the chips of its family from sm_100 on. sm_101 is the
/// earlier name of sm_110.
inline bool runsOn(const Chip &chip, unsigned architecture, char suffix) {
  if (architecture == 101)
    architecture = 110;
  switch (suffix) {
  case 'a':
    return architecture == chip.architecture && chip.specific;
  case 'f':
    return architecture / 10 == chip.architecture / 10u && architecture <= chip.architecture &&
           chip.specific;
  default:
    return architecture <= chip.architecture;
  }
}

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_CHIP_H
