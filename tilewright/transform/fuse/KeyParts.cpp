#include "tilewright/transform/fuse/KeyParts.h"

#include "llvm/Support/MathExtras.h"

using llvm::divideCeilSigned;

namespace tilewright::fuse {

/// The second kernel, which combines the parts, and the start of a loop over keys, take about as
/// long as so many keys; each part that is combined takes two more.
constexpr int64_t keysOfLaunch = 512, keysOfPart = 2;
/// A block has at most so many queries.
constexpr int64_t queriesOfBlock = 64;
/// So many blocks with few queries share a multiprocessor, which they do not fill.
constexpr int64_t blocksOfUnit = 2;

int64_t queryBlocks(const AttentionSizes &sizes) {
  return sizes.heads * divideCeilSigned(sizes.queries, queriesOfBlock);
}

int64_t partsOfKeys(const AttentionSizes &sizes, int64_t units, int64_t granule) {
  const int64_t blocks = queryBlocks(sizes), places = units * blocksOfUnit;
  if (blocks == 0 || sizes.keys == 0)
    return 1;
  /// The keys that one place visits, one after the other, and those that take as long as the rest.
  auto cost = [&](int64_t parts) {
    return divideCeilSigned(blocks * parts, places) * (sizes.keys / parts) +
           (parts > 1 ? keysOfLaunch + keysOfPart * parts : 0);
  };
  // The model is rough, so a division must gain a quarter.
  int64_t best = 1, least = cost(1) * 3 / 4;
  for (int64_t parts = 2; parts * granule <= sizes.keys && blocks * (parts - 1) < places; ++parts)
    if (sizes.keys % (parts * granule) == 0 && cost(parts) < least) {
      best = parts;
      least = cost(parts);
    }
  return best;
}

} // namespace tilewright::fuse
