#include "tilewright/vgpu/amdgcn/execute/Dpp.h"

#include <cstring>

namespace tilewright::vgpu::amdgcn {

std::optional<unsigned> dppSource(unsigned pattern, unsigned lane) {
  const unsigned row = lane & ~15u, within = lane & 15, count = pattern & 15;
  auto inRow = [&](int to) -> std::optional<unsigned> {
    return to >= 0 && to < 16 ? std::optional(row + unsigned(to)) : std::nullopt;
  };
  auto inWave = [](int to) -> std::optional<unsigned> {
    return to >= 0 && to < int(laneCount) ? std::optional(unsigned(to)) : std::nullopt;
  };
  if (pattern <= 0xff) // quad_perm
    return (lane & ~3u) + (pattern >> (2 * (lane & 3)) & 3);
  switch (pattern & ~15u) {
  case 0x100: // row_shl
    return inRow(int(within + count));
  case 0x110: // row_shr
    return inRow(int(within) - int(count));
  case 0x120: // row_ror
    return row + ((within - count) & 15);
  case 0x150: // row_newbcast
    return row + count;
  default:
    break;
  }
  switch (pattern) {
  case 0x130: // wave_shl
    return inWave(int(lane) + 1);
  case 0x134: // wave_rol
    return (lane + 1) % laneCount;
  case 0x138: // wave_shr
    return inWave(int(lane) - 1);
  case 0x13c: // wave_ror
    return (lane + laneCount - 1) % laneCount;
  case 0x140: // row_mirror
    return row + 15 - within;
  case 0x141: // row_half_mirror
    return (lane & ~7u) + 7 - (lane & 7);
  case 0x142: // row_bcast:15, the last lane of the row before
    return row >= 16 ? std::optional(row - 1) : std::nullopt;
  case 0x143: // row_bcast:31, lane 31 for the upper half
    return lane >= 32 ? std::optional(31u) : std::nullopt;
  default:
    return std::nullopt;
  }
}

LaneMask applyDpp(const Wave &wave, const DppControl &dpp, const void *&source,
                  LaneValues &buffer) {
  LaneValues moved;
  const u32 *values = static_cast<const u32 *>(source);
  const LaneMask exec = wave.exec();
  LaneMask written = 0;
  for (unsigned lane = 0; lane < laneCount; ++lane) {
    const bool isEnabled =
        (dpp.rowMask >> (lane / 16) & 1) != 0 && (dpp.bankMask >> (lane % 16 / 4) & 1) != 0;
    const std::optional<unsigned> from = dppSource(dpp.pattern, lane);
    const bool exists = from && (exec >> *from & 1) != 0;
    moved.narrow()[lane] = exists ? values[*from] : 0;
    if (isEnabled && (exists || dpp.boundControl))
      written |= LaneMask(1) << lane;
  }
  std::memcpy(buffer.narrow(), moved.narrow(), sizeof(VectorRegister));
  source = buffer.wide.data();
  return written & exec;
}

} // namespace tilewright::vgpu::amdgcn
