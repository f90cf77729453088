// A tile that threads read from a slot of a channel, as raw words.
#ifndef TILEWRIGHT_TARGET_NVPTX_LOWER_MATRIX_SLOTLOAD_H
#define TILEWRIGHT_TARGET_NVPTX_LOWER_MATRIX_SLOTLOAD_H

#include "tilewright/dialect/sm/SmDialect.h"
#include "tilewright/target/nvptx/lower/PtxMachine.h"

#include <map>

namespace tilewright::nvptx {

/// Raw words of a tile that were read from a slot, and the position of each register's element in
/// them. Elements are decoded where they are used.
struct RawTile {
  llvm::SmallVector<Value> words; // i8, i16 or i32
  struct BitPosition {
    unsigned word, bit;
  };
  llvm::SmallVector<BitPosition> positions; // by register
};

/// Caches registers that are already emitted: by tile and register, or by word and half.
using KnownRegisters = std::map<std::pair<const void *, unsigned>, Lanes>;

/// Decodes the element of one register.
Lanes decodeRaw(ThreadBuilder &b, const RawTile &raw, unsigned reg, Type type,
                KnownRegisters &known);

/// Packs elements of a computed operand into one word of the instruction.
Value packWord(ThreadBuilder &b, llvm::ArrayRef<Lanes> elements, Type type);

/// Whether a copy reads a slot into registers.
bool isFromSlot(sm::CopyOp copy);

} // namespace tilewright::nvptx

#endif // TILEWRIGHT_TARGET_NVPTX_LOWER_MATRIX_SLOTLOAD_H
