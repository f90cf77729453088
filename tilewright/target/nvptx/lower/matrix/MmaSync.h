// Matmuls of tiles in registers (mma.sync).
#ifndef TILEWRIGHT_TARGET_NVPTX_LOWER_MATRIX_MMASYNC_H
#define TILEWRIGHT_TARGET_NVPTX_LOWER_MATRIX_MMASYNC_H

#include "tilewright/dialect/tile/TileDialect.h"
#include "tilewright/target/nvptx/lower/OpGroup.h"

namespace tilewright::nvptx {

/// Multiplies fragments that warps hold in registers.
class MmaSyncLowering : public OpGroup {
public:
  explicit MmaSyncLowering(KernelLowering &all) : OpGroup(all) {}

  void dot(tile::DotOp dot);
  void mma(sm::MmaOp mma);
  /// Packs the registers of one fragment into the instruction's words of 32 or 64 bits.
  llvm::SmallVector<Value> packFragment(const Tile &tile, llvm::ArrayRef<unsigned> registers,
                                        Value value, bool isTf32);

private:
  /// Returns false if no instruction multiplies these tiles. Without `acc` the sum starts at zero.
  bool multiplyTiles(Value lhs, Value rhs, Value acc, Value result, bool isTf32);
};

} // namespace tilewright::nvptx

#endif // TILEWRIGHT_TARGET_NVPTX_LOWER_MATRIX_MMASYNC_H
