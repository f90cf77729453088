#include "tilewright/vgpu/count/AccessModel.h"

#include <algorithm>
#include <bit>
#include <iterator>

namespace tilewright::vgpu::count {

AccessCost globalSectors(uint32_t mask, const uint64_t *addresses, uint32_t bytes) {
  uint64_t sorted[32];
  uint32_t count = 0;
  bool isSorted = true;
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const uint64_t address = addresses[std::countr_zero(rest)];
    isSorted = isSorted && (count == 0 || sorted[count - 1] <= address);
    sorted[count++] = address;
  }
  if (!isSorted)
    std::sort(sorted, sorted + count);
  AccessCost cost;
  uint64_t next = 0, different = 0; // `next`: the first sector that is not counted yet
  for (uint32_t i = 0; i < count; ++i) {
    if (i > 0 && sorted[i] == sorted[i - 1])
      continue;
    ++different;
    const uint64_t first = sorted[i] / sectorBytes, last = (sorted[i] + bytes - 1) / sectorBytes;
    if (last < next)
      continue;
    cost.actual += static_cast<uint32_t>(last - std::max(first, next) + 1);
    next = last + 1;
  }
  cost.ideal = static_cast<uint32_t>((different * bytes + sectorBytes - 1) / sectorBytes);
  return cost;
}

AccessCost sharedWavefronts(uint32_t mask, const uint64_t *addresses, uint32_t bytes,
                            bool isAtomic) {
  const uint32_t wordsPerLane = std::max(bytes / bankBytes, 1u);
  const uint32_t lanesPerGroup = std::max(bankCount / wordsPerLane, 1u);
  AccessCost cost;
  for (uint32_t begin = 0; begin < 32; begin += lanesPerGroup) {
    uint64_t words[32 * 8];
    uint32_t count = 0;
    for (uint32_t lane = begin; lane < begin + lanesPerGroup; ++lane)
      if (mask >> lane & 1)
        for (uint32_t i = 0; i < wordsPerLane && count < std::size(words); ++i)
          words[count++] = addresses[lane] / bankBytes + i;
    if (count == 0)
      continue;
    if (!isAtomic) {
      std::sort(words, words + count);
      count = static_cast<uint32_t>(std::unique(words, words + count) - words);
    }
    uint32_t perBank[bankCount] = {};
    uint32_t most = 0;
    for (uint32_t i = 0; i < count; ++i)
      most = std::max(most, ++perBank[words[i] % bankCount]);
    cost.actual += most;
    cost.ideal += 1;
  }
  return cost;
}

} // namespace tilewright::vgpu::count
