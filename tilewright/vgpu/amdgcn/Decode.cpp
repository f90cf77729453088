#include "tilewright/vgpu/amdgcn/DecodeState.h"

namespace tilewright::vgpu::amdgcn {

// -- Operands

static constexpr unsigned firstTtmp = 108, lastTtmp = 123;

/// Whether `code` names a scalar register, or a special value, that is `dwords` dwords wide.
static bool isScalar(unsigned code, unsigned dwords) {
  if (code < 102 || (code >= firstTtmp && code <= lastTtmp)) {
    const unsigned alignment = dwords == 1 ? 1 : dwords == 2 ? 2 : 4;
    const bool isTtmp = code >= firstTtmp;
    return (isTtmp ? code - firstTtmp : code) % alignment == 0 &&
           code + dwords <= (isTtmp ? lastTtmp + 1 : 106);
  }
  if (dwords > 2)
    return false;
  switch (code) {
  case 102: // flat_scratch
  case 104: // xnack_mask
  case vccCode:
  case execCode:
  case 235: // src_shared_base, src_shared_limit, src_private_base, src_private_limit
  case 236:
  case 237:
  case 238:
  case 239: // src_pops_exiting_wave_id
  case 251: // src_vccz, src_execz, src_scc
  case 252:
  case 253:
    return true;
  case 103:
  case 105:
  case 107:
  case m0Code:
  case 127:
    return dwords == 1;
  default:
    return false;
  }
}

static bool isConstant(unsigned code) {
  return (code >= 128 && code <= 208) || (code >= 240 && code <= 248);
}

Operand &DecodeState::scalar(const OperandSpec &spec, unsigned code) {
  failIf(!isScalar(code, spec.dwords()));
  return instruction.add({.spec = &spec,
                          .kind = OperandKind::scalar,
                          .dwords = static_cast<uint8_t>(spec.dwords()),
                          .code = static_cast<uint16_t>(code)});
}

Operand &DecodeState::vector(const OperandSpec &spec, unsigned number, bool isAgpr) {
  // Tuples of VGPRs begin at an even number since gfx90a.
  failIf(number + spec.dwords() > 256 || (spec.dwords() > 1 && number % 2 != 0));
  return instruction.add({.spec = &spec,
                          .kind = isAgpr ? OperandKind::agpr : OperandKind::vgpr,
                          .dwords = static_cast<uint8_t>(spec.dwords()),
                          .code = static_cast<uint16_t>(number)});
}

Operand &DecodeState::immediate(const OperandSpec &spec, uint32_t value) {
  return instruction.add({.spec = &spec, .kind = OperandKind::immediate, .value = value});
}

Operand &DecodeState::source(const OperandSpec &spec, unsigned code) {
  if (spec.kind == Kind::vgpr || spec.kind == Kind::agpr) {
    failIf(code < 256);
    return vector(spec, code & 255, spec.kind == Kind::agpr);
  }
  if (spec.kind == Kind::sgpr)
    return scalar(spec, code);
  if (code >= 256) {
    failIf(spec.kind == Kind::uniform);
    return vector(spec, code - 256);
  }
  if (isConstant(code))
    return instruction.add({.spec = &spec,
                            .kind = OperandKind::constant,
                            .dwords = static_cast<uint8_t>(spec.dwords()),
                            .code = static_cast<uint16_t>(code)});
  if (code == literalCode && literalAt != 0) {
    const uint32_t value = takes(literalAt + 1) ? words[literalAt] : 0;
    return instruction.add({.spec = &spec,
                            .kind = OperandKind::literal,
                            .dwords = static_cast<uint8_t>(spec.dwords()),
                            .value = value});
  }
  return scalar(spec, code);
}

// -- The encodings of the scalar unit

static unsigned fieldOf(const DecodeState &state, Field field) {
  const bool isSopk = state.instruction.row->encoding == Encoding::sopk;
  switch (field) {
  case Field::destination:
    return state.bits(22, 16);
  case Field::source0:
    return state.bits(7, 0);
  case Field::source1:
    return state.bits(15, 8);
  default:
    return isSopk ? state.bits(22, 16) : 0;
  }
}

static void decodeSmem(DecodeState &state) {
  if (!state.takes(2))
    return;
  Instruction &instruction = state.instruction;
  const bool hasImmediate = state.bit(17), hasRegister = state.bit(14);
  const Row &row = *instruction.row;
  state.reserve(15, 15);
  state.reserve(13, 13);
  state.literalAt = 0;
  const OperandSpec *offset = row.find(Field::offset);
  for (const OperandSpec &spec : row.operands()) {
    if (spec.kind == Kind::probe)
      state.immediate(spec, state.bits(12, 6));
    else if (spec.field == Field::destination) {
      state.scalar(spec, state.bits(12, 6));
      state.failIf(state.bits(12, 6) >= m0Code); // neither M0 nor EXEC
    } else if (spec.field == Field::source0)
      state.scalar(spec, state.bits(5, 0) << 1);
  }
  if (!row.find(Field::destination))
    state.reserve(12, 6);
  if (!row.find(Field::source0))
    state.reserve(5, 0);
  if (!offset) {
    state.reserve(17, 14);
    state.reserve(63, 32);
    return;
  }
  instruction.memory.sc0 = state.bit(16);
  state.failIf(instruction.memory.sc0 &&
               (row.operands()[0].kind == Kind::probe || !row.find(Field::destination)));
  instruction.memory.offset = static_cast<int32_t>(state.bits(52, 32) << 11) >> 11;
  state.reserve(56, 53);
  static constexpr OperandSpec offsetRegister = {Field::offset, Kind::sgpr, 32};
  if (hasImmediate && !hasRegister) {
    state.immediate(*offset, 0);
    state.reserve(63, 57);
    return;
  }
  // With neither an immediate nor `soffset_en`, the offset field holds the register.
  state.scalar(offsetRegister, hasRegister ? state.bits(63, 57) : state.bits(38, 32));
  instruction.memory.offen = hasImmediate;
  if (!hasImmediate) {
    instruction.memory.offset = 0;
    if (hasRegister)
      state.reserve(52, 32);
    else {
      state.reserve(52, 39);
      state.reserve(63, 57);
    }
  }
}

void decodeScalar(DecodeState &state) {
  const Row &row = *state.instruction.row;
  if (row.encoding == Encoding::smem)
    return decodeSmem(state);
  for (const OperandSpec &spec : row.operands()) {
    switch (spec.field) {
    case Field::immediate:
      state.immediate(spec, state.bits(15, 0));
      break;
    case Field::literal:
      state.immediate(spec, state.takes(2) ? state.words[1] : 0);
      break;
    default:
      if (spec.kind == Kind::gprIndex)
        state.immediate(spec, fieldOf(state, spec.field));
      else
        state.source(spec, fieldOf(state, spec.field));
    }
  }
  const bool hasImmediate = row.find(Field::immediate) != nullptr;
  if (row.encoding == Encoding::sopp && !hasImmediate)
    state.reserve(15, 0);
  if (row.encoding == Encoding::sop1 && !row.find(Field::source0))
    state.reserve(7, 0);
  const bool hasDestination = row.find(Field::destination) != nullptr;
  if (!hasDestination && (row.encoding == Encoding::sop1 || row.encoding == Encoding::sop2 ||
                          row.encoding == Encoding::sopk))
    state.reserve(22, 16);
}

// -- Which encoding it is

namespace {
struct Choice {
  Encoding encoding;
  unsigned opcode;
  Form form = Form::e32;
};
} // namespace

static Choice choose(uint32_t word) {
  const unsigned top9 = word >> 23, top6 = word >> 26;
  if (word >> 31 == 0) {
    const unsigned opcode = (word >> 25) & 0x3f;
    if (opcode == 0x3e)
      return {Encoding::vopc, (word >> 17) & 0xff};
    if (opcode == 0x3f)
      return {Encoding::vop1, (word >> 9) & 0xff};
    return {Encoding::vop2, opcode};
  }
  if (word >> 30 == 2) {
    if (top9 == 0x17d)
      return {Encoding::sop1, (word >> 8) & 0xff};
    if (top9 == 0x17e)
      return {Encoding::sopc, (word >> 16) & 0x7f};
    if (top9 == 0x17f)
      return {Encoding::sopp, (word >> 16) & 0x7f};
    if (word >> 28 == 0xb)
      return {Encoding::sopk, (word >> 23) & 0x1f};
    return {Encoding::sop2, (word >> 23) & 0x7f};
  }
  switch (top6) {
  case 0x30:
    return {Encoding::smem, (word >> 18) & 0xff};
  case 0x34: {
    const unsigned opcode = (word >> 16) & 0x3ff;
    if (opcode >= 0x380)
      return {Encoding::vop3p, opcode - 0x380};
    if (opcode >= 0x1c0)
      return {Encoding::vop3, opcode, Form::e64};
    if (opcode >= 0x140)
      return {Encoding::vop1, opcode - 0x140, Form::e64};
    if (opcode >= 0x100)
      return {Encoding::vop2, opcode - 0x100, Form::e64};
    return {Encoding::vopc, opcode, Form::e64};
  }
  case 0x36:
    return {Encoding::ds, (word >> 17) & 0xff};
  case 0x37:
    return {Encoding::flat, (word >> 18) & 0x7f};
  case 0x38:
    return {Encoding::mubuf, (word >> 18) & 0x7f};
  case 0x3a:
    return {Encoding::mtbuf, (word >> 15) & 0xf};
  default:
    return {Encoding::sopp, ~0u};
  }
}

std::optional<Instruction> decode(std::span<const uint32_t> words, Chip chip) {
  if (words.empty())
    return std::nullopt;
  DecodeState state(words, chip);
  const Choice choice = choose(words[0]);
  state.instruction.form = choice.form;
  state.instruction.row = findRow(choice.encoding, choice.opcode, chip);
  state.takes(1);
  switch (choice.encoding) {
  case Encoding::vop3p: // the first half of a scaled MFMA has no row of its own
    decodeVop3p(state);
    break;
  default:
    if (!state.instruction.row)
      return std::nullopt;
    if (choice.encoding <= Encoding::smem)
      decodeScalar(state);
    else if (choice.form == Form::e64)
      decodeVop3(state);
    else if (choice.encoding <= Encoding::vopc)
      decodeVop12c(state);
    else if (choice.encoding == Encoding::ds)
      decodeDs(state);
    else if (choice.encoding == Encoding::flat)
      decodeFlat(state);
    else
      decodeBuffer(state);
  }
  if (state.failed)
    return std::nullopt;
  return state.instruction;
}

} // namespace tilewright::vgpu::amdgcn
