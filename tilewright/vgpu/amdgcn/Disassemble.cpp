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
      i += line(i, address);
    }
  }

private:
  void label(uint64_t address, std::string_view name) {
    result.text += concat("\n", format("%016llx", static_cast<unsigned long long>(address)), " <",
                          name, ">:\n");
  }

  /// Writes the instruction at a dword and returns its size.
  size_t line(size_t i, uint64_t address) {
    constexpr size_t column = 59; // where llvm-objdump begins the comment
    const auto instruction = decode(std::span(words).subspan(i), object.chip);
    const size_t size = instruction ? instruction->dwords : 1;
    std::string text = instruction ? toText(*instruction) : format(".long 0x%08x", words[i]);
    ++(instruction ? result.instructions : result.unknown);
    text.resize(std::max(text.size(), column), ' ');
    text += format("// %012llX:", static_cast<unsigned long long>(address));
    for (size_t k = 0; k < size; ++k)
      text += format(" %08X", words[i + k]);
    if (instruction)
      text += target(*instruction, address);
    result.text += concat("\t", text, "\n");
    return size;
  }

  /// The symbol that a branch goes to, as in ` <kernel+0x40>`.
  std::string target(const Instruction &instruction, uint64_t address) const {
    if (instruction.operandCount == 0 || instruction.operands()[0].spec->kind != Kind::label)
      return "";
    const auto distance = static_cast<int16_t>(instruction.operands()[0].value);
    const uint64_t target = address + 4 + static_cast<uint64_t>(int64_t(distance) * 4);
    const Symbol *nearest = nullptr;
    for (const Symbol *symbol : symbols)
      if (symbol->address <= target)
        nearest = symbol;
    if (!nearest)
      return "";
    const uint64_t offset = target - nearest->address;
    return offset == 0 ? concat(" <", nearest->name, ">")
                       : concat(" <", nearest->name,
                                format("+0x%llx", static_cast<unsigned long long>(offset)), ">");
  }

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
