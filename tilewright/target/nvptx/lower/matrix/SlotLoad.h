// Tiles between slots of channels and registers: a tile that threads read, as raw words, and the
// accesses by which they read or write one.
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

/// One access to a slot: `bytes` bytes at `offset`, and the registers of the consecutive elements
/// in it. An element that is unpacked later is in several registers.
struct SlotAccess {
  int64_t offset, bytes;
  llvm::SmallVector<llvm::SmallVector<unsigned>> registers;
};

/// How the threads of a role access a whole slot in the layout of a tile, in the order of offsets.
struct SlotAccesses {
  llvm::SmallVector<int64_t> ofBits; // the offset that each bit of the thread id contributes
  llvm::SmallVector<SlotAccess> accesses;
};
/// With accesses of at most 16 bytes.
SlotAccesses accessesOf(sm::BufferType buffer, const sm::Layout &fragments);
/// Whether a tile has all elements of a slot, in registers of warpgroups, and the offset of an
/// element is the xor of what its thread and its register contribute.
bool isWholeSlot(const sm::Layout &fragments, sm::BufferType buffer);

/// Decodes the element of one register.
Lanes decodeRaw(ThreadBuilder &b, const RawTile &raw, unsigned reg, Type type,
                KnownRegisters &known);

/// Packs elements of a computed operand into one word of the instruction.
Value packWord(ThreadBuilder &b, llvm::ArrayRef<Lanes> elements, Type type);

/// Whether a copy reads a slot into registers, or writes one of more than one element from them.
bool isFromSlot(sm::CopyOp copy);
bool isToSlot(sm::CopyOp copy);

} // namespace tilewright::nvptx

#endif // TILEWRIGHT_TARGET_NVPTX_LOWER_MATRIX_SLOTLOAD_H
