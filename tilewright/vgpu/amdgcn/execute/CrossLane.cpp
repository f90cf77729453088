// Vector instructions that move values between lanes, or between lanes and scalar registers.
#include "tilewright/vgpu/amdgcn/execute/Vector.h"

#include <utility>

namespace tilewright::vgpu::amdgcn {

static void readFirstLane(Wave &wave, const Op &op) {
  const LaneMask exec = wave.exec();
  const unsigned lane = exec == 0 ? 0 : static_cast<unsigned>(std::countr_zero(exec));
  writeScalar(wave, op.destination, wave.vectors[op.sources[0].index].lanes[lane]);
}
static void readLane(Wave &wave, const Op &op) {
  const uint64_t lane = readScalar(wave, op.sources[1]) % laneCount;
  writeScalar(wave, op.destination, wave.vectors[op.sources[0].index].lanes[lane]);
}
static void writeLane(Wave &wave, const Op &op) {
  const uint64_t lane = readScalar(wave, op.sources[1]) % laneCount;
  wave.vectors[op.destination.index].lanes[lane] =
      static_cast<u32>(readScalar(wave, op.sources[0]));
}
static void swapRegisters(Wave &wave, const Op &op) {
  forLanes(wave.exec(), [&](unsigned lane) {
    std::swap(wave.vectors[op.destination.index].lanes[lane],
              wave.vectors[op.sources[0].index].lanes[lane]);
  });
}
/// Swaps rows of `count` lanes: the odd rows of the first register with the even rows of the
/// second.
template <unsigned count> static void swapRows(Wave &wave, const Op &op) {
  auto &first = wave.vectors[op.destination.index].lanes;
  auto &second = wave.vectors[op.sources[0].index].lanes;
  const LaneMask exec = wave.exec();
  for (unsigned lane = 0; lane < laneCount; ++lane)
    if ((lane & count) != 0 && (exec >> lane & 1) != 0 && (exec >> (lane - count) & 1) != 0)
      std::swap(first[lane], second[lane - count]);
}

static constexpr NamedHandler crossLaneHandlers[] = {
    {"v_readfirstlane_b32", readFirstLane},  {"v_readlane_b32", readLane},
    {"v_writelane_b32", writeLane},          {"v_swap_b32", swapRegisters},
    {"v_permlane16_swap_b32", swapRows<16>}, {"v_permlane32_swap_b32", swapRows<32>},
};

bool chooseCrossLane(Op &op) { return chooseNamed(op, crossLaneHandlers); }

} // namespace tilewright::vgpu::amdgcn
