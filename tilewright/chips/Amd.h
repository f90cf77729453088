// AMD GPUs: the limits of each chip, as data.
#ifndef TILEWRIGHT_CHIPS_AMD_H
#define TILEWRIGHT_CHIPS_AMD_H

#include <cstdint>
#include <span>
#include <string_view>

namespace tilewright::chips {

/// A row of AmdChips.def, which explains the columns.
struct AmdChip {
  std::string_view name; // "gfx950", also in LLVM and in code objects
  std::string_view product;
  uint32_t computeUnits;
  uint32_t ldsPerUnit;
  uint32_t wavesPerUnit;
  uint64_t memoryGigabytes;
  int clockMegahertz, memoryClockMegahertz, memoryBusBits;
  uint32_t l2Bytes;

  // Limits that all chips share.
  static constexpr uint32_t waveSize = 64;
  static constexpr uint32_t threadsPerBlock = 1024;
  static constexpr uint32_t simdsPerUnit = 4;
  static constexpr uint32_t registersPerSimd = 512; // of each lane, AGPRs included
  static constexpr uint32_t registerGranule = 8;    // registers are allocated in such groups
  static constexpr uint32_t gridX = 0x7fffffff, gridY = 65535, gridZ = 65535;
};

/// All rows, oldest first.
std::span<const AmdChip> amdChips();
/// The row of this name, or null.
const AmdChip *findAmdChip(std::string_view name);

} // namespace tilewright::chips

#endif // TILEWRIGHT_CHIPS_AMD_H
