// AMD GPUs: limits and rates of each chip, as data.
#ifndef TILEWRIGHT_CHIPS_AMD_H
#define TILEWRIGHT_CHIPS_AMD_H

#include <cstdint>
#include <span>
#include <string_view>

namespace tilewright::chips {

/// A row of AmdRates.def, which explains the units and the sources.
struct AmdRates {
  int64_t f16, tf32, f8, s8, f4;
  int64_t matrixLatency, copyLatency;
  int64_t lds, l2, memory, l2Bytes;
};

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
  uint32_t ldsBanks;
  bool convertsBfloat;
  bool wideMatrix;
  bool loadsWideToLds;
  std::string_view matrixTypes; // separated by spaces

  // Limits that all chips share.
  static constexpr uint32_t waveSize = 64;
  static constexpr uint32_t threadsPerBlock = 1024;
  static constexpr uint32_t simdsPerUnit = 4;
  static constexpr uint32_t registersPerSimd = 512; // of each lane, AGPRs included
  static constexpr uint32_t registerGranule = 8;    // registers are allocated in such groups
  static constexpr uint32_t gridX = 0x7fffffff, gridY = 65535, gridZ = 65535;
  static constexpr uint32_t sectorBytes = 64; // of a memory transaction
};

/// All rows, oldest first.
std::span<const AmdChip> amdChips();
/// The row of this name, or null.
const AmdChip *findAmdChip(std::string_view name);
/// The rates of a chip.
const AmdRates &ratesOf(const AmdChip &chip);

} // namespace tilewright::chips

#endif // TILEWRIGHT_CHIPS_AMD_H
