// The table of encodings: every machine instruction of gfx942 and gfx950 that we can decode. The
// rows are in encodings/*.def.
#ifndef TILEWRIGHT_VGPU_AMDGCN_TABLE_H
#define TILEWRIGHT_VGPU_AMDGCN_TABLE_H

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace tilewright::vgpu::amdgcn {

/// A chip is one bit of the column `chips`. Another chip, such as gfx1250, would be another bit.
enum class Chip : uint8_t { gfx942 = 1, gfx950 = 2 };

std::string_view nameOf(Chip chip);
std::optional<Chip> findChip(std::string_view name);

enum class Encoding : uint8_t {
  sop2,
  sop1,
  sopk,
  sopc,
  sopp,
  smem,
  vop1,
  vop2,
  vopc,
  vop3,
  vop3p,
  ds,
  flat,
  mubuf,
  mtbuf,
};
inline constexpr size_t encodingCount = 15;

/// The encoding of a vector instruction. Rows of VOP1, VOP2 and VOPC have up to four encodings, all
/// others one.
enum class Form : uint8_t { e32, e64, sdwa, dpp };

/// The bits of the instruction that an operand is read from. The letter is the one in the column
/// `operands`.
enum class Field : char {
  destination = 'd',       // SDST, VDST, SDATA; VDST as a pair of SGPRs in VOPC
  scalarDestination = 's', // SDST of VOP3; VCC in the form of 32 bits
  source0 = 'a',           // SSRC0, SRC0; SBASE, ADDR
  source1 = 'b',           // SSRC1, SRC1; DATA0, VDATA
  source2 = 'c',           // SRC2; DATA1; VCC in the form of 32 bits
  immediate = 'k',         // SIMM16
  literal = 'l',           // the dword after the instruction, always present
  offset = 'o',            // the offset of SMEM
};

/// How an operand is read and printed. The column `operands` writes it as letters and a number of
/// bits: `v64` is a pair of VGPRs.
enum class Kind : uint8_t {
  vgpr,        // v: VGPRs; AGPRs where the instruction has a bit that says so
  agpr,        // a: AGPRs
  sgpr,        // s: SGPRs
  accumulator, // m: VGPRs or AGPRs of a matrix instruction; as a source also a constant
  uniform,     // u: an SGPR or a constant
  bits,        // b: a register or a constant; b16 (written i16) has constants of 16 bits
  number,      // f: the same with the modifiers neg and abs
  half2,       // h2: two f16
  short2,      // i2: two i16
  bfloat,      // bf16
  bfloat2,     // bf2: two bf16
  float2,      // p64: two f32
  literal,     // the field `l`
  imm16,       // k:u16: a number, printed in hexadecimal above 64
  hex16,       // k:i16: a number of SOPK, printed in hexadecimal
  label,       // k: a branch target, in dwords after the next instruction
  hwreg,       // k: a field of a hardware register
  waitcnt,     // k: counters of s_waitcnt
  message,     // k: the message of s_sendmsg
  exitCode,    // k: the number of s_endpgm, which is rarely present
  gprIndex,    // k or b: the mode bits of VGPR indexing
  probe,       // d:u7: a number in the place of SDATA
  scalarOffset // o: an immediate, an SGPR, or both
};

struct OperandSpec {
  Field field;
  Kind kind;
  uint16_t bits;
  unsigned dwords() const { return bits <= 32 ? 1 : bits / 32; }
  bool isSource() const {
    return kind == Kind::bits || kind == Kind::number ||
           (kind >= Kind::half2 && kind <= Kind::float2);
  }
};

/// The column `flags`: the modifiers and encodings that an instruction has.
namespace flags {
enum : uint32_t {
  none = 0,
  clamp = 1 << 0,
  omod = 1 << 1,
  opSel = 1 << 2,        // op_sel with one element for each operand
  bitop = 1 << 3,        // a truth table in place of abs, neg and omod
  e64 = 1 << 4,          // has a form of 64 bits
  sdwa = 1 << 5,         // has an SDWA form
  dpp = 1 << 6,          // has a DPP form
  packed = 1 << 7,       // op_sel, op_sel_hi, neg_lo, neg_hi
  packedSigns = 1 << 8,  // neg_lo, neg_hi
  mix = 1 << 9,          // op_sel, op_sel_hi, neg, abs
  mfma = 1 << 10,        // cbsz, abid, blgp
  negates = 1 << 11,     // neg in the place of blgp
  smfmac = 1 << 12,      // cbsz, abid
  twoOffsets = 1 << 13,  // two offsets of 8 bits
  swizzle = 1 << 14,     // the offset is a swizzle pattern
  gds = 1 << 15,         // only GDS
  atomic = 1 << 16,      // has a destination only if sc0 is set
  flat = 1 << 17,        // exists in the flat segment
  global = 1 << 18,      // exists in the global segment
  scratch = 1 << 19,     // exists in the scratch segment
  lds = 1 << 20,         // may write to LDS in place of VGPRs
  bare = 1 << 21,        // no operands, only cache bits
  vgprResult = 1 << 25,  // an atomic that does not return into AGPRs
  wholeDword = 1 << 24,  // the SDWA form writes whole dwords
  wholeResult = 1 << 22, // the SDWA form has no omod, because the result is an integer
  opSel4 = 1 << 23,      // op_sel has four elements although there are two sources
};
} // namespace flags

/// One instruction.
struct Row {
  Encoding encoding;
  uint16_t opcode;
  std::string_view name; // without the suffix of a form
  std::array<OperandSpec, 5> operandStorage;
  uint8_t operandCount;
  uint32_t flags;
  uint8_t chips;

  std::span<const OperandSpec> operands() const { return {operandStorage.data(), operandCount}; }
  bool has(uint32_t flag) const { return (flags & flag) != 0; }
  bool isOn(Chip chip) const { return (chips & static_cast<uint8_t>(chip)) != 0; }
  const OperandSpec *find(Field field) const;
};

/// All rows, in the order of the files.
std::span<const Row> table();

/// The row of an opcode on a chip; null if there is none.
const Row *findRow(Encoding encoding, unsigned opcode, Chip chip);

} // namespace tilewright::vgpu::amdgcn

#endif // TILEWRIGHT_VGPU_AMDGCN_TABLE_H
