#include "tilewright/artifact/Writer.h"

#include "tilewright/artifact/Fields.h"
#include "tilewright/artifact/Format.h"

#include <cstring>
#include <span>

namespace tilewright::artifact {
namespace {

/// Appends fields to a section.
class WriterArchive : public ByteWriter {
public:
  template <typename T> void list(const std::vector<T> &items, const char *) {
    number(items.size());
    for (const T &item : items)
      fields(*this, item);
  }
  template <typename V> void alternative(const V &value) {
    number(value.index());
    std::visit([this](const auto &held) { fields(*this, held); }, value);
  }
  template <typename T> void optional(const std::optional<T> &value) {
    number(value.has_value());
    if (value)
      fields(*this, *value);
  }
  bool enter() { return true; }
  void leave() {}
};

void put(std::vector<std::byte> &file, size_t at, const auto &value) {
  std::memcpy(file.data() + at, &value, sizeof value);
}

} // namespace

std::vector<std::byte> writeExecutable(const Executable &executable) {
  WriterArchive signature, plan, objects, statistics;
  signatureFields(signature, executable);
  planFields(plan, executable);
  objectFields(objects, executable);
  statisticsFields(statistics, executable);
  const std::span<const std::byte> sections[sectionCount] = {
      signature.out,  plan.out,          executable.constants,    objects.out,
      statistics.out, executable.binary, executable.communication};

  uint64_t offsets[sectionCount], end = headerBytes;
  for (uint32_t i = 0; i < sectionCount; ++i) {
    offsets[i] = alignedToSection(end);
    end = offsets[i] + sections[i].size();
  }
  // Reserve space for the whole file but zero-fill only the gaps, because constants may be large.
  std::vector<std::byte> file;
  file.reserve(end);
  file.resize(headerBytes);
  std::memcpy(file.data(), magic.data(), magic.size());
  put(file, versionAt, formatVersion);
  put(file, sectionCountAt, sectionCount);
  put(file, sizeAt, end);
  for (uint32_t i = 0; i < sectionCount; ++i) {
    const size_t entry = tableAt + i * tableEntryBytes;
    put(file, entry, uint32_t(i + 1));
    put(file, entry + 8, offsets[i]);
    put(file, entry + 16, uint64_t(sections[i].size()));
    file.resize(offsets[i]);
    // Insert through pointers: std::vector uses a single memcpy only for pointers.
    const std::byte *data = sections[i].data();
    file.insert(file.end(), data, data + sections[i].size());
  }
  seal(file);
  return file;
}

} // namespace tilewright::artifact
