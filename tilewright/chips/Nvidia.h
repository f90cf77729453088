// NVIDIA GPUs: limits, matrix instructions and rates of each chip, as data.
#ifndef TILEWRIGHT_CHIPS_NVIDIA_H
#define TILEWRIGHT_CHIPS_NVIDIA_H

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace tilewright::chips {

/// Matrix instructions: warp-wide `mma.sync`, Hopper's `wgmma`, Blackwell's `tcgen05`.
enum class MatrixUnit : uint8_t { mma, wgmma, tcgen05 };

/// A row of NvidiaRates.def, which explains the units and the sources.
struct NvidiaRates {
  int64_t f16, tf32, f8, s8, f4;
  int64_t matrixLatency, copyLatency;
  int64_t shared, l2, memory, l2Bytes;
  int64_t cluster;
  bool movesRegisters;
  int64_t tensorColumns;
};

/// A row of NvidiaChips.def. Sizes are in bytes; a block is a CTA.
struct NvidiaChip {
  /// Which of our parts support the chip.
  enum class Use : uint8_t { compile, execute, both };

  std::string_view name; // "sm_90a", also in LLVM and in PTX
  uint16_t architecture; // 90
  bool specific;         // has instructions that no other architecture has: sm_90a
  Use use;
  uint32_t ptxVersion; // 80 is PTX 8.0
  uint32_t multiprocessors;
  uint32_t sharedPerBlockOptin;
  uint32_t sharedPerMultiprocessor;
  uint32_t threadsPerMultiprocessor;
  uint32_t blocksPerMultiprocessor;
  uint32_t clusterBlocks; // portable cluster size; 0 without clusters
  uint32_t clusterBlocksNonPortable;
  MatrixUnit matrix;
  std::string_view matrixTypes;     // element types that it multiplies, separated by spaces
  std::optional<NvidiaRates> rates; // if we compile for it

  // Limits that all chips share.
  static constexpr uint32_t warpSize = 32;
  static constexpr uint32_t registersPerMultiprocessor = 65536;
  static constexpr uint32_t registersPerBlock = 65536;
  static constexpr uint32_t registersPerThread = 255;
  static constexpr uint32_t sharedPerBlock = 48 << 10; // without opting in
  static constexpr uint32_t threadsPerBlock = 1024;
  static constexpr uint32_t blockX = 1024, blockY = 1024, blockZ = 64;
  static constexpr uint32_t gridX = 0x7fffffff, gridY = 65535, gridZ = 65535;
  static constexpr uint32_t parameterBytes = 32764;
  static constexpr uint32_t namedBarriers = 16;
  static constexpr uint32_t sectorBytes = 32;

  bool isFor(Use wanted) const { return use == wanted || use == Use::both; }
};

/// All rows, oldest first.
std::span<const NvidiaChip> nvidiaChips();
/// The rows that have this use, which is `compile` or `execute`, oldest first.
const std::vector<NvidiaChip> &nvidiaChips(NvidiaChip::Use use);
/// The row of this name, or null.
const NvidiaChip *findNvidiaChip(std::string_view name);
/// The row of this name if it has this use, otherwise null.
const NvidiaChip *findNvidiaChip(std::string_view name, NvidiaChip::Use use);

} // namespace tilewright::chips

#endif // TILEWRIGHT_CHIPS_NVIDIA_H
