// A decoded machine instruction.
#ifndef TILEWRIGHT_VGPU_AMDGCN_INSTRUCTION_H
#define TILEWRIGHT_VGPU_AMDGCN_INSTRUCTION_H

#include "tilewright/vgpu/amdgcn/Table.h"

#include <string>

namespace tilewright::vgpu::amdgcn {

enum class OperandKind : uint8_t {
  scalar, // `code` is the number of the (first) scalar register or special value, 0-127 or 235-254
  constant,  // `code` is an inline constant, 128-208 and 240-248
  vgpr,      // `code` is the number of the (first) VGPR
  agpr,      // the same for AGPRs
  literal,   // `value`
  immediate, // `value`, printed as the specification says
  absent,    // `off`: an address that is not there
};

struct Operand {
  const OperandSpec *spec = nullptr;
  OperandKind kind = OperandKind::absent;
  uint8_t dwords = 1;
  uint16_t code = 0;
  uint32_t value = 0;
  bool negated = false, absolute = false, extended = false; // the last one is SDWA's sext
};

/// The fields of SDWA that choose parts of registers.
struct SdwaSelects {
  uint8_t destination = 6, unused = 0, source0 = 6, source1 = 6; // 6: the whole dword
};

struct DppControl {
  uint16_t pattern = 0; // quad_perm, row_shr, …
  uint8_t rowMask = 0xf, bankMask = 0xf;
  bool boundControl = false;
};

/// The modifiers of memory instructions.
struct MemoryBits {
  int32_t offset = 0;
  uint8_t offset1 = 0; // with flags::twoOffsets
  bool sc0 = false, sc1 = false, nt = false;
  bool gds = false, lds = false;
  bool offen = false, idxen = false; // SMEM: offen says that it has an SGPR and an immediate
  uint8_t segment = 0;               // FLAT: 0 flat, 1 scratch, 2 global
  uint8_t format = 0;                // MTBUF
};

struct Instruction {
  const Row *row = nullptr;
  Form form = Form::e32;
  uint8_t dwords = 0; // the size of the instruction with its literal
  uint8_t operandCount = 0;
  std::array<Operand, 6> operandStorage;

  bool clamp = false;
  uint8_t omod = 0;
  uint8_t opSel = 0, opSelHi = 0, negLo = 0, negHi = 0; // one bit for each source
  uint8_t truthTable = 0;                               // v_bitop3
  uint8_t cbsz = 0, abid = 0, blgp = 0;                 // matrix instructions
  bool scaled = false; // v_mfma_scale: the last two operands are the scales
  SdwaSelects sdwa;
  DppControl dpp;
  MemoryBits memory;

  std::span<const Operand> operands() const { return {operandStorage.data(), operandCount}; }
  Operand &add(const Operand &operand) { return operandStorage[operandCount++] = operand; }
};

/// Decodes the instruction at the beginning of `words`. Returns nullopt if the bytes are not an
/// instruction of the chip: an unknown opcode, a register that does not exist, a modifier that the
/// instruction does not have, or an instruction that ends after `words`.
std::optional<Instruction> decode(std::span<const uint32_t> words, Chip chip);

/// The instruction in the syntax of LLVM's assembler, as llvm-objdump prints it.
std::string toText(const Instruction &instruction);

} // namespace tilewright::vgpu::amdgcn

#endif // TILEWRIGHT_VGPU_AMDGCN_INSTRUCTION_H
