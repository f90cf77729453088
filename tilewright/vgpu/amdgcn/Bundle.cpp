// Bundles of code objects, as `clang -x hip` writes them: a header, and one entry for each chip.
#include "tilewright/support/BytesAt.h"
#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/amdgcn/CodeObject.h"
#include "tilewright/vgpu/decompress/Decompress.h"

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <iterator>

namespace tilewright::vgpu::amdgcn {

using Bytes = std::span<const std::byte>;

static constexpr std::string_view bundleMagic = "__CLANG_OFFLOAD_BUNDLE__",
                                  compressedMagic = "CCOB";

static bool startsWith(Bytes bytes, std::string_view magic) {
  return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

namespace {
struct Entry {
  std::string_view target; // hipv4-amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-
  Bytes code;

  /// The chip in the target, without its features.
  std::string_view chipName() const {
    const size_t begin = target.find("gfx");
    if (begin == std::string_view::npos)
      return {};
    const std::string_view name = target.substr(begin);
    return name.substr(0, std::min(name.find(':'), name.size()));
  }
};
} // namespace

static Result<std::vector<Entry>> readEntries(Bytes bytes) {
  uint64_t offset = bundleMagic.size();
  auto damaged = [&](std::string_view what) {
    return Status(Error::vgpuBinary, concat("damaged bundle: ", what, ", at byte ", offset));
  };
  auto number = [&](uint64_t &value) {
    const auto found = valueAt<uint64_t>(bytes, offset);
    value = found.value_or(0);
    offset += found ? sizeof(value) : 0;
    return found.has_value();
  };
  uint64_t count = 0;
  if (!number(count))
    return damaged("it ends in its header");
  std::vector<Entry> entries;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t codeAt = 0, codeBytes = 0, nameBytes = 0;
    if (!number(codeAt) || !number(codeBytes) || !number(nameBytes) ||
        nameBytes > bytes.size() - offset)
      return damaged(concat("entry ", i, " of ", count, " is outside the file"));
    const std::string_view name(reinterpret_cast<const char *>(bytes.data()) + offset, nameBytes);
    offset += nameBytes;
    const auto code = bytesAt(bytes, codeAt, codeBytes);
    if (!code)
      return damaged(concat("the code of entry ", i, " is outside the file"));
    entries.push_back({name, *code});
  }
  return entries;
}

/// The uncompressed bundle inside a compressed one. The header has the magic number, a version, a
/// method and sizes; later versions have wider sizes.
static Result<std::string> unpack(Bytes bytes) {
  auto number = [&](size_t at, size_t size) {
    uint64_t value = 0;
    if (at + size <= bytes.size())
      std::memcpy(&value, bytes.data() + at, size);
    return value;
  };
  const uint64_t version = number(4, 2), method = number(6, 2);
  // Offset and width of the field with the unpacked size, and where the data begin.
  struct Layout {
    size_t sizeAt, sizeBytes, header;
  };
  constexpr Layout layouts[] = {{8, 4, 20}, {12, 4, 24}, {16, 8, 32}};
  if (version < 1 || version > std::size(layouts))
    return Status(Error::vgpuBinary, concat("the compressed bundle has version ", version,
                                            ", expected 1 to 3; compile with "
                                            "--no-offload-compress"));
  const Layout layout = layouts[version - 1];
  if (bytes.size() < layout.header)
    return Status(Error::vgpuBinary, "damaged bundle: it ends in its header");
  constexpr uint64_t zstdMethod = 1;
  if (method != zstdMethod)
    return Status(Error::vgpuBinary, concat("the bundle is compressed with method ", method,
                                            ", but only 1 (Zstandard) can be read; compile with "
                                            "--no-offload-compress"));
  const Bytes packed = bytes.subspan(layout.header);
  const uint64_t size = number(layout.sizeAt, layout.sizeBytes);
  // Code does not compress that well: a larger size means a damaged header, and must not be
  // allocated.
  constexpr uint64_t maxRatio = 2048;
  if (size / maxRatio > packed.size())
    return Status(Error::vgpuBinary, concat("damaged bundle: ", packed.size(),
                                            " compressed bytes cannot unpack to ", size));
  return decompress::unpackZstd(packed, size);
}

/// The size of an ELF file: its last section, segment or table ends there.
static uint64_t sizeOfElf(const std::byte *bytes) {
  Elf64_Ehdr header;
  std::memcpy(&header, bytes, sizeof header);
  uint64_t size = std::max(header.e_shoff + uint64_t(header.e_shnum) * header.e_shentsize,
                           header.e_phoff + uint64_t(header.e_phnum) * header.e_phentsize);
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, bytes + header.e_shoff + uint64_t(i) * header.e_shentsize,
                sizeof section);
    if (section.sh_type != SHT_NOBITS)
      size = std::max(size, section.sh_offset + section.sh_size);
  }
  return size;
}

/// The size of a bundle: its last entry ends there.
static uint64_t sizeOfBundle(const std::byte *bytes) {
  uint64_t offset = bundleMagic.size();
  auto number = [&] {
    uint64_t value = 0;
    std::memcpy(&value, bytes + offset, sizeof value);
    offset += sizeof value;
    return value;
  };
  uint64_t size = 0;
  for (uint64_t count = number(); count != 0; --count) {
    const uint64_t codeAt = number(), codeBytes = number(), nameBytes = number();
    offset += nameBytes;
    size = std::max(size, codeAt + codeBytes);
  }
  return std::max(size, offset);
}

Result<Bytes> imageAt(const void *image) {
  const auto *bytes = static_cast<const std::byte *>(image);
  auto starts = [&](std::string_view magic) {
    // Not memcmp(): the memory may end after a shorter magic.
    for (size_t i = 0; i < magic.size(); ++i)
      if (bytes[i] != std::byte(magic[i]))
        return false;
    return true;
  };
  if (starts({ELFMAG, SELFMAG}))
    return Bytes(bytes, sizeOfElf(bytes));
  if (starts(bundleMagic))
    return Bytes(bytes, sizeOfBundle(bytes));
  if (!starts(compressedMagic))
    return Status(Error::vgpuBinary,
                  "the image is neither an ELF file nor a bundle of clang; hipModuleLoadData takes "
                  "what `clang -x hip` or Triton has compiled for AMD");
  // Since version 2 the header has the size of the whole file.
  uint16_t version = 0;
  std::memcpy(&version, bytes + 4, sizeof version);
  uint64_t size = 0;
  if (version >= 2)
    std::memcpy(&size, bytes + 8, version == 2 ? 4 : 8);
  if (size == 0)
    return Status(Error::vgpuBinary, concat("the compressed bundle has version ", version,
                                            ", whose header does not have its size; compile with "
                                            "--no-offload-compress"));
  return Bytes(bytes, size);
}

Result<FoundCode> findCodeObject(Bytes bytes, std::optional<Chip> chip) {
  std::shared_ptr<const std::string> unpacked;
  if (startsWith(bytes, compressedMagic)) {
    TILEWRIGHT_ASSIGN(std::string content, unpack(bytes));
    unpacked = std::make_shared<const std::string>(std::move(content));
    bytes = std::as_bytes(std::span(*unpacked));
  }
  if (!startsWith(bytes, bundleMagic))
    return FoundCode{bytes, std::move(unpacked)};
  TILEWRIGHT_ASSIGN(const std::vector<Entry> entries, readEntries(bytes));
  std::string others;
  for (const Entry &entry : entries) {
    const std::optional<Chip> found = findChip(entry.chipName());
    if (found && (!chip || *found == *chip))
      return FoundCode{entry.code, std::move(unpacked)};
    others += concat(others.empty() ? "" : ", ", entry.target);
  }
  return Status(
      Error::vgpuChip,
      concat("the bundle has no code for ", chip ? nameOf(*chip) : "gfx942 or gfx950",
             ", only for ", others.empty() ? "nothing" : others,
             "; compile with --offload-arch=", chip ? nameOf(*chip) : std::string_view("gfx942")));
}

} // namespace tilewright::vgpu::amdgcn
