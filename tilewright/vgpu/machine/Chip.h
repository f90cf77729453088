// What a chip can do, as data. No other file of the machine knows a chip.
#ifndef TILEWRIGHT_VGPU_MACHINE_CHIP_H
#define TILEWRIGHT_VGPU_MACHINE_CHIP_H

#include <cstdint>
#include <span>
#include <string_view>

namespace tilewright::vgpu::machine {

/// The limits of one chip, as the CUDA programming guide tabulates them by
/// compute capability. Sizes are in bytes.
struct Chip {
  std::string_view name; // "sm_90a"
  uint16_t architecture; // 90
  bool specific;         // features of this chip alone: sm_90a
  uint32_t multiprocessors;
  uint32_t sharedPerBlock;      // without asking for more
  uint32_t sharedPerBlockOptin; // the most a block can ask for
  uint32_t sharedPerMultiprocessor;
  uint32_t registersPerMultiprocessor;
  uint32_t registersPerBlock;
  uint32_t threadsPerMultiprocessor;
  uint32_t blocksPerMultiprocessor;
  uint32_t clusterBlocks; // portable size; 0 without clusters
  uint32_t clusterBlocksNonPortable;

  static constexpr uint32_t threadsPerBlock = 1024;
  static constexpr uint32_t blockX = 1024, blockY = 1024, blockZ = 64;
  static constexpr uint32_t gridX = 0x7fffffff, gridY = 65535, gridZ = 65535;
  static constexpr uint32_t parameterBytes = 32764;
  static constexpr uint32_t namedBarriers = 16;
};

std::span<const Chip> chips();
/// The chip of that name, or null.
const Chip *findChip(std::string_view name);

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_CHIP_H
