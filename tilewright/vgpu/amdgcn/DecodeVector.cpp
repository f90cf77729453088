// Vector instructions: VOP1, VOP2 and VOPC in their forms, VOP3 and VOP3P.
#include "tilewright/vgpu/amdgcn/DecodeState.h"

namespace tilewright::vgpu::amdgcn {

/// The number of a source, 0 to 2; nullopt for other fields.
static std::optional<unsigned> sourceNumber(Field field) {
  switch (field) {
  case Field::source0:
    return 0;
  case Field::source1:
    return 1;
  case Field::source2:
    return 2;
  default:
    return std::nullopt;
  }
}

static void setSigns(DecodeState &state, Operand &operand, bool neg, bool abs) {
  operand.negated = neg;
  operand.absolute = abs;
  const Kind kind = operand.spec->kind;
  state.failIf((neg || abs) && kind != Kind::number && kind != Kind::bfloat);
}

/// The operands that 32-bit encodings have in common: all but the first source and, with SDWA, the
/// second one.
static void addFixedOperand(DecodeState &state, const OperandSpec &spec) {
  const bool isVopc = state.instruction.row->encoding == Encoding::vopc;
  switch (spec.field) {
  case Field::destination:
    if (isVopc)
      state.vcc(spec);
    else if (spec.kind == Kind::sgpr) {
      state.failIf(state.bits(24, 17) == m0Code); // v_readfirstlane_b32
      state.scalar(spec, state.bits(24, 17));
    } else
      state.vector(spec, state.bits(24, 17), spec.kind == Kind::agpr);
    break;
  case Field::literal:
    state.instruction.add({.spec = &spec,
                           .kind = OperandKind::literal,
                           .value = state.takes(2) ? state.words[1] : 0});
    break;
  case Field::source1:
    state.vector(spec, state.bits(16, 9));
    break;
  default:
    state.vcc(spec);
  }
}

static void decodeE32(DecodeState &state) {
  for (const OperandSpec &spec : state.instruction.row->operands()) {
    if (spec.field == Field::source0)
      state.source(spec, state.bits(8, 0));
    else
      addFixedOperand(state, spec);
  }
  if (state.instruction.row->operandCount == 0) // v_nop
    state.failIf(state.bits(8, 0) != 0 || state.bits(24, 17) != 0);
}

/// A source of SDWA: a VGPR, or an SGPR if `isScalar`. `at` is the position of its first modifier
/// bit.
static void addSdwaSource(DecodeState &state, const OperandSpec &spec, unsigned code, unsigned at,
                          uint8_t &select) {
  const bool isScalar = state.bit(at + 7);
  Operand &operand = isScalar ? state.source(spec, code) : state.vector(spec, code);
  state.failIf(isScalar && operand.kind != OperandKind::scalar);
  select = static_cast<uint8_t>(state.bits(at + 2, at));
  state.failIf(select == 7);
  operand.extended = state.bit(at + 3);
  state.failIf(operand.extended && operand.spec->kind != Kind::bits);
  setSigns(state, operand, state.bit(at + 4), state.bit(at + 5));
  state.reserve(at + 6, at + 6);
}

static void decodeSdwa(DecodeState &state) {
  Instruction &instruction = state.instruction;
  const Row &row = *instruction.row;
  instruction.form = Form::sdwa;
  state.failIf(!row.has(flags::sdwa));
  if (!state.takes(2) || state.failed)
    return;
  state.literalAt = 0;
  const bool isVopc = row.encoding == Encoding::vopc;
  for (const OperandSpec &spec : row.operands()) {
    if (spec.field == Field::source0)
      addSdwaSource(state, spec, state.bits(39, 32), 48, instruction.sdwa.source0);
    else if (spec.field == Field::source1)
      addSdwaSource(state, spec, state.bits(16, 9), 56, instruction.sdwa.source1);
    else if (isVopc && state.bit(47))
      state.scalar(spec, state.bits(46, 40));
    else
      addFixedOperand(state, spec);
  }
  if (!row.find(Field::source1))
    state.reserve(63, 56);
  if (isVopc) {
    if (!state.bit(47))
      state.reserve(46, 40);
    return;
  }
  instruction.sdwa.destination = static_cast<uint8_t>(state.bits(42, 40));
  instruction.sdwa.unused = static_cast<uint8_t>(state.bits(44, 43));
  instruction.clamp = state.bit(45);
  instruction.omod = static_cast<uint8_t>(state.bits(47, 46));
  state.failIf(row.has(flags::wholeDword) && instruction.sdwa.destination != 6);
  state.failIf(instruction.sdwa.destination == 7 || instruction.sdwa.unused == 3);
  state.failIf(instruction.omod != 0 && (!row.has(flags::omod) || row.has(flags::wholeResult)));
}

static bool isDppPattern(unsigned pattern) {
  if (pattern <= 0xff)
    return true; // quad_perm
  if (pattern > 0x100 && pattern < 0x130)
    return pattern % 16 != 0; // row_shl, row_shr, row_ror
  if (pattern >= 0x130 && pattern < 0x140)
    return pattern % 4 == 0; // wave_shl, wave_rol, wave_shr, wave_ror
  return (pattern >= 0x140 && pattern <= 0x143) || (pattern >= 0x150 && pattern <= 0x15f);
}

static void decodeDpp(DecodeState &state) {
  Instruction &instruction = state.instruction;
  const Row &row = *instruction.row;
  instruction.form = Form::dpp;
  state.failIf(!row.has(flags::dpp));
  if (!state.takes(2) || state.failed)
    return;
  for (const OperandSpec &spec : row.operands()) {
    if (spec.field == Field::source0) {
      Operand &operand = state.vector(spec, state.bits(39, 32));
      setSigns(state, operand, state.bit(52), state.bit(53));
    } else {
      addFixedOperand(state, spec);
      if (spec.field == Field::source1)
        setSigns(state, instruction.operandStorage[instruction.operandCount - 1u], state.bit(54),
                 state.bit(55));
    }
  }
  if (!row.find(Field::source1))
    state.reserve(55, 54);
  state.reserve(50, 49);
  instruction.dpp = {.pattern = static_cast<uint16_t>(state.bits(48, 40)),
                     .rowMask = static_cast<uint8_t>(state.bits(63, 60)),
                     .bankMask = static_cast<uint8_t>(state.bits(59, 56)),
                     .boundControl = state.bit(51)};
  state.failIf(!isDppPattern(instruction.dpp.pattern));
}

void decodeVop12c(DecodeState &state) {
  const unsigned first = state.bits(8, 0);
  const bool hasForms = state.instruction.row->find(Field::source0) != nullptr;
  if (hasForms && first == sdwaCode)
    decodeSdwa(state);
  else if (hasForms && first == dppCode)
    decodeDpp(state);
  else
    decodeE32(state);
}

void decodeVop3(DecodeState &state) {
  Instruction &instruction = state.instruction;
  const Row &row = *instruction.row;
  state.failIf(row.encoding != Encoding::vop3 && !row.has(flags::e64));
  if (!state.takes(2) || state.failed)
    return;
  state.literalAt = 0;
  const bool hasScalarDestination = row.find(Field::scalarDestination) != nullptr;
  const unsigned neg = state.bits(63, 61), abs = hasScalarDestination ? 0 : state.bits(10, 8);
  for (const OperandSpec &spec : row.operands()) {
    if (spec.field == Field::destination && spec.kind == Kind::sgpr) {
      // The result of v_readlane_b32 may not be M0.
      state.failIf(state.bits(7, 0) > 127 || (spec.bits == 32 && state.bits(7, 0) == m0Code));
      state.scalar(spec, state.bits(7, 0));
    } else if (spec.field == Field::destination)
      state.vector(spec, state.bits(7, 0));
    else if (spec.field == Field::scalarDestination)
      state.scalar(spec, state.bits(14, 8));
    else if (const auto number = sourceNumber(spec.field)) {
      Operand &operand = state.source(spec, state.bits(40 + 9 * *number, 32 + 9 * *number));
      if (!row.has(flags::bitop))
        setSigns(state, operand, neg >> *number & 1, abs >> *number & 1);
    }
  }
  constexpr Field sources[] = {Field::source0, Field::source1, Field::source2};
  for (unsigned number = 0; number < 3; ++number)
    if (!row.find(sources[number])) {
      state.reserve(40 + 9 * number, 32 + 9 * number);
      state.failIf((neg | abs) >> number & 1);
    }
  if (!hasScalarDestination) {
    instruction.opSel = static_cast<uint8_t>(state.bits(14, 11));
    const bool hasSource2 = row.find(Field::source2) != nullptr;
    state.failIf(instruction.opSel != 0 && !row.has(flags::opSel));
    state.failIf((instruction.opSel & 4) != 0 && !hasSource2 && !row.has(flags::opSel4));
  }
  instruction.clamp = state.bit(15);
  state.failIf(instruction.clamp && !row.has(flags::clamp));
  const unsigned omod = state.bits(60, 59);
  if (row.has(flags::bitop)) {
    instruction.truthTable = static_cast<uint8_t>(omod << 6 | abs << 3 | neg);
    return;
  }
  instruction.omod = static_cast<uint8_t>(omod);
  state.failIf(omod != 0 && !row.has(flags::omod));
}

// -- VOP3P

/// The registers of a source of an f8f6f4 MFMA, whose format is `format`; 0 for other
/// formats. FP8 and BF8 take 8, FP6 and BF6 take 6, FP4 takes 4.
static unsigned registersOfFormat(unsigned format) {
  return format <= 1 ? 8 : format <= 3 ? 6 : format == 4 ? 4 : 0;
}

static void decodeMatrix(DecodeState &state, unsigned base) {
  Instruction &instruction = state.instruction;
  const Row &row = *instruction.row;
  const bool accumulates = state.bit(base + 15);
  const bool isNarrow = row.name.ends_with("f8f6f4");
  instruction.cbsz = static_cast<uint8_t>(state.bits(base + 10, base + 8));
  instruction.abid = static_cast<uint8_t>(state.bits(base + 14, base + 11));
  instruction.blgp = static_cast<uint8_t>(state.bits(base + 63, base + 61));
  state.failIf(row.has(flags::smfmac) && instruction.blgp != 0);
  for (const OperandSpec &spec : row.operands()) {
    if (spec.field == Field::destination) {
      state.vector(spec, state.bits(base + 7, base), accumulates);
      continue;
    }
    const unsigned number = *sourceNumber(spec.field);
    const unsigned low = base + 32 + 9 * number, code = state.bits(low + 8, low);
    if (spec.kind == Kind::accumulator && code < 256) {
      state.source(spec, code);
      state.failIf(instruction.operands().back().kind != OperandKind::constant);
      continue;
    }
    state.failIf(code < 256);
    const bool isAgpr =
        number < 2 ? state.bit(base + 59 + number) : accumulates && spec.kind == Kind::accumulator;
    Operand &operand = state.vector(spec, code & 255, isAgpr);
    if (isNarrow && number < 2) {
      const unsigned registers =
          registersOfFormat(number == 0 ? instruction.cbsz : instruction.blgp);
      state.failIf(registers == 0);
      operand.dwords = static_cast<uint8_t>(registers);
    }
  }
}

/// A scaled MFMA: 64 bits with the scales, then the MFMA itself.
static void decodeScaled(DecodeState &state) {
  if (!state.takes(4))
    return;
  Instruction &instruction = state.instruction;
  const uint32_t second = state.words[2];
  instruction.row =
      second >> 23 == 0x1a7 ? findRow(Encoding::vop3p, second >> 16 & 0x7f, state.chip) : nullptr;
  if (!instruction.row || !instruction.row->name.ends_with("f8f6f4"))
    return state.fail();
  decodeMatrix(state, 64);
  state.failIf(instruction.abid != 1);
  instruction.abid = 0;
  instruction.scaled = true;
  static constexpr OperandSpec scales[] = {{Field::source0, Kind::vgpr, 32},
                                           {Field::source1, Kind::vgpr, 32}};
  state.source(scales[0], state.bits(40, 32));
  state.source(scales[1], state.bits(49, 41));
  instruction.opSel = static_cast<uint8_t>(state.bits(12, 11));
  instruction.opSelHi = static_cast<uint8_t>(state.bits(60, 59));
  state.reserve(10, 0);
  state.reserve(15, 13);
  state.reserve(58, 50);
  state.reserve(63, 61);
}

static constexpr unsigned scalePrefix = 0x2c; // v_mfma_ld_scale_b32

void decodeVop3p(DecodeState &state) {
  Instruction &instruction = state.instruction;
  if (!instruction.row) {
    if (state.bits(22, 16) == scalePrefix && state.chip == Chip::gfx950)
      return decodeScaled(state);
    return state.fail();
  }
  if (!state.takes(2))
    return;
  state.literalAt = 0;
  const Row &row = *instruction.row;
  if (row.has(flags::mfma | flags::smfmac)) {
    decodeMatrix(state, 0);
    state.failIf(row.name.ends_with("f8f6f4") && instruction.abid != 0);
    return;
  }
  instruction.clamp = state.bit(15);
  instruction.opSel = static_cast<uint8_t>(state.bits(13, 11));
  instruction.opSelHi = static_cast<uint8_t>(state.bits(60, 59) | state.bits(14, 14) << 2);
  instruction.negLo = static_cast<uint8_t>(state.bits(63, 61));
  instruction.negHi = static_cast<uint8_t>(state.bits(10, 8));
  unsigned sources = 0;
  for (const OperandSpec &spec : row.operands()) {
    if (spec.field == Field::destination) {
      state.vector(spec, state.bits(7, 0), spec.kind == Kind::agpr);
      continue;
    }
    const unsigned number = *sourceNumber(spec.field);
    Operand &operand = state.source(spec, state.bits(40 + 9 * number, 32 + 9 * number));
    sources |= 1u << number;
    if (row.has(flags::mix))
      setSigns(state, operand, instruction.negLo >> number & 1, instruction.negHi >> number & 1);
  }
  const bool isPacked = row.has(flags::packed | flags::mix);
  const bool hasSigns = isPacked || row.has(flags::packedSigns);
  state.failIf(!row.has(flags::clamp) && instruction.clamp);
  state.failIf(((instruction.negLo | instruction.negHi) & ~(hasSigns ? sources : 0)) != 0);
  state.failIf((instruction.opSel & ~(isPacked ? sources : 0)) != 0);
  for (unsigned number = 0; number < 3; ++number)
    if (!(sources >> number & 1))
      state.reserve(40 + 9 * number, 32 + 9 * number);
}

} // namespace tilewright::vgpu::amdgcn
