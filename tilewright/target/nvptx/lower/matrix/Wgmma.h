// Warpgroup matrix instructions with both operands in shared memory.
#ifndef TILEWRIGHT_TARGET_NVPTX_LOWER_MATRIX_WGMMA_H
#define TILEWRIGHT_TARGET_NVPTX_LOWER_MATRIX_WGMMA_H

#include "tilewright/target/nvptx/lower/OpGroup.h"
#include "llvm/ADT/DenseSet.h"

namespace tilewright::nvptx {

/// Operands are given by descriptors; the accumulator is in registers.
class WgmmaLowering : public OpGroup {
public:
  explicit WgmmaLowering(KernelLowering &all) : OpGroup(all) {}

  void mma(sm::MmaOp mma);
  /// Waits until at most `left` wgmma groups are in flight.
  void waitProducts(int64_t left);
  /// Whether a wgmma in flight computes the tile.
  bool isInFlight(Value tile) const { return inFlight.contains(tile); }
  void markInFlight(Value tile) { inFlight.insert(tile); }
  /// Waits for a tile that a wgmma in flight computes.
  void settle(Value tile);

private:
  llvm::DenseSet<Value> inFlight;
};

} // namespace tilewright::nvptx

#endif // TILEWRIGHT_TARGET_NVPTX_LOWER_MATRIX_WGMMA_H
