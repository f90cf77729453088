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
    return Status(Error::sectionMalformed,
                  concat("at byte ", start, ", a section has number ", tag & 0x7f,
                         ", and the largest known is ", sectionCount - 1,
                         "; export the artifact for a StableHLO version up to ",
                         newestVersion.toString()));
  if (tag & 0x80) {
    uint64_t alignment = 0;
    TILEWRIGHT_TRY(cursor.varint(alignment));
    // The padding is part of the file, so a large alignment runs into its end.
    if (alignment == 0 || (alignment & (alignment - 1)) != 0)
      return Status(Error::sectionMalformed,
                    concat("at byte ", start, ", a section asks for an alignment of ", alignment,
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

/// The text of producers: "StableHLO_v1.17.0".
constexpr std::string_view producerPrefix = "StableHLO_v";

/// Cuts long or unprintable text so that a message stays readable.
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
  Status readEntryGroup(Cursor &sizes, Cursor &data, uint64_t count, std::vector<Entry> &entries);
  Status readProperties();
  Status refuseResources();

  Status readString(Cursor &cursor, std::string_view &text) {
    uint64_t index = 0;
    TILEWRIGHT_TRY(cursor.varint(index));
    return lookUpString(cursor, index, text);
  }
  Status lookUpString(const Cursor &cursor, uint64_t index, std::string_view &text);
  /// Reads the dialect that the entries after it belong to.
  Status readDialect(Cursor &cursor, std::string_view things, Dialect &dialect);

  const ImportOptions &options;
  Container container;
  std::vector<std::string_view> dialects;
  Cursor rest;
};

Status ContainerReader::readHeader() {
  std::span<const std::byte> file = container.file;
  if (options.maxBytes < 0 || file.size() > static_cast<uint64_t>(options.maxBytes))
    return Status(Error::limitBytes, concat("the artifact has ", file.size(), " bytes, limit ",
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
                  concat("the artifact is written in bytecode version ", version,
                         ", and the newest readable is 6; serialize it for StableHLO ",
                         newestVersion.toString(), " or older"));
  container.bytecodeVersion = static_cast<unsigned>(version);

  std::span<const std::byte> tail = file.subspan(rest.offset());
  auto nul = std::find(tail.begin(), tail.end(), std::byte(0));
  if (nul == tail.end())
    return Status(
        Error::artifactTruncated,
        concat("at byte ", rest.offset(),
               ", the producer's name does not end; the artifact is cut short or damaged, "
               "export it again"));
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
                         ".0; this is MLIR bytecode but not a portable artifact, write it with "
                         "serialize_portable_artifact"));
  if (*parsed < oldestVersion || *parsed > newestVersion)
    return Status(Error::producerVersion,
                  concat("the artifact is for StableHLO ", parsed->toString(), ", readable are ",
                         oldestVersion.toString(), " to ", newestVersion.toString(),
                         "; serialize it with target version ",
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
                                                    " comes a second time; the first is at byte ",
                                                    place->offset, "; export the artifact again"));
    // Ids have 32 bits. Only the data of constants may be larger than that.
    if (next.section != Section::entries && next.content.bytes.size() >= UINT32_MAX)
      return Status(Error::sectionTooLarge,
                    concat("at byte ", start, ", ", nameOf(next.section), " has ",
                           next.content.bytes.size(), " bytes, limit ", UINT32_MAX - 1,
                           "; split the program"));
    place = next.content;
  }
  for (Section needed : {Section::strings, Section::dialects, Section::entries, Section::entrySizes,
                         Section::operations, Section::properties}) {
    if (needed == Section::properties && container.bytecodeVersion < 5)
      continue;
    if (!container.sections[static_cast<size_t>(needed)])
      return Status(Error::sectionMissing,
                    concat(nameOf(needed), " is missing, and bytecode version ",
                           container.bytecodeVersion, " needs it; export the artifact again"));
  }
  return Status();
}

/// The sizes come first, last string first; then the text, first string first,
/// each with a NUL that its size counts.
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
      return Status(Error::stringTable, concat("string ", index, " has size ", size, ", and ", end,
                                               " bytes of the string section are left for it and "
                                               "those before it; export the artifact again"));
    end -= size;
    container.strings[index] =
        std::string_view(reinterpret_cast<const char *>(slice.bytes.data()) + end, size - 1);
  }
  if (slice.offset + end != cursor.offset())
    return Status(Error::stringTable,
                  concat("the sizes of ", count, " strings end at byte ", cursor.offset(),
                         " and their text begins at byte ", slice.offset + end,
                         ", which must be equal; export the artifact again"));
  return Status();
}

Status ContainerReader::lookUpString(const Cursor &cursor, uint64_t index, std::string_view &text) {
  if (index >= container.strings.size())
    return Status(Error::stringIndex,
                  concat("before byte ", cursor.offset(), ", ", cursor.partName(),
                         " refers to string ", index, " of ", container.strings.size(),
                         "; export the artifact again"));
  text = container.strings[index];
  return Status();
}

Status ContainerReader::readDialect(Cursor &cursor, std::string_view things, Dialect &dialect) {
  uint64_t index = 0;
  TILEWRIGHT_TRY(cursor.varint(index));
  if (index >= dialects.size())
    return Status(Error::dialectIndex,
                  concat("before byte ", cursor.offset(), ", ", cursor.partName(),
                         " refers to dialect ", index, " of ", dialects.size(),
                         "; export the artifact again"));
  std::string_view name = dialects[index];
  for (Dialect known : {Dialect::builtin, Dialect::vhlo, Dialect::sdy})
    if (name == nameOf(known)) {
      dialect = known;
      return Status();
    }
  return Status(Error::dialectUnknown,
                concat("the artifact has ", things, " of dialect ", quoted(name),
                       ", readable are vhlo, sdy and builtin; lower them to StableHLO before "
                       "serializing"));
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
    // The producer's version decides what an artifact may hold; a dialect's own
    // record adds nothing to it.
    if (versioned) {
      TILEWRIGHT_ASSIGN(NestedSection record, readSection(cursor));
      if (record.section != Section::dialectVersion)
        return Status(Error::sectionMalformed,
                      concat("at byte ", record.content.offset, ", dialect ", quoted(name),
                             " should have a version record and has ", nameOf(record.section),
                             "; export the artifact again"));
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
      // A producer that did not know the operation has written its properties
      // in another form, so the flag must be set.
      if (!row || !registered)
        return Status(
            Error::opUnknown,
            concat("the artifact uses operation ", nameOf(dialect), ".", quoted(name),
                   row ? ", which its producer did not know"
                       : concat(", which StableHLO ", newestVersion.toString(), " does not have"),
                   "; serialize it for a version up to ", newestVersion.toString()));
      if (container.producer < row->since || container.producer > row->until)
        return Status(Error::opVersion,
                      concat("operation ", row->fullName(), " belongs to StableHLO ",
                             row->since.toString(), " to ", row->until.toString(),
                             ", and the artifact is for ", container.producer.toString(),
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
                                       std::vector<Entry> &entries) {
  entries.reserve(count);
  while (entries.size() < count) {
    Entry entry;
    TILEWRIGHT_TRY(readDialect(sizes, "types or attributes", entry.dialect));
    uint64_t inGroup = 0;
    TILEWRIGHT_TRY(sizes.count(inGroup, "entries"));
    if (inGroup > count - entries.size())
      return Status(Error::countTooLarge, concat("at byte ", sizes.offset(), ", a group of ",
                                                 inGroup, " entries follows ", entries.size(),
                                                 " of ", count, "; export the artifact again"));
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

/// StableHLO writes the two resource sections and leaves them empty.
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
                  "the artifact carries MLIR resources, which portable artifacts do not have; turn "
                  "dense_resource constants into dense ones before serializing");
  return Status();
}

} // namespace

Result<Container> readContainer(std::span<const std::byte> artifact, const ImportOptions &options) {
  return ContainerReader(artifact, options).read();
}

} // namespace tilewright::bytecode
