// What one access of a warp costs the memory system, as NVIDIA documents it.
#ifndef TILEWRIGHT_VGPU_COUNT_ACCESSMODEL_H
#define TILEWRIGHT_VGPU_COUNT_ACCESSMODEL_H

#include <cstdint>

namespace tilewright::vgpu::count {

inline constexpr uint32_t sectorBytes = 32;
inline constexpr uint32_t bankCount = 32, bankBytes = 4;

/// `ideal` is what an access of as many different bytes needs at least.
struct AccessCost {
  uint32_t actual = 0, ideal = 0;
};

/// Sectors of 32 bytes that the lanes in `mask` touch, each once.
AccessCost globalSectors(uint32_t mask, const uint64_t *addresses, uint32_t bytes);

/// Passes over the 32 banks of shared memory. Lanes go together in groups whose
/// accesses are 128 bytes at most: a whole warp, half of one for 8 bytes a lane, a
/// quarter for 16. A group takes as many passes as one bank has different words of it;
/// lanes that want the same word share it, unless the access is atomic.
AccessCost sharedWavefronts(uint32_t mask, const uint64_t *addresses, uint32_t bytes,
                            bool isAtomic);

} // namespace tilewright::vgpu::count

#endif // TILEWRIGHT_VGPU_COUNT_ACCESSMODEL_H
