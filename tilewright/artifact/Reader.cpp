#include "tilewright/artifact/Reader.h"

#include "tilewright/artifact/Check.h"
#include "tilewright/artifact/Fields.h"
#include "tilewright/artifact/Format.h"
#include "tilewright/support/Fingerprint.h"

#include <algorithm>
#include <cstring>

namespace tilewright::artifact {
namespace {

class ReaderArchive : public ByteReader {
public:
  ReaderArchive(std::span<const std::byte> bytes, std::string_view part)
      : ByteReader(bytes, part, Error::executableEncoding, "compile the program again") {}

  template <typename T> void list(std::vector<T> &items, const char *things) {
    const size_t count = cursor.count(things, bytesEach<T>());
    items.reserve(count);
    for (size_t i = 0; i < count && !cursor.failed(); ++i)
      fields(*this, items.emplace_back());
  }
  template <typename... Ts> void alternative(std::variant<Ts...> &value) {
    const uint64_t which = cursor.number();
    if (which >= sizeof...(Ts))
      return cursor.fail(
          concat("has an item of unknown kind ", which, ", expected 0 to ", sizeof...(Ts) - 1));
    emplace(value, which, std::index_sequence_for<Ts...>());
    std::visit([this](auto &held) { fields(*this, held); }, value);
  }
  template <typename T> void optional(std::optional<T> &value) {
    bool isThere = false;
    number(isThere);
    if (isThere && !cursor.failed())
      fields(*this, value.emplace());
  }

  /// Limits the nesting of attributes, because reading them recurses.
  bool enter() {
    if (++depth > maxAttributeNesting)
      cursor.fail(concat("nests attributes deeper than ", maxAttributeNesting, " levels"));
    return !cursor.failed();
  }
  void leave() { --depth; }

private:
  /// The minimum encoded size of an item. Limits the count that the file may claim, so that a
  /// corrupt count cannot cause an allocation out of proportion to the input.
  template <typename T> static constexpr size_t bytesEach() {
    if constexpr (std::is_same_v<T, Step>)
      return 4;
    else if constexpr (std::is_same_v<T, Operand> || std::is_same_v<T, Allocation> ||
                       std::is_same_v<T, ResultInfo>)
      return 4;
    else if constexpr (std::is_same_v<T, Parameter> || std::is_same_v<T, Kernel>)
      return 5;
    else if constexpr (std::is_same_v<T, TensorMap>)
      return 10;
    else if constexpr (std::is_same_v<T, Slice> || std::is_same_v<T, Attribute>)
      return 3;
    else if constexpr (std::is_same_v<T, TensorType> || std::is_same_v<T, Library>)
      return 2;
    else
      return 1;
  }

  template <typename V, size_t... I>
  static void emplace(V &value, size_t which, std::index_sequence<I...>) {
    ((which == I ? static_cast<void>(value.template emplace<I>()) : void()), ...);
  }

  size_t depth = 0;
};

template <typename T> T numberAt(std::span<const std::byte> bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

Status badSection(std::string what) {
  return Status(Error::executableSection, concat(what, "; compile the program again"));
}

/// Checks the header and finds the sections.
Result<std::array<std::span<const std::byte>, sectionCount>>
sectionsOf(std::span<const std::byte> file) {
  // If the header is truncated, its first bytes decide whether the file is a truncated executable
  // or not an executable at all.
  if (file.empty() ||
      std::memcmp(file.data(), magic.data(), std::min(file.size(), magic.size())) != 0)
    return Status(
        Error::executableMagic,
        "the file does not begin with the magic bytes of an executable (f5 54 57 58 …); pass "
        "the output of `tilewright compile`, not the program itself");
  if (file.size() >= sectionCountAt && numberAt<uint32_t>(file, versionAt) != formatVersion)
    return Status(Error::executableVersion,
                  concat("the executable has format ", numberAt<uint32_t>(file, versionAt),
                         ", but this runtime reads ", formatVersion,
                         "; compile the program again with this version"));
  const uint64_t expected = file.size() < tableAt ? headerBytes : numberAt<uint64_t>(file, sizeAt);
  if (file.size() < headerBytes || file.size() < expected)
    return Status(Error::executableTruncated,
                  concat("the executable is truncated to ", file.size(), " of ", expected,
                         " bytes; copy or compile it again"));
  if (file.size() > expected)
    return badSection(
        concat("the executable has ", file.size(), " bytes, but should have ", expected));
  const std::array<uint8_t, 16> fingerprint = fingerprintOf(file.subspan(contentAt));
  if (std::memcmp(fingerprint.data(), file.data() + fingerprintAt, fingerprint.size()) != 0)
    return Status(Error::executableChecksum,
                  "the executable's content does not match its fingerprint, so it was damaged "
                  "after it was written; copy or compile it again");

  if (numberAt<uint32_t>(file, sectionCountAt) != sectionCount)
    return badSection(concat("the executable has ", numberAt<uint32_t>(file, sectionCountAt),
                             " sections, but should have ", sectionCount));
  std::array<std::span<const std::byte>, sectionCount> sections;
  uint64_t end = headerBytes;
  for (uint32_t i = 0; i < sectionCount; ++i) {
    const size_t entry = tableAt + i * tableEntryBytes;
    const auto number = numberAt<uint64_t>(file, entry); // including the zero after it
    const auto offset = numberAt<uint64_t>(file, entry + 8);
    const auto size = numberAt<uint64_t>(file, entry + 16);
    if (number != i + 1)
      return badSection(concat("section ", i + 1, " of the executable has number ", number,
                               ", expected ", i + 1));
    if (offset != alignedToSection(end) || offset > file.size() || size > file.size() - offset)
      return badSection(concat("section ", i + 1, " of the executable begins at byte ", offset,
                               " and has ", size,
                               " bytes; it must follow the previous section and end within the ",
                               file.size(), " bytes of the file"));
    for (uint64_t gap = end; gap < offset; ++gap)
      if (file[gap] != std::byte(0))
        return badSection(concat("byte ", gap, " between sections must be 0, got ",
                                 std::to_integer<int>(file[gap])));
    sections[i] = file.subspan(offset, size);
    end = offset + size;
  }
  if (end != file.size())
    return badSection(concat("the sections of the executable end at byte ", end,
                             ", but the file has ", file.size(), " bytes"));
  return sections;
}

template <typename Read>
Status readSection(std::span<const std::byte> bytes, std::string_view part, Read read) {
  ReaderArchive archive(bytes, part);
  read(archive);
  return archive.finish();
}

} // namespace

Result<Executable> readExecutable(std::span<const std::byte> bytes) {
  TILEWRIGHT_ASSIGN(auto sections, sectionsOf(bytes));
  Executable result;
  std::memcpy(result.fingerprint.data(), bytes.data() + fingerprintAt, result.fingerprint.size());
  TILEWRIGHT_TRY(readSection(sections[0], "the signature of the executable",
                             [&](auto &a) { signatureFields(a, result); }));
  TILEWRIGHT_TRY(readSection(sections[1], "the plan of the executable",
                             [&](auto &a) { planFields(a, result); }));
  TILEWRIGHT_TRY(readSection(sections[3], "the object code of the executable",
                             [&](auto &a) { objectFields(a, result); }));
  TILEWRIGHT_TRY(readSection(sections[4], "the statistics of the executable",
                             [&](auto &a) { statisticsFields(a, result); }));
  // Check before the large copies: an inconsistent executable is not worth copying.
  TILEWRIGHT_TRY(checkExecutable(result, {sections[2].size(), sections[5].size()}));
  // A vector with a custom allocator copies byte by byte, so resizing it first and then filling it
  // is much faster.
  result.constants.resize(sections[2].size());
  std::copy_n(sections[2].data(), sections[2].size(), result.constants.data());
  result.binary.assign(sections[5].data(), sections[5].data() + sections[5].size());
  result.communication.assign(sections[6].data(), sections[6].data() + sections[6].size());
  return result;
}

} // namespace tilewright::artifact
