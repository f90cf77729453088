// KeyParts: into how many parts a GPU divides the keys of attention.
#ifndef TILEWRIGHT_TRANSFORM_FUSE_KEYPARTS_H
#define TILEWRIGHT_TRANSFORM_FUSE_KEYPARTS_H

#include "tilewright/dialect/exec/ExecDialect.h"

namespace tilewright::fuse {

/// The sizes of attention that decide how its keys are divided.
struct AttentionSizes {
  int64_t heads = 1, queries = 1, keys = 1;
};

/// A part has a multiple of so many keys, so that its blocks are as whole as those of all keys.
constexpr int64_t keyGranule = 64;

/// The blocks of queries of all heads: the points of a kernel that is not divided.
int64_t queryBlocks(const AttentionSizes &sizes);

/// The cheapest number of parts for this many multiprocessors; 1 if a division does not pay. Parts
/// are multiples of `granule` keys.
int64_t partsOfKeys(const AttentionSizes &sizes, int64_t units, int64_t granule = keyGranule);

} // namespace tilewright::fuse

#endif // TILEWRIGHT_TRANSFORM_FUSE_KEYPARTS_H
