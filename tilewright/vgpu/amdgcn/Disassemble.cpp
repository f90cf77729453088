#include "tilewright/vgpu/amdgcn/Disassemble.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/amdgcn/Instruction.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace tilewright::vgpu::amdgcn {

template <typename... Arguments>
static std::string format(const char *pattern, Arguments... arguments) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, arguments...);
  return text;
}

namespace {
class SectionLister {
public:
  SectionLister(const CodeObject &object, uint32_t index, Disassembly &result)
      : object(object), section(object.sections[index]), result(result) {
    for (const Symbol &symbol : object.symbols)
      if (symbol.section == index && !symbol.name.empty())
        symbols.push_back(&symbol);
    words.resize(section.bytes.size() / 4);
    if (!words.empty())
      std::memcpy(words.data(), section.bytes.data(), words.size() * 4);
  }

  void list() {
    result.text += concat("\nDisassembly of section ", section.name, ":\n");
    size_t next = 0;
    if (symbols.empty() || symbols[0]->address > section.address)
      label(section.address, section.name);
    for (size_t i = 0; i < words.size();) {
      const uint64_t address = section.address + 4 * i;
      for (; next < symbols.size() && symbols[next]->address <= address; ++next)
        if (next + 1 == symbols.size() || symbols[next + 1]->address > address)
          label(address, symbols[next]->name);
      // Zeros up to the next symbol are padding.
      const uint64_t end = next < symbols.size() ? symbols[next]->address : ~uint64_t(0);
      if (const size_t zeros = countZeros(i, end)) {
        result.text += "\t\t...\n";
        i += zeros;
      } else {
        i += line(i, address);
      }
    }
    if (section.bytes.size() % 4 != 0)
      rest();
  }

private:
  /// The number of consecutive zero dwords from `i` on, before the address `end`; 0 if there is
  /// only one.
  size_t countZeros(size_t i, uint64_t end) const {
    size_t count = 0;
    while (i + count < words.size() && words[i + count] == 0 &&
           section.address + 4 * (i + count) < end)
      ++count;
    return count < 2 ? 0 : count;
  }

  /// Writes the bytes after the last dword.
  void rest() {
    const size_t at = 4 * words.size(), count = section.bytes.size() - at;
    std::string text = ".byte", bytes;
    for (size_t k = 0; k < count; ++k) {
      const auto byte = static_cast<unsigned>(section.bytes[at + k]);
      text += format(k ? ", 0x%02x" : " 0x%02x", byte);
      bytes += format(" %02X", byte);
    }
    ++result.unknown;
    text.resize(column, ' ');
    result.text += concat(
        "\t", text, format("// %012llX:", static_cast<unsigned long long>(section.address + at)),
        bytes, "\n");
  }

  void label(uint64_t address, std::string_view name) {
    result.text += concat("\n", format("%016llx", static_cast<unsigned long long>(address)), " <",
                          name, ">:\n");
  }

  /// Writes the instruction at a dword and returns its size.
  size_t line(size_t i, uint64_t address) {
    const auto instruction = decode(std::span(words).subspan(i), object.chip);
    const size_t size = instruction ? instruction->dwords : 1;
    std::string text = instruction ? toText(*instruction) : format(".long 0x%08x", words[i]);
    ++(instruction ? result.instructions : result.unknown);
    const auto place = instruction ? target(*instruction, address) : std::nullopt;
    if (place && place->isLabel)
      text = concat(instruction->row->name, " ", place->symbol->name);
    text.resize(std::max(text.size(), column), ' ');
    text += format("// %012llX:", static_cast<unsigned long long>(address));
    for (size_t k = 0; k < size; ++k)
      text += format(" %08X", words[i + k]);
    if (place && !place->isLabel)
      text += describe(*place);
    result.text += concat("\t", text, "\n");
    return size;
  }

  struct Place {
    const Symbol *symbol;
    uint64_t offset;
    bool isLabel = false; // exactly there, and written as the operand
  };

  /// Where a branch goes to.
  std::optional<Place> target(const Instruction &instruction, uint64_t address) const {
    if (instruction.operandCount == 0 || instruction.operands()[0].spec->kind != Kind::label)
      return std::nullopt;
    const auto distance = static_cast<int16_t>(instruction.operands()[0].value);
    const uint64_t target = address + 4 + static_cast<uint64_t>(int64_t(distance) * 4);
    const Symbol *nearest = nullptr;
    for (const Symbol *symbol : symbols) {
      if (symbol->address == target && symbol->isLabel)
        return Place{symbol, 0, /*isLabel=*/true};
      if (symbol->address <= target)
        nearest = symbol;
    }
    if (!nearest)
      return std::nullopt;
    return Place{nearest, target - nearest->address};
  }

  static std::string describe(const Place &place) {
    if (place.offset == 0)
      return concat(" <", place.symbol->name, ">");
    return concat(" <", place.symbol->name,
                  format("+0x%llx", static_cast<unsigned long long>(place.offset)), ">");
  }

  static constexpr size_t column = 59; // where llvm-objdump begins the comment
  const CodeObject &object;
  const Section &section;
  Disassembly &result;
  std::vector<const Symbol *> symbols; // of this section, by address
  std::vector<uint32_t> words;
};
} // namespace

Disassembly disassemble(const CodeObject &object) {
  Disassembly result;
  for (uint32_t i = 0; i < object.sections.size(); ++i)
    if (object.sections[i].isExecutable && !object.sections[i].bytes.empty())
      SectionLister(object, i, result).list();
  return result;
}

} // namespace tilewright::vgpu::amdgcn
