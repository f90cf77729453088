// Sorts along one dimension of a tile.
#ifndef TILEWRIGHT_TARGET_GPU_SORT_H
#define TILEWRIGHT_TARGET_GPU_SORT_H

#include "tilewright/dialect/tile/SortOps.h"
#include "tilewright/target/gpu/OpGroup.h"

namespace tilewright::gpu {

/// Sorts in shared memory, by the threads of the whole CTA. Has no state between ops.
class SortLowering : public OpGroup {
public:
  explicit SortLowering(KernelLowering &all) : OpGroup(all) {}

  void sort(tile::SortOp op);

private:
  struct Network;
};

} // namespace tilewright::gpu

#endif // TILEWRIGHT_TARGET_GPU_SORT_H
