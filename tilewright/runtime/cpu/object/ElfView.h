// ElfView: the tables of an untrusted relocatable ELF file.
#ifndef TILEWRIGHT_RUNTIME_CPU_OBJECT_ELFVIEW_H
#define TILEWRIGHT_RUNTIME_CPU_OBJECT_ELFVIEW_H

#include "tilewright/support/Status.h"

#include <cstddef>
#include <cstdint>
#include <elf.h>
#include <span>
#include <string_view>
#include <vector>

namespace tilewright::runtime::cpu {

/// A symbol with its name and section resolved. `section` is an index into sections, or one of
/// SHN_UNDEF, SHN_ABS and SHN_COMMON (see `isReserved`).
struct ElfSymbol {
  std::string_view name;
  uint64_t value = 0;
  uint32_t section = 0;
  bool isReserved = false; // `section` is not an index
  uint8_t type = STT_NOTYPE, binding = STB_LOCAL;
};

/// One entry of a relocation section; `symbol` is an index into symbols.
struct ElfRelocation {
  uint64_t offset;
  uint32_t type, symbol;
  int64_t addend;
};

/// Sections and symbols of an x86-64 relocatable file. Checks every offset, size and index against
/// the size of the file before using it. The bytes must outlive the view; they need not be aligned.
class ElfView {
public:
  ///  - objectFormat: not a 64-bit x86-64 relocatable file.
  ///  - objectMalformed: a table, section, name or index is outside the file.
  static Result<ElfView> open(std::span<const std::byte> bytes);

  std::span<const Elf64_Shdr> sections() const { return headers; }
  std::span<const ElfSymbol> symbols() const { return table; }
  /// Empty for sections without bytes in the file.
  std::span<const std::byte> content(const Elf64_Shdr &section) const;
  std::string_view nameOf(const Elf64_Shdr &section) const { return names[&section - &headers[0]]; }
  /// The entries of an SHT_RELA section, symbols checked.
  Result<std::vector<ElfRelocation>> relocations(const Elf64_Shdr &section) const;

private:
  Status readSections();
  Status readSymbols();
  Result<std::string_view> nameIn(uint32_t stringSection, uint32_t offset) const;

  std::span<const std::byte> bytes;
  std::vector<Elf64_Shdr> headers;
  std::vector<std::string_view> names;
  std::vector<ElfSymbol> table;
};

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_OBJECT_ELFVIEW_H
