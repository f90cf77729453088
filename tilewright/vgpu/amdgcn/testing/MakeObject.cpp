#include "tilewright/vgpu/amdgcn/testing/MakeObject.h"

#include <cstring>
#include <elf.h>

namespace tilewright::vgpu::amdgcn::testing {

template <typename T> static void append(std::string &bytes, const T &value) {
  bytes.append(reinterpret_cast<const char *>(&value), sizeof value);
}

static std::string makeDescriptor(int64_t entryOffset) {
  std::string bytes(64, '\0');
  auto set = [&](size_t at, auto value) { std::memcpy(bytes.data() + at, &value, sizeof value); };
  set(0, uint32_t(2048)); // LDS
  set(4, uint32_t(16));   // scratch
  set(8, uint32_t(24));   // arguments
  set(16, entryOffset);
  set(44, uint32_t(7));                    // AGPRs begin at 32
  set(48, uint32_t(5));                    // 48 VGPRs
  set(52, uint32_t(14 << 1 | 1 | 1 << 7)); // scratch, 14 user SGPRs, group id x
  set(56, uint16_t(1 << 3));               // argument pointer
  set(58, uint16_t(6));                    // 6 dwords preloaded
  return bytes;
}

static std::string makeNote(const std::string &metadata) {
  std::string note;
  append(note, Elf64_Nhdr{7, static_cast<uint32_t>(metadata.size()), 32});
  note.append("AMDGPU\0\0", 8);
  note += metadata;
  note.resize((note.size() + 3) / 4 * 4);
  return note;
}

std::string makeObject(const ObjectParts &parts) {
  constexpr uint64_t dataAddress = 0x1000, codeAddress = 0x1100;
  std::string code;
  for (uint32_t word : parts.code)
    append(code, word);
  const std::string data = makeDescriptor(parts.entryOffset), note = makeNote(parts.metadata);
  const std::string names = std::string("\0.rodata\0.text\0.dynsym\0.dynstr\0", 31);
  std::string strings(1, '\0');
  strings += parts.kernel + '\0' + parts.kernel + ".kd" + '\0';

  std::string symbols;
  const auto kdName = static_cast<uint32_t>(parts.kernel.size() + 2);
  append(symbols, Elf64_Sym{});
  append(symbols,
         Elf64_Sym{1, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 2, codeAddress, code.size()});
  append(symbols, Elf64_Sym{kdName, ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), 0, 1, dataAddress, 64});

  struct Part {
    uint32_t name, type;
    uint64_t flags, address;
    const std::string *bytes;
    uint32_t link;
    uint64_t offset = 0;
  };
  std::vector<Part> sections = {{1, SHT_PROGBITS, SHF_ALLOC, dataAddress, &data, 0},
                                {9, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, codeAddress, &code, 0},
                                {15, SHT_DYNSYM, 0, 0, &symbols, 4},
                                {23, SHT_STRTAB, 0, 0, &strings, 0},
                                {0, SHT_STRTAB, 0, 0, &names, 0},
                                {0, SHT_NOTE, 0, 0, &note, 0}};
  std::string body;
  const uint64_t bodyAt = sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Phdr);
  for (Part &part : sections) {
    part.offset = bodyAt + body.size();
    body += *part.bytes;
    body.resize((body.size() + 7) / 8 * 8);
  }

  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_OSABI] = 64;
  header.e_type = ET_DYN;
  header.e_machine = 224;
  header.e_flags = parts.machine;
  header.e_phoff = sizeof(Elf64_Ehdr);
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 3;
  header.e_shoff = bodyAt + body.size();
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<uint16_t>(sections.size() + 1);
  header.e_shstrndx = 5;

  std::string file;
  append(file, header);
  append(file, Elf64_Phdr{PT_LOAD, PF_R, sections[0].offset, dataAddress, 0, data.size(),
                          data.size(), 4096});
  append(file, Elf64_Phdr{PT_LOAD, PF_R | PF_X, sections[1].offset, codeAddress, 0, code.size(),
                          code.size(), 4096});
  append(file, Elf64_Phdr{PT_NOTE, PF_R, sections[5].offset, 0, 0, note.size(), note.size(), 4});
  file += body;
  append(file, Elf64_Shdr{});
  for (const Part &part : sections)
    append(file, Elf64_Shdr{part.name, part.type, part.flags, part.address, part.offset,
                            part.bytes->size(), part.link, 0, 4, 0});
  return file;
}

std::string makeBundle(std::span<const std::pair<std::string, std::string>> entries) {
  uint64_t offset = 24 + 8;
  for (const auto &[target, bytes] : entries)
    offset += 24 + target.size();
  std::string bundle = "__CLANG_OFFLOAD_BUNDLE__";
  append(bundle, static_cast<uint64_t>(entries.size()));
  for (const auto &[target, bytes] : entries) {
    append(bundle, offset);
    append(bundle, static_cast<uint64_t>(bytes.size()));
    append(bundle, static_cast<uint64_t>(target.size()));
    bundle += target;
    offset += bytes.size();
  }
  for (const auto &[target, bytes] : entries)
    bundle += bytes;
  return bundle;
}

static std::string packed(std::string_view text) {
  return std::string(1, static_cast<char>(0xd9)) + static_cast<char>(text.size()) +
         std::string(text);
}

static std::string packed(uint64_t number) {
  std::string bytes(1, static_cast<char>(0xcf));
  for (int shift = 56; shift >= 0; shift -= 8)
    bytes += static_cast<char>(number >> shift);
  return bytes;
}

static std::string packed(ArgumentPlace place) {
  return packed(".offset") + packed(place.offset) + packed(".size") + packed(place.size);
}

std::string makeMetadata(std::string_view kernel, ArgumentPlace x, ArgumentPlace hidden) {
  const std::string argument = "\x84" + packed(".name") + packed("x") + packed(x) +
                               packed(".value_kind") + packed("global_buffer");
  const std::string last =
      "\x83" + packed(hidden) + packed(".value_kind") + packed("hidden_block_count_x");
  const std::string entry = "\x86" + packed(".symbol") + packed(std::string(kernel) + ".kd") +
                            packed(".vgpr_count") + "\x2a" + packed(".agpr_count") + "\x08" +
                            packed(".wavefront_size") + "\x40" +
                            packed(".max_flat_workgroup_size") + "\xcd\x04" + std::string(1, '\0') +
                            packed(".args") + "\x92" + argument + last;
  return "\x81" + packed("amdhsa.kernels") + "\x91" + entry;
}

} // namespace tilewright::vgpu::amdgcn::testing
