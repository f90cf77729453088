#include "test/fuzz/ArtifactMutator.h"

#include "tilewright/import/bytecode/Bytes.h"
#include "tilewright/import/bytecode/Container.h"

#include <optional>
#include <vector>

namespace tilewright::fuzz {

using namespace bytecode;
using bytecode::Cursor; // not that of support

namespace {

std::string_view text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}
std::span<const std::byte> bytesOf(std::string_view text) { return std::as_bytes(std::span(text)); }

struct Entry {
  uint64_t dialect;
  bool custom;
  std::string bytes;
};

/// An artifact split into parts that can be changed one by one.
struct Parts {
  uint64_t version = 6;
  std::string producer;
  std::vector<std::string> strings;
  std::vector<std::pair<uint64_t, bool>> dialects;
  struct Name {
    uint64_t dialect, string;
    bool registered;
  };
  std::vector<Name> names;
  std::vector<Entry> attrs, types;
  std::vector<std::string> properties;
  std::string ir;
};

/// Splits an artifact without validating it. Status is used only to stop.
class Dissection {
public:
  static std::optional<Parts> of(std::string_view artifact) {
    Dissection dissection(artifact);
    return dissection.run().isOk() ? std::optional(std::move(dissection.parts)) : std::nullopt;
  }

private:
  explicit Dissection(std::string_view artifact) : whole(bytesOf(artifact), 0, "artifact") {}

  Status run() {
    std::span<const std::byte> magic;
    TILEWRIGHT_TRY(whole.take(4, magic));
    TILEWRIGHT_TRY(whole.varint(parts.version));
    for (uint8_t c = 1; c != 0;) {
      TILEWRIGHT_TRY(whole.byte(c));
      if (c)
        parts.producer += static_cast<char>(c);
    }
    Slice sections[sectionCount];
    while (!whole.atEnd()) {
      TILEWRIGHT_ASSIGN(NestedSection section, readSection(whole));
      sections[static_cast<size_t>(section.section)] = section.content;
    }
    auto cursor = [&](Section section) {
      return Cursor(sections[static_cast<size_t>(section)].bytes, 0, "section");
    };
    parts.ir = text(sections[static_cast<size_t>(Section::operations)].bytes);
    TILEWRIGHT_TRY(strings(cursor(Section::strings)));
    TILEWRIGHT_TRY(names(cursor(Section::dialects)));
    TILEWRIGHT_TRY(entries(cursor(Section::entrySizes), cursor(Section::entries)));
    return properties(cursor(Section::properties));
  }

  Status strings(Cursor cursor) {
    uint64_t count = 0;
    TILEWRIGHT_TRY(cursor.count(count, "strings"));
    std::vector<uint64_t> sizes(count);
    for (size_t i = count; i-- > 0;)
      TILEWRIGHT_TRY(cursor.varint(sizes[i]));
    for (uint64_t size : sizes) {
      std::span<const std::byte> bytes;
      TILEWRIGHT_TRY(cursor.take(size, bytes));
      parts.strings.emplace_back(text(bytes).substr(0, size ? size - 1 : 0));
    }
    return Status();
  }

  Status names(Cursor cursor) {
    uint64_t count = 0;
    TILEWRIGHT_TRY(cursor.count(count, "dialects"));
    for (uint64_t i = 0; i < count; ++i) {
      auto &[string, versioned] = parts.dialects.emplace_back();
      if (parts.version < 1)
        TILEWRIGHT_TRY(cursor.varint(string));
      else
        TILEWRIGHT_TRY(cursor.flagged(string, versioned));
      if (versioned)
        TILEWRIGHT_TRY(readSection(cursor).takeStatus());
    }
    if (parts.version >= 4)
      TILEWRIGHT_TRY(cursor.varint(count));
    while (!cursor.atEnd()) {
      uint64_t dialect = 0;
      TILEWRIGHT_TRY(cursor.varint(dialect));
      TILEWRIGHT_TRY(cursor.count(count, "names"));
      for (uint64_t i = 0; i < count; ++i) {
        Parts::Name name{dialect, 0, true};
        if (parts.version < 5)
          TILEWRIGHT_TRY(cursor.varint(name.string));
        else
          TILEWRIGHT_TRY(cursor.flagged(name.string, name.registered));
        parts.names.push_back(name);
      }
    }
    return Status();
  }

  Status entries(Cursor sizes, Cursor data) {
    uint64_t counts[2] = {};
    TILEWRIGHT_TRY(sizes.count(counts[0], "attributes"));
    TILEWRIGHT_TRY(sizes.count(counts[1], "types"));
    for (int kind = 0; kind < 2; ++kind) {
      std::vector<Entry> &list = kind ? parts.types : parts.attrs;
      while (list.size() < counts[kind]) {
        uint64_t dialect = 0, count = 0;
        TILEWRIGHT_TRY(sizes.varint(dialect));
        TILEWRIGHT_TRY(sizes.count(count, "entries"));
        for (uint64_t i = 0; i < count; ++i) {
          uint64_t size = 0;
          bool custom = true;
          std::span<const std::byte> bytes;
          TILEWRIGHT_TRY(sizes.flagged(size, custom));
          TILEWRIGHT_TRY(data.take(size, bytes));
          list.push_back({dialect, custom, std::string(text(bytes))});
        }
      }
    }
    return Status();
  }

  Status properties(Cursor cursor) {
    uint64_t count = 0;
    if (cursor.atEnd())
      return Status();
    TILEWRIGHT_TRY(cursor.count(count, "lists"));
    for (uint64_t i = 0; i < count; ++i) {
      uint64_t size = 0;
      std::span<const std::byte> bytes;
      TILEWRIGHT_TRY(cursor.varint(size));
      TILEWRIGHT_TRY(cursor.take(size, bytes));
      parts.properties.emplace_back(text(bytes));
    }
    return Status();
  }

  Cursor whole;
  Parts parts;
};

std::string assemble(const Parts &parts) {
  Bytes names;
  names.varint(parts.dialects.size());
  for (auto [string, versioned] : parts.dialects)
    parts.version < 1 ? names.varint(string) : names.flagged(string, false);
  if (parts.version >= 4)
    names.varint(parts.names.size());
  for (const Parts::Name &name : parts.names) {
    names.varint(name.dialect).varint(1);
    parts.version < 5 ? names.varint(name.string) : names.flagged(name.string, name.registered);
  }
  Bytes sizes, entries, strings, properties;
  sizes.varint(parts.attrs.size()).varint(parts.types.size());
  for (const std::vector<Entry> *list : {&parts.attrs, &parts.types})
    for (const Entry &entry : *list) {
      sizes.varint(entry.dialect).varint(1).flagged(entry.bytes.size(), entry.custom);
      entries.raw(entry.bytes);
    }
  strings.varint(parts.strings.size());
  for (size_t i = parts.strings.size(); i-- > 0;)
    strings.varint(parts.strings[i].size() + 1);
  for (const std::string &string : parts.strings)
    strings.raw(string).byte(0);
  properties.varint(parts.properties.size());
  for (const std::string &list : parts.properties)
    properties.blob(list);

  Bytes out;
  out.raw("ML\xEFR").varint(parts.version).raw(parts.producer).byte(0);
  out.section(1, names).section(3, sizes).section(2, entries).section(4, Bytes().raw(parts.ir));
  out.section(0, strings);
  if (parts.version >= 5)
    out.section(8, properties);
  return std::move(out.data);
}

/// Numbers that often break readers: limits of ranges, sizes, sign bits.
uint64_t interesting(Random &random) {
  constexpr uint64_t numbers[] = {0,
                                  1,
                                  2,
                                  3,
                                  7,
                                  8,
                                  63,
                                  64,
                                  127,
                                  128,
                                  255,
                                  256,
                                  65535,
                                  (uint64_t(1) << 31) - 1,
                                  uint64_t(1) << 31,
                                  (uint64_t(1) << 32) - 1,
                                  uint64_t(1) << 32,
                                  uint64_t(1) << 62,
                                  (uint64_t(1) << 63) - 1,
                                  uint64_t(1) << 63,
                                  UINT64_MAX};
  return numbers[random.below(std::size(numbers))];
}

class Mutation {
public:
  Mutation(Parts &parts, Random &random) : parts(parts), random(random) {}

  void change() {
    switch (random.below(12)) {
    case 0:
    case 1:
    case 2:
      return changeEntry(random.oneIn(2) ? parts.attrs : parts.types);
    case 3:
    case 4:
    case 5:
    case 6:
      return changeNumber(parts.ir);
    case 7:
      return parts.properties.empty() ? void() : changeNumber(pick(parts.properties));
    case 8:
      return changeString();
    case 9:
      return changeName();
    case 10:
      return moveWithin(parts.ir);
    case 11:
      return changeHeader();
    }
  }

private:
  template <typename T> T &pick(std::vector<T> &list) { return list[random.below(list.size())]; }

  /// A number near the sizes of the tables, or one that often breaks readers.
  uint64_t number(uint64_t old) {
    switch (random.below(6)) {
    case 0:
      return interesting(random);
    case 1:
      return random.below(parts.attrs.size() + 2);
    case 2:
      return random.below(parts.types.size() + 2);
    case 3:
      return old + 1;
    case 4:
      return old - 1;
    default:
      return random.below(32);
    }
  }

  /// Treats bytes as a list of varints and changes, adds or removes one of them.
  void changeNumber(std::string &bytes) {
    std::vector<std::pair<size_t, uint64_t>> numbers;
    Cursor cursor(bytesOf(bytes), 0, "bytes");
    while (!cursor.atEnd()) {
      uint64_t value = 0;
      size_t at = cursor.offset();
      if (!cursor.varint(value).isOk())
        break;
      numbers.push_back({at, value});
    }
    if (numbers.empty())
      return;
    const size_t place = random.below(numbers.size());
    const size_t begin = numbers[place].first;
    const size_t end = place + 1 < numbers.size() ? numbers[place + 1].first : bytes.size();
    Bytes changed;
    switch (random.below(8)) {
    case 0:
      break; // dropped
    case 1:
      changed.varint(number(0)).varint(numbers[place].second);
      break;
    case 2: // flip one bit, which keeps the width
      bytes[begin] = static_cast<char>(bytes[begin] ^ (1 << random.below(8)));
      return;
    default:
      changed.varint(number(numbers[place].second));
    }
    bytes.replace(begin, end - begin, changed.data);
  }

  void changeEntry(std::vector<Entry> &list) {
    if (list.empty())
      return;
    Entry &entry = pick(list);
    switch (random.below(9)) {
    case 0:
      return std::swap(entry, pick(list));
    case 1:
      return void(entry = pick(list));
    case 2:
      entry.dialect = random.below(parts.dialects.size() + 1);
      return;
    case 3:
      if (random.oneIn(8))
        entry.custom = !entry.custom;
      return;
    case 4: {
      Entry copy = entry; // duplicate it at the end, so that ids stay valid
      list.push_back(std::move(copy));
      return;
    }
    default:
      return changeNumber(entry.bytes);
    }
  }

  void changeString() {
    if (parts.strings.empty())
      return;
    std::string &string = pick(parts.strings);
    switch (random.below(4)) {
    case 0:
      return std::swap(string, pick(parts.strings));
    case 1:
      string = pick(parts.strings);
      return;
    case 2:
      string.append(random.below(64), static_cast<char>(random.below(256)));
      return;
    default:
      if (!string.empty())
        string[random.below(string.size())] ^= static_cast<char>(1 << random.below(8));
    }
  }

  void changeName() {
    if (parts.names.empty() || parts.dialects.empty())
      return;
    Parts::Name &name = pick(parts.names);
    switch (random.below(4)) {
    case 0:
      return std::swap(name, pick(parts.names));
    case 1:
      name.string = random.below(parts.strings.size() + 1);
      return;
    case 2:
      name.dialect = random.below(parts.dialects.size() + 1);
      return;
    default:
      pick(parts.dialects).first = random.below(parts.strings.size() + 1);
    }
  }

  /// Copies or removes a run of bytes.
  void moveWithin(std::string &bytes) {
    if (bytes.empty())
      return;
    const size_t begin = random.below(bytes.size());
    const size_t size = 1 + random.below(std::min<size_t>(bytes.size() - begin, 32));
    if (random.oneIn(2))
      bytes.erase(begin, size);
    else
      bytes.insert(random.below(bytes.size() + 1), bytes.substr(begin, size));
  }

  void changeHeader() {
    switch (random.below(4)) {
    case 0:
      parts.version = random.below(8);
      return;
    case 1:
      parts.producer = "StableHLO_v" + std::to_string(random.below(3)) + "." +
                       std::to_string(random.below(24)) + ".0";
      return;
    default:
      return changeNumber(parts.ir);
    }
  }

  Parts &parts;
  Random &random;
};

} // namespace

std::string mutateStructure(std::string_view artifact, Random &random) {
  std::optional<Parts> parts = Dissection::of(artifact);
  if (!parts)
    return mutateBits(artifact, random);
  for (uint64_t changes = 1 + random.below(4); changes > 0; --changes)
    Mutation(*parts, random).change();
  return assemble(*parts);
}

std::string mutateBits(std::string_view artifact, Random &random) {
  std::string bytes(artifact);
  for (uint64_t changes = 1 + random.below(4); changes > 0; --changes) {
    if (bytes.empty())
      bytes = "ML\xEFR";
    const size_t place = random.below(bytes.size());
    switch (random.below(6)) {
    case 0:
      bytes.insert(place, 1 + random.below(8), static_cast<char>(random.below(256)));
      break;
    case 1:
      bytes.erase(place, 1 + random.below(8));
      break;
    case 2:
      bytes.insert(random.below(bytes.size() + 1), bytes.substr(place, 1 + random.below(16)));
      break;
    case 3:
      bytes[place] = static_cast<char>(random.below(256));
      break;
    default:
      bytes[place] ^= static_cast<char>(1 << random.below(8));
    }
  }
  return bytes;
}

} // namespace tilewright::fuzz
