#include "tilewright/vgpu/machine/Chip.h"

#include <algorithm>
#include <iterator>

namespace tilewright::vgpu::machine {

const std::vector<Chip> &chips() {
  static const std::vector<Chip> rows = [] {
    std::vector<Chip> executed;
    std::ranges::copy_if(tilewright::chips::nvidiaChips(), std::back_inserter(executed),
                         &Chip::isExecuted);
    return executed;
  }();
  return rows;
}

const Chip *findChip(std::string_view name) {
  const Chip *chip = tilewright::chips::findNvidiaChip(name);
  return chip && chip->isExecuted() ? chip : nullptr;
}

} // namespace tilewright::vgpu::machine
