#include "tilewright/vgpu/amdgcn/testing/RandomInstruction.h"

#include <algorithm>

namespace tilewright::vgpu::amdgcn::testing {

static bool hasForms(const Row &row) {
  return row.encoding == Encoding::vop1 || row.encoding == Encoding::vop2 ||
         row.encoding == Encoding::vopc;
}

std::vector<RowForm> formsOf(Chip chip) {
  std::vector<RowForm> forms;
  for (const Row &row : table()) {
    if (!row.isOn(chip))
      continue;
    forms.push_back({&row, row.encoding == Encoding::vop3 ? Form::e64 : Form::e32});
    if (row.name.ends_with("f8f6f4"))
      forms.push_back({&row, Form::e32, /*scaled=*/true});
    if (!hasForms(row))
      continue;
    if (row.has(flags::e64))
      forms.push_back({&row, Form::e64});
    if (row.has(flags::sdwa))
      forms.push_back({&row, Form::sdwa});
    if (row.has(flags::dpp))
      forms.push_back({&row, Form::dpp});
  }
  return forms;
}

/// The first dword, with the opcode in its place and 0 elsewhere.
static uint32_t firstDword(const Row &row, Form form) {
  const uint32_t opcode = row.opcode;
  if (form == Form::e64) {
    const uint32_t base = row.encoding == Encoding::vop1   ? 0x140
                          : row.encoding == Encoding::vop2 ? 0x100
                                                           : 0;
    return 0xD0000000 | (base + opcode) << 16;
  }
  switch (row.encoding) {
  case Encoding::sop2:
    return 0x80000000 | opcode << 23;
  case Encoding::sop1:
    return 0xBE800000 | opcode << 8;
  case Encoding::sopk:
    return 0xB0000000 | opcode << 23;
  case Encoding::sopc:
    return 0xBF000000 | opcode << 16;
  case Encoding::sopp:
    return 0xBF800000 | opcode << 16;
  case Encoding::smem: // with an immediate offset
    return 0xC0000000 | opcode << 18 | (row.find(Field::offset) ? 1u << 17 : 0);
  case Encoding::vop1:
    return 0x7E000000 | opcode << 9;
  case Encoding::vop2:
    return opcode << 25;
  case Encoding::vopc:
    return 0x7C000000 | opcode << 17;
  case Encoding::vop3:
    return 0xD0000000 | opcode << 16;
  case Encoding::vop3p:
    return 0xD3800000 | opcode << 16;
  case Encoding::ds:
    return 0xD8000000 | opcode << 17 | (row.has(flags::gds) ? 1u << 16 : 0);
  case Encoding::flat:
    return 0xDC000000 | opcode << 18 | (row.has(flags::flat) ? 0 : 2u << 14);
  case Encoding::mubuf:
    return 0xE0000000 | opcode << 18;
  case Encoding::mtbuf:
    return 0xE8000000 | opcode << 15;
  }
  return 0;
}

/// The three sources of an encoding of 64 bits, as VGPRs where that is possible.
static uint32_t vgprSources(const Row &row) {
  uint32_t dword = 0;
  constexpr Field fields[] = {Field::source0, Field::source1, Field::source2};
  for (unsigned i = 0; i < 3; ++i)
    if (const OperandSpec *spec = row.find(fields[i]))
      if (spec->kind != Kind::sgpr && spec->kind != Kind::uniform)
        dword |= 256u << (9 * i);
  return dword;
}

std::vector<uint32_t> firstEncoding(const RowForm &form) {
  const Row &row = *form.row;
  std::vector<uint32_t> words = {firstDword(row, form.form), 0, 0, 0};
  const OperandSpec *first = row.find(Field::source0);
  const bool isVop3 = form.form == Form::e64 || row.encoding == Encoding::vop3p;
  if (form.scaled)
    return {0xD3AC0000, 256u | 256u << 9, words[0] | 1u << 11, vgprSources(row)};
  if (isVop3) {
    words[1] = vgprSources(row);
  } else if (form.form == Form::sdwa) {
    words[0] |= 249;
    words[1] = 6u << 16; // whole dwords
    if (row.encoding != Encoding::vopc)
      words[1] |= 6u << 8;
    if (row.find(Field::source1))
      words[1] |= 6u << 24;
  } else if (form.form == Form::dpp) {
    words[0] |= 250;
    words[1] = 0xff000000;
  } else if (hasForms(row) && first && (first->kind == Kind::vgpr || first->kind == Kind::agpr)) {
    words[0] |= 256;
  }
  return words;
}

std::vector<uint32_t> randomEncoding(const RowForm &form, Chip chip,
                                     const std::function<uint64_t(uint64_t)> &random) {
  std::vector<uint32_t> words = firstEncoding(form);
  auto accepts = [&](const std::vector<uint32_t> &candidate) {
    const auto instruction = decode(candidate, chip);
    return instruction && instruction->row == form.row && instruction->form == form.form &&
           instruction->scaled == form.scaled;
  };
  if (!accepts(words))
    return {};
  constexpr unsigned changes = 48;
  for (unsigned change = 0; change < changes; ++change) {
    std::vector<uint32_t> candidate = words;
    // Eight bits at once reach special registers and constants, which are rare among neighbours.
    const unsigned dwords = std::max(2u, unsigned(decode(words, chip)->dwords));
    const auto at = static_cast<unsigned>(random(32 * dwords - 8));
    const auto mask = static_cast<unsigned>(random(3) ? 1 : random(256));
    for (unsigned bit = at; bit < at + 8; ++bit)
      candidate[bit / 32] ^= (mask >> (bit - at) & 1) << (bit % 32);
    if (accepts(candidate))
      words = std::move(candidate);
  }
  words.resize(decode(words, chip)->dwords);
  return words;
}

} // namespace tilewright::vgpu::amdgcn::testing
