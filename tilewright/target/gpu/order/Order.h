// Ops that depend on the order of elements or of points: buckets, reads at computed positions of a
// tile, and values that are carried from point to point.
#ifndef TILEWRIGHT_TARGET_GPU_ORDER_ORDER_H
#define TILEWRIGHT_TARGET_GPU_ORDER_ORDER_H

#include "tilewright/dialect/tile/SortOps.h"
#include "tilewright/target/gpu/OpGroup.h"

namespace tilewright::gpu {

/// Has no state between ops.
class OrderLowering : public OpGroup {
public:
  explicit OrderLowering(KernelLowering &all) : OpGroup(all) {}

  /// The number of this point among those that have started (i32), from an atomic counter. All
  /// smaller numbers belong to points that are running or have ended.
  Value ticket(tile::CarryOp op);
  void carry(tile::CarryOp op);
  void bucket(tile::BucketOp op);
  void take(tile::TakeOp op);

private:
  struct LookBack;
  struct Buckets;
  /// The index of a register's element in the tile, in row-major order (i32).
  Value elementOf(const ThreadLayout &threads, llvm::ArrayRef<int64_t> shape, unsigned reg);
  /// Whether this thread holds the first copy of a register's element; null if all threads do.
  Value isOwner(const ThreadLayout &threads, llvm::ArrayRef<int64_t> shape, unsigned reg);
};

} // namespace tilewright::gpu

#endif // TILEWRIGHT_TARGET_GPU_ORDER_ORDER_H
