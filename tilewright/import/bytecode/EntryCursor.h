// EntryCursor: a Cursor over one type or attribute that records every reference and appends lists
// to the pools of the Module.
#ifndef TILEWRIGHT_IMPORT_BYTECODE_ENTRYCURSOR_H
#define TILEWRIGHT_IMPORT_BYTECODE_ENTRYCURSOR_H

#include "tilewright/import/bytecode/Entries.h"
#include "tilewright/support/Concat.h"

namespace tilewright::bytecode {

/// Reads the fields of one entry. All ids it returns are in range.
class EntryCursor : public Cursor {
public:
  EntryCursor(const Container &container, const EncodedEntry &entry, std::string_view part,
              Module &module, References &references)
      : Cursor({entry.data, entry.size}, container.offsetOf(entry.data), part),
        container(container), module(module), references(references) {}

  Status string(StringId &id) {
    return index(id, container.strings.size(), Error::stringIndex, "string");
  }
  Status type(TypeId &id) {
    TILEWRIGHT_TRY(index(id, container.types.size(), Error::typeIndex, "type"));
    references.targets.push_back(id);
    return Status();
  }
  Status attr(AttrId &id) {
    uint64_t value = 0;
    TILEWRIGHT_TRY(varint(value));
    return attrNumbered(value, id);
  }
  /// Like attr(), for an index that the caller read together with a flag.
  Status attrNumbered(uint64_t value, AttrId &id) {
    if (value >= container.attrs.size())
      return outOfRange(value, container.attrs.size(), Error::attrIndex, "attribute");
    id = static_cast<AttrId>(value);
    references.targets.push_back(static_cast<uint32_t>(container.types.size() + value));
    return Status();
  }

  /// Reads a count and that many items, each with `one(item)`, into `pool`.
  template <typename T, typename One>
  Status list(std::vector<T> &pool, Range &range, std::string_view things, One one) {
    uint64_t size = 0;
    TILEWRIGHT_TRY(count(size, things));
    return append(pool, range, size, one);
  }
  template <typename T, typename One>
  Status append(std::vector<T> &pool, Range &range, uint64_t size, One one) {
    if (pool.size() + size >= UINT32_MAX)
      return Status(Error::sectionTooLarge,
                    concat("at byte ", offset(),
                           ", the lists of types and attributes hold more than ", UINT32_MAX - 1,
                           " items; split the program"));
    range = {static_cast<uint32_t>(pool.size()), static_cast<uint32_t>(size)};
    pool.resize(pool.size() + size);
    for (uint32_t i = range.begin; i != range.end(); ++i)
      TILEWRIGHT_TRY(one(pool[i]));
    return Status();
  }
  Status typeList(Range &range) {
    return list(module.typeLists, range, "types", [this](TypeId &id) { return type(id); });
  }
  Status attrList(Range &range) {
    return list(module.attrLists, range, "attributes", [this](AttrId &id) { return attr(id); });
  }
  Status numberList(Range &range) {
    return list(module.numbers, range, "numbers", [this](int64_t &n) { return signedVarint(n); });
  }
  /// Reads `size` numbers; the file does not store their count.
  Status numbers(Range &range, uint64_t size) {
    return append(module.numbers, range, size, [this](int64_t &n) { return signedVarint(n); });
  }

private:
  Status index(uint32_t &id, size_t size, Error error, std::string_view thing) {
    uint64_t value = 0;
    TILEWRIGHT_TRY(varint(value));
    if (value >= size)
      return outOfRange(value, size, error, thing);
    id = static_cast<uint32_t>(value);
    return Status();
  }
  Status outOfRange(uint64_t value, size_t size, Error error, std::string_view thing) {
    return Status(error,
                  concat("just before byte ", offset(), ", ", partName(), " refers to ", thing, " ",
                         value, ", but there are only ", size, "; export the artifact again"));
  }

  const Container &container;
  Module &module;
  References &references;
};

} // namespace tilewright::bytecode

#endif // TILEWRIGHT_IMPORT_BYTECODE_ENTRYCURSOR_H
