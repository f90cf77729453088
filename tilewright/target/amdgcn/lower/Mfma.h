// Products of tiles in registers by AMD's matrix instructions (MFMA).
#ifndef TILEWRIGHT_TARGET_AMDGCN_LOWER_MFMA_H
#define TILEWRIGHT_TARGET_AMDGCN_LOWER_MFMA_H

#include "tilewright/dialect/tile/TileDialect.h"
#include "tilewright/target/amdgcn/Chip.h"
#include "tilewright/target/gpu/OpGroup.h"

#include "llvm/ADT/DenseSet.h"

#include <map>
#include <optional>
#include <string>

namespace tilewright::amdgcn {

/// Multiplies fragments that waves hold in registers.
class MfmaLowering : public gpu::OpGroup {
public:
  MfmaLowering(gpu::KernelLowering &all, const Chip &chip) : OpGroup(all), chip(chip) {}

  void dot(tile::DotOp dot);
  /// A product of fragments that were loaded from LDS. Its sums stay packed.
  void mma(sm::MmaOp mma);

  // --- Packed tiles: a vector register group for each fragment instead of its elements ---
  bool isPacked(mlir::Value tile) const { return packed.contains(tile); }
  void markPacked(mlir::Value tile) { packed.insert(tile); }
  /// Packs the sums that a loop carries to a product.
  void packSums(mlir::Value tile);
  /// Makes a tile of elements of packed sums.
  void unpack(mlir::Value tile);

private:
  /// One instruction: its intrinsic, the elements of an operand that a lane gives it, and their
  /// type as the intrinsic declares it.
  struct Instruction {
    std::string name;
    int64_t elements;
    mlir::Type operand;
  };
  /// The instruction of `size` rows and columns (16 or 32) that multiplies these types; nullopt if
  /// there is none.
  std::optional<Instruction> instructionFor(mlir::Type left, mlir::Type right, mlir::Type sum,
                                            int64_t size);
  /// The operands of the instructions that multiply one fragment.
  llvm::SmallVector<mlir::Value> pack(const Instruction &instruction,
                                      llvm::ArrayRef<unsigned> registers, mlir::Value tile);
  /// An element as memory stores it. An element that was loaded is not encoded again.
  mlir::Value storedOf(mlir::Value value, mlir::Type element);

  /// The operands of the instructions that multiply one packed fragment.
  llvm::SmallVector<mlir::Value> divide(const Instruction &instruction, int64_t bits,
                                        mlir::Value fragment);

  /// A product with block scales. Its operands are bytes, which hold elements of `bits` bits.
  void scaledDot(tile::DotOp dot);
  using OfBlocks = std::map<std::pair<int64_t, int64_t>, mlir::Value>;
  OfBlocks packBytes(mlir::Value tile, bool isLeft, int64_t bits);
  OfBlocks packScales(mlir::Value scales, const OfBlocks &of);

  const Chip &chip;
  llvm::DenseSet<mlir::Value> packed;
};

} // namespace tilewright::amdgcn

#endif // TILEWRIGHT_TARGET_AMDGCN_LOWER_MFMA_H
