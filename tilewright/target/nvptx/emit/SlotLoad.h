// A tile that threads read from a slot of a channel, as raw words.
#ifndef TILEWRIGHT_TARGET_NVPTX_EMIT_SLOTLOAD_H
#define TILEWRIGHT_TARGET_NVPTX_EMIT_SLOTLOAD_H

#include "tilewright/dialect/sm/SmDialect.h"
#include "tilewright/target/lanes/Lanes.h"

#include <map>

namespace tilewright::nvptx {

/// Raw words of a tile that were read from a slot, and the position of each register's element in
/// them. Elements are decoded where they are used.
struct RawTile {
  llvm::SmallVector<llvm::Value *> words; // i8, i16 or i32
  struct BitPosition {
    unsigned word, bit;
  };
  llvm::SmallVector<BitPosition> positions; // by register
};

/// Caches registers that are already emitted: by tile and register, or by word and half.
using KnownRegisters = std::map<std::pair<const void *, unsigned>, lanes::Lanes>;

/// Decodes the element of one register.
lanes::Lanes decodeRaw(lanes::LaneBuilder &b, const RawTile &raw, unsigned reg, mlir::Type type,
                       KnownRegisters &known);

/// Whether a copy reads a slot into registers.
bool isFromSlot(sm::CopyOp copy);

} // namespace tilewright::nvptx

#endif // TILEWRIGHT_TARGET_NVPTX_EMIT_SLOTLOAD_H
