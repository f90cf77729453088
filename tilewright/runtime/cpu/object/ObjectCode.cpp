#include "tilewright/runtime/cpu/object/ObjectCode.h"

#include "tilewright/runtime/cpu/object/ElfView.h"
#include "tilewright/runtime/cpu/object/RuntimeSymbols.h"
#include "tilewright/support/Concat.h"

#include <bit>
#include <cerrno>
#include <cstring>
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

class ObjectLinker {
public:
  ObjectLinker(const ElfView &elf, const SymbolResolver &resolver)
      : elf(elf), resolver(resolver), locations(elf.sections().size()),
        tableSlots(elf.symbols().size()), stubs(elf.symbols().size()),
        addresses(elf.symbols().size()) {}

  Result<std::unique_ptr<ObjectCode>> link() {
    TILEWRIGHT_TRY(placeSections());
    TILEWRIGHT_TRY(readRelocations());
    TILEWRIGHT_TRY(map());
    TILEWRIGHT_TRY(findAddresses());
    fillTable();
    for (const Job &job : jobs)
      TILEWRIGHT_TRY(apply(job));
    TILEWRIGHT_TRY(protect());
    TILEWRIGHT_TRY(nameFunctions());
    return std::move(object);
  }

private:
  /// The location of a section in memory, if it is loaded.
  struct SectionLocation {
    Group group = code;
    uint64_t offset = 0;
    bool isUsed = false;
  };
  struct Job {
    uint32_t section;
    ElfRelocation relocation;
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
      return Status(Error::objectMemory, concat("the object code needs more than ", maxMappedBytes,
                                                " bytes, the limit; split the program"));
    groupBytes[group] = offset + bytes;
    return Status();
  }

  Status placeSections() {
    uint64_t zeroBytes = 0;
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
      locations[i] = {isCode ? code : section.sh_flags & SHF_WRITE ? data : constants, 0, true};
      TILEWRIGHT_TRY(grow(locations[i].group, section.sh_size, alignment, locations[i].offset));
    }
    return Status();
  }

  /// Collects the relocations of loaded sections, and reserves the table slots and stubs that they
  /// need.
  Status readRelocations() {
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
      if (!locations[section.sh_info].isUsed)
        continue;
      TILEWRIGHT_ASSIGN(std::vector<ElfRelocation> relocations, elf.relocations(section));
      for (const ElfRelocation &relocation : relocations) {
        jobs.push_back({section.sh_info, relocation});
        TILEWRIGHT_TRY(makeRoom(relocation));
      }
    }
    return Status();
  }
  Status makeRoom(const ElfRelocation &relocation) {
    const ElfSymbol &symbol = elf.symbols()[relocation.symbol];
    const bool isExternal = symbol.isReserved && symbol.section == SHN_UNDEF;
    const bool needsStub = relocation.type == R_X86_64_PLT32 && isExternal;
    const bool needsSlot = needsStub || relocation.type == R_X86_64_GOTPCREL ||
                           relocation.type == R_X86_64_GOTPCRELX ||
                           relocation.type == R_X86_64_REX_GOTPCRELX;
    if (needsSlot && tableSlots[relocation.symbol] == 0) {
      TILEWRIGHT_TRY(grow(constants, 8, 8, tableSlots[relocation.symbol]));
      ++tableSlots[relocation.symbol]; // 0 means none
    }
    if (needsStub && stubs[relocation.symbol] == 0) {
      TILEWRIGHT_TRY(grow(code, stubBytes, 8, stubs[relocation.symbol]));
      ++stubs[relocation.symbol];
    }
    needsLowMemory |= relocation.type == R_X86_64_32 || relocation.type == R_X86_64_32S;
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
    for (size_t i = 0; i < locations.size(); ++i) {
      const std::span<const std::byte> content = elf.content(elf.sections()[i]);
      if (locations[i].isUsed && !content.empty())
        std::memcpy(at(locations[i].group, locations[i].offset), content.data(), content.size());
    }
    return Status();
  }
  std::byte *at(Group group, uint64_t offset) const {
    return object->memory + groupStart[group] + offset;
  }

  /// Finds the address of each symbol that a relocation uses.
  Status findAddresses() {
    std::vector<bool> isKnown(addresses.size());
    for (const Job &job : jobs) {
      const uint32_t index = job.relocation.symbol;
      if (isKnown[index])
        continue;
      isKnown[index] = true;
      const ElfSymbol &symbol = elf.symbols()[index];
      if (!symbol.isReserved) {
        if (!locations[symbol.section].isUsed || symbol.type == STT_GNU_IFUNC ||
            symbol.type == STT_TLS)
          return unsupported("refers to symbol '", symbol.name, "' of type ", symbol.type,
                             " in section '", elf.nameOf(elf.sections()[symbol.section]), "'");
        const SectionLocation &location = locations[symbol.section];
        addresses[index] = address(at(location.group, location.offset)) + symbol.value;
      } else if (symbol.section == SHN_ABS) {
        addresses[index] = symbol.value;
      } else if (symbol.section == SHN_UNDEF && !symbol.name.empty()) {
        const void *found = findRuntimeSymbol(symbol.name);
        if (!found && resolver)
          found = resolver(symbol.name);
        if (!found && symbol.binding != STB_WEAK)
          return Status(Error::objectSymbol,
                        concat("the object code needs '", symbol.name,
                               "', which this runtime does not have; load it with the version "
                               "that compiled it, or compile the program again"));
        addresses[index] = address(found);
      } else if (symbol.section == SHN_UNDEF) {
        addresses[index] = 0; // for relocations without a symbol
      } else {
        return unsupported("has common symbol '", symbol.name, "'");
      }
    }
    return Status();
  }

  void fillTable() {
    for (size_t symbol = 0; symbol < tableSlots.size(); ++symbol) {
      if (tableSlots[symbol] == 0)
        continue;
      std::byte *slot = at(constants, tableSlots[symbol] - 1);
      std::memcpy(slot, &addresses[symbol], 8);
      if (stubs[symbol] == 0)
        continue;
      std::byte *stub = at(code, stubs[symbol] - 1);
      // All groups together are at most maxMappedBytes, so the distance fits.
      const auto distance = static_cast<int32_t>(slot - (stub + 6));
      const uint8_t jump[stubBytes] = {0xFF, 0x25, 0, 0, 0, 0, 0xCC, 0xCC};
      std::memcpy(stub, jump, stubBytes);
      std::memcpy(stub + 2, &distance, 4);
    }
  }

  Status apply(const Job &job) {
    const ElfRelocation &r = job.relocation;
    const SectionLocation &location = locations[job.section];
    const uint64_t sectionBytes = elf.sections()[job.section].sh_size;
    const bool isWide = r.type == R_X86_64_64 || r.type == R_X86_64_PC64;
    const uint64_t width = isWide ? 8 : 4;
    if (r.type == R_X86_64_NONE)
      return Status();
    if (width > sectionBytes || r.offset > sectionBytes - width)
      return Status(Error::objectMalformed,
                    concat("the object code has a relocation at byte ", r.offset, " of section '",
                           elf.nameOf(elf.sections()[job.section]), "', which has ", sectionBytes,
                           " bytes; compile the program again"));
    std::byte *target = at(location.group, location.offset + r.offset);
    const uint64_t here = address(target), addend = static_cast<uint64_t>(r.addend);
    const ElfSymbol &symbol = elf.symbols()[r.symbol];
    const bool isExternal = symbol.isReserved && symbol.section == SHN_UNDEF;
    uint64_t value = addresses[r.symbol] + addend;
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
      if (isExternal)
        return unsupported("refers to external symbol '", symbol.name,
                           "' with a 32-bit relative relocation");
      value -= here;
      fits = fitsSigned(value);
      break;
    case R_X86_64_PLT32:
      if (isExternal)
        value = address(at(code, stubs[r.symbol] - 1)) + addend;
      value -= here;
      fits = fitsSigned(value);
      break;
    case R_X86_64_GOTPCREL:
    case R_X86_64_GOTPCRELX:
    case R_X86_64_REX_GOTPCRELX:
      value = address(at(constants, tableSlots[r.symbol] - 1)) + addend - here;
      fits = fitsSigned(value);
      break;
    default:
      return unsupported("has a relocation of type ", r.type, " to '", symbol.name, "'");
    }
    if (!fits)
      return unsupported("has a relocation of type ", r.type, " to '", symbol.name,
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

  Status nameFunctions() {
    for (const ElfSymbol &symbol : elf.symbols()) {
      if (symbol.isReserved || symbol.binding == STB_LOCAL || !locations[symbol.section].isUsed ||
          locations[symbol.section].group != code ||
          symbol.value >= elf.sections()[symbol.section].sh_size)
        continue;
      const SectionLocation &location = locations[symbol.section];
      const bool isNew = object->functions
                             .try_emplace(std::string(symbol.name),
                                          at(location.group, location.offset + symbol.value))
                             .second;
      if (!isNew)
        return Status(Error::objectMalformed, concat("the object code defines '", symbol.name,
                                                     "' twice; compile the program again"));
    }
    return Status();
  }

  const ElfView &elf;
  const SymbolResolver &resolver;
  std::vector<SectionLocation> locations; // by section
  std::vector<uint64_t> tableSlots;       // by symbol: offset in the constants, plus 1
  std::vector<uint64_t> stubs;            // by symbol: offset in the code, plus 1
  std::vector<uint64_t> addresses;        // by symbol
  std::vector<Job> jobs;
  /// Code begins 64 bytes after the start of its page, because UBSan reads the bytes before a
  /// function that it calls.
  uint64_t groupBytes[groupCount] = {64, 0, 0}, groupStart[groupCount] = {};
  bool needsLowMemory = false;
  std::unique_ptr<ObjectCode> object;
};

Result<std::unique_ptr<ObjectCode>> ObjectCode::load(std::span<const std::byte> elf,
                                                     const SymbolResolver &resolver) {
  TILEWRIGHT_ASSIGN(ElfView view, ElfView::open(elf));
  return ObjectLinker(view, resolver).link();
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
