#include "tilewright/vgpu/driver/module/Binary.h"

#include "tilewright/support/BytesAt.h"
#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/decompress/Decompress.h"

#include <cstring>
#include <elf.h>
#include <optional>
#include <vector>

namespace tilewright::vgpu::driver {

using machine::Chip;
using Bytes = std::span<const std::byte>;

static Status damaged(std::string message) { return Status(Error::vgpuBinary, std::move(message)); }

// The wrapper that nvcc puts around a pointer to a fat binary.
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
  uint64_t bytes; // after the header
};

enum FatbinKind : uint16_t { ptxKind = 1, elfKind = 2 };
enum FatbinFlags : uint64_t { lz4Flag = 0x2000, zstdFlag = 0x8000 };
struct FatbinEntry {
  uint16_t kind, version;
  uint32_t headerBytes;
  uint64_t bytes;           // after the entry's header, including padding
  uint32_t compressedBytes; // 0 if the entry is not compressed
  uint32_t optionsOffset;
  uint16_t minor, major;
  uint32_t architecture;
  uint32_t nameOffset, nameBytes;
  uint64_t flags, reserved;
  uint64_t uncompressedBytes;
};
static_assert(sizeof(FatbinHeader) == 16 && sizeof(FatbinEntry) == 64);

namespace {
/// The PTX that a container holds for a chip.
struct Found {
  std::string best;               // the best PTX so far
  int rank = -1;                  // rank of the best PTX; higher is better
  std::vector<std::string> other; // entries that do not fit the chip, for the error message
};
} // namespace

/// How well PTX fits a chip, according to its .target; negative if it does not fit.
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
  const bool fits =
      machine::runsOn(chip, static_cast<unsigned>(architecture), isSpecific ? text[end] : '\0');
  return fits ? 2 * architecture + (isSpecific ? 1 : 0) : -1;
}

static Result<std::string> contentOf(const FatbinEntry &entry, Bytes payload) {
  // Limits the unpacked size of one module, because loading 64 MiB of PTX already takes minutes.
  constexpr uint64_t most = uint64_t(64) << 20;
  if (!(entry.flags & (lz4Flag | zstdFlag)))
    return std::string(reinterpret_cast<const char *>(payload.data()), payload.size());
  if (entry.uncompressedBytes > most)
    return damaged(concat("an entry of the fat binary unpacks to ", entry.uncompressedBytes,
                          " bytes, more than the maximum of ", most));
  if (entry.compressedBytes > payload.size())
    return damaged(concat("an entry of the fat binary needs ", entry.compressedBytes,
                          " compressed bytes, but has ", payload.size()));
  payload = payload.first(entry.compressedBytes);
  return entry.flags & lz4Flag ? decompress::unpackLz4(payload, entry.uncompressedBytes)
                               : decompress::unpackZstd(payload, entry.uncompressedBytes);
}

/// Reads the fat binary at the beginning of `bytes` and returns its size.
static Result<uint64_t> readFatbin(Bytes bytes, const Chip &chip, Found &found) {
  const auto header = valueAt<FatbinHeader>(bytes, 0);
  if (!header || header->magic != fatbinMagic || header->headerBytes < sizeof(FatbinHeader) ||
      !bytesAt(bytes, header->headerBytes, header->bytes))
    return damaged(concat("the header of a fat binary of ", bytes.size(), " bytes is invalid"));
  const uint64_t size = header->headerBytes + header->bytes;
  bytes = bytes.first(size);
  for (uint64_t offset = header->headerBytes; offset < size;) {
    const auto entry = valueAt<FatbinEntry>(bytes, offset);
    if (!entry || entry->headerBytes < sizeof(FatbinEntry) ||
        !bytesAt(bytes, offset, entry->headerBytes) ||
        !bytesAt(bytes, offset + entry->headerBytes, entry->bytes))
      return damaged(concat("the entry at byte ", offset,
                            " extends past the end of the fat binary of ", size, " bytes"));
    const Bytes payload = bytes.subspan(offset + entry->headerBytes, entry->bytes);
    offset += entry->headerBytes + entry->bytes;
    if (entry->kind != ptxKind) {
      found.other.push_back(entry->kind == elfKind
                                ? concat("machine code for sm_", entry->architecture)
                                : concat("an entry of unknown kind ", entry->kind));
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

/// Reads the section of an object file or a program that holds fat binaries, one after the other.
static Status readElf(Bytes bytes, const Chip &chip, Found &found) {
  const auto header = valueAt<Elf64_Ehdr>(bytes, 0);
  if (!header || header->e_ident[EI_CLASS] != ELFCLASS64)
    return damaged("the ELF file is not a 64-bit file, or is truncated in its header");
  constexpr uint16_t cudaMachine = 190;
  if (header->e_machine == cudaMachine)
    found.other.emplace_back("machine code (a cubin)");
  const auto names = valueAt<Elf64_Shdr>(bytes, header->e_shoff + uint64_t(header->e_shstrndx) *
                                                                      sizeof(Elf64_Shdr));
  for (uint16_t i = 0; i < header->e_shnum; ++i) {
    const auto section =
        valueAt<Elf64_Shdr>(bytes, header->e_shoff + uint64_t(i) * sizeof(Elf64_Shdr));
    if (!section || !names)
      return damaged("the sections of the ELF file go beyond its end");
    constexpr char wanted[] = ".nv_fatbin";
    char name[sizeof(wanted)] = {};
    const uint64_t nameOffset = names->sh_offset + section->sh_name;
    if (!bytesAt(bytes, nameOffset, sizeof(name)))
      continue;
    std::memcpy(name, bytes.data() + nameOffset, sizeof(name));
    if (std::memcmp(name, wanted, sizeof(wanted)) != 0 || section->sh_type == SHT_NOBITS)
      continue;
    if (!bytesAt(bytes, section->sh_offset, section->sh_size))
      return damaged("the section .nv_fatbin goes beyond the end of the file");
    Bytes rest = bytes.subspan(section->sh_offset, section->sh_size);
    while (!rest.empty()) {
      if (valueAt<uint32_t>(rest, 0).value_or(0) != fatbinMagic) {
        rest = rest.subspan(std::min<size_t>(8, rest.size())); // padding between two fat binaries
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

/// Whether the image may be text: no control character in its first 256 bytes.
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
  if (valueAt<uint32_t>(image, 0).value_or(0) == fatbinMagic) {
    TILEWRIGHT_ASSIGN([[maybe_unused]] const uint64_t size, readFatbin(image, chip, found));
  } else if (isElf(image)) {
    TILEWRIGHT_TRY(readElf(image, chip, found));
  } else if (isText(image)) {
    const auto *text = reinterpret_cast<const char *>(image.data());
    return std::string(text, strnlen(text, image.size()));
  } else {
    return damaged("the image is neither PTX text nor a fat binary nor an ELF file");
  }
  if (found.rank >= 0)
    return std::move(found.best);
  return Status(
      Error::vgpuMachineCode,
      concat("the image has no PTX that ", chip.name, " can run, only ", listed(found.other),
             "; include PTX, for example with nvcc -gencode arch=compute_", chip.architecture,
             ",code=compute_", chip.architecture, ", or choose another chip"));
}

Result<Bytes> wholeImage(const void *image) {
  uint32_t magic = 0;
  // Read byte by byte and stop at a zero, since the image may be a very short text.
  const auto *characters = static_cast<const char *>(image);
  for (size_t i = 0; i < sizeof(magic); ++i) {
    std::memcpy(reinterpret_cast<char *>(&magic) + i, characters + i, 1);
    if (characters[i] == 0)
      break;
  }
  if (magic == wrapperMagic) {
    Wrapper wrapper;
    std::memcpy(&wrapper, image, sizeof(wrapper));
    if (!wrapper.data)
      return damaged("the wrapper does not point to a fat binary");
    return wholeImage(wrapper.data);
  }
  const auto *begin = static_cast<const std::byte *>(image);
  if (magic == fatbinMagic) {
    FatbinHeader header;
    std::memcpy(&header, image, sizeof(header));
    return Bytes(begin, header.headerBytes + header.bytes);
  }
  if (std::memcmp(&magic, ELFMAG, SELFMAG) == 0) {
    // The header determines the size, so check first that it is a valid ELF header. The first check
    // reads the byte after the magic; if the image is a text that ends there, this byte is its
    // terminating zero.
    Elf64_Ehdr header;
    if (characters[EI_CLASS] != ELFCLASS64 || characters[EI_DATA] != ELFDATA2LSB ||
        characters[EI_VERSION] != EV_CURRENT)
      return damaged("the ELF file is not a 64-bit file, or is truncated in its header");
    std::memcpy(&header, image, sizeof(header));
    if (header.e_ehsize != sizeof(Elf64_Ehdr) ||
        (header.e_shnum != 0 && header.e_shentsize != sizeof(Elf64_Shdr)))
      return damaged("the header of the ELF file has invalid sizes");
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
