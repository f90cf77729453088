#include "tilewright/vgpu/driver/Binary.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/driver/Decompress.h"

#include <cstring>
#include <elf.h>
#include <optional>
#include <vector>

namespace tilewright::vgpu::driver {

using machine::Chip;
using Bytes = std::span<const std::byte>;

static Status damaged(std::string message) { return Status(Error::vgpuBinary, std::move(message)); }

/// A value of `T` at `offset`, or nothing where the bytes end before.
template <typename T> static std::optional<T> at(Bytes bytes, uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T))
    return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

static bool isInside(Bytes bytes, uint64_t offset, uint64_t size) {
  return offset <= bytes.size() && size <= bytes.size() - offset;
}

// nvcc's wrapper around a pointer to a fat binary.
static constexpr uint32_t wrapperMagic = 0x466243b1;
struct Wrapper {
  uint32_t magic, version;
  const void *data;
  const void *filename;
};

static constexpr uint32_t fatbinMagic = 0xba55ed50;
struct FatbinHeader {
  uint32_t magic;
  uint16_t version, headerBytes;
  uint64_t bytes; // behind the header
};

enum FatbinKind : uint16_t { ptxKind = 1, elfKind = 2 };
enum FatbinFlags : uint64_t { lz4Flag = 0x2000, zstdFlag = 0x8000 };
struct FatbinEntry {
  uint16_t kind, version;
  uint32_t headerBytes;
  uint64_t bytes;           // behind the entry's header, with what fills it up
  uint32_t compressedBytes; // 0 if it is not compressed
  uint32_t optionsOffset;
  uint16_t minor, major;
  uint32_t architecture;
  uint32_t nameOffset, nameBytes;
  uint64_t flags, reserved;
  uint64_t uncompressedBytes;
};
static_assert(sizeof(FatbinHeader) == 16 && sizeof(FatbinEntry) == 64);

namespace {
/// What a container has for a chip.
struct Found {
  std::string best;               // PTX
  int rank = -1;                  // of the best; higher is better
  std::vector<std::string> other; // what is in there that does not fit, for the message
};
} // namespace

/// How well PTX fits a chip, by its .target; less than 0: not at all.
static int rankOf(std::string_view text, const Chip &chip, std::string &target) {
  const size_t directive = text.find(".target");
  const size_t begin =
      directive == std::string_view::npos ? directive : text.find("sm_", directive);
  if (begin == std::string_view::npos) {
    target = "PTX without a target";
    return -1;
  }
  size_t end = begin + 3;
  int architecture = 0;
  for (; end < text.size() && text[end] >= '0' && text[end] <= '9' && architecture < 1000; ++end)
    architecture = architecture * 10 + (text[end] - '0');
  const bool isSpecific = end < text.size() && (text[end] == 'a' || text[end] == 'f');
  target = concat("PTX for ", text.substr(begin, end - begin + (isSpecific ? 1 : 0)));
  const bool fits = isSpecific ? architecture == chip.architecture && chip.specific
                               : architecture <= chip.architecture;
  return fits ? 2 * architecture + (isSpecific ? 1 : 0) : -1;
}

static Result<std::string> contentOf(const FatbinEntry &entry, Bytes payload) {
  // What one module may unpack to; PTX of 64 MiB would take minutes to load.
  constexpr uint64_t most = uint64_t(64) << 20;
  if (!(entry.flags & (lz4Flag | zstdFlag)))
    return std::string(reinterpret_cast<const char *>(payload.data()), payload.size());
  if (entry.uncompressedBytes > most)
    return damaged(concat("a part of the fat binary unpacks to ", entry.uncompressedBytes,
                          " bytes, more than the ", most, " allowed"));
  if (entry.compressedBytes > payload.size())
    return damaged(concat("a part of the fat binary has ", entry.compressedBytes,
                          " compressed bytes, but room for ", payload.size()));
  payload = payload.first(entry.compressedBytes);
  return entry.flags & lz4Flag ? unpackLz4(payload, entry.uncompressedBytes)
                               : unpackZstd(payload, entry.uncompressedBytes);
}

/// Reads one fat binary at the beginning of `bytes`; gives its size.
static Result<uint64_t> readFatbin(Bytes bytes, const Chip &chip, Found &found) {
  const auto header = at<FatbinHeader>(bytes, 0);
  if (!header || header->magic != fatbinMagic || header->headerBytes < sizeof(FatbinHeader) ||
      !isInside(bytes, header->headerBytes, header->bytes))
    return damaged(
        concat("the header of the fat binary does not fit its ", bytes.size(), " bytes"));
  const uint64_t size = header->headerBytes + header->bytes;
  bytes = bytes.first(size);
  for (uint64_t offset = header->headerBytes; offset < size;) {
    const auto entry = at<FatbinEntry>(bytes, offset);
    if (!entry || entry->headerBytes < sizeof(FatbinEntry) ||
        !isInside(bytes, offset, entry->headerBytes) ||
        !isInside(bytes, offset + entry->headerBytes, entry->bytes))
      return damaged(concat("the part at byte ", offset, " of the fat binary goes beyond its ",
                            size, " bytes"));
    const Bytes payload = bytes.subspan(offset + entry->headerBytes, entry->bytes);
    offset += entry->headerBytes + entry->bytes;
    if (entry->kind != ptxKind) {
      found.other.push_back(entry->kind == elfKind
                                ? concat("machine code for sm_", entry->architecture)
                                : concat("a part of kind ", entry->kind));
      continue;
    }
    TILEWRIGHT_ASSIGN(std::string text, contentOf(*entry, payload));
    text.resize(strnlen(text.data(), text.size()));
    std::string target;
    const int rank = rankOf(text, chip, target);
    if (rank > found.rank) {
      found.rank = rank;
      found.best = std::move(text);
    } else if (rank < 0) {
      found.other.push_back(std::move(target));
    }
  }
  return size;
}

/// Fat binaries lie in a section of an object or a program, one behind the other.
static Status readElf(Bytes bytes, const Chip &chip, Found &found) {
  const auto header = at<Elf64_Ehdr>(bytes, 0);
  if (!header || header->e_ident[EI_CLASS] != ELFCLASS64)
    return damaged("the ELF file is not one of 64 bits, or ends in its header");
  constexpr uint16_t cudaMachine = 190;
  if (header->e_machine == cudaMachine)
    found.other.emplace_back("machine code (a cubin)");
  const auto names =
      at<Elf64_Shdr>(bytes, header->e_shoff + uint64_t(header->e_shstrndx) * sizeof(Elf64_Shdr));
  for (uint16_t i = 0; i < header->e_shnum; ++i) {
    const auto section = at<Elf64_Shdr>(bytes, header->e_shoff + uint64_t(i) * sizeof(Elf64_Shdr));
    if (!section || !names)
      return damaged("the sections of the ELF file go beyond its end");
    constexpr char wanted[] = ".nv_fatbin";
    char name[sizeof(wanted)] = {};
    const uint64_t nameOffset = names->sh_offset + section->sh_name;
    if (!isInside(bytes, nameOffset, sizeof(name)))
      continue;
    std::memcpy(name, bytes.data() + nameOffset, sizeof(name));
    if (std::memcmp(name, wanted, sizeof(wanted)) != 0 || section->sh_type == SHT_NOBITS)
      continue;
    if (!isInside(bytes, section->sh_offset, section->sh_size))
      return damaged("the section .nv_fatbin goes beyond the end of the file");
    Bytes rest = bytes.subspan(section->sh_offset, section->sh_size);
    while (!rest.empty()) {
      if (at<uint32_t>(rest, 0).value_or(0) != fatbinMagic) {
        rest = rest.subspan(std::min<size_t>(8, rest.size())); // what fills up between two
        continue;
      }
      TILEWRIGHT_ASSIGN(const uint64_t size, readFatbin(rest, chip, found));
      rest = rest.subspan(size);
    }
  }
  return Status();
}

static bool isElf(Bytes image) {
  return image.size() >= SELFMAG && std::memcmp(image.data(), ELFMAG, SELFMAG) == 0;
}

/// Whether it may be text: no byte of control in what stands before the first directive.
static bool isText(Bytes image) {
  constexpr size_t looked = 256;
  for (std::byte byte : image.first(std::min(image.size(), looked))) {
    const auto c = static_cast<unsigned char>(byte);
    if (c == 0)
      return true;
    if (c < ' ' && c != '\n' && c != '\r' && c != '\t')
      return false;
  }
  return !image.empty();
}

Result<std::string> ptxOf(Bytes image, const Chip &chip) {
  Found found;
  if (at<uint32_t>(image, 0).value_or(0) == fatbinMagic) {
    TILEWRIGHT_ASSIGN([[maybe_unused]] const uint64_t size, readFatbin(image, chip, found));
  } else if (isElf(image)) {
    TILEWRIGHT_TRY(readElf(image, chip, found));
  } else if (isText(image)) {
    const auto *text = reinterpret_cast<const char *>(image.data());
    return std::string(text, strnlen(text, image.size()));
  } else {
    return damaged("the image begins neither as PTX text nor as a fat binary or an ELF file");
  }
  if (found.rank >= 0)
    return std::move(found.best);
  return Status(Error::vgpuMachineCode,
                concat("there is no PTX that ", chip.name, " can run, only ", listed(found.other),
                       "; compile with PTX inside, as nvcc does for -gencode arch=compute_",
                       chip.architecture, ",code=compute_", chip.architecture,
                       ", or choose another chip"));
}

Result<Bytes> wholeImage(const void *image) {
  uint32_t magic = 0;
  // Only as many bytes as the shortest text has.
  const auto *characters = static_cast<const char *>(image);
  for (size_t i = 0; i < sizeof(magic); ++i) {
    std::memcpy(reinterpret_cast<char *>(&magic) + i, characters + i, 1);
    if (characters[i] == 0 && i < 2)
      break;
  }
  if (magic == wrapperMagic) {
    Wrapper wrapper;
    std::memcpy(&wrapper, image, sizeof(wrapper));
    if (!wrapper.data)
      return damaged("the wrapper points to no fat binary");
    return wholeImage(wrapper.data);
  }
  const auto *begin = static_cast<const std::byte *>(image);
  if (magic == fatbinMagic) {
    FatbinHeader header;
    std::memcpy(&header, image, sizeof(header));
    return Bytes(begin, header.headerBytes + header.bytes);
  }
  if (std::memcmp(&magic, ELFMAG, SELFMAG) == 0) {
    Elf64_Ehdr header;
    std::memcpy(&header, image, sizeof(header));
    uint64_t size = header.e_shoff + uint64_t(header.e_shnum) * sizeof(Elf64_Shdr);
    for (uint16_t i = 0; i < header.e_shnum; ++i) {
      Elf64_Shdr section;
      std::memcpy(&section, begin + header.e_shoff + uint64_t(i) * sizeof(Elf64_Shdr),
                  sizeof(section));
      if (section.sh_type != SHT_NOBITS)
        size = std::max<uint64_t>(size, section.sh_offset + section.sh_size);
    }
    return Bytes(begin, std::max<uint64_t>(size, sizeof(header)));
  }
  return Bytes(begin, std::strlen(characters));
}

} // namespace tilewright::vgpu::driver
