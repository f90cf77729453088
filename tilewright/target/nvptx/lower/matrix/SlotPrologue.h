// What is computed of the words of a slot before they are multiplied.
#ifndef TILEWRIGHT_TARGET_NVPTX_LOWER_MATRIX_SLOTPROLOGUE_H
#define TILEWRIGHT_TARGET_NVPTX_LOWER_MATRIX_SLOTPROLOGUE_H

#include "tilewright/target/nvptx/lower/KernelLowering.h"

namespace tilewright::nvptx {

/// Emits the registers of a computed operand from the raw words of its slot, through the maps and
/// views that were deferred.
class RegisterOperandLowering::Prologue {
public:
  Prologue(RegisterOperandLowering &group, RawTile raw) : group(group), raw(std::move(raw)) {}

  /// Emits the word of the instruction that has these registers of the operand, in order.
  Value emitWord(Value tile, llvm::ArrayRef<unsigned> registers);

private:
  /// Emits one register of a deferred tile.
  Lanes emit(Value value, unsigned reg);
  Lanes emitView(tile::ViewOp view, unsigned reg);
  /// Emits register `reg` of all results of a map and caches them. Returns the register of the
  /// result `value`.
  Lanes emitMap(tile::MapOp map, Value value, unsigned reg);

  /// Two registers of a tile.
  struct Two {
    unsigned first, second;
  };
  /// Emits two registers of a deferred tile as a vector of two bf16, if bf16 has all values of the
  /// tile; else null. An instruction then multiplies both, and converts less than with f32.
  Value emitPair(Value value, Two registers);
  Value makePair(Value value, Two registers);
  Value pairOfMap(tile::MapOp map, Value value, Two registers);
  Value pairOfBytes(Value tile, Two registers);
  /// A pair of a map that unpacks elements of 4 bits (f4E2M1FN); null for any other map.
  Value pairOfNibbles(tile::MapOp map, Two registers);

  RegisterOperandLowering &group;
  RawTile raw;
  KnownRegisters known;
  std::map<std::tuple<const void *, unsigned, unsigned>, Value> pairs;
};

} // namespace tilewright::nvptx

#endif // TILEWRIGHT_TARGET_NVPTX_LOWER_MATRIX_SLOTPROLOGUE_H
