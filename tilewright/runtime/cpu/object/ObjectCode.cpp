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

/// Pages of one protection each. The table of addresses of symbols is among the
/// constants; stubs that jump through it are among the code.
enum Group { code, constants, data };
static constexpr int groupCount = 3;
static constexpr uint64_t pageBytes = 4096;
/// All parts reach each other with 32 bits of distance, and nothing that was
/// generated comes near this.
static constexpr uint64_t maxMappedBytes = uint64_t(1) << 30;
/// Zero-filled data takes no bytes of the file, so that the file's size does not limit it.
static constexpr uint64_t maxZeroBytes = uint64_t(1) << 26;
/// jmp *distance(%rip), and two bytes that are never reached.
static constexpr uint64_t stubBytes = 8;

class ObjectLinker {
public:
  ObjectLinker(const ElfView &elf, const SymbolResolver &resolver)
      : elf(elf), resolver(resolver), places(elf.sections().size()),
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
  /// A section in memory, or none.
  struct Place {
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
                         "; kernels are compiled as position-independent code without "
                         "constructors and thread-local data"));
  }

  static uint64_t aligned(uint64_t offset, uint64_t alignment) {
    return (offset + alignment - 1) / alignment * alignment;
  }
  Status grow(Group group, uint64_t bytes, uint64_t alignment, uint64_t &offset) {
    offset = aligned(groupBytes[group], alignment);
    if (bytes > maxMappedBytes || offset > maxMappedBytes - bytes)
      return Status(Error::objectMemory, concat("the object code needs more than ", maxMappedBytes,
                                                " bytes; compile the program in parts"));
    groupBytes[group] = offset + bytes;
    return Status();
  }

  Status placeSections() {
    uint64_t zeroBytes = 0;
    for (size_t i = 0; i < elf.sections().size(); ++i) {
      const Elf64_Shdr &section = elf.sections()[i];
      // Nobody unwinds through kernels, which do not throw.
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
        return Status(Error::objectMalformed,
                      concat("the object code aligns section '", elf.nameOf(section), "' to ",
                             alignment, "; compile the program again"));
      const bool isCode = section.sh_flags & SHF_EXECINSTR;
      if (isCode && (section.sh_flags & SHF_WRITE))
        return unsupported("has section '", elf.nameOf(section), "' that is code and data at once");
      places[i] = {isCode ? code : section.sh_flags & SHF_WRITE ? data : constants, 0, true};
      TILEWRIGHT_TRY(grow(places[i].group, section.sh_size, alignment, places[i].offset));
    }
    return Status();
  }

  /// Collects the relocations of what is in memory, and makes room for the
  /// addresses and stubs that they need.
  Status readRelocations() {
    for (const Elf64_Shdr &section : elf.sections()) {
      if (section.sh_type == SHT_REL)
        return unsupported("has relocations without addends");
      if (section.sh_type != SHT_RELA)
        continue;
      if (section.sh_info >= elf.sections().size())
        return Status(Error::objectMalformed,
                      concat("the object code relocates section ", section.sh_info, " of ",
                             elf.sections().size(), "; compile the program again"));
      if (!places[section.sh_info].isUsed)
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
      ++tableSlots[relocation.symbol]; // 0 is none
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
      return Status(Error::objectMemory,
                    concat("no memory for ", total, " bytes of object code",
                           total <= maxMappedBytes ? concat(": ", std::strerror(errno)) : "",
                           "; raise the limit on address space or compile the program in parts"));
    object->memory = static_cast<std::byte *>(memory);
    object->size = total;
    for (size_t i = 0; i < places.size(); ++i) {
      const std::span<const std::byte> content = elf.content(elf.sections()[i]);
      if (places[i].isUsed && !content.empty())
        std::memcpy(at(places[i].group, places[i].offset), content.data(), content.size());
    }
    return Status();
  }
  std::byte *at(Group group, uint64_t offset) const {
    return object->memory + groupStart[group] + offset;
  }

  /// Where each symbol is that a relocation uses.
  Status findAddresses() {
    std::vector<bool> isKnown(addresses.size());
    for (const Job &job : jobs) {
      const uint32_t index = job.relocation.symbol;
      if (isKnown[index])
        continue;
      isKnown[index] = true;
      const ElfSymbol &symbol = elf.symbols()[index];
      if (!symbol.isReserved) {
        if (!places[symbol.section].isUsed || symbol.type == STT_GNU_IFUNC ||
            symbol.type == STT_TLS)
          return unsupported("refers to symbol '", symbol.name, "' of type ", symbol.type,
                             " in section '", elf.nameOf(elf.sections()[symbol.section]), "'");
        const Place &place = places[symbol.section];
        addresses[index] = address(at(place.group, place.offset)) + symbol.value;
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
        addresses[index] = 0; // relocations without a symbol
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
      // Groups are at most maxMappedBytes together, so the distance fits.
      const auto distance = static_cast<int32_t>(slot - (stub + 6));
      const uint8_t jump[stubBytes] = {0xFF, 0x25, 0, 0, 0, 0, 0xCC, 0xCC};
      std::memcpy(stub, jump, stubBytes);
      std::memcpy(stub + 2, &distance, 4);
    }
  }

  Status apply(const Job &job) {
    const ElfRelocation &r = job.relocation;
    const Place &place = places[job.section];
    const uint64_t sectionBytes = elf.sections()[job.section].sh_size;
    const bool isWide = r.type == R_X86_64_64 || r.type == R_X86_64_PC64;
    const uint64_t width = isWide ? 8 : 4;
    if (r.type == R_X86_64_NONE)
      return Status();
    if (width > sectionBytes || r.offset > sectionBytes - width)
      return Status(Error::objectMalformed,
                    concat("the object code relocates byte ", r.offset, " of section '",
                           elf.nameOf(elf.sections()[job.section]), "', which has ", sectionBytes,
                           "; compile the program again"));
    std::byte *target = at(place.group, place.offset + r.offset);
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
      // Whether another library is near enough is chance, so it is not relied on.
      if (isExternal)
        return unsupported("refers to '", symbol.name, "' as if it were near");
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
                         "' that does not reach");
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
                      concat("the system does not let memory become code: ", std::strerror(errno),
                             "; a security policy of the machine may forbid it"));
    }
    return Status();
  }

  Status nameFunctions() {
    for (const ElfSymbol &symbol : elf.symbols()) {
      if (symbol.isReserved || symbol.binding == STB_LOCAL || !places[symbol.section].isUsed ||
          places[symbol.section].group != code ||
          symbol.value >= elf.sections()[symbol.section].sh_size)
        continue;
      const Place &place = places[symbol.section];
      const bool isNew =
          object->functions
              .try_emplace(std::string(symbol.name), at(place.group, place.offset + symbol.value))
              .second;
      if (!isNew)
        return Status(Error::objectMalformed, concat("the object code defines '", symbol.name,
                                                     "' twice; compile the program again"));
    }
    return Status();
  }

  const ElfView &elf;
  const SymbolResolver &resolver;
  std::vector<Place> places;        // by section
  std::vector<uint64_t> tableSlots; // by symbol: offset among constants, plus 1
  std::vector<uint64_t> stubs;      // by symbol: offset among code, plus 1
  std::vector<uint64_t> addresses;  // by symbol
  std::vector<Job> jobs;
  /// Code does not begin with its page: UBSan looks at the bytes before a function that it calls.
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
