#include "tilewright/vgpu/machine/Chip.h"

namespace tilewright::vgpu::machine {

// The numbers of multiprocessors are those of A100 SXM, RTX 3090, RTX 4090 and
// H100 SXM.
static constexpr Chip table[] = {
    // clang-format off
    // name    sm  a      SMs  shared  opt-in       per SM       regs/SM  regs/CTA threads CTAs cluster
    {"sm_80",  80, false, 108, 49152, 163 * 1024, 164 * 1024, 65536, 65536, 2048, 32, 0, 0},
    {"sm_86",  86, false,  82, 49152,  99 * 1024, 100 * 1024, 65536, 65536, 1536, 16, 0, 0},
    {"sm_89",  89, false, 128, 49152,  99 * 1024, 100 * 1024, 65536, 65536, 1536, 24, 0, 0},
    {"sm_90",  90, false, 132, 49152, 227 * 1024, 228 * 1024, 65536, 65536, 2048, 32, 8, 16},
    {"sm_90a", 90, true,  132, 49152, 227 * 1024, 228 * 1024, 65536, 65536, 2048, 32, 8, 16},
    // clang-format on
};

std::span<const Chip> chips() { return table; }

const Chip *findChip(std::string_view name) {
  for (const Chip &chip : table)
    if (chip.name == name)
      return &chip;
  return nullptr;
}

} // namespace tilewright::vgpu::machine
