// Attributes: decodes them by the table in AttrLayout.cpp.

#include "tilewright/import/bytecode/AttrLayout.h"
#include "tilewright/import/bytecode/EntryCursor.h"
#include "tilewright/import/bytecode/TypeCodes.h"

#include <algorithm>
#include <numeric>

namespace tilewright::bytecode {
namespace {

/// Compares strings alphabetically: directly up to a budget, then by precomputed rank, because a
/// hostile artifact can make many direct comparisons expensive.
class StringOrder {
public:
  explicit StringOrder(const std::vector<std::string_view> &strings) : strings(strings) {
    for (std::string_view string : strings)
      budget += string.size();
  }

  bool less(StringId a, StringId b) {
    if (!ranks.empty())
      return ranks[a] < ranks[b];
    size_t cost = std::min(strings[a].size(), strings[b].size());
    if (cost > budget) {
      rankAll();
      return ranks[a] < ranks[b];
    }
    budget -= cost;
    return strings[a] < strings[b];
  }

private:
  void rankAll() {
    std::vector<StringId> sorted(strings.size());
    std::iota(sorted.begin(), sorted.end(), 0);
    std::sort(sorted.begin(), sorted.end(),
              [&](StringId a, StringId b) { return strings[a] < strings[b]; });
    ranks.resize(strings.size());
    for (size_t i = 1; i < sorted.size(); ++i)
      ranks[sorted[i]] = ranks[sorted[i - 1]] + (strings[sorted[i]] != strings[sorted[i - 1]]);
  }

  const std::vector<std::string_view> &strings;
  std::vector<uint32_t> ranks;
  size_t budget = 1 << 20;
};

class AttrReader {
public:
  AttrReader(const Container &container, const ImportOptions &options, Module &module,
             References &references)
      : container(container), options(options), module(module), references(references),
        order(container.strings) {}

  Status read() {
    module.attrs.resize(container.attrs.size());
    layouts.resize(container.attrs.size());
    // Read all kinds first: an attribute may refer to any other.
    for (size_t id = 0; id < layouts.size(); ++id)
      if (Status status = readKind(id); !status.isOk())
        return std::move(status).during(concat("reading attribute ", id));
    for (size_t id = 0; id < layouts.size(); ++id) {
      if (Status status = readFields(id); !status.isOk())
        return std::move(status).during(
            concat("reading attribute ", id, " (", nameOf(module.attrs[id].kind), ")"));
      references.ends.push_back(references.targets.size());
    }
    return Status();
  }

private:
  Status readKind(size_t id);
  Status readFields(size_t id);
  Status readField(EntryCursor &cursor, const Field &field, Attr &attr, Range &list);
  Status readPairs(EntryCursor &cursor, const Field &field, Range &list);
  Status readLineColumn(EntryCursor &cursor, uint64_t count, Range &list);
  Status readValue(EntryCursor &cursor, const Type &type, Range &list);
  Status readBlob(EntryCursor &cursor, const Field &field, Attr &attr);
  Status checkAttr(AttrId attr, Want want) const;
  Status checkType(TypeId type, Want want) const;

  const Container &container;
  const ImportOptions &options;
  Module &module;
  References &references;
  StringOrder order;
  std::vector<const AttrLayout *> layouts;
  uint64_t literalBytes = 0;
};

Status AttrReader::readKind(size_t id) {
  const EncodedEntry &entry = container.attrs[id];
  if (entry.textual)
    return Status(Error::textualEntry,
                  concat("at byte ", container.offsetOf(entry.data), ", an attribute of dialect ",
                         nameOf(entry.dialect),
                         " is written as text, which is not supported; export the program with a "
                         "newer producer, or remove the attribute"));
  Cursor cursor({entry.data, entry.size}, container.offsetOf(entry.data), "the attribute");
  uint64_t code = 0;
  TILEWRIGHT_TRY(cursor.varint(code));
  layouts[id] = findAttrLayout(entry.dialect, code);
  if (!layouts[id])
    return Status(Error::attrCode, concat("dialect ", nameOf(entry.dialect),
                                          " has no supported attribute with code ", code,
                                          "; serialize the program for StableHLO ",
                                          newestVersion.toString(), " or older"));
  module.attrs[id].kind = layouts[id]->kind;
  return Status();
}

Status AttrReader::readFields(size_t id) {
  EntryCursor cursor(container, container.attrs[id], "the attribute", module, references);
  uint64_t code = 0;
  TILEWRIGHT_TRY(cursor.varint(code));
  Attr attr = module.attrs[id];
  Range items[maxFields];
  uint32_t itemCount = 0;
  bool hasItems = false;
  for (const Field &field : layouts[id]->all()) {
    const bool isItem = field.slot == Slot::item;
    hasItems |= isItem;
    TILEWRIGHT_TRY(readField(cursor, field, attr, isItem ? items[itemCount++] : attr.list));
  }
  TILEWRIGHT_TRY(cursor.finish());
  if (attr.kind == AttrKind::sdyTensorSharding) {
    // Older encodings lack some lists, which stay empty, and the reduction, which is 0 (sum).
    itemCount = 3;
    attr.b = attr.b == absent ? 0 : attr.b;
  }
  if (hasItems)
    TILEWRIGHT_TRY(cursor.append(module.lists, attr.list, itemCount, [&, i = 0](Range &r) mutable {
      r = items[i++];
      return Status();
    }));
  module.attrs[id] = attr;
  return Status();
}

Status AttrReader::readField(EntryCursor &cursor, const Field &field, Attr &attr, Range &list) {
  uint32_t &place = field.slot == Slot::b ? attr.b : attr.a;
  uint64_t number = 0;
  bool present = false;
  switch (field.wire) {
  case Wire::string:
    return cursor.string(place);
  case Wire::type:
    TILEWRIGHT_TRY(cursor.type(place));
    return checkType(place, field.want);
  case Wire::attr:
    TILEWRIGHT_TRY(cursor.attr(place));
    return checkAttr(place, field.want);
  case Wire::flaggedAttr:
    TILEWRIGHT_TRY(cursor.flagged(number, present));
    if (!present)
      return Status();
    TILEWRIGHT_TRY(cursor.attrNumbered(number, place));
    return checkAttr(place, field.want);
  case Wire::countedAttr:
    TILEWRIGHT_TRY(cursor.varint(number));
    if (number == 0)
      return Status();
    if (number != 1)
      return Status(Error::enumValue,
                    concat("the flag of an optional attribute must be 0 or 1, got ", number,
                           "; export the artifact again"));
    TILEWRIGHT_TRY(cursor.attr(place));
    return checkAttr(place, field.want);
  case Wire::attrs:
    TILEWRIGHT_TRY(cursor.attrList(list));
    for (AttrId child : module.attrsIn(list))
      TILEWRIGHT_TRY(checkAttr(child, field.want));
    return Status();
  case Wire::pairs:
    return readPairs(cursor, field, list);
  case Wire::choice:
    TILEWRIGHT_TRY(cursor.varint(number));
    if (number < field.first || number >= field.limit)
      return Status(Error::enumValue,
                    concat("an enum value must be ", field.first, " to ", field.limit - 1, ", got ",
                           number, "; serialize the program for StableHLO ",
                           newestVersion.toString(), " or older"));
    place = static_cast<uint32_t>(number);
    return Status();
  case Wire::boolByte: {
    uint8_t byte = 0;
    TILEWRIGHT_TRY(cursor.byte(byte));
    if (byte > 1)
      return Status(Error::enumValue,
                    concat("a boolean must be 0 or 1, got ", byte, "; export the artifact again"));
    place = byte;
    return Status();
  }
  case Wire::optionalNumber:
    TILEWRIGHT_TRY(cursor.flagged(number, present));
    if (!present)
      return Status();
    if (number > INT32_MAX)
      return Status(Error::integerValue, concat("a priority must be at most ", INT32_MAX, ", got ",
                                                number, "; export the artifact again"));
    place = static_cast<uint32_t>(number);
    return Status();
  case Wire::signedNumber: {
    int64_t value = 0;
    TILEWRIGHT_TRY(cursor.signedVarint(value));
    if (value < 0 || value >= field.limit)
      return Status(Error::enumValue, concat("an enum value must be 0 to ", field.limit - 1,
                                             ", got ", value, "; export the artifact again"));
    place = static_cast<uint32_t>(value);
    return Status();
  }
  case Wire::numbers:
    return cursor.numbers(list, field.limit);
  case Wire::numberList:
    return cursor.numberList(list);
  case Wire::lineColumn:
    return readLineColumn(cursor, 2, list);
  case Wire::lineColumnRange:
    TILEWRIGHT_TRY(cursor.count(number, "line and column numbers"));
    return readLineColumn(cursor, number, list);
  case Wire::value:
    return readValue(cursor, module.types[attr.a], list);
  case Wire::literal:
  case Wire::arrayLiteral:
    return readBlob(cursor, field, attr);
  }
  return Status();
}

/// Reads a dictionary. Keys must be in ascending order, which makes duplicates easy to detect and
/// lookup fast; every producer sorts them.
Status AttrReader::readPairs(EntryCursor &cursor, const Field &field, Range &list) {
  uint64_t pairs = 0;
  TILEWRIGHT_TRY(cursor.count(pairs, "pairs", /*bytesEach=*/2));
  TILEWRIGHT_TRY(cursor.append(module.attrLists, list, 2 * pairs,
                               [&](AttrId &id) { return cursor.attr(id); }));
  std::span<const AttrId> entries = module.attrsIn(list);
  for (size_t i = 0; i < entries.size(); i += 2)
    TILEWRIGHT_TRY(checkAttr(entries[i], field.want));
  // The key attribute may not be decoded yet, so read its string id from its bytes: the code, then
  // the string.
  StringId previous = 0;
  for (size_t i = 0; i < entries.size(); i += 2) {
    StringId key = 0;
    const EncodedEntry &entry = container.attrs[entries[i]];
    EntryCursor keyCursor(container, entry, "a dictionary key", module, references);
    uint64_t code = 0;
    TILEWRIGHT_TRY(keyCursor.varint(code));
    TILEWRIGHT_TRY(keyCursor.string(key));
    if (i != 0 && !order.less(previous, key))
      return Status(Error::dictionaryOrder,
                    concat("dictionary keys must be distinct and sorted, but key ", i / 2,
                           " (string ", key, ") does not follow the previous key (string ",
                           previous, "); export the artifact again"));
    previous = key;
  }
  return Status();
}

/// Reads a line and column range. MLIR omits trailing numbers that repeat: end column, end line, …
Status AttrReader::readLineColumn(EntryCursor &cursor, uint64_t count, Range &list) {
  uint64_t n[4] = {};
  if (count > 4)
    return Status(
        Error::countTooLarge,
        concat("a file location has ", count,
               " line and column numbers, expected at most 4; export the artifact again"));
  for (uint64_t i = 0; i < count; ++i) {
    TILEWRIGHT_TRY(cursor.varint(n[i]));
    if (n[i] > UINT32_MAX)
      return Status(Error::integerValue,
                    concat("a file location has line or column ", n[i], ", but the limit is ",
                           UINT32_MAX, "; export the artifact again"));
  }
  if (count == 1 || count == 2) {
    n[2] = n[0];
    n[3] = n[1];
  } else if (count == 3) {
    n[3] = n[2];
    n[2] = n[0];
  }
  return cursor.append(module.numbers, list, 4, [&, i = 0](int64_t &number) mutable {
    number = static_cast<int64_t>(n[i++]);
    return Status();
  });
}

/// Reads the bits of an integer or a float: one byte for up to 8 bits, a signed number for up to
/// 64, otherwise a list of words.
Status AttrReader::readValue(EntryCursor &cursor, const Type &type, Range &list) {
  const uint64_t width = valueBits(type);
  if (width > 64) {
    uint64_t words = 0;
    TILEWRIGHT_TRY(cursor.count(words, "words"));
    if (words == 0 || words > (width + 63) / 64)
      return Status(Error::integerValue,
                    concat("a value of ", width, " bits must have 1 to ", (width + 63) / 64,
                           " words of 64 bits, got ", words, "; export the artifact again"));
    return cursor.numbers(list, words);
  }
  int64_t value = 0;
  if (width <= 8) {
    uint8_t byte = 0;
    TILEWRIGHT_TRY(cursor.byte(byte));
    value = byte;
  } else {
    TILEWRIGHT_TRY(cursor.signedVarint(value));
  }
  const uint64_t mask = width == 64 ? UINT64_MAX : (uint64_t(1) << width) - 1;
  const int64_t lowest = width == 64 ? INT64_MIN : -(int64_t(1) << (width - 1));
  if (value < 0 ? value < lowest : static_cast<uint64_t>(value) > mask)
    return Status(Error::integerValue, concat("value ", value, " does not fit in ", width,
                                              " bits; export the artifact again"));
  return cursor.append(module.numbers, list, 1, [&](int64_t &number) {
    number = static_cast<int64_t>(static_cast<uint64_t>(value) & mask);
    return Status();
  });
}

Status AttrReader::readBlob(EntryCursor &cursor, const Field &field, Attr &attr) {
  uint64_t elements = 0, size = 0;
  if (field.wire == Wire::arrayLiteral)
    TILEWRIGHT_TRY(cursor.varint(elements));
  TILEWRIGHT_TRY(cursor.varint(size));
  std::span<const std::byte> bytes;
  TILEWRIGHT_TRY(cursor.take(size, bytes));
  literalBytes += size;
  if (options.maxLiteralBytes < 0 || literalBytes > static_cast<uint64_t>(options.maxLiteralBytes))
    return Status(Error::limitLiteralBytes,
                  concat("constants take at least ", literalBytes, " bytes, but the limit is ",
                         options.maxLiteralBytes, "; raise import.max-literal-bytes"));
  Literal literal;
  if (field.wire == Wire::literal) {
    TILEWRIGHT_ASSIGN(literal, readLiteral(module, attr.a, bytes));
  } else {
    std::optional<numerics::ElementType> element = elementTypeOf(module, attr.a);
    if (!element)
      return Status(Error::entryKind,
                    concat("an array has element type #", attr.a,
                           ", which is not an integer or float type; export the artifact again"));
    if (size % numerics::storageBytes(*element) != 0 ||
        size / numerics::storageBytes(*element) != elements)
      return Status(Error::literalSize,
                    concat("an array of ", elements, " elements of ", spelling(*element),
                           " must have ", numerics::storageBytes(*element),
                           " bytes per element, got ", size,
                           " bytes in total; export the artifact again"));
    literal = {bytes, static_cast<int64_t>(elements), LiteralForm::elements};
  }
  attr.b = static_cast<LiteralId>(module.literals.size());
  module.literals.push_back(literal);
  return Status();
}

Status AttrReader::checkAttr(AttrId attr, Want want) const {
  if (want == Want::anything)
    return Status();
  const AttrLayout &layout = *layouts[attr];
  // A nested reference must be flat; the flat encoding has its own code and only one field.
  if (satisfies(layout.kind, want) && (want != Want::symbolRef || layout.fieldCount == 1))
    return Status();
  return Status(Error::entryKind, concat("attribute ", attr, " must be ", describe(want), ", got ",
                                         nameOf(layout.kind), "; export the artifact again"));
}

Status AttrReader::checkType(TypeId type, Want want) const {
  TypeKind kind = module.types[type].kind;
  if ((want == Want::anything) || (want == Want::tensorType && kind == TypeKind::tensor) ||
      (want == Want::realType && kind == TypeKind::real) ||
      (want == Want::integerType && (kind == TypeKind::integer || kind == TypeKind::index)))
    return Status();
  return Status(Error::entryKind,
                concat("type ", type, " must be ", describe(want), "; export the artifact again"));
}

} // namespace

Status readAttrs(const Container &container, const ImportOptions &options, Module &module,
                 References &references) {
  return AttrReader(container, options, module, references).read();
}

} // namespace tilewright::bytecode
