// Code that the decoders of the encodings share.
#ifndef TILEWRIGHT_VGPU_AMDGCN_DECODESTATE_H
#define TILEWRIGHT_VGPU_AMDGCN_DECODESTATE_H

#include "tilewright/vgpu/amdgcn/Instruction.h"

namespace tilewright::vgpu::amdgcn {

// Codes of scalar operands.
inline constexpr unsigned vccCode = 106, execCode = 126, literalCode = 255, sdwaCode = 249,
                          dppCode = 250, noRegister = 127, m0Code = 124;

/// An instruction that is being decoded. A function that finds a mistake calls fail() and goes on
/// with harmless values; the caller checks once, at the end.
class DecodeState {
public:
  DecodeState(std::span<const uint32_t> words, Chip chip) : words(words), chip(chip) {}

  /// Bits `high` to `low` of the instruction, counted from the first dword.
  uint32_t bits(unsigned high, unsigned low) const {
    const uint32_t word = words[low / 32];
    return (word >> (low % 32)) & ((uint64_t(1) << (high - low + 1)) - 1);
  }
  bool bit(unsigned at) const { return bits(at, at) != 0; }

  /// Declares that the instruction has at least `count` dwords.
  bool takes(unsigned count) {
    if (words.size() < count) {
      fail();
      return false;
    }
    instruction.dwords = static_cast<uint8_t>(std::max<unsigned>(instruction.dwords, count));
    return true;
  }
  /// Fails unless the bits are 0: the instruction has no such field.
  void reserve(unsigned high, unsigned low) { failIf(bits(high, low) != 0); }

  void fail() { failed = true; }
  void failIf(bool condition) { failed |= condition; }

  /// A source of 8 or 9 bits: SGPR, constant, literal or VGPR, whatever `spec` allows.
  Operand &source(const OperandSpec &spec, unsigned code);
  Operand &scalar(const OperandSpec &spec, unsigned code);
  Operand &vector(const OperandSpec &spec, unsigned number, bool isAgpr = false);
  Operand &immediate(const OperandSpec &spec, uint32_t value);
  /// VCC, which is implicit in 32-bit encodings.
  Operand &vcc(const OperandSpec &spec) { return scalar(spec, vccCode); }

  std::span<const uint32_t> words;
  Chip chip;
  Instruction instruction;
  bool failed = false;
  unsigned literalAt = 1; // the dword that would be the literal; 0 if the encoding has none
};

void decodeScalar(DecodeState &state);
void decodeVop12c(DecodeState &state);
void decodeVop3(DecodeState &state);
void decodeVop3p(DecodeState &state);
void decodeDs(DecodeState &state);
void decodeFlat(DecodeState &state);
void decodeBuffer(DecodeState &state);

} // namespace tilewright::vgpu::amdgcn

#endif // TILEWRIGHT_VGPU_AMDGCN_DECODESTATE_H
