#include "tilewright/runtime/cpu/object/ObjectCode.h"

#include "tilewright/runtime/cpu/object/ElfView.h"
#include "tilewright/runtime/cpu/object/RuntimeSymbols.h"
#include "tilewright/support/Concat.h"

#include <bit>
#include <cerrno>
#include <cstring>
#include <deque>
#include <limits>
#include <sys/mman.h>

namespace tilewright::runtime::cpu {

/// Groups of pages, each with one protection. The table of symbol addresses is in the constants;
/// the stubs that jump through it are in the code.
enum Group { code, constants, data };
static constexpr int groupCount = 3;
static constexpr uint64_t pageBytes = 4096;
/// Limits the mapping, because the groups must be within 32-bit distance of each other. Generated
/// code is far smaller.
static constexpr uint64_t maxMappedBytes = uint64_t(1) << 30;
/// Limits zero-filled data, which takes no bytes in the file and so is not limited by its size.
static constexpr uint64_t maxZeroBytes = uint64_t(1) << 26;
/// The size of a stub: `jmp *distance(%rip)` and two bytes that are never executed.
static constexpr uint64_t stubBytes = 8;

/// Links files into one mapping, so that they are within 32-bit distance of each other.
class ObjectLinker {
public:
  ObjectLinker(std::span<const ElfView> views, const SymbolResolver &resolver)
      : resolver(resolver) {
    for (const ElfView &elf : views)
      files.emplace_back(elf);
  }

  Result<std::unique_ptr<ObjectCode>> link() {
    TILEWRIGHT_TRY(matchSymbols());
    for (File &file : files)
      TILEWRIGHT_TRY(placeSections(file));
    for (File &file : files)
      TILEWRIGHT_TRY(readRelocations(file));
    TILEWRIGHT_TRY(map());
    for (const Job &job : jobs)
      TILEWRIGHT_TRY(findAddress(*job.symbol));
    fillTable();
    for (const Job &job : jobs)
      TILEWRIGHT_TRY(apply(job));
    TILEWRIGHT_TRY(protect());
    nameFunctions();
    return std::move(object);
  }

private:
  /// The location of a section in memory, if it is loaded.
  struct SectionLocation {
    Group group = code;
    uint64_t offset = 0;
    bool isUsed = false;
  };
  struct File;
  struct Symbol {
    const File *file = nullptr;
    const ElfSymbol *row = nullptr;
    /// The symbol that determines this symbol's address. For a global symbol, the definition of the
    /// same name in any file; if no file defines the name, one of the references, the same for all
    /// of them. For a local symbol, the symbol itself.
    Symbol *definition = nullptr;
    // Of definitions only:
    uint64_t tableSlot = 0; // offset in the constants, plus 1
    uint64_t stub = 0;      // offset in the code, plus 1
    uint64_t address = 0;
    bool hasAddress = false;

    bool isGlobal() const { return row->binding != STB_LOCAL && !row->name.empty(); }
    bool isUndefined() const { return row->isReserved && row->section == SHN_UNDEF; }
    /// Among the symbols with the same name, the one with the highest rank is the definition.
    int rank() const { return 2 * !isUndefined() + (row->binding == STB_GLOBAL); }
    static constexpr int strongDefinition = 3;
  };
  struct File {
    explicit File(const ElfView &elf)
        : elf(elf), locations(elf.sections().size()), symbols(elf.symbols().size()) {
      for (size_t i = 0; i < symbols.size(); ++i)
        symbols[i] = {.file = this, .row = &elf.symbols()[i], .definition = &symbols[i]};
    }
    File(const File &) = delete; // symbols have pointers into it

    const ElfView &elf;
    std::vector<SectionLocation> locations; // by section
    std::vector<Symbol> symbols;
  };
  struct Job {
    const File *file;
    uint32_t section;
    ElfRelocation relocation;
    Symbol *symbol; // a definition
  };

  template <typename... Parts> static Status unsupported(const Parts &...parts) {
    return Status(Error::objectUnsupported,
                  concat("the object code ", parts...,
                         "; kernels must be position-independent code without "
                         "constructors or thread-local data"));
  }

  static uint64_t aligned(uint64_t offset, uint64_t alignment) {
    return (offset + alignment - 1) / alignment * alignment;
  }
  Status grow(Group group, uint64_t bytes, uint64_t alignment, uint64_t &offset) {
    offset = aligned(groupBytes[group], alignment);
    if (bytes > maxMappedBytes || offset > maxMappedBytes - bytes)
      return Status(Error::objectMemory, concat("the object code exceeds the limit of ",
                                                maxMappedBytes, " bytes; split the program"));
    groupBytes[group] = offset + bytes;
    return Status();
  }

  /// Finds the definition of each global symbol.
  Status matchSymbols() {
    for (File &file : files)
      for (Symbol &symbol : file.symbols) {
        if (!symbol.isGlobal())
          continue;
        Symbol *&best = globals.try_emplace(symbol.row->name, &symbol).first->second;
        if (&symbol != best && symbol.rank() == Symbol::strongDefinition &&
            best->rank() == Symbol::strongDefinition)
          return Status(Error::objectMalformed,
                        concat("the object code defines '", symbol.row->name,
                               "' twice; compile the program again"));
        if (symbol.rank() > best->rank())
          best = &symbol;
      }
    for (File &file : files)
      for (Symbol &symbol : file.symbols)
        if (symbol.isGlobal())
          symbol.definition = globals.at(symbol.row->name);
    return Status();
  }

  Status placeSections(File &file) {
    const ElfView &elf = file.elf;
    for (size_t i = 0; i < elf.sections().size(); ++i) {
      const Elf64_Shdr &section = elf.sections()[i];
      // Kernels do not throw, so they need no unwind tables.
      if (!(section.sh_flags & SHF_ALLOC) || elf.nameOf(section) == ".eh_frame")
        continue;
      if (section.sh_type != SHT_PROGBITS && section.sh_type != SHT_NOBITS &&
          section.sh_type != SHT_NOTE)
        return unsupported("has section '", elf.nameOf(section), "' of type ", section.sh_type);
      if (section.sh_flags & (SHF_TLS | SHF_COMPRESSED))
        return unsupported("has section '", elf.nameOf(section), "' with flags ", section.sh_flags);
      if (section.sh_type == SHT_NOBITS)
        zeroBytes += section.sh_size <= maxZeroBytes ? section.sh_size : maxZeroBytes + 1;
      if (zeroBytes > maxZeroBytes)
        return unsupported("has more than ", maxZeroBytes, " bytes of zero-filled data");
      const uint64_t alignment = section.sh_addralign ? section.sh_addralign : 1;
      if (!std::has_single_bit(alignment) || alignment > pageBytes)
        return Status(Error::objectMalformed, concat("section '", elf.nameOf(section),
                                                     "' of the object code has alignment ",
                                                     alignment, ", expected a power of two up to ",
                                                     pageBytes, "; compile the program again"));
      const bool isCode = section.sh_flags & SHF_EXECINSTR;
      if (isCode && (section.sh_flags & SHF_WRITE))
        return unsupported("has section '", elf.nameOf(section),
                           "' that is both executable and writable");
      SectionLocation &location = file.locations[i];
      location = {isCode ? code : section.sh_flags & SHF_WRITE ? data : constants, 0, true};
      TILEWRIGHT_TRY(grow(location.group, section.sh_size, alignment, location.offset));
    }
    return Status();
  }

  /// Collects the relocations of loaded sections, and reserves the table slots and stubs that they
  /// need.
  Status readRelocations(File &file) {
    const ElfView &elf = file.elf;
    for (const Elf64_Shdr &section : elf.sections()) {
      if (section.sh_type == SHT_REL)
        return unsupported("has relocations without addends");
      if (section.sh_type != SHT_RELA)
        continue;
      if (section.sh_info >= elf.sections().size())
        return Status(Error::objectMalformed,
                      concat("the object code has relocations for section ", section.sh_info,
                             ", but only ", elf.sections().size(),
                             " sections; compile the program again"));
      if (!file.locations[section.sh_info].isUsed)
        continue;
      TILEWRIGHT_ASSIGN(std::vector<ElfRelocation> relocations, elf.relocations(section));
      for (const ElfRelocation &relocation : relocations) {
        Symbol &symbol = *file.symbols[relocation.symbol].definition;
        jobs.push_back({&file, section.sh_info, relocation, &symbol});
        TILEWRIGHT_TRY(makeRoom(relocation.type, symbol));
      }
    }
    return Status();
  }
  Status makeRoom(uint32_t type, Symbol &symbol) {
    const bool needsStub = type == R_X86_64_PLT32 && symbol.isUndefined();
    const bool needsSlot = needsStub || type == R_X86_64_GOTPCREL || type == R_X86_64_GOTPCRELX ||
                           type == R_X86_64_REX_GOTPCRELX;
    if (needsSlot && symbol.tableSlot == 0) {
      TILEWRIGHT_TRY(grow(constants, 8, 8, symbol.tableSlot));
      ++symbol.tableSlot; // 0 means none
    }
    if (needsStub && symbol.stub == 0) {
      TILEWRIGHT_TRY(grow(code, stubBytes, 8, symbol.stub));
      ++symbol.stub;
    }
    needsLowMemory |= type == R_X86_64_32 || type == R_X86_64_32S;
    return Status();
  }

  Status map() {
    object.reset(new ObjectCode);
    uint64_t total = 0;
    for (int group = 0; group < groupCount; ++group) {
      groupStart[group] = total;
      total += aligned(groupBytes[group], pageBytes);
    }
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | (needsLowMemory ? MAP_32BIT : 0);
    void *memory = total <= maxMappedBytes
                       ? ::mmap(nullptr, total, PROT_READ | PROT_WRITE, flags, -1, 0)
                       : MAP_FAILED;
    if (memory == MAP_FAILED)
      return Status(
          Error::objectMemory,
          total <= maxMappedBytes
              ? concat("cannot allocate ", total, " bytes for object code: ", std::strerror(errno),
                       "; raise the address space limit (ulimit -v), or split the program")
              : concat("object code of ", total, " bytes exceeds the limit of ", maxMappedBytes,
                       " bytes; split the program"));
    object->memory = static_cast<std::byte *>(memory);
    object->size = total;
    for (const File &file : files)
      for (size_t i = 0; i < file.locations.size(); ++i) {
        const std::span<const std::byte> content = file.elf.content(file.elf.sections()[i]);
        if (file.locations[i].isUsed && !content.empty())
          std::memcpy(at(file.locations[i]), content.data(), content.size());
      }
    return Status();
  }
  std::byte *at(Group group, uint64_t offset) const {
    return object->memory + groupStart[group] + offset;
  }
  std::byte *at(const SectionLocation &location) const {
    return at(location.group, location.offset);
  }

  /// Finds the address of a symbol that a relocation uses.
  Status findAddress(Symbol &symbol) {
    if (symbol.hasAddress)
      return Status();
    symbol.hasAddress = true;
    const ElfSymbol &row = *symbol.row;
    if (!row.isReserved) {
      const SectionLocation &location = symbol.file->locations[row.section];
      if (!location.isUsed || row.type == STT_GNU_IFUNC || row.type == STT_TLS)
        return unsupported("refers to symbol '", row.name, "' of type ", row.type, " in section '",
                           nameOf(*symbol.file, row.section), "'");
      symbol.address = address(at(location)) + row.value;
    } else if (row.section == SHN_ABS) {
      symbol.address = row.value;
    } else if (row.section == SHN_UNDEF && !row.name.empty()) {
      const void *found = findRuntimeSymbol(row.name);
      if (!found && resolver)
        found = resolver(row.name);
      if (!found && row.binding != STB_WEAK)
        return Status(Error::objectSymbol,
                      concat("the object code needs '", row.name,
                             "', which this runtime does not have; load it with the version "
                             "that compiled it, or compile the program again"));
      symbol.address = address(found);
    } else if (row.section != SHN_UNDEF) { // an undefined one without a name has the address 0
      return unsupported("has common symbol '", row.name, "'");
    }
    return Status();
  }
  static std::string_view nameOf(const File &file, uint32_t section) {
    return file.elf.nameOf(file.elf.sections()[section]);
  }

  void fillTable() {
    for (const Job &job : jobs) {
      const Symbol &symbol = *job.symbol;
      if (symbol.tableSlot == 0)
        continue;
      std::byte *slot = at(constants, symbol.tableSlot - 1);
      std::memcpy(slot, &symbol.address, 8);
      if (symbol.stub == 0)
        continue;
      std::byte *stub = at(code, symbol.stub - 1);
      // All groups together are at most maxMappedBytes, so the distance fits.
      const auto distance = static_cast<int32_t>(slot - (stub + 6));
      const uint8_t jump[stubBytes] = {0xFF, 0x25, 0, 0, 0, 0, 0xCC, 0xCC};
      std::memcpy(stub, jump, stubBytes);
      std::memcpy(stub + 2, &distance, 4);
    }
  }

  Status apply(const Job &job) {
    const ElfRelocation &r = job.relocation;
    const uint64_t sectionBytes = job.file->elf.sections()[job.section].sh_size;
    const bool isWide = r.type == R_X86_64_64 || r.type == R_X86_64_PC64;
    const uint64_t width = isWide ? 8 : 4;
    if (r.type == R_X86_64_NONE)
      return Status();
    if (width > sectionBytes || r.offset > sectionBytes - width)
      return Status(Error::objectMalformed,
                    concat("the object code has a relocation at byte ", r.offset, " of section '",
                           nameOf(*job.file, job.section), "', which has ", sectionBytes,
                           " bytes; compile the program again"));
    std::byte *target = at(job.file->locations[job.section]) + r.offset;
    const uint64_t here = address(target), addend = static_cast<uint64_t>(r.addend);
    const Symbol &symbol = *job.symbol;
    const std::string_view name = symbol.row->name;
    uint64_t value = symbol.address + addend;
    bool fits = true;
    switch (r.type) {
    case R_X86_64_64:
      break;
    case R_X86_64_PC64:
      value -= here;
      break;
    case R_X86_64_32:
      fits = value <= std::numeric_limits<uint32_t>::max();
      break;
    case R_X86_64_32S:
      fits = fitsSigned(value);
      break;
    case R_X86_64_PC32:
      // Reject external symbols: whether another library is within 2 GiB depends on where it is
      // loaded.
      if (symbol.isUndefined())
        return unsupported("refers to external symbol '", name,
                           "' with a 32-bit relative relocation");
      value -= here;
      fits = fitsSigned(value);
      break;
    case R_X86_64_PLT32:
      if (symbol.isUndefined())
        value = address(at(code, symbol.stub - 1)) + addend;
      value -= here;
      fits = fitsSigned(value);
      break;
    case R_X86_64_GOTPCREL:
    case R_X86_64_GOTPCRELX:
    case R_X86_64_REX_GOTPCRELX:
      value = address(at(constants, symbol.tableSlot - 1)) + addend - here;
      fits = fitsSigned(value);
      break;
    default:
      return unsupported("has a relocation of type ", r.type, " to '", name, "'");
    }
    if (!fits)
      return unsupported("has a relocation of type ", r.type, " to '", name,
                         "' whose target is out of range");
    std::memcpy(target, &value, width);
    return Status();
  }

  static uint64_t address(const void *pointer) { return reinterpret_cast<uint64_t>(pointer); }
  static bool fitsSigned(uint64_t value) {
    return static_cast<int64_t>(value) == static_cast<int32_t>(value);
  }

  Status protect() {
    constexpr int access[groupCount] = {PROT_READ | PROT_EXEC, PROT_READ, PROT_READ | PROT_WRITE};
    for (int group = 0; group < groupCount; ++group) {
      const uint64_t bytes = aligned(groupBytes[group], pageBytes);
      if (bytes != 0 && ::mprotect(object->memory + groupStart[group], bytes, access[group]) != 0)
        return Status(Error::objectMemory,
                      concat("the system does not allow executable memory: ", std::strerror(errno),
                             "; a security policy of the machine may forbid it"));
    }
    return Status();
  }

  void nameFunctions() {
    for (const auto &[name, symbol] : globals) {
      if (symbol->row->isReserved)
        continue;
      const SectionLocation &location = symbol->file->locations[symbol->row->section];
      const Elf64_Shdr &section = symbol->file->elf.sections()[symbol->row->section];
      if (location.isUsed && location.group == code && symbol->row->value < section.sh_size)
        object->functions.emplace(name, at(location) + symbol->row->value);
    }
  }

  const SymbolResolver &resolver;
  std::deque<File> files;
  std::unordered_map<std::string_view, Symbol *> globals; // the definition of each name
  std::vector<Job> jobs;
  /// Code begins 64 bytes after the start of its page, because UBSan reads the bytes before a
  /// function that it calls.
  uint64_t groupBytes[groupCount] = {64, 0, 0}, groupStart[groupCount] = {};
  uint64_t zeroBytes = 0; // of all files
  bool needsLowMemory = false;
  std::unique_ptr<ObjectCode> object;
};

Result<std::unique_ptr<ObjectCode>> ObjectCode::load(std::span<const std::vector<std::byte>> files,
                                                     const SymbolResolver &resolver) {
  std::vector<ElfView> views;
  for (const std::vector<std::byte> &file : files) {
    TILEWRIGHT_ASSIGN(ElfView view, ElfView::open(file));
    views.push_back(std::move(view));
  }
  return ObjectLinker(views, resolver).link();
}

ObjectCode::~ObjectCode() {
  if (memory)
    ::munmap(memory, size);
}

void *ObjectCode::find(std::string_view function) const {
  auto found = functions.find(std::string(function));
  return found == functions.end() ? nullptr : found->second;
}

} // namespace tilewright::runtime::cpu
