#include "tilewright/target/cpu/ObjectMerge.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/BinaryFormat/ELF.h"

#include <cstring>
#include <map>
#include <string>

using namespace llvm::ELF;

namespace tilewright::cpu {

namespace {

/// A section of the merged file; header fields that refer to other sections are set at the end.
struct Section {
  std::string name;
  Elf64_Shdr header = {};
  std::vector<std::byte> bytes;
};

class Merger {
public:
  Status add(std::span<const std::byte> object);
  std::vector<std::byte> finish();

private:
  static Status malformed() {
    return Status(Error::cpuCodegen,
                  "cannot merge object files: malformed or unsupported ELF file");
  }
  template <typename T> static T read(std::span<const std::byte> bytes, uint64_t at) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof(T));
    return value;
  }

  Elf64_Shdr &addSection(std::string name, uint32_t type, uint64_t entry, uint64_t align,
                         std::vector<std::byte> bytes);
  /// Each adds sections of the merged file. They must be called in this order, because the
  /// relocation tables refer to the symbol table by its number.
  void addRelocationTables();
  void addSymbolTable();
  void addSectionNames();

  std::vector<Section> sections = {Section()}; // section 0 is the null section
  std::vector<std::pair<std::string, Elf64_Sym>> locals, globals;
  llvm::StringMap<size_t> globalNumbers;
  /// A relocation whose symbol is identified by {isGlobal, number} until all symbols are known.
  struct Relocation {
    size_t section;
    uint64_t offset;
    uint32_t type;
    int64_t addend;
    bool isGlobal;
    size_t symbol;
  };
  std::vector<Relocation> relocations;
};

Status Merger::add(std::span<const std::byte> object) {
  if (object.size() < sizeof(Elf64_Ehdr))
    return malformed();
  auto file = read<Elf64_Ehdr>(object, 0);
  std::vector<Elf64_Shdr> headers;
  for (unsigned i = 0; i < file.e_shnum; ++i)
    headers.push_back(read<Elf64_Shdr>(object, file.e_shoff + i * sizeof(Elf64_Shdr)));
  auto text = [&](const Elf64_Shdr &table, uint64_t at) {
    return std::string(reinterpret_cast<const char *>(object.data() + table.sh_offset + at));
  };
  std::map<size_t, size_t> numbers; // section numbers, input to output
  const Elf64_Shdr *symbolTable = nullptr;
  for (size_t i = 1; i < headers.size(); ++i) {
    const Elf64_Shdr &header = headers[i];
    if (header.sh_type == SHT_SYMTAB)
      symbolTable = &header;
    // Keep sections that are loaded, and the note that marks the stack as not executable.
    if (header.sh_type != SHT_PROGBITS && header.sh_type != SHT_NOBITS &&
        header.sh_type != SHT_X86_64_UNWIND)
      continue;
    Section section;
    section.name = text(headers[file.e_shstrndx], header.sh_name);
    if (!(header.sh_flags & SHF_ALLOC) &&
        (section.name != ".note.GNU-stack" || sections.size() > 1))
      continue;
    section.header = header;
    if (header.sh_type != SHT_NOBITS)
      section.bytes.assign(object.begin() + header.sh_offset,
                           object.begin() + header.sh_offset + header.sh_size);
    numbers[i] = sections.size();
    sections.push_back(std::move(section));
  }
  if (!symbolTable)
    return malformed();
  const Elf64_Shdr &names = headers[symbolTable->sh_link];
  struct SymbolIndex {
    bool isGlobal;
    size_t number;
  };
  std::vector<SymbolIndex> symbolIndices;
  for (uint64_t at = 0; at < symbolTable->sh_size; at += sizeof(Elf64_Sym)) {
    auto symbol = read<Elf64_Sym>(object, symbolTable->sh_offset + at);
    std::string name = text(names, symbol.st_name);
    if (symbol.st_shndx != SHN_UNDEF && symbol.st_shndx < SHN_LORESERVE) {
      auto found = numbers.find(symbol.st_shndx);
      if (found == numbers.end()) { // a symbol of a section that is not loaded
        symbolIndices.push_back({false, SIZE_MAX});
        continue;
      }
      symbol.st_shndx = static_cast<Elf64_Half>(found->second);
    }
    if (symbol.getBinding() == STB_LOCAL) {
      symbolIndices.push_back({false, locals.size()});
      locals.emplace_back(name, symbol);
      continue;
    }
    auto [entry, isNew] = globalNumbers.try_emplace(name, globals.size());
    if (isNew)
      globals.emplace_back(name, symbol);
    else if (globals[entry->second].second.st_shndx == SHN_UNDEF)
      globals[entry->second].second = symbol;
    symbolIndices.push_back({true, entry->second});
  }
  for (const Elf64_Shdr &header : headers) {
    if (header.sh_type != SHT_RELA || !numbers.count(header.sh_info))
      continue;
    for (uint64_t at = 0; at < header.sh_size; at += sizeof(Elf64_Rela)) {
      auto rela = read<Elf64_Rela>(object, header.sh_offset + at);
      SymbolIndex index = symbolIndices[rela.getSymbol()];
      if (index.number == SIZE_MAX)
        return malformed();
      relocations.push_back({numbers[header.sh_info], rela.r_offset, rela.getType(), rela.r_addend,
                             index.isGlobal, index.number});
    }
  }
  return {};
}

/// Appends zeros until the size is a multiple of `align`.
void pad(std::vector<std::byte> &bytes, uint64_t align) {
  bytes.resize((bytes.size() + align - 1) / align * align);
}

/// Appends the bytes of an ELF structure.
template <typename T> void append(std::vector<std::byte> &bytes, const T &value) {
  const auto *begin = reinterpret_cast<const std::byte *>(&value);
  bytes.insert(bytes.end(), begin, begin + sizeof(T));
}

/// A string table, which begins with the empty string.
class StringTable {
public:
  /// Adds a string and returns its position.
  Elf64_Word add(const std::string &string) {
    if (string.empty())
      return 0;
    const auto at = static_cast<Elf64_Word>(text.size());
    text.append(string.c_str(), string.size() + 1);
    return at;
  }
  std::vector<std::byte> bytes() const {
    const auto *begin = reinterpret_cast<const std::byte *>(text.data());
    return {begin, begin + text.size()};
  }

private:
  std::string text = std::string(1, '\0');
};

Elf64_Shdr &Merger::addSection(std::string name, uint32_t type, uint64_t entry, uint64_t align,
                               std::vector<std::byte> bytes) {
  Section section;
  section.name = std::move(name);
  section.header.sh_type = type;
  section.header.sh_entsize = entry;
  section.header.sh_addralign = align;
  section.bytes = std::move(bytes);
  sections.push_back(std::move(section));
  return sections.back().header;
}

void Merger::addRelocationTables() {
  std::map<size_t, std::vector<std::byte>> tables;
  for (const Relocation &relocation : relocations) {
    Elf64_Rela rela;
    rela.r_offset = relocation.offset;
    rela.r_addend = relocation.addend;
    // Local symbols come first in the symbol table.
    rela.setSymbolAndType(
        static_cast<Elf64_Word>((relocation.isGlobal ? locals.size() : 0) + relocation.symbol),
        relocation.type);
    append(tables[relocation.section], rela);
  }
  // The symbol table is the next section after these tables.
  const size_t symbolTable = sections.size() + tables.size();
  for (auto &[number, table] : tables) {
    Elf64_Shdr &header = addSection(".rela" + sections[number].name, SHT_RELA, sizeof(Elf64_Rela),
                                    8, std::move(table));
    header.sh_flags = SHF_INFO_LINK;
    header.sh_link = static_cast<Elf64_Word>(symbolTable);
    header.sh_info = static_cast<Elf64_Word>(number);
  }
}

void Merger::addSymbolTable() {
  StringTable strings;
  std::vector<std::byte> symbols;
  for (const auto *list : {&locals, &globals})
    for (auto [name, symbol] : *list) {
      symbol.st_name = strings.add(name);
      append(symbols, symbol);
    }
  const size_t number = sections.size();
  Elf64_Shdr &header = addSection(".symtab", SHT_SYMTAB, sizeof(Elf64_Sym), 8, std::move(symbols));
  header.sh_link = static_cast<Elf64_Word>(number + 1);
  header.sh_info = static_cast<Elf64_Word>(locals.size());
  addSection(".strtab", SHT_STRTAB, 0, 1, strings.bytes());
}

void Merger::addSectionNames() {
  addSection(".shstrtab", SHT_STRTAB, 0, 1, {});
  StringTable names;
  for (Section &section : sections)
    section.header.sh_name = names.add(section.name);
  sections.back().bytes = names.bytes();
}

std::vector<std::byte> Merger::finish() {
  addRelocationTables();
  addSymbolTable();
  addSectionNames();

  std::vector<std::byte> out(sizeof(Elf64_Ehdr));
  for (size_t i = 1; i < sections.size(); ++i) {
    Section &section = sections[i];
    pad(out, std::max<uint64_t>(section.header.sh_addralign, 1));
    section.header.sh_offset = out.size();
    if (section.header.sh_type != SHT_NOBITS)
      section.header.sh_size = section.bytes.size();
    out.insert(out.end(), section.bytes.begin(), section.bytes.end());
  }
  pad(out, 8);
  Elf64_Ehdr file = {};
  std::memcpy(file.e_ident, ElfMagic, 4);
  file.e_ident[EI_CLASS] = ELFCLASS64;
  file.e_ident[EI_DATA] = ELFDATA2LSB;
  file.e_ident[EI_VERSION] = EV_CURRENT;
  file.e_type = ET_REL;
  file.e_machine = EM_X86_64;
  file.e_version = EV_CURRENT;
  file.e_shoff = out.size();
  file.e_ehsize = sizeof(Elf64_Ehdr);
  file.e_shentsize = sizeof(Elf64_Shdr);
  file.e_shnum = static_cast<Elf64_Half>(sections.size());
  file.e_shstrndx = static_cast<Elf64_Half>(sections.size() - 1);
  std::memcpy(out.data(), &file, sizeof(file));
  for (const Section &section : sections)
    append(out, section.header);
  return out;
}

} // namespace

Result<std::vector<std::byte>> mergeObjects(std::span<const std::vector<std::byte>> objects) {
  if (objects.size() == 1)
    return objects[0];
  Merger merger;
  for (const std::vector<std::byte> &object : objects)
    TILEWRIGHT_TRY(merger.add(object));
  return merger.finish();
}

} // namespace tilewright::cpu
