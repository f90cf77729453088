#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/amdgcn/Instruction.h"
#include "tilewright/vgpu/amdgcn/PrintImmediate.h"

namespace tilewright::vgpu::amdgcn {

// -- Operands

static std::string rangeOf(std::string_view letter, unsigned first, unsigned dwords) {
  if (dwords == 1)
    return concat(letter, first);
  return concat(letter, "[", first, ":", first + dwords - 1, "]");
}

static std::string scalarText(unsigned code, unsigned dwords) {
  if (code < 102)
    return rangeOf("s", code, dwords);
  if (code >= 108 && code <= 123)
    return rangeOf("ttmp", code - 108, dwords);
  constexpr std::string_view pairs[] = {"flat_scratch", "xnack_mask", "vcc"};
  if (code < 108) {
    const std::string_view name = pairs[(code - 102) / 2];
    return dwords == 2 ? std::string(name) : concat(name, code % 2 ? "_hi" : "_lo");
  }
  switch (code) {
  case 124:
    return "m0";
  case 126:
    return dwords == 2 ? "exec" : "exec_lo";
  case 127:
    return "exec_hi";
  case 235:
    return "src_shared_base";
  case 236:
    return "src_shared_limit";
  case 237:
    return "src_private_base";
  case 238:
    return "src_private_limit";
  case 239:
    return "src_pops_exiting_wave_id";
  case 251:
    return "src_vccz";
  case 252:
    return "src_execz";
  default:
    return "src_scc";
  }
}

static std::string constantText(const Operand &operand, bool isDouble) {
  const unsigned code = operand.code;
  if (code <= 192)
    return concat(code - 128);
  if (code <= 208)
    return concat("-", code - 192);
  // 16-bit constants are written as bits where the operand is an integer.
  constexpr uint16_t halves[] = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000,
                                 0xc000, 0x4400, 0xc400, 0x3118};
  constexpr std::string_view numbers[] = {"0.5",  "-0.5", "1.0",  "-1.0",      "2.0",
                                          "-2.0", "4.0",  "-4.0", "0.15915494"};
  const OperandSpec &spec = *operand.spec;
  if (spec.kind == Kind::bits && spec.bits == 16)
    return hexOf(halves[code - 240]);
  if (code == 248 && (isDouble || (spec.bits == 64 && spec.kind != Kind::float2)))
    return "0.15915494309189532"; // 1 / (2 pi)
  return std::string(numbers[code - 240]);
}

static bool isSmallInteger(int64_t value) { return value >= -16 && value <= 64; }

static std::string_view inlineDouble(uint32_t high) {
  switch (high) {
  case 0:
    return "0";
  case 0x3fe00000:
    return "0.5";
  case 0xbfe00000:
    return "-0.5";
  case 0x3ff00000:
    return "1.0";
  case 0xbff00000:
    return "-1.0";
  case 0x40000000:
    return "2.0";
  case 0xc0000000:
    return "-2.0";
  case 0x40100000:
    return "4.0";
  case 0xc0100000:
    return "-4.0";
  default:
    return "";
  }
}

static bool isInlineFloat(uint32_t value) {
  constexpr uint32_t constants[] = {0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000,
                                    0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983};
  for (uint32_t constant : constants)
    if (constant == value)
      return true;
  return false;
}

static bool isInlineHalf(uint16_t value) {
  constexpr uint16_t constants[] = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000,
                                    0xc000, 0x4400, 0xc400, 0x3118};
  for (uint16_t constant : constants)
    if (constant == value)
      return true;
  return false;
}

static bool isInlineBfloat(uint16_t value) {
  // 1 / (2 pi) is the only one of the constants whose low half is not 0.
  return value == 0x3e22 || isInlineFloat(uint32_t(value) << 16);
}

/// A literal is written as lit(…) where the number alone would be read as an inline constant.
static std::string literalText(const Operand &operand) {
  const uint32_t value = operand.value;
  const OperandSpec &spec = *operand.spec;
  const auto low = static_cast<uint16_t>(value);
  const bool isSmall = isSmallInteger(static_cast<int32_t>(value));
  auto text = [&](bool isInline, uint64_t shown) {
    return isInline ? concat("lit(", hexOf(value), ")") : hexOf(shown);
  };
  if (spec.kind == Kind::half2)
    return text(isSmall || (value == low && isInlineHalf(low)), value);
  if (spec.kind == Kind::literal)
    return hexOf(value);
  if (spec.kind == Kind::bfloat2)
    return text(isSmall || (value == low && isInlineBfloat(low)), value);
  if (spec.kind == Kind::bfloat)
    return text(isSmallInteger(static_cast<int16_t>(low)) || isInlineBfloat(low), value);
  if (spec.bits == 16) {
    if (spec.kind == Kind::number)
      return text(isSmallInteger(static_cast<int16_t>(low)) || isInlineHalf(low), low);
    return text(isSmall || isInlineFloat(value), low);
  }
  if (spec.bits == 64 && spec.kind == Kind::number && !inlineDouble(value).empty())
    return std::string(inlineDouble(value)); // the literal is the high half
  if (spec.bits == 64)
    return text(spec.kind == Kind::bits && value <= 64, value);
  return text(isSmall || isInlineFloat(value), value);
}

static std::string immediateText(const Instruction &instruction, const Operand &operand) {
  const uint32_t value = operand.value;
  switch (operand.spec->kind) {
  case Kind::label:
    return concat(value);
  case Kind::exitCode:
    return value == 0 ? "" : concat(value);
  case Kind::waitcnt:
    return waitcntText(value);
  case Kind::message:
    return messageText(value);
  case Kind::hwreg:
    return hwregText(value);
  case Kind::gprIndex:
    return gprIndexText(value);
  case Kind::scalarOffset: {
    const int32_t offset = instruction.memory.offset;
    return offset < 0 ? concat("-", hexOf(static_cast<uint32_t>(-offset)))
                      : hexOf(static_cast<uint32_t>(offset));
  }
  case Kind::imm16:
  case Kind::probe:
    return value <= 64 ? concat(value) : hexOf(value);
  case Kind::literal: { // of s_setreg_imm32_b32, which writes inline constants as such
    if (isSmallInteger(static_cast<int32_t>(value)))
      return concat(static_cast<int32_t>(value));
    constexpr std::pair<uint32_t, std::string_view> numbers[] = {
        {0x3f000000, "0.5"},  {0xbf000000, "-0.5"}, {0x3f800000, "1.0"},
        {0xbf800000, "-1.0"}, {0x40000000, "2.0"},  {0xc0000000, "-2.0"},
        {0x40800000, "4.0"},  {0xc0800000, "-4.0"}, {0x3e22f983, "0.15915494"}};
    for (auto [bits, name] : numbers)
      if (bits == value)
        return std::string(name);
    return hexOf(value);
  }
  default:
    return hexOf(value);
  }
}

static std::string operandText(const Instruction &instruction, const Operand &operand) {
  std::string text;
  switch (operand.kind) {
  case OperandKind::scalar:
    text = scalarText(operand.code, operand.dwords);
    break;
  case OperandKind::vgpr:
    text = rangeOf("v", operand.code, operand.dwords);
    break;
  case OperandKind::agpr:
    text = rangeOf("a", operand.code, operand.dwords);
    break;
  case OperandKind::constant:
    // Only the MFMAs of f64 negate.
    text = constantText(operand, instruction.row->has(flags::negates));
    break;
  case OperandKind::literal:
    text = literalText(operand);
    break;
  case OperandKind::immediate:
    return immediateText(instruction, operand);
  case OperandKind::absent:
    return "off";
  }
  if (operand.extended)
    return concat("sext(", text, ")");
  if (operand.absolute)
    text = concat("|", text, "|");
  if (!operand.negated)
    return text;
  const bool isNumber =
      operand.kind == OperandKind::constant || operand.kind == OperandKind::literal;
  return isNumber && !operand.absolute ? concat("neg(", text, ")") : concat("-", text);
}

// -- Modifiers

static std::string listText(std::string_view name, unsigned bits, unsigned count) {
  std::string text = concat(" ", name, ":[");
  for (unsigned i = 0; i < count; ++i)
    text += concat(i ? "," : "", bits >> i & 1);
  return text + "]";
}

static std::string outputText(const Instruction &instruction) {
  constexpr std::string_view factors[] = {"", " mul:2", " mul:4", " div:2"};
  return concat(instruction.clamp ? " clamp" : "", factors[instruction.omod]);
}

static unsigned sourceCount(const Row &row) {
  unsigned count = 0;
  for (const OperandSpec &spec : row.operands())
    count += spec.field == Field::source0 || spec.field == Field::source1 ||
             spec.field == Field::source2;
  return count;
}

static std::string vectorModifiers(const Instruction &instruction) {
  const Row &row = *instruction.row;
  const unsigned sources = sourceCount(row);
  std::string text;
  if (row.has(flags::mfma | flags::smfmac)) {
    if (instruction.scaled) {
      if (instruction.opSel != 0)
        text += listText("op_sel", instruction.opSel, 3);
      text += listText("op_sel_hi", instruction.opSelHi, 3);
    }
    if (instruction.cbsz != 0)
      text += concat(" cbsz:", instruction.cbsz);
    if (instruction.abid != 0)
      text += concat(" abid:", instruction.abid);
    if (instruction.blgp != 0)
      text += row.has(flags::negates) ? listText("neg", instruction.blgp, 3)
                                      : concat(" blgp:", instruction.blgp);
    return text;
  }
  if (row.has(flags::packed | flags::mix | flags::packedSigns)) {
    const unsigned all = (1u << sources) - 1, high = instruction.opSelHi & all;
    if (instruction.opSel != 0)
      text += listText("op_sel", instruction.opSel, sources);
    if (row.has(flags::mix) ? high != 0 : row.has(flags::packed) && high != all)
      text += listText("op_sel_hi", high, sources);
    if (!row.has(flags::mix) && instruction.negLo != 0)
      text += listText("neg_lo", instruction.negLo, sources);
    if (!row.has(flags::mix) && instruction.negHi != 0)
      text += listText("neg_hi", instruction.negHi, sources);
    return text + outputText(instruction);
  }
  if (row.has(flags::bitop) && instruction.truthTable != 0)
    text += concat(" bitop3:", instruction.truthTable <= 10 ? concat(instruction.truthTable)
                                                            : hexOf(instruction.truthTable));
  if (instruction.opSel != 0) {
    // The destination's bit is always the fourth, whatever the number of sources.
    const unsigned bits = sources == 2 && !row.has(flags::opSel4)
                              ? (instruction.opSel & 3) | (instruction.opSel >> 3) << 2
                              : instruction.opSel;
    text += listText("op_sel", bits, row.has(flags::opSel4) ? 4 : sources + 1);
  }
  return text + outputText(instruction);
}

static std::string sdwaText(const Instruction &instruction) {
  constexpr std::string_view selects[] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3",
                                          "WORD_0", "WORD_1", "DWORD"};
  constexpr std::string_view unused[] = {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"};
  const SdwaSelects &sdwa = instruction.sdwa;
  std::string text = outputText(instruction);
  if (instruction.row->encoding != Encoding::vopc && !instruction.row->has(flags::wholeDword))
    text += concat(" dst_sel:", selects[sdwa.destination], " dst_unused:", unused[sdwa.unused]);
  text += concat(" src0_sel:", selects[sdwa.source0]);
  if (instruction.row->find(Field::source1))
    text += concat(" src1_sel:", selects[sdwa.source1]);
  return text;
}

static std::string memoryModifiers(const Instruction &instruction) {
  const Row &row = *instruction.row;
  const MemoryBits &memory = instruction.memory;
  std::string text;
  auto add = [&](bool holds, std::string_view word) {
    if (holds)
      text += word;
  };
  if (row.encoding == Encoding::smem) {
    if (memory.offen)
      text += memory.offset < 0 ? concat(" offset:-", hexOf(static_cast<uint32_t>(-memory.offset)))
                                : concat(" offset:", hexOf(static_cast<uint32_t>(memory.offset)));
    add(memory.sc0, " glc");
    return text;
  }
  if (row.encoding == Encoding::mtbuf)
    text += formatText(memory.format);
  add(memory.idxen, " idxen");
  add(memory.offen, " offen");
  if (row.has(flags::twoOffsets)) {
    if (memory.offset != 0)
      text += concat(" offset0:", memory.offset);
    if (memory.offset1 != 0)
      text += concat(" offset1:", memory.offset1);
  } else if (memory.offset != 0) {
    text += " offset:";
    text += row.has(flags::swizzle) ? swizzleText(static_cast<uint32_t>(memory.offset))
                                    : concat(memory.offset);
  }
  add(memory.sc0, " sc0");
  add(memory.nt, " nt");
  add(memory.sc1, " sc1");
  add(memory.lds, " lds");
  add(memory.gds, " gds");
  return text;
}

static std::string nameText(const Instruction &instruction) {
  const Row &row = *instruction.row;
  if (row.encoding == Encoding::flat) {
    constexpr std::string_view segments[] = {"flat_", "scratch_", "global_"};
    return concat(segments[instruction.memory.segment], row.name);
  }
  if (instruction.scaled)
    return concat("v_mfma_scale_", row.name.substr(std::string_view("v_mfma_").size()));
  if (row.encoding != Encoding::vop1 && row.encoding != Encoding::vop2 &&
      row.encoding != Encoding::vopc)
    return std::string(row.name);
  constexpr std::string_view suffixes[] = {"_e32", "_e64", "_sdwa", "_dpp"};
  // The instructions without a second form, and those without operands, have no suffix.
  if (row.operandCount == 0 || (instruction.form == Form::e32 && !row.has(flags::e64)))
    return std::string(row.name);
  return concat(row.name, suffixes[static_cast<size_t>(instruction.form)]);
}

std::string toText(const Instruction &instruction) {
  std::string text = nameText(instruction);
  bool isFirst = true;
  for (const Operand &operand : instruction.operands()) {
    const std::string shown = operandText(instruction, operand);
    if (shown.empty())
      continue;
    text += concat(isFirst ? " " : ", ", shown);
    isFirst = false;
  }
  if (instruction.form == Form::sdwa)
    return text + sdwaText(instruction);
  if (instruction.form == Form::dpp)
    return text + concat(" ", dppText(instruction.dpp.pattern),
                         " row_mask:", hexOf(instruction.dpp.rowMask),
                         " bank_mask:", hexOf(instruction.dpp.bankMask),
                         instruction.dpp.boundControl ? " bound_ctrl:1" : "");
  switch (instruction.row->encoding) {
  case Encoding::vop1:
  case Encoding::vop2:
  case Encoding::vopc:
  case Encoding::vop3:
  case Encoding::vop3p:
    return text + vectorModifiers(instruction);
  default:
    return text + memoryModifiers(instruction);
  }
}

} // namespace tilewright::vgpu::amdgcn
