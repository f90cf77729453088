// The outermost layer of an artifact: header, sections, strings, names, and the location of each
// type, attribute and property list. This layer does not interpret entries.
#ifndef TILEWRIGHT_IMPORT_BYTECODE_CONTAINER_H
#define TILEWRIGHT_IMPORT_BYTECODE_CONTAINER_H

#include "tilewright/import/bytecode/Cursor.h"
#include "tilewright/import/bytecode/OpTable.h"
#include "tilewright/import/bytecode/Version.h"
#include "tilewright/support/Options.h"

#include <array>
#include <optional>
#include <vector>

namespace tilewright::bytecode {

/// The sections of the container by their number in the file.
enum class Section : uint8_t {
  strings,
  dialects,
  entries,
  entrySizes,
  operations,
  resources,
  resourceSizes,
  dialectVersion,
  properties,
};
inline constexpr size_t sectionCount = 9;
std::string_view nameOf(Section section);

/// A part of the file, with its offset.
struct Slice {
  std::span<const std::byte> bytes;
  size_t offset = 0;
};

/// An encoded type or attribute.
struct EncodedEntry {
  const std::byte *data = nullptr;
  size_t size = 0;
  Dialect dialect = Dialect::builtin;
  /// Whether the entry is encoded as text instead of by code and fields.
  bool textual = false;
};

/// The container of an artifact. All slices point into the input and do not overlap.
struct Container {
  std::span<const std::byte> file;
  unsigned bytecodeVersion = 0;
  Version producer;
  std::array<std::optional<Slice>, sectionCount> sections;

  std::vector<std::string_view> strings;
  std::vector<const OpRow *> opNames;
  std::vector<EncodedEntry> attrs, types;
  std::vector<Slice> properties;

  size_t offsetOf(const std::byte *place) const { return static_cast<size_t>(place - file.data()); }
  Cursor cursorOf(Section section) const {
    const Slice &slice = *sections[static_cast<size_t>(section)];
    return Cursor(slice.bytes, slice.offset, nameOf(section));
  }
};

/// Reads the container. Fails on a producer outside oldestVersion … newestVersion, on dialects and
/// operations that are not in the table, and on operations that the producer's version cannot have
/// written.
Result<Container> readContainer(std::span<const std::byte> artifact, const ImportOptions &options);

/// The section that readSection() reads and removes from `cursor`.
struct NestedSection {
  Section section;
  Slice content;
};
Result<NestedSection> readSection(Cursor &cursor);

} // namespace tilewright::bytecode

#endif // TILEWRIGHT_IMPORT_BYTECODE_CONTAINER_H
