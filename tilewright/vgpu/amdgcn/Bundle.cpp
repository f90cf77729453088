// Bundles of code objects, as `clang -x hip` writes them: a header, and one entry for each chip.
#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/amdgcn/CodeObject.h"

#include <cstring>

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
    if (bytes.size() - offset < sizeof(value))
      return false;
    std::memcpy(&value, bytes.data() + offset, sizeof(value));
    offset += sizeof(value);
    return true;
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
    if (codeAt > bytes.size() || codeBytes > bytes.size() - codeAt)
      return damaged(concat("the code of entry ", i, " is outside the file"));
    entries.push_back({name, bytes.subspan(codeAt, codeBytes)});
  }
  return entries;
}

Result<Bytes> findCodeObject(Bytes bytes, std::optional<Chip> chip) {
  if (startsWith(bytes, compressedMagic))
    return Status(Error::vgpuBinary, "the bundle is compressed, which cannot be read; compile with "
                                     "--no-offload-compress, or unpack it with "
                                     "clang-offload-bundler --unbundle");
  if (!startsWith(bytes, bundleMagic))
    return bytes;
  TILEWRIGHT_ASSIGN(const std::vector<Entry> entries, readEntries(bytes));
  std::string others;
  for (const Entry &entry : entries) {
    const std::optional<Chip> found = findChip(entry.chipName());
    if (found && (!chip || *found == *chip))
      return entry.code;
    others += concat(others.empty() ? "" : ", ", entry.target);
  }
  return Status(
      Error::vgpuChip,
      concat("the bundle has no code for ", chip ? nameOf(*chip) : "gfx942 or gfx950",
             ", only for ", others.empty() ? "nothing" : others,
             "; compile with --offload-arch=", chip ? nameOf(*chip) : std::string_view("gfx942")));
}

} // namespace tilewright::vgpu::amdgcn
