#include "tilewright/import/bytecode/Container.h"

#include "tilewright/support/Concat.h"

#include <algorithm>

namespace tilewright::bytecode {

std::string_view nameOf(Section section) {
  constexpr std::string_view names[] = {"the string section",
                                        "the dialect section",
                                        "the attribute and type section",
                                        "the attribute and type offset section",
                                        "the IR section",
                                        "the resource section",
                                        "the resource offset section",
                                        "a dialect version section",
                                        "the property section"};
  return names[static_cast<size_t>(section)];
}

Result<NestedSection> readSection(Cursor &cursor) {
  size_t start = cursor.offset();
  uint8_t tag = 0;
  uint64_t length = 0;
  TILEWRIGHT_TRY(cursor.byte(tag));
  TILEWRIGHT_TRY(cursor.varint(length));
  if ((tag & 0x7f) >= sectionCount)
    return Status(Error::sectionMalformed, concat("at byte ", start, ", unknown section number ",
                                                  tag & 0x7f, " (the maximum is ", sectionCount - 1,
                                                  "); export the artifact for StableHLO ",
                                                  newestVersion.toString(), " or older"));
  if (tag & 0x80) {
    uint64_t alignment = 0;
    TILEWRIGHT_TRY(cursor.varint(alignment));
    // The padding must be inside the file, so an excessive alignment fails at the end of the file.
    if (alignment == 0 || (alignment & (alignment - 1)) != 0)
      return Status(Error::sectionMalformed,
                    concat("at byte ", start, ", a section has an alignment of ", alignment,
                           ", which must be a power of two; export the artifact again"));
    while (cursor.offset() % alignment != 0) {
      uint8_t padding = 0;
      TILEWRIGHT_TRY(cursor.byte(padding));
      if (padding != 0xCB)
        return Status(Error::sectionMalformed,
                      concat("at byte ", cursor.offset() - 1, ", padding must be 203, got ",
                             padding, "; export the artifact again"));
    }
  }
  NestedSection result{static_cast<Section>(tag & 0x7f), {}};
  result.content.offset = cursor.offset();
  TILEWRIGHT_TRY(cursor.take(length, result.content.bytes));
  return result;
}

namespace {

/// The producer string's prefix: "StableHLO_v1.17.0".
constexpr std::string_view producerPrefix = "StableHLO_v";

/// Truncates long text and replaces unprintable characters, so that a message stays readable.
std::string quoted(std::string_view text) {
  std::string result = "'";
  for (char c : text.substr(0, 60))
    result += c >= ' ' && c < 127 ? c : '?';
  return result + (text.size() > 60 ? "…'" : "'");
}

class ContainerReader {
public:
  ContainerReader(std::span<const std::byte> artifact, const ImportOptions &options)
      : options(options) {
    container.file = artifact;
  }

  Result<Container> read() {
    TILEWRIGHT_TRY(readHeader());
    TILEWRIGHT_TRY(readSections());
    TILEWRIGHT_TRY(readStrings());
    TILEWRIGHT_TRY(readDialects());
    TILEWRIGHT_TRY(readEntries());
    TILEWRIGHT_TRY(readProperties());
    TILEWRIGHT_TRY(refuseResources());
    return std::move(container);
  }

private:
  Status readHeader();
  Status readSections();
  Status readStrings();
  Status readDialects();
  Status readOpNames(Cursor &cursor);
  Status readEntries();
  Status readEntryGroup(Cursor &sizes, Cursor &data, uint64_t count,
                        std::vector<EncodedEntry> &entries);
  Status readProperties();
  Status refuseResources();

  Status readString(Cursor &cursor, std::string_view &text) {
    uint64_t index = 0;
    TILEWRIGHT_TRY(cursor.varint(index));
    return lookUpString(cursor, index, text);
  }
  Status lookUpString(const Cursor &cursor, uint64_t index, std::string_view &text);
  /// Reads the dialect of the entries that follow.
  Status readDialect(Cursor &cursor, std::string_view things, Dialect &dialect);

  const ImportOptions &options;
  Container container;
  std::vector<std::string_view> dialects;
  Cursor rest;
};

Status ContainerReader::readHeader() {
  std::span<const std::byte> file = container.file;
  if (options.maxBytes < 0 || file.size() > static_cast<uint64_t>(options.maxBytes))
    return Status(Error::limitBytes,
                  concat("the artifact has ", file.size(), " bytes, but the limit is ",
                         options.maxBytes, "; raise import.max-bytes"));
  rest = Cursor(file, 0, "the artifact");
  constexpr uint8_t magic[] = {'M', 'L', 0xEF, 'R'};
  if (file.size() < sizeof(magic) || std::memcmp(file.data(), magic, sizeof(magic)) != 0)
    return Status(
        Error::artifactMagic,
        "the file does not begin with 4d 4c ef 52 as MLIR bytecode does; for a file made by "
        "jax.export, save Exported.mlir_module_serialized; for StableHLO text, use "
        "stablehlo.serialize_portable_artifact_str");
  std::span<const std::byte> ignored;
  TILEWRIGHT_TRY(rest.take(sizeof(magic), ignored));

  uint64_t version = 0;
  TILEWRIGHT_TRY(rest.varint(version));
  if (version > 6)
    return Status(Error::bytecodeVersion,
                  concat("the artifact has bytecode version ", version,
                         ", but only versions up to 6 are supported; serialize it for StableHLO ",
                         newestVersion.toString(), " or older"));
  container.bytecodeVersion = static_cast<unsigned>(version);

  std::span<const std::byte> tail = file.subspan(rest.offset());
  auto nul = std::find(tail.begin(), tail.end(), std::byte(0));
  if (nul == tail.end())
    return Status(Error::artifactTruncated,
                  concat("at byte ", rest.offset(),
                         ", the producer's name is not terminated; the artifact is truncated or "
                         "damaged, export it again"));
  std::string_view producer(reinterpret_cast<const char *>(tail.data()),
                            static_cast<size_t>(nul - tail.begin()));
  TILEWRIGHT_TRY(rest.take(producer.size() + 1, ignored));

  std::optional<Version> parsed;
  if (producer.starts_with(producerPrefix))
    parsed = Version::parse(producer.substr(producerPrefix.size()));
  if (!parsed)
    return Status(Error::producerUnknown,
                  concat("the producer is ", quoted(producer), ", expected StableHLO_v",
                         oldestVersion.toString(), ".0 to StableHLO_v", newestVersion.toString(),
                         ".0; the file is MLIR bytecode but not a portable artifact, write it with "
                         "serialize_portable_artifact"));
  if (*parsed < oldestVersion || *parsed > newestVersion)
    return Status(Error::producerVersion,
                  concat("the artifact is for StableHLO ", parsed->toString(), ", but only ",
                         oldestVersion.toString(), " to ", newestVersion.toString(),
                         " are supported; serialize it with target version ",
                         (*parsed < oldestVersion ? oldestVersion : newestVersion).toString(),
                         ".0"));
  container.producer = *parsed;
  return Status();
}

Status ContainerReader::readSections() {
  while (!rest.atEnd()) {
    size_t start = rest.offset();
    TILEWRIGHT_ASSIGN(NestedSection next, readSection(rest));
    std::optional<Slice> &place = container.sections[static_cast<size_t>(next.section)];
    if (place)
      return Status(Error::sectionDuplicate, concat("at byte ", start, ", ", nameOf(next.section),
                                                    " is repeated; the first is at byte ",
                                                    place->offset, "; export the artifact again"));
    // Ids have 32 bits. Only the section with the data of constants may be larger than that.
    if (next.section != Section::entries && next.content.bytes.size() >= UINT32_MAX)
      return Status(Error::sectionTooLarge,
                    concat("at byte ", start, ", ", nameOf(next.section), " has ",
                           next.content.bytes.size(), " bytes, but the limit is ", UINT32_MAX - 1,
                           "; split the program"));
    place = next.content;
  }
  for (Section needed : {Section::strings, Section::dialects, Section::entries, Section::entrySizes,
                         Section::operations, Section::properties}) {
    if (needed == Section::properties && container.bytecodeVersion < 5)
      continue;
    if (!container.sections[static_cast<size_t>(needed)])
      return Status(Error::sectionMissing,
                    concat(nameOf(needed), " is missing, but bytecode version ",
                           container.bytecodeVersion, " requires it; export the artifact again"));
  }
  return Status();
}

/// Reads the string section: the sizes of all strings in reverse order, then their text in order.
/// Each string ends in a NUL, which its size includes.
Status ContainerReader::readStrings() {
  Cursor cursor = container.cursorOf(Section::strings);
  const Slice &slice = *container.sections[static_cast<size_t>(Section::strings)];
  uint64_t count = 0;
  TILEWRIGHT_TRY(cursor.count(count, "strings", /*bytesEach=*/2));
  container.strings.resize(count);
  size_t end = slice.bytes.size();
  for (size_t index = count; index-- > 0;) {
    uint64_t size = 0;
    TILEWRIGHT_TRY(cursor.varint(size));
    if (size == 0 || size > end)
      return Status(Error::stringTable,
                    concat("string ", index, " has size ", size, ", expected 1 to ", end,
                           ", the bytes left in the string section; export the artifact again"));
    end -= size;
    container.strings[index] =
        std::string_view(reinterpret_cast<const char *>(slice.bytes.data()) + end, size - 1);
  }
  if (slice.offset + end != cursor.offset())
    return Status(Error::stringTable, concat("the sizes of ", count, " strings end at byte ",
                                             cursor.offset(), ", but their text begins at byte ",
                                             slice.offset + end, "; export the artifact again"));
  return Status();
}

Status ContainerReader::lookUpString(const Cursor &cursor, uint64_t index, std::string_view &text) {
  if (index >= container.strings.size())
    return Status(Error::stringIndex,
                  concat("just before byte ", cursor.offset(), ", ", cursor.partName(),
                         " refers to string ", index, ", but there are only ",
                         container.strings.size(), "; export the artifact again"));
  text = container.strings[index];
  return Status();
}

Status ContainerReader::readDialect(Cursor &cursor, std::string_view things, Dialect &dialect) {
  uint64_t index = 0;
  TILEWRIGHT_TRY(cursor.varint(index));
  if (index >= dialects.size())
    return Status(Error::dialectIndex,
                  concat("just before byte ", cursor.offset(), ", ", cursor.partName(),
                         " refers to dialect ", index, ", but there are only ", dialects.size(),
                         "; export the artifact again"));
  std::string_view name = dialects[index];
  for (Dialect known : {Dialect::builtin, Dialect::vhlo, Dialect::sdy})
    if (name == nameOf(known)) {
      dialect = known;
      return Status();
    }
  return Status(Error::dialectUnknown,
                concat("the artifact has ", things, " of dialect ", quoted(name),
                       ", but only vhlo, sdy and builtin are supported; lower them to StableHLO "
                       "before serializing"));
}

Status ContainerReader::readDialects() {
  Cursor cursor = container.cursorOf(Section::dialects);
  uint64_t count = 0;
  TILEWRIGHT_TRY(cursor.count(count, "dialects"));
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t index = 0;
    bool versioned = false;
    if (container.bytecodeVersion < 1)
      TILEWRIGHT_TRY(cursor.varint(index));
    else
      TILEWRIGHT_TRY(cursor.flagged(index, versioned));
    std::string_view name;
    TILEWRIGHT_TRY(lookUpString(cursor, index, name));
    // The producer's version determines what an artifact may contain; a dialect's own version
    // record adds nothing.
    if (versioned) {
      TILEWRIGHT_ASSIGN(NestedSection record, readSection(cursor));
      if (record.section != Section::dialectVersion)
        return Status(Error::sectionMalformed,
                      concat("at byte ", record.content.offset,
                             ", expected a version record for dialect ", quoted(name), ", got ",
                             nameOf(record.section), "; export the artifact again"));
    }
    dialects.push_back(name);
  }
  return readOpNames(cursor);
}

Status ContainerReader::readOpNames(Cursor &cursor) {
  if (container.bytecodeVersion >= 4) {
    uint64_t total = 0;
    TILEWRIGHT_TRY(cursor.count(total, "operation names"));
    container.opNames.reserve(total);
  }
  while (!cursor.atEnd()) {
    Dialect dialect = Dialect::builtin;
    TILEWRIGHT_TRY(readDialect(cursor, "operations", dialect));
    uint64_t count = 0;
    TILEWRIGHT_TRY(cursor.count(count, "operation names"));
    for (uint64_t i = 0; i < count; ++i) {
      uint64_t index = 0;
      bool registered = true;
      if (container.bytecodeVersion < 5)
        TILEWRIGHT_TRY(cursor.varint(index));
      else
        TILEWRIGHT_TRY(cursor.flagged(index, registered));
      std::string_view name;
      TILEWRIGHT_TRY(lookUpString(cursor, index, name));
      const OpRow *row = findOp(dialect, name.substr(0, 64));
      // Producers that do not know the operation encode its properties differently, so the
      // operation must be registered.
      if (!row || !registered)
        return Status(
            Error::opUnknown,
            concat("the artifact uses operation ", nameOf(dialect), ".", quoted(name),
                   row ? ", which its producer had not registered"
                       : concat(", which StableHLO ", newestVersion.toString(), " does not have"),
                   "; serialize the artifact for StableHLO ", newestVersion.toString(),
                   " or older"));
      if (container.producer < row->since || container.producer > row->until)
        return Status(Error::opVersion,
                      concat("operation ", row->fullName(), " belongs to StableHLO ",
                             row->since.toString(), " to ", row->until.toString(),
                             ", but the artifact is for ", container.producer.toString(),
                             "; serialize the program again"));
      container.opNames.push_back(row);
    }
  }
  return Status();
}

Status ContainerReader::readEntries() {
  Cursor sizes = container.cursorOf(Section::entrySizes);
  Cursor data = container.cursorOf(Section::entries);
  uint64_t attrs = 0, types = 0;
  TILEWRIGHT_TRY(sizes.count(attrs, "attributes"));
  TILEWRIGHT_TRY(sizes.count(types, "types"));
  TILEWRIGHT_TRY(sizes.checkCount(attrs + types, "attributes and types"));
  TILEWRIGHT_TRY(readEntryGroup(sizes, data, attrs, container.attrs));
  TILEWRIGHT_TRY(readEntryGroup(sizes, data, types, container.types));
  TILEWRIGHT_TRY(sizes.finish());
  return data.finish();
}

Status ContainerReader::readEntryGroup(Cursor &sizes, Cursor &data, uint64_t count,
                                       std::vector<EncodedEntry> &entries) {
  entries.reserve(count);
  while (entries.size() < count) {
    EncodedEntry entry;
    TILEWRIGHT_TRY(readDialect(sizes, "types or attributes", entry.dialect));
    uint64_t inGroup = 0;
    TILEWRIGHT_TRY(sizes.count(inGroup, "entries"));
    if (inGroup > count - entries.size())
      return Status(Error::countTooLarge,
                    concat("at byte ", sizes.offset(), ", a dialect group has ", inGroup,
                           " entries, but only ", count - entries.size(),
                           " are left; export the artifact again"));
    for (uint64_t i = 0; i < inGroup; ++i) {
      uint64_t size = 0;
      bool custom = false;
      TILEWRIGHT_TRY(sizes.flagged(size, custom));
      std::span<const std::byte> bytes;
      TILEWRIGHT_TRY(data.take(size, bytes));
      entry.data = bytes.data();
      entry.size = bytes.size();
      entry.textual = !custom;
      entries.push_back(entry);
    }
  }
  return Status();
}

Status ContainerReader::readProperties() {
  if (!container.sections[static_cast<size_t>(Section::properties)])
    return Status();
  Cursor cursor = container.cursorOf(Section::properties);
  uint64_t count = 0;
  TILEWRIGHT_TRY(cursor.count(count, "property lists"));
  container.properties.resize(count);
  for (Slice &list : container.properties) {
    uint64_t size = 0;
    TILEWRIGHT_TRY(cursor.varint(size));
    list.offset = cursor.offset();
    TILEWRIGHT_TRY(cursor.take(size, list.bytes));
  }
  return cursor.finish();
}

/// Rejects resources: StableHLO writes the two resource sections but leaves them empty.
Status ContainerReader::refuseResources() {
  size_t bytes = 0;
  if (container.sections[static_cast<size_t>(Section::resourceSizes)]) {
    Cursor cursor = container.cursorOf(Section::resourceSizes);
    uint64_t groups = 0;
    if (!cursor.atEnd())
      TILEWRIGHT_TRY(cursor.varint(groups));
    bytes += groups != 0 ? 1 : cursor.remaining();
  }
  if (container.sections[static_cast<size_t>(Section::resources)])
    bytes += container.cursorOf(Section::resources).remaining();
  if (bytes != 0)
    return Status(Error::resourcesPresent,
                  "the artifact contains MLIR resources, which are not supported; convert "
                  "dense_resource constants to dense ones before serializing");
  return Status();
}

} // namespace

Result<Container> readContainer(std::span<const std::byte> artifact, const ImportOptions &options) {
  return ContainerReader(artifact, options).read();
}

} // namespace tilewright::bytecode
