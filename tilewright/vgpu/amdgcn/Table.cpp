#include "tilewright/vgpu/amdgcn/Table.h"

#include <cassert>
#include <vector>

namespace tilewright::vgpu::amdgcn {

static constexpr std::array<std::pair<Chip, std::string_view>, 2> chipNames = {
    {{Chip::gfx942, "gfx942"}, {Chip::gfx950, "gfx950"}}};

std::string_view nameOf(Chip chip) {
  for (auto [value, name] : chipNames)
    if (value == chip)
      return name;
  return "unknown chip";
}

std::optional<Chip> findChip(std::string_view name) {
  for (auto [value, text] : chipNames)
    if (text == name)
      return value;
  return std::nullopt;
}

const OperandSpec *Row::find(Field field) const {
  for (const OperandSpec &operand : operands())
    if (operand.field == field)
      return &operand;
  return nullptr;
}

/// Reads the type of an operand, such as `v64`. The table is part of this program, so a mistake is
/// a bug.
static constexpr OperandSpec readOperand(Field field, std::string_view type) {
  struct Word {
    std::string_view text;
    Kind kind;
    uint16_t bits;
  };
  constexpr Word words[] = {
      {"i16", Kind::bits, 16},
      {"h2", Kind::half2, 32},
      {"i2", Kind::short2, 32},
      {"bf2", Kind::bfloat2, 32},
      {"bf16", Kind::bfloat, 16},
      {"p64", Kind::float2, 64},
      {"label", Kind::label, 16},
      {"hwreg", Kind::hwreg, 16},
      {"waitcnt", Kind::waitcnt, 16},
      {"message", Kind::message, 16},
      {"code", Kind::exitCode, 16},
      {"gprIndex", Kind::gprIndex, 8},
      {"u16", Kind::imm16, 16},
      {"u7", Kind::probe, 7},
      {"scalar", Kind::scalarOffset, 21},
  };
  if (field == Field::immediate && type == "i16")
    return {field, Kind::hex16, 16};
  for (const Word &word : words)
    if (word.text == type)
      return {field, word.kind, word.bits};
  constexpr std::pair<char, Kind> letters[] = {
      {'v', Kind::vgpr}, {'a', Kind::agpr},   {'s', Kind::sgpr},    {'m', Kind::accumulator},
      {'b', Kind::bits}, {'f', Kind::number}, {'u', Kind::uniform},
  };
  uint16_t bits = 0;
  for (char digit : type.substr(1))
    bits = static_cast<uint16_t>(bits * 10 + (digit - '0'));
  for (auto [letter, kind] : letters)
    if (letter == type[0])
      return {field, field == Field::literal ? Kind::literal : kind, bits};
  assert(false && "a row has an unknown operand type");
  return {field, Kind::bits, bits};
}

static constexpr Row makeRow(Encoding encoding, uint16_t opcode, std::string_view name,
                             std::string_view operands, uint32_t flags, uint8_t chips) {
  Row row = {encoding, opcode, name, {}, 0, flags, chips};
  while (!operands.empty()) {
    const size_t end = std::min(operands.find(' '), operands.size());
    row.operandStorage[row.operandCount++] =
        readOperand(static_cast<Field>(operands[0]), operands.substr(2, end - 2));
    operands.remove_prefix(std::min(end + 1, operands.size()));
  }
  return row;
}

static const auto &rows() {
  using namespace flags;
  constexpr uint8_t gfx942 = 1, gfx950 = 2, both = gfx942 | gfx950;
  static const Row rows[] = {
#define AMDGCN_ROW(encoding, opcode, name, operands, flags, chips)                                 \
  makeRow(Encoding::encoding, opcode, name, operands, flags, chips),
#include "tilewright/vgpu/amdgcn/encodings/Memory.def"
#include "tilewright/vgpu/amdgcn/encodings/Scalar.def"
#include "tilewright/vgpu/amdgcn/encodings/Vector.def"
#include "tilewright/vgpu/amdgcn/encodings/Vector3.def"
#undef AMDGCN_ROW
  };
  (void)gfx942;
  return rows;
}

std::span<const Row> table() { return rows(); }

const Row *findRow(Encoding encoding, unsigned opcode, Chip chip) {
  // One list of rows for each encoding and chip, indexed by opcode.
  using Index = std::array<std::array<std::vector<const Row *>, 2>, encodingCount>;
  static const Index index = [] {
    Index result;
    for (const Row &row : table())
      for (size_t chipNumber = 0; chipNumber < chipNames.size(); ++chipNumber) {
        if (!row.isOn(chipNames[chipNumber].first))
          continue;
        auto &list = result[static_cast<size_t>(row.encoding)][chipNumber];
        if (list.size() <= row.opcode)
          list.resize(row.opcode + 1u);
        assert(!list[row.opcode] && "two rows have the same opcode");
        list[row.opcode] = &row;
      }
    return result;
  }();
  const auto &list = index[static_cast<size_t>(encoding)][chip == Chip::gfx942 ? 0 : 1];
  return opcode < list.size() ? list[opcode] : nullptr;
}

} // namespace tilewright::vgpu::amdgcn
