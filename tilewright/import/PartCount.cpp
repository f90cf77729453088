#include "tilewright/import/PartCount.h"

#include "tilewright/import/bytecode/AttrLayout.h"
#include "tilewright/support/Concat.h"

#include <algorithm>
#include <map>

namespace tilewright {

using namespace bytecode;

namespace {

/// Counts saturate at this value: above any limit, and small enough that the sum of two counts does
/// not overflow.
constexpr uint64_t most = uint64_t(1) << 62;

uint64_t sum(uint64_t a, uint64_t b) { return std::min(a + b, most); }

/// The encoding of `kind` with the most fields, which include all fields of its other encodings.
const AttrLayout *layoutOf(AttrKind kind) {
  static const auto *layouts = [] {
    auto *map = new std::map<AttrKind, const AttrLayout *>;
    for (const AttrLayout &layout : attrLayouts()) {
      const AttrLayout *&place = (*map)[layout.kind];
      if (!place || layout.fieldCount > place->fieldCount)
        place = &layout;
    }
    return map;
  }();
  auto place = layouts->find(kind);
  return place == layouts->end() ? nullptr : place->second;
}

} // namespace

PartCount::PartCount(const Module &tables, const ImportOptions &options)
    : tables(tables), limit(static_cast<uint64_t>(std::max<int64_t>(options.maxParts, 0))),
      types(tables.types.size()), attributes(tables.attrs.size()) {}

Status PartCount::charge(const Operation &op) {
  uint64_t parts = 0;
  // Our passes never traverse the value of a constant.
  if (tables.rowOf(op).op != Op::constant_v1)
    parts = ofAttributes(op.properties);
  if (op.attributes != absent)
    parts = sum(parts, ofAttribute(op.attributes));
  for (uint32_t i = 0; i < op.resultCount; ++i)
    parts = sum(parts, ofType(tables.valueTypes[op.firstResult + i]));
  total = sum(total, parts);
  // A location is traversed only on request, not with each operation, so it does not add to the
  // total.
  uint64_t alone = op.location == absent ? 0 : ofAttribute(op.location);
  if (std::max(total, alone) <= limit)
    return Status();
  return Status(Error::limitParts,
                concat("types and attributes expand to more than ", limit,
                       " parts; raise import.max-parts if the artifact is trusted"));
}

uint64_t PartCount::ofType(TypeId id) {
  if (types[id] == 0)
    types[id] = countType(tables.types[id]);
  return types[id];
}

uint64_t PartCount::ofAttribute(AttrId id) {
  if (attributes[id] == 0)
    attributes[id] = countAttribute(tables.attrs[id]);
  return attributes[id];
}

uint64_t PartCount::ofTypes(Range range) {
  uint64_t parts = 0;
  for (TypeId id : tables.typesIn(range))
    parts = sum(parts, ofType(id));
  return parts;
}

uint64_t PartCount::ofAttributes(Range range) {
  uint64_t parts = 0;
  for (AttrId id : tables.attrsIn(range))
    if (id != absent)
      parts = sum(parts, ofAttribute(id));
  return parts;
}

uint64_t PartCount::countType(const Type &type) {
  uint64_t parts = 1 + type.dims.size;
  if (type.inner != absent)
    parts = sum(parts, ofType(type.inner));
  if (type.encoding != absent)
    parts = sum(parts, ofAttribute(type.encoding));
  if (type.quantization != absent)
    parts = sum(parts, tables.quantizations[type.quantization].scales.size);
  return sum(parts, sum(ofTypes(type.types), ofTypes(type.results)));
}

uint64_t PartCount::countAttribute(const Attr &attr) {
  uint64_t parts = 1;
  const AttrLayout *layout = layoutOf(attr.kind);
  if (!layout)
    return parts;
  size_t item = 0;
  for (const Field &field : layout->all()) {
    Range range = attr.list;
    if (field.slot == Slot::item) {
      // An older encoding fills fewer lists.
      if (item == attr.list.size)
        break;
      range = tables.listsIn(attr.list)[item++];
    }
    uint32_t id = field.slot == Slot::a ? attr.a : attr.b;
    switch (field.wire) {
    case Wire::type:
      parts = sum(parts, id == absent ? 0 : ofType(id));
      break;
    case Wire::attr:
    case Wire::flaggedAttr:
    case Wire::countedAttr:
      parts = sum(parts, id == absent ? 0 : ofAttribute(id));
      break;
    case Wire::attrs:
    case Wire::pairs:
      parts = sum(parts, ofAttributes(range));
      break;
    case Wire::numbers:
    case Wire::numberList:
    case Wire::value:
      parts = sum(parts, range.size);
      break;
    case Wire::literal:
    case Wire::arrayLiteral:
      if (const Literal &literal = tables.literals[id]; literal.form != LiteralForm::splat)
        parts = sum(parts, static_cast<uint64_t>(literal.elementCount));
      break;
    default:
      break; // one number, or text
    }
  }
  return parts;
}

} // namespace tilewright
