#include "tilewright/import/bytecode/Writer.h"

#include "tilewright/import/bytecode/AttrLayout.h"
#include "tilewright/import/bytecode/Bytes.h"
#include "tilewright/import/bytecode/OldDictionaries.h"
#include "tilewright/import/bytecode/TypeCodes.h"
#include "tilewright/support/Concat.h"

#include <array>
#include <unordered_map>
#include <utility>

namespace tilewright::bytecode {
namespace {

std::string_view text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

class Writer {
public:
  explicit Writer(const Module &original) : module(original), version(original.bytecodeVersion) {
    if (version < 4)
      locateArguments(module);
    if (version < 5)
      mergePropertiesIntoDictionaries(module);
    for (size_t i = 0; i < module.strings.size(); ++i)
      stringIds.emplace(module.strings[i], i);
  }

  Result<std::string> write();

private:
  struct Entry {
    Dialect dialect;
    bool custom;
    uint64_t size;
  };

  Status writeType(Bytes &out, const Type &type, bool &custom);
  void writeAttr(Bytes &out, const Attr &attr);
  void writeField(Bytes &out, const Field &field, const Attr &attr, Range list);
  const AttrLayout &layoutOf(const Attr &attr) const;
  bool hasUnreducedAxes(const Attr &perValue) const;
  void writeValue(Bytes &out, const Attr &attr);
  void writeAttrs(Bytes &out, Range range, size_t divisor);
  void writeNumbers(Bytes &out, Range range);
  void writeGroups(Bytes &out, const std::vector<Entry> &entries);
  Bytes dialectSection();
  Bytes stringSection() const;
  Bytes propertySection() const;

  void writeOp(Bytes &out, OpId id);
  /// `firstNumber` is the file's number for the region's first value; the numbers of the enclosing
  /// regions are smaller.
  void writeRegion(Bytes &out, const Region &region, uint64_t firstNumber);
  void writeArguments(Bytes &out, const Region &region);
  /// The index of the operation's property list; operations with equal lists share one.
  uint64_t propertyList(const Operation &op);

  uint64_t dialectNumber(Dialect dialect);
  uint64_t stringNumber(std::string_view string);

  Module module;
  const unsigned version;
  std::unordered_map<std::string_view, uint64_t> stringIds;
  std::vector<Dialect> dialects;
  std::unordered_map<std::string, uint64_t> propertyIds;
  std::vector<const std::string *> properties;
  /// The file's number for each value that can be used at this point, and the range of numbers left
  /// to assign in the current region.
  std::vector<uint64_t> numbers;
  uint64_t nextNumber = 0, endNumber = 0;
};

Result<std::string> Writer::write() {
  std::vector<Entry> attrEntries, typeEntries;
  Bytes entries;
  for (const Attr &attr : module.attrs) {
    size_t before = entries.data.size();
    writeAttr(entries, attr);
    attrEntries.push_back({layoutOf(attr).dialect, true, entries.data.size() - before});
  }
  for (const Type &type : module.types) {
    size_t before = entries.data.size();
    bool custom = true;
    TILEWRIGHT_TRY(writeType(entries, type, custom));
    typeEntries.push_back({type.dialect, custom, entries.data.size() - before});
  }
  Bytes sizes;
  sizes.varint(attrEntries.size()).varint(typeEntries.size());
  writeGroups(sizes, attrEntries);
  writeGroups(sizes, typeEntries);

  Bytes ir;
  ir.flagged(1, false);
  numbers.resize(module.valueTypes.size());
  writeOp(ir, 0);

  Bytes out;
  out.raw("ML\xEFR").varint(version);
  out.raw(concat("StableHLO_v", module.producer.toString(), ".0")).byte(0);
  Bytes names = dialectSection(); // adds strings, so before their section
  out.section(1, names).section(3, sizes).section(2, entries).section(4, ir);
  out.section(6, Bytes().varint(0)).section(5, Bytes()).section(0, stringSection());
  if (version >= 5)
    out.section(8, propertySection());
  return std::move(out.data);
}

// Names.

uint64_t Writer::stringNumber(std::string_view string) {
  auto [place, isNew] = stringIds.emplace(string, module.strings.size());
  if (isNew)
    module.strings.push_back(string);
  return place->second;
}

uint64_t Writer::dialectNumber(Dialect dialect) {
  for (size_t i = 0; i < dialects.size(); ++i)
    if (dialects[i] == dialect)
      return i;
  dialects.push_back(dialect);
  return dialects.size() - 1;
}

Bytes Writer::dialectSection() {
  Bytes names;
  for (const OpName &name : module.opNames) {
    const OpRow &row = name.row();
    names.varint(dialectNumber(row.dialect)).varint(1);
    if (version < 5)
      names.varint(stringNumber(row.name));
    else
      names.flagged(stringNumber(row.name), /*registered=*/true);
  }
  Bytes out;
  out.varint(dialects.size());
  for (Dialect dialect : dialects) {
    if (version < 1)
      out.varint(stringNumber(nameOf(dialect)));
    else
      out.flagged(stringNumber(nameOf(dialect)), /*versioned=*/false);
  }
  if (version >= 4)
    out.varint(module.opNames.size());
  return out.append(names);
}

Bytes Writer::stringSection() const {
  Bytes out;
  out.varint(module.strings.size());
  for (size_t i = module.strings.size(); i-- > 0;)
    out.varint(module.strings[i].size() + 1);
  for (std::string_view string : module.strings)
    out.raw(string).byte(0);
  return out;
}

Bytes Writer::propertySection() const {
  Bytes out;
  out.varint(properties.size());
  for (const std::string *list : properties)
    out.blob(*list);
  return out;
}

// Types and attributes.

/// Consecutive entries of the same dialect form a group.
void Writer::writeGroups(Bytes &out, const std::vector<Entry> &entries) {
  for (size_t begin = 0; begin < entries.size();) {
    size_t end = begin;
    while (end < entries.size() && entries[end].dialect == entries[begin].dialect)
      ++end;
    out.varint(dialectNumber(entries[begin].dialect)).varint(end - begin);
    for (; begin != end; ++begin)
      out.flagged(entries[begin].size, entries[begin].custom);
  }
}

Status Writer::writeType(Bytes &out, const Type &type, bool &custom) {
  const TypeCode *row = findTypeCode(type);
  if (!row)
    return Status(Code::invalidArgument,
                  concat("dialect ", nameOf(type.dialect), " has no type of kind ",
                         static_cast<unsigned>(type.kind)));
  // Readers before LLVM 23 know the small builtin floats only by name.
  if (type.dialect == Dialect::builtin && row->code > 20) {
    custom = false;
    out.raw(spelling(type.element)).byte(0);
    return Status();
  }
  out.varint(row->code);
  auto writeTypes = [&](Range range) {
    out.varint(range.size);
    for (TypeId id : module.typesIn(range))
      out.varint(id);
  };
  if (row->hasEncoding)
    out.varint(type.encoding);
  switch (type.kind) {
  case TypeKind::integer:
    if (row->width == 0)
      out.varint(uint64_t(type.width) << 2 | static_cast<uint64_t>(type.signedness));
    break;
  case TypeKind::complex:
  case TypeKind::unrankedTensor:
    out.varint(type.inner);
    break;
  case TypeKind::tensor:
  case TypeKind::buffer:
    writeNumbers(out.varint(type.dims.size), type.dims);
    out.varint(type.inner);
    break;
  case TypeKind::tuple:
  case TypeKind::future:
    writeTypes(type.types);
    break;
  case TypeKind::function:
    writeTypes(type.types);
    writeTypes(type.results);
    break;
  case TypeKind::quantized: {
    const Quantization &q = module.quantizations[type.quantization];
    out.varint(q.flags).varint(q.storage).varint(q.expressed);
    writeNumbers(out, q.scales);
    writeNumbers(out, q.zeroPoints);
    out.signedVarint(q.storageMin).signedVarint(q.storageMax);
    break;
  }
  case TypeKind::quantizedPerAxis: {
    const Quantization &q = module.quantizations[type.quantization];
    out.varint(q.flags).varint(q.storage).varint(q.expressed).varint(q.axis);
    out.signedVarint(q.storageMin).signedVarint(q.storageMax);
    writeNumbers(out.varint(q.scales.size), q.scales);
    writeNumbers(out.varint(q.zeroPoints.size), q.zeroPoints);
    break;
  }
  default:
    break;
  }
  return Status();
}

bool Writer::hasUnreducedAxes(const Attr &perValue) const {
  for (AttrId sharding : module.attrsIn(perValue.list))
    if (module.listsIn(module.attrs[sharding].list)[2].size != 0)
      return true;
  return false;
}

/// The simplest encoding that can express the attribute, as MLIR chooses it.
const AttrLayout &Writer::layoutOf(const Attr &attr) const {
  size_t form = 0;
  switch (attr.kind) {
  case AttrKind::string:
    form = attr.b != absent;
    break;
  case AttrKind::symbolRef:
    form = attr.list.size != 0;
    break;
  case AttrKind::fusedLocation:
    form = attr.a != absent;
    break;
  case AttrKind::fileLocation: {
    std::span<const int64_t> n = module.numbersIn(attr.list);
    form = n[0] != n[2] || n[1] != n[3];
    break;
  }
  case AttrKind::sdyTensorSharding:
    form = module.listsIn(attr.list)[2].size == 0 ? 0 : attr.b == 0 ? 1 : 2;
    break;
  case AttrKind::sdyPerValueSharding:
    form = hasUnreducedAxes(attr);
    break;
  default:
    break;
  }
  // The rows of each kind, in table order.
  static const auto *byKind = [] {
    auto *rows = new std::array<std::vector<const AttrLayout *>, 256>;
    for (const AttrLayout &row : attrLayouts())
      (*rows)[static_cast<size_t>(row.kind)].push_back(&row);
    return rows;
  }();
  return *(*byKind)[static_cast<size_t>(attr.kind)][form];
}

void Writer::writeAttr(Bytes &out, const Attr &attr) {
  const AttrLayout &layout = layoutOf(attr);
  out.varint(layout.code);
  size_t item = 0;
  for (const Field &field : layout.all()) {
    Range list = attr.list;
    if (field.slot == Slot::item)
      list = module.listsIn(attr.list)[item++];
    writeField(out, field, attr, list);
  }
}

void Writer::writeField(Bytes &out, const Field &field, const Attr &attr, Range list) {
  const uint32_t value = field.slot == Slot::b ? attr.b : attr.a;
  const bool isAbsent = value == absent;
  switch (field.wire) {
  case Wire::string:
  case Wire::type:
  case Wire::attr:
  case Wire::choice:
    out.varint(value);
    break;
  case Wire::flaggedAttr:
  case Wire::optionalNumber:
    out.flagged(isAbsent ? 0 : value, !isAbsent);
    break;
  case Wire::countedAttr:
    out.varint(!isAbsent);
    if (!isAbsent)
      out.varint(value);
    break;
  case Wire::attrs:
    writeAttrs(out, list, 1);
    break;
  case Wire::pairs:
    writeAttrs(out, list, 2);
    break;
  case Wire::boolByte:
    out.byte(value);
    break;
  case Wire::signedNumber:
    out.signedVarint(value);
    break;
  case Wire::numbers:
    writeNumbers(out, list);
    break;
  case Wire::numberList:
    writeNumbers(out.varint(list.size), list);
    break;
  case Wire::lineColumn:
  case Wire::lineColumnRange: {
    std::span<const int64_t> n = module.numbersIn(list);
    auto number = [&](size_t i) { out.varint(static_cast<uint64_t>(n[i])); };
    const bool isRange = field.wire == Wire::lineColumnRange;
    const bool oneLine = n[0] == n[2];
    if (isRange)
      out.varint(oneLine ? 3 : 4);
    number(0);
    number(1);
    if (isRange && !oneLine)
      number(2);
    if (isRange)
      number(3);
    break;
  }
  case Wire::value:
    writeValue(out, attr);
    break;
  case Wire::arrayLiteral:
    out.varint(static_cast<uint64_t>(module.literals[attr.b].elementCount));
    [[fallthrough]];
  case Wire::literal:
    out.blob(text(module.literals[attr.b].bytes));
    break;
  }
}

void Writer::writeValue(Bytes &out, const Attr &attr) {
  const uint64_t bits = valueBits(module.types[attr.a]);
  std::span<const int64_t> words = module.numbersIn(attr.list);
  if (bits > 64) {
    writeNumbers(out.varint(words.size()), attr.list);
    return;
  }
  uint64_t mask = bits == 64 ? UINT64_MAX : (uint64_t(1) << bits) - 1;
  uint64_t value = static_cast<uint64_t>(words[0]) & mask;
  if (bits <= 8)
    out.byte(static_cast<unsigned>(value));
  else
    out.signedVarint(static_cast<int64_t>(value));
}

void Writer::writeAttrs(Bytes &out, Range range, size_t divisor) {
  out.varint(range.size / divisor);
  for (AttrId id : module.attrsIn(range))
    out.varint(id);
}

void Writer::writeNumbers(Bytes &out, Range range) {
  for (int64_t number : module.numbersIn(range))
    out.signedVarint(number);
}

// Operations. The recursion is as deep as the nesting of regions, which read() limits, as do MLIR's
// own passes.

uint64_t Writer::propertyList(const Operation &op) {
  Bytes list;
  const OpRow &row = module.rowOf(op);
  std::span<const AttrId> attrs = module.propertiesOf(op);
  for (size_t i = 0; i < attrs.size(); ++i) {
    if (row.optional[i])
      list.flagged(attrs[i] == absent ? 0 : attrs[i], attrs[i] != absent);
    else
      list.varint(attrs[i]);
  }
  auto [place, isNew] = propertyIds.emplace(std::move(list.data), properties.size());
  if (isNew)
    properties.push_back(&place->first);
  return place->second;
}

void Writer::writeOp(Bytes &out, OpId id) {
  const Operation &op = module.operations[id];
  const OpRow &row = module.rowOf(op);
  const bool hasProperties = version >= 5 && op.properties.size != 0;
  unsigned mask = 0;
  mask |= op.attributes != absent ? 0x01 : 0;
  mask |= op.resultCount != 0 ? 0x02 : 0;
  mask |= op.operands.size != 0 ? 0x04 : 0;
  mask |= op.regions.size != 0 ? 0x10 : 0;
  mask |= hasProperties ? 0x40 : 0;
  out.varint(op.name).byte(mask).varint(op.location);
  if (op.attributes != absent)
    out.varint(op.attributes);
  if (hasProperties)
    out.varint(propertyList(op));
  if (op.resultCount != 0)
    out.varint(op.resultCount);
  for (uint32_t i = 0; i < op.resultCount; ++i) {
    out.varint(module.valueTypes[op.firstResult + i]);
    numbers[op.firstResult + i] = nextNumber++;
  }
  if (op.operands.size != 0)
    out.varint(op.operands.size);
  for (ValueId operand : module.operandsOf(op))
    out.varint(numbers[operand]);
  if (op.regions.size == 0)
    return;

  out.flagged(op.regions.size, row.isolated);
  Bytes nested;
  Bytes &into = row.isolated && version >= 2 ? nested : out;
  for (const Region &region : module.regionsOf(op))
    writeRegion(into, region, row.isolated ? 0 : endNumber);
  if (&into == &nested)
    out.section(4, nested);
}

void Writer::writeRegion(Bytes &out, const Region &region, uint64_t firstNumber) {
  out.varint(region.hasBlock);
  if (!region.hasBlock)
    return;
  uint64_t values = region.argumentCount, ops = 0;
  for (OpId op = region.firstOp; op != region.endOp; op = module.operations[op].end, ++ops)
    values += module.operations[op].resultCount;
  out.varint(values).flagged(ops, region.argumentCount != 0);
  const uint64_t outerNext = std::exchange(nextNumber, firstNumber);
  const uint64_t outerEnd = std::exchange(endNumber, firstNumber + values);
  if (region.argumentCount != 0)
    writeArguments(out, region);
  for (OpId op = region.firstOp; op != region.endOp; op = module.operations[op].end)
    writeOp(out, op);
  nextNumber = outerNext;
  endNumber = outerEnd;
}

void Writer::writeArguments(Bytes &out, const Region &region) {
  out.varint(region.argumentCount);
  for (uint32_t i = 0; i < region.argumentCount; ++i) {
    const ValueId value = region.firstArgument + i;
    const AttrId location = module.attrsIn(region.argumentLocations)[i];
    numbers[value] = nextNumber++;
    if (version < 4)
      out.varint(module.valueTypes[value]);
    else
      out.flagged(module.valueTypes[value], location != absent);
    if (location != absent)
      out.varint(location);
  }
  if (version >= 3)
    out.byte(0); // no use-list orders
}

} // namespace

Result<std::string> write(const Module &module) { return Writer(module).write(); }

} // namespace tilewright::bytecode
