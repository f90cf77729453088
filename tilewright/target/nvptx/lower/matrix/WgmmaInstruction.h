// Properties of wgmma: types, depths, and how descriptors step through an operand.
#ifndef TILEWRIGHT_TARGET_NVPTX_LOWER_MATRIX_WGMMAINSTRUCTION_H
#define TILEWRIGHT_TARGET_NVPTX_LOWER_MATRIX_WGMMAINSTRUCTION_H

#include "tilewright/dialect/sm/SmDialect.h"
#include "tilewright/target/nvptx/lower/PtxMachine.h"

#include <optional>
#include <string>
#include <string_view>

namespace tilewright::nvptx::wgmma {

/// How a descriptor advances through an operand; distances are in units of 16 bytes.
struct OperandWalk {
  bool kInner = true;
  int64_t lead = 0;  // between adjacent lines along M or N, if those are contiguous
  int64_t step = 0;  // between the K steps of adjacent instructions
  int64_t block = 0; // between adjacent blocks of 64 rows
  /// If lines run along K: the number of K steps in a line of 128 bytes, and the distance between
  /// lines.
  int64_t stepsOfLine = 1, nextLine = 0;

  /// The distance of a K step from the first.
  int64_t atStep(int64_t number) const {
    return kInner ? number % stepsOfLine * step + number / stepsOfLine * nextLine : number * step;
  }
};

/// Derives the walk from a buffer's layout; nullopt if wgmma does not support it. `own` is the
/// dimension of the buffer that is M or N.
std::optional<OperandWalk> walkOf(sm::BufferType buffer, size_t own);

/// The type suffix and depth of an instruction, and the modifiers that it takes.
struct Kind {
  const char *types; // "f32.f16.f16"
  int64_t depth;     // of one instruction
  bool hasOrder;     // takes operands contiguous along M or N
  bool hasSigns;     // takes factors of -1
};
std::optional<Kind> kindOf(Type element, Type sum);

/// The text of one instruction, which accumulates into block number `block` of the sums; the
/// operands of the assembly begin with the sums. `left` is the left operand; the right operand is
/// the descriptor in the register `c`. `order` contains the modifiers for operands that are
/// contiguous along M or N. If `accumulates` is false, the sums start at zero.
std::string instruction(const Kind &kind, int64_t columns, int64_t block, std::string_view left,
                        bool accumulates, std::string_view order);

/// Whether every copy to the slots that `buffer` is taken from rounds to tf32. The instruction
/// itself ignores the low bits of a word, so without the copy's rounding it would truncate.
bool isRoundedToTf32(Value buffer);

/// The low word of a buffer's matrix descriptor.
Value descriptor(ThreadBuilder &b, Value address, const OperandWalk &walk);

/// Emits the instructions in `text` as one group. Returns the `sums` sums of a thread, elements of
/// type `element`. `words` are the operands of 32 bits after the sums. Without `acc` the sums start
/// at zero.
llvm::SmallVector<Lanes> emitGroup(ThreadBuilder &b, Type element, int64_t sums,
                                   const std::string &text, llvm::ArrayRef<Value> words,
                                   const llvm::SmallVector<Lanes> *acc);

} // namespace tilewright::nvptx::wgmma

#endif // TILEWRIGHT_TARGET_NVPTX_LOWER_MATRIX_WGMMAINSTRUCTION_H
