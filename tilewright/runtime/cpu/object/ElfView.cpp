#include "tilewright/runtime/cpu/object/ElfView.h"

#include "tilewright/support/Concat.h"

#include <cstring>

namespace tilewright::runtime::cpu {

template <typename... Parts> static Status malformed(const Parts &...parts) {
  return Status(Error::objectMalformed,
                concat("the object code ", parts..., "; compile the program again"));
}

template <typename T> static T readAt(std::span<const std::byte> bytes, uint64_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

static bool isInside(uint64_t offset, uint64_t size, uint64_t end) {
  return size <= end && offset <= end - size;
}

Result<ElfView> ElfView::open(std::span<const std::byte> bytes) {
  auto foreign = [](const auto &...parts) {
    return Status(Error::objectFormat, concat("the object code ", parts...,
                                              "; it must be an x86-64 ELF relocatable file: "
                                              "compile the program again for this machine"));
  };
  if (bytes.size() < sizeof(Elf64_Ehdr))
    return foreign("has only ", bytes.size(), " bytes");
  const auto header = readAt<Elf64_Ehdr>(bytes, 0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return foreign("is not an ELF file");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_machine != EM_X86_64)
    return foreign("is for another machine (e_machine ", header.e_machine, ")");
  if (header.e_type != ET_REL)
    return foreign("is an ELF file of type ", header.e_type);

  ElfView view;
  view.bytes = bytes;
  TILEWRIGHT_TRY(view.readSections());
  TILEWRIGHT_TRY(view.readSymbols());
  return view;
}

Status ElfView::readSections() {
  const auto header = readAt<Elf64_Ehdr>(bytes, 0);
  if (header.e_shentsize != sizeof(Elf64_Shdr) ||
      !isInside(header.e_shoff, sizeof(Elf64_Shdr), bytes.size()))
    return malformed("has its section table at byte ", header.e_shoff, ", but is ", bytes.size(),
                     " bytes long");
  // Counts that do not fit in 16 bits are in the first, otherwise empty, section header.
  const auto first = readAt<Elf64_Shdr>(bytes, header.e_shoff);
  const uint64_t count = header.e_shnum != 0 ? header.e_shnum : first.sh_size;
  const uint32_t nameSection = header.e_shstrndx != SHN_XINDEX ? header.e_shstrndx : first.sh_link;
  if (count > (bytes.size() - header.e_shoff) / sizeof(Elf64_Shdr))
    return malformed("declares ", count, " sections, more than fit in its ", bytes.size(),
                     " bytes");
  if (count == 0 || nameSection >= count)
    return malformed("has its section names in section ", nameSection, ", but only ", count,
                     " sections");
  headers.resize(count);
  std::memcpy(headers.data(), bytes.data() + header.e_shoff, count * sizeof(Elf64_Shdr));
  headers[0] = {}; // its fields do not describe a section
  for (size_t i = 0; i < headers.size(); ++i)
    if (headers[i].sh_type != SHT_NOBITS &&
        !isInside(headers[i].sh_offset, headers[i].sh_size, bytes.size()))
      return malformed("has section ", i, " of ", headers[i].sh_size, " bytes at byte ",
                       headers[i].sh_offset, ", but is ", bytes.size(), " bytes long");
  for (size_t i = 0; i < headers.size(); ++i) {
    if (i == 0) {
      names.emplace_back();
      continue;
    }
    TILEWRIGHT_ASSIGN(std::string_view name, nameIn(nameSection, headers[i].sh_name));
    names.push_back(name);
  }
  return Status();
}

std::span<const std::byte> ElfView::content(const Elf64_Shdr &section) const {
  if (section.sh_type == SHT_NOBITS || section.sh_type == SHT_NULL)
    return {};
  return bytes.subspan(section.sh_offset, section.sh_size);
}

Result<std::string_view> ElfView::nameIn(uint32_t stringSection, uint32_t offset) const {
  if (stringSection >= headers.size() || headers[stringSection].sh_type != SHT_STRTAB)
    return malformed("has names in section ", stringSection, ", which is not a string table");
  const std::span<const std::byte> strings = content(headers[stringSection]);
  const auto *start = reinterpret_cast<const char *>(strings.data());
  const void *end =
      offset < strings.size() ? std::memchr(start + offset, 0, strings.size() - offset) : nullptr;
  if (!end)
    return malformed("has a name at byte ", offset,
                     " that does not end within its string table of ", strings.size(), " bytes");
  return std::string_view(start + offset, static_cast<const char *>(end) - (start + offset));
}

Status ElfView::readSymbols() {
  const Elf64_Shdr *symbols = nullptr, *extended = nullptr;
  for (const Elf64_Shdr &section : headers) {
    const Elf64_Shdr *&place = section.sh_type == SHT_SYMTAB ? symbols : extended;
    if (section.sh_type != SHT_SYMTAB && section.sh_type != SHT_SYMTAB_SHNDX)
      continue;
    if (place)
      return malformed("has two symbol tables");
    place = &section;
  }
  if (!symbols)
    return Status();
  const std::span<const std::byte> rows = content(*symbols);
  const std::span<const std::byte> indices =
      extended ? content(*extended) : std::span<const std::byte>();
  const size_t count = rows.size() / sizeof(Elf64_Sym);
  if (symbols->sh_entsize != sizeof(Elf64_Sym) || rows.size() % sizeof(Elf64_Sym) != 0 ||
      (extended && indices.size() / sizeof(uint32_t) < count))
    return malformed("has a malformed symbol table of ", rows.size(), " bytes");
  table.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const auto row = readAt<Elf64_Sym>(rows, i * sizeof(Elf64_Sym));
    ElfSymbol symbol;
    symbol.value = row.st_value;
    symbol.type = ELF64_ST_TYPE(row.st_info);
    symbol.binding = ELF64_ST_BIND(row.st_info);
    symbol.section = row.st_shndx;
    symbol.isReserved = row.st_shndx == SHN_UNDEF || row.st_shndx >= SHN_LORESERVE;
    if (row.st_shndx == SHN_XINDEX && extended) {
      symbol.section = readAt<uint32_t>(indices, i * sizeof(uint32_t));
      symbol.isReserved = symbol.section == SHN_UNDEF;
    }
    TILEWRIGHT_ASSIGN(symbol.name, nameIn(symbols->sh_link, row.st_name));
    if (!symbol.isReserved && symbol.section >= headers.size())
      return malformed("has symbol '", symbol.name, "' in section ", symbol.section, ", but only ",
                       headers.size(), " sections");
    if (!symbol.isReserved && symbol.value > headers[symbol.section].sh_size)
      return malformed("has symbol '", symbol.name, "' at byte ", symbol.value, " of a section of ",
                       headers[symbol.section].sh_size, " bytes");
    table.push_back(symbol);
  }
  return Status();
}

Result<std::vector<ElfRelocation>> ElfView::relocations(const Elf64_Shdr &section) const {
  const std::span<const std::byte> rows = content(section);
  if (section.sh_entsize != sizeof(Elf64_Rela) || rows.size() % sizeof(Elf64_Rela) != 0)
    return malformed("has malformed relocations: ", rows.size(), " bytes with ", section.sh_entsize,
                     " bytes each, expected ", sizeof(Elf64_Rela), " bytes each");
  std::vector<ElfRelocation> result;
  result.reserve(rows.size() / sizeof(Elf64_Rela));
  for (size_t at = 0; at < rows.size(); at += sizeof(Elf64_Rela)) {
    const auto row = readAt<Elf64_Rela>(rows, at);
    const uint64_t symbol = ELF64_R_SYM(row.r_info);
    if (symbol >= table.size())
      return malformed("has a relocation to symbol ", symbol, ", but only ", table.size(),
                       " symbols");
    result.push_back({row.r_offset, static_cast<uint32_t>(ELF64_R_TYPE(row.r_info)),
                      static_cast<uint32_t>(symbol), row.r_addend});
  }
  return result;
}

} // namespace tilewright::runtime::cpu
