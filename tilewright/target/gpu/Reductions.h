// Reductions and scans.
#ifndef TILEWRIGHT_TARGET_GPU_REDUCTIONS_H
#define TILEWRIGHT_TARGET_GPU_REDUCTIONS_H

#include "tilewright/dialect/tile/TileDialect.h"
#include "tilewright/target/gpu/OpGroup.h"
#include "tilewright/target/gpu/thread/Partial.h"

namespace tilewright::gpu {

/// Combines registers, then lanes by shuffles, then warps through shared memory.
class ReductionsLowering : public OpGroup {
public:
  explicit ReductionsLowering(KernelLowering &all) : OpGroup(all) {}

  void reduce(tile::ReduceOp op);
  void scan(tile::ScanOp op);

private:
  struct Reduction;
  struct Scan;
  struct WarpExchange;
  /// The elements that one register holds, one of each input.
  Partial partialOf(mlir::ValueRange inputs, const ThreadLayout &threads,
                    llvm::ArrayRef<int64_t> shape, unsigned reg);
  /// Exchanges partials through shared memory: returns the partials of all warps whose ids differ
  /// only in `warpDigits`.
  llvm::SmallVector<llvm::SmallVector<Partial>>
  exchangeWarps(llvm::ArrayRef<Partial> mine, llvm::ArrayRef<sm::IndexTerm> warpDigits,
                llvm::ArrayRef<sm::IndexTerm> laneDigits, mlir::Operation *user);
};

} // namespace tilewright::gpu

#endif // TILEWRIGHT_TARGET_GPU_REDUCTIONS_H
