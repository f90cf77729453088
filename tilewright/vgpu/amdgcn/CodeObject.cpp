#include "tilewright/vgpu/amdgcn/CodeObject.h"

#include "tilewright/support/BytesAt.h"
#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/amdgcn/MessagePack.h"

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <tuple>

namespace tilewright::vgpu::amdgcn {

using Bytes = std::span<const std::byte>;

static Status damaged(std::string_view what) {
  return Status(Error::vgpuBinary, concat("damaged code object: ", what));
}

/// The string at `offset` of a string table; empty if it is outside or does not end.
static std::string_view stringAt(Bytes table, uint64_t offset) {
  if (offset >= table.size())
    return {};
  const char *text = reinterpret_cast<const char *>(table.data()) + offset;
  const size_t size = strnlen(text, table.size() - offset);
  return size == table.size() - offset ? std::string_view() : std::string_view(text, size);
}

const Kernel *CodeObject::find(std::string_view kernel) const {
  for (const Kernel &candidate : kernels)
    if (candidate.name == kernel)
      return &candidate;
  return nullptr;
}

// -- ELF

static Result<Chip> readHeader(Bytes bytes, Elf64_Ehdr &header) {
  const auto read = valueAt<Elf64_Ehdr>(bytes, 0);
  if (!read || std::memcmp(read->e_ident, ELFMAG, SELFMAG) != 0)
    return Status(Error::vgpuBinary, "not a code object: the bytes are neither an ELF file nor a "
                                     "bundle of clang; pass what hipModuleLoad would get");
  header = *read;
  constexpr uint16_t machineAmdgpu = 224;
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_machine != machineAmdgpu)
    return Status(Error::vgpuBinary,
                  concat("not a code object: the ELF file is for machine ", header.e_machine,
                         ", expected a 64-bit file for machine ", machineAmdgpu, " (AMDGPU)"));
  switch (header.e_flags & 0xff) {
  case 0x4c:
    return Chip::gfx942;
  case 0x4f:
    return Chip::gfx950;
  default:
    return Status(Error::vgpuChip,
                  concat("the code object is for machine ", header.e_flags & 0xff,
                         " of AMDGPU, but only 76 (gfx942) and 79 (gfx950) can be decoded; compile "
                         "for gfx942 or gfx950"));
  }
}

static Status readSections(Bytes bytes, const Elf64_Ehdr &header, CodeObject &object,
                           std::vector<Elf64_Shdr> &headers) {
  if (header.e_shnum != 0 && header.e_shentsize != sizeof(Elf64_Shdr))
    return damaged(concat("section headers of ", header.e_shentsize, " bytes"));
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    const auto section =
        valueAt<Elf64_Shdr>(bytes, header.e_shoff + uint64_t(i) * sizeof(Elf64_Shdr));
    if (!section)
      return damaged(concat("the header of section ", i, " is outside the file"));
    headers.push_back(*section);
  }
  const bool hasNames = header.e_shstrndx < headers.size();
  const auto names = hasNames ? bytesAt(bytes, headers[header.e_shstrndx].sh_offset,
                                        headers[header.e_shstrndx].sh_size)
                              : std::nullopt;
  for (const Elf64_Shdr &section : headers) {
    const bool hasBytes = section.sh_type != SHT_NOBITS && section.sh_type != SHT_NULL;
    const auto content = hasBytes ? bytesAt(bytes, section.sh_offset, section.sh_size)
                                  : std::optional<Bytes>(Bytes());
    if (!content)
      return damaged(concat("section ", object.sections.size(), " is outside the file"));
    object.sections.push_back({.name = names ? stringAt(*names, section.sh_name) : "",
                               .address = section.sh_addr,
                               .size = section.sh_size,
                               .bytes = *content,
                               .isExecutable = (section.sh_flags & SHF_EXECINSTR) != 0});
  }
  return Status();
}

static Status readSegments(Bytes bytes, const Elf64_Ehdr &header, CodeObject &object,
                           std::vector<Bytes> &notes) {
  if (header.e_phnum != 0 && header.e_phentsize != sizeof(Elf64_Phdr))
    return damaged(concat("program headers of ", header.e_phentsize, " bytes"));
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    const auto segment =
        valueAt<Elf64_Phdr>(bytes, header.e_phoff + uint64_t(i) * sizeof(Elf64_Phdr));
    const auto content =
        segment ? bytesAt(bytes, segment->p_offset, segment->p_filesz) : std::nullopt;
    if (!content)
      return damaged(concat("segment ", i, " is outside the file"));
    if (segment->p_type == PT_NOTE)
      notes.push_back(*content);
    if (segment->p_type != PT_LOAD)
      continue;
    if (segment->p_memsz < segment->p_filesz)
      return damaged(concat("segment ", i, " has ", segment->p_filesz, " bytes in the file but ",
                            segment->p_memsz, " in memory"));
    object.segments.push_back({.address = segment->p_vaddr,
                               .memoryBytes = segment->p_memsz,
                               .bytes = *content,
                               .isExecutable = (segment->p_flags & PF_X) != 0,
                               .isWritable = (segment->p_flags & PF_W) != 0});
  }
  return Status();
}

static Status readSymbols(const std::vector<Elf64_Shdr> &headers, CodeObject &object) {
  // .symtab has all symbols, unless the file was stripped; .dynsym always has the kernels.
  uint32_t wanted = SHT_DYNSYM;
  for (const Elf64_Shdr &section : headers)
    if (section.sh_type == SHT_SYMTAB)
      wanted = SHT_SYMTAB;
  for (size_t i = 0; i < headers.size(); ++i) {
    if (headers[i].sh_type != wanted)
      continue;
    if (headers[i].sh_link >= object.sections.size())
      return damaged("the symbol table has no string table");
    const Bytes table = object.sections[i].bytes, names = object.sections[headers[i].sh_link].bytes;
    for (size_t offset = 0; offset + sizeof(Elf64_Sym) <= table.size();
         offset += sizeof(Elf64_Sym)) {
      const Elf64_Sym symbol = *valueAt<Elf64_Sym>(table, offset);
      const unsigned type = ELF64_ST_TYPE(symbol.st_info);
      if (symbol.st_name == 0 || type == STT_SECTION || type == STT_FILE)
        continue;
      const bool isPlaced = symbol.st_shndx < object.sections.size();
      object.symbols.push_back({.name = stringAt(names, symbol.st_name),
                                .address = symbol.st_value,
                                .size = symbol.st_size,
                                .section = isPlaced ? symbol.st_shndx : 0u,
                                .isFunction = type == STT_FUNC,
                                .isLabel = type == STT_NOTYPE});
    }
  }
  auto orderOf = [](const Symbol &symbol) {
    return std::tuple(symbol.address, symbol.isFunction, symbol.name);
  };
  std::sort(object.symbols.begin(), object.symbols.end(),
            [&](const Symbol &a, const Symbol &b) { return orderOf(a) < orderOf(b); });
  return Status();
}

// -- Kernels

static Result<KernelDescriptor> readDescriptor(Bytes bytes, std::string_view name) {
  constexpr size_t descriptorBytes = 64;
  if (bytes.size() < descriptorBytes)
    return damaged(concat("the descriptor of kernel '", name, "' has ", bytes.size(),
                          " bytes, expected ", descriptorBytes));
  KernelDescriptor descriptor;
  descriptor.ldsBytes = *valueAt<uint32_t>(bytes, 0);
  descriptor.scratchBytesPerLane = *valueAt<uint32_t>(bytes, 4);
  descriptor.kernelArgumentBytes = *valueAt<uint32_t>(bytes, 8);
  descriptor.entryOffset = *valueAt<int64_t>(bytes, 16);
  descriptor.rsrc3 = *valueAt<uint32_t>(bytes, 44);
  descriptor.rsrc1 = *valueAt<uint32_t>(bytes, 48);
  descriptor.rsrc2 = *valueAt<uint32_t>(bytes, 52);
  descriptor.properties = *valueAt<uint16_t>(bytes, 56);
  descriptor.preload = *valueAt<uint16_t>(bytes, 58);
  return descriptor;
}

static Status readKernels(CodeObject &object) {
  for (const Symbol &symbol : object.symbols) {
    if (!symbol.name.ends_with(".kd") || symbol.section == 0)
      continue;
    const Section &section = object.sections[symbol.section];
    const std::string_view name = symbol.name.substr(0, symbol.name.size() - 3);
    const auto bytes = symbol.address < section.address
                           ? std::nullopt
                           : bytesAt(section.bytes, symbol.address - section.address, 64);
    if (!bytes)
      return damaged(concat("the descriptor of kernel '", name, "' is outside its section"));
    TILEWRIGHT_ASSIGN(const KernelDescriptor descriptor, readDescriptor(*bytes, name));
    const uint64_t entry = symbol.address + static_cast<uint64_t>(descriptor.entryOffset);
    const bool isCode =
        std::any_of(object.segments.begin(), object.segments.end(), [&](const Segment &segment) {
          return segment.isExecutable && entry >= segment.address &&
                 entry - segment.address < segment.bytes.size();
        });
    if (!isCode || entry % 4 != 0)
      return damaged(concat("kernel '", name, "' begins at ", entry, ", where there is no code"));
    object.kernels.push_back({.name = name,
                              .descriptorAddress = symbol.address,
                              .entry = entry,
                              .descriptor = descriptor,
                              .arguments = {}});
  }
  return Status();
}

/// Checks that the arguments are in the kernel's segment and apart from each other: launches copy
/// values to these places.
static Status checkArguments(Kernel &kernel) {
  constexpr uint32_t maxBytes = 1 << 20;
  uint32_t &size = kernel.descriptor.kernelArgumentBytes;
  // Some compilers leave the size to the metadata.
  if (size == 0)
    for (const KernelArgument &argument : kernel.arguments)
      if (argument.offset <= maxBytes && argument.size <= maxBytes)
        size = std::max<uint32_t>(size, argument.offset + argument.size);
  if (size > maxBytes)
    return damaged(concat("kernel '", kernel.name, "' has ", size,
                          " bytes of arguments, but at most ", maxBytes, " are supported"));
  std::vector<const KernelArgument *> byOffset;
  for (const KernelArgument &argument : kernel.arguments) {
    if (argument.offset > size || argument.size > size - argument.offset)
      return damaged(concat("argument ", &argument - kernel.arguments.data(), " of kernel '",
                            kernel.name, "' has ", argument.size, " bytes at ", argument.offset,
                            ", which is outside the kernel's ", size, " bytes of arguments"));
    if (argument.size != 0)
      byOffset.push_back(&argument);
  }
  std::ranges::sort(byOffset, {}, [](const KernelArgument *argument) { return argument->offset; });
  for (size_t i = 1; i < byOffset.size(); ++i)
    if (const KernelArgument &a = *byOffset[i - 1], &b = *byOffset[i]; b.offset - a.offset < a.size)
      return damaged(concat("arguments ", &a - kernel.arguments.data(), " and ",
                            &b - kernel.arguments.data(), " of kernel '", kernel.name,
                            "' overlap: ", a.size, " bytes at ", a.offset, " and ", b.size,
                            " bytes at ", b.offset));
  return Status();
}

/// Adds what the metadata says about the kernels.
static Status readMetadata(Bytes document, CodeObject &object) {
  TILEWRIGHT_ASSIGN(const PackedValue root, readMessagePack(document));
  for (const PackedValue &entry : root.elementsOf("amdhsa.kernels")) {
    const std::string_view symbol = entry.stringOf(".symbol");
    for (Kernel &kernel : object.kernels) {
      if (symbol.size() != kernel.name.size() + 3 || !symbol.starts_with(kernel.name))
        continue;
      auto number = [&](std::string_view key) {
        return static_cast<uint32_t>(entry.integerOf(key));
      };
      kernel.vgprs = number(".vgpr_count");
      kernel.agprs = number(".agpr_count");
      kernel.sgprs = number(".sgpr_count");
      kernel.vgprSpills = number(".vgpr_spill_count");
      kernel.sgprSpills = number(".sgpr_spill_count");
      kernel.waveSize = number(".wavefront_size");
      kernel.maxWorkgroupSize = number(".max_flat_workgroup_size");
      for (const PackedValue &argument : entry.elementsOf(".args"))
        kernel.arguments.push_back({.name = argument.stringOf(".name"),
                                    .valueKind = argument.stringOf(".value_kind"),
                                    .offset = static_cast<uint64_t>(argument.integerOf(".offset")),
                                    .size = static_cast<uint64_t>(argument.integerOf(".size"))});
      TILEWRIGHT_TRY(checkArguments(kernel));
    }
  }
  return Status();
}

/// Looks for AMD's metadata among the notes of a segment.
static Status readNotes(Bytes notes, CodeObject &object) {
  constexpr uint32_t metadataType = 32; // NT_AMDGPU_METADATA
  for (uint64_t offset = 0; notes.size() - offset >= sizeof(Elf64_Nhdr);) {
    const Elf64_Nhdr note = *valueAt<Elf64_Nhdr>(notes, offset);
    const uint64_t nameAt = offset + sizeof(Elf64_Nhdr);
    const uint64_t contentAt = nameAt + (uint64_t(note.n_namesz) + 3) / 4 * 4;
    const auto name = bytesAt(notes, nameAt, note.n_namesz),
               content = bytesAt(notes, contentAt, note.n_descsz);
    if (!name || !content)
      return damaged("a note goes beyond the end of its segment");
    if (note.n_type == metadataType && stringAt(*name, 0) == "AMDGPU")
      TILEWRIGHT_TRY(readMetadata(*content, object));
    offset = std::min<uint64_t>(notes.size(), contentAt + (uint64_t(note.n_descsz) + 3) / 4 * 4);
  }
  return Status();
}

Result<CodeObject> readCodeObject(Bytes bytes) {
  Elf64_Ehdr header;
  CodeObject object;
  std::vector<Elf64_Shdr> sections;
  std::vector<Bytes> notes;
  TILEWRIGHT_ASSIGN(object.chip, readHeader(bytes, header));
  TILEWRIGHT_TRY(readSections(bytes, header, object, sections));
  TILEWRIGHT_TRY(readSegments(bytes, header, object, notes));
  TILEWRIGHT_TRY(readSymbols(sections, object));
  if (header.e_type == ET_DYN || header.e_type == ET_EXEC)
    TILEWRIGHT_TRY(readKernels(object));
  for (Bytes note : notes)
    TILEWRIGHT_TRY(readNotes(note, object));
  return object;
}

} // namespace tilewright::vgpu::amdgcn
