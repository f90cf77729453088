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
  struct Instruction;
  struct Scales;
  /// The instruction that multiplies these types; nullopt if there is none.
  static std::optional<Instruction> instructionFor(Type left, Type right, Type sum, bool isTf32);
  static std::optional<Instruction> scaledInstructionFor(sm::MmaOp mma);
  /// Multiplies all fragments. Without `acc` the sum starts at zero.
  void multiplyTiles(const Instruction &instruction, Value lhs, Value rhs, Value acc, Value result,
                     bool isTf32, const Scales &scales);
};

} // namespace tilewright::nvptx

#endif // TILEWRIGHT_TARGET_NVPTX_LOWER_MATRIX_MMASYNC_H
