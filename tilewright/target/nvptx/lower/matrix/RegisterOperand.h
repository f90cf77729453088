// wgmma with its left operand in registers, which threads load or compute.
#ifndef TILEWRIGHT_TARGET_NVPTX_LOWER_MATRIX_REGISTEROPERAND_H
#define TILEWRIGHT_TARGET_NVPTX_LOWER_MATRIX_REGISTEROPERAND_H

#include "tilewright/dialect/tile/TileDialect.h"
#include "tilewright/target/nvptx/lower/OpGroup.h"
#include "tilewright/target/nvptx/lower/matrix/SlotLoad.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace tilewright::nvptx {

/// Loads slots as raw words, and computes the operand piece by piece with the matmul.
class RegisterOperandLowering : public OpGroup {
public:
  explicit RegisterOperandLowering(KernelLowering &all) : OpGroup(all) {}

  /// Finds the prologues of operands of matmuls, which are emitted with the matmul, or with the
  /// copy to the slot where it reads them.
  void deferPrologues(sm::RoleOp role);
  bool isDeferred(mlir::Operation *op) const { return deferred.contains(op); }
  void load(sm::CopyOp copy);
  /// Computes a tile and writes it to a slot that a product of another role reads.
  void store(sm::CopyOp copy);
  void mma(sm::MmaOp mma);
  /// Whether to pack a map's result into the words of the instruction as soon as it is computed,
  /// because only such products read it. Words need half of the registers.
  bool isPacked(Value tile);
  /// Called before a packed tile is computed: waits for the products that may still read the words
  /// of the previous iteration from the same registers. Makes `inputs` operands of the wait, so
  /// that no instruction that computes from them moves above it.
  void waitForReaders(mlir::ValueRange inputs);
  void pack(Value tile);

private:
  struct SlotLoad;
  class Prologue;
  struct RegisterProduct;

  /// The words of the slot that a deferred tile is computed from; null if there is none.
  RawTile *sourceOf(Value tile);
  /// The register of the slot's tile from which a register of a deferred tile is computed.
  std::optional<unsigned> rawRegister(Value value, unsigned reg);
  /// Writes a whole slot. `wordOf` emits the word of two or more registers.
  void writeSlot(sm::CopyOp copy,
                 llvm::function_ref<Value(llvm::ArrayRef<unsigned> registers)> wordOf);

  llvm::DenseSet<mlir::Operation *> deferred;
  llvm::DenseMap<Value, RawTile> rawTiles;
  /// For deferred views, the source register of each result register.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<int64_t>> viewRegisters;
};

} // namespace tilewright::nvptx

#endif // TILEWRIGHT_TARGET_NVPTX_LOWER_MATRIX_REGISTEROPERAND_H
