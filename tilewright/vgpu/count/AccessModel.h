// The cost of one memory access by a warp, as documented by NVIDIA.
#ifndef TILEWRIGHT_VGPU_COUNT_ACCESSMODEL_H
#define TILEWRIGHT_VGPU_COUNT_ACCESSMODEL_H

#include <cstdint>

namespace tilewright::vgpu::count {

inline constexpr uint32_t sectorBytes = 32;
inline constexpr uint32_t bankCount = 32, bankBytes = 4;

/// The cost of an access. `ideal` is the minimum for an access to the same number of distinct
/// bytes.
struct AccessCost {
  uint32_t actual = 0, ideal = 0;
};

/// The number of 32-byte sectors that the lanes in `mask` access, each counted once.
AccessCost globalSectors(uint32_t mask, const uint64_t *addresses, uint32_t bytes);

/// The wavefronts of an access to shared memory: passes over its 32 banks. The hardware handles
/// lanes in groups that access at most 128 bytes: a whole warp, a half warp for 8 bytes per lane, a
/// quarter warp for 16. The number of wavefronts of a group is the number of distinct words that
/// its lanes access in the busiest bank. An atomic access counts a word once per lane.
AccessCost sharedWavefronts(uint32_t mask, const uint64_t *addresses, uint32_t bytes,
                            bool isAtomic);

} // namespace tilewright::vgpu::count

#endif // TILEWRIGHT_VGPU_COUNT_ACCESSMODEL_H
