#include "test/fuzz/ModuleCheck.h"

#include "tilewright/import/bytecode/AttrLayout.h"
#include "tilewright/numerics/Shape.h"
#include "tilewright/support/Concat.h"

namespace tilewright::fuzz {

using namespace bytecode;

namespace {

/// Returns a description from the enclosing function if the condition does not hold.
#define REQUIRE(condition, ...)                                                                    \
  do {                                                                                             \
    if (!(condition))                                                                              \
      return concat(#condition " does not hold: ", __VA_ARGS__);                                   \
  } while (false)

template <typename T> bool inside(Range range, const std::vector<T> &pool) {
  return uint64_t(range.begin) + range.size <= pool.size();
}

class ModuleCheck {
public:
  explicit ModuleCheck(const Module &module) : m(module) {}

  std::string run() {
    REQUIRE(m.producer >= oldestVersion && m.producer <= newestVersion, m.producer.toString());
    for (size_t i = 0; i < m.types.size(); ++i)
      if (std::string broken = checkType(m.types[i]); !broken.empty())
        return concat("type ", i, ": ", broken);
    for (size_t i = 0; i < m.attrs.size(); ++i)
      if (std::string broken = checkAttr(m.attrs[i]); !broken.empty())
        return concat("attribute ", i, ": ", broken);
    return checkOperations();
  }

private:
  bool isType(uint32_t id) const { return id < m.types.size(); }
  bool isAttr(uint32_t id) const { return id < m.attrs.size(); }
  bool isAttr(uint32_t id, AttrKind kind) const { return isAttr(id) && m.attrs[id].kind == kind; }

  std::string checkType(const Type &type);
  std::string checkAttr(const Attr &attr);
  std::string checkField(const Attr &attr, const Field &field, Range list, bool required);
  std::string checkWanted(AttrId id, Want want);
  std::string checkOperations();
  std::string checkOp(OpId id);
  std::string checkRegion(RegionId id, OpId &next);

  const Module &m;
  /// By ValueId: 0 unknown, 1 usable, 2 defined but out of scope.
  std::vector<uint8_t> state;
  std::vector<ValueId> defined;
  /// Where the values of the enclosing isolated operation begin in `defined`.
  size_t scopeStart = 0;
};

std::string ModuleCheck::checkType(const Type &type) {
  REQUIRE(inside(type.dims, m.numbers), "dims");
  REQUIRE(inside(type.types, m.typeLists) && inside(type.results, m.typeLists), "lists");
  for (Range range : {type.types, type.results})
    for (TypeId id : m.typesIn(range))
      REQUIRE(isType(id), id);
  REQUIRE(type.encoding == absent || isAttr(type.encoding), type.encoding);
  switch (type.kind) {
  case TypeKind::integer:
    REQUIRE(type.width > 0, type.width);
    break;
  case TypeKind::complex:
  case TypeKind::tensor:
  case TypeKind::unrankedTensor:
  case TypeKind::buffer:
    REQUIRE(isType(type.inner), type.inner);
    for (int64_t size : m.numbersIn(type.dims))
      REQUIRE(size >= 0 || size == dynamicSize, size);
    break;
  case TypeKind::quantized:
  case TypeKind::quantizedPerAxis: {
    REQUIRE(type.quantization < m.quantizations.size(), type.quantization);
    const Quantization &q = m.quantizations[type.quantization];
    REQUIRE(isType(q.storage) && m.types[q.storage].kind == TypeKind::integer, q.storage);
    REQUIRE(isType(q.expressed) && m.types[q.expressed].kind == TypeKind::real, q.expressed);
    REQUIRE(inside(q.scales, m.numbers) && inside(q.zeroPoints, m.numbers), "scales");
    REQUIRE(q.scales.size == q.zeroPoints.size, q.scales.size);
    break;
  }
  default:
    break;
  }
  return {};
}

std::string ModuleCheck::checkAttr(const Attr &attr) {
  const AttrLayout *layout = nullptr; // the last layout of a kind has all fields
  const AttrLayout *first = nullptr;
  for (const AttrLayout &row : attrLayouts())
    if (row.kind == attr.kind) {
      layout = &row;
      first = first ? first : &row;
    }
  REQUIRE(layout, nameOf(attr.kind));
  size_t item = 0;
  for (size_t i = 0; i < layout->fieldCount; ++i) {
    const Field &field = layout->fields[i];
    Range list = attr.list;
    if (field.slot == Slot::item) {
      REQUIRE(inside(attr.list, m.lists) && item < attr.list.size, "too few lists");
      list = m.listsIn(attr.list)[item++];
    }
    if (std::string broken = checkField(attr, field, list, i < first->fieldCount); !broken.empty())
      return concat(nameOf(attr.kind), ": ", broken);
  }
  return {};
}

std::string ModuleCheck::checkField(const Attr &attr, const Field &field, Range list,
                                    bool required) {
  const uint32_t id = field.slot == Slot::b ? attr.b : attr.a;
  if (!required && id == absent)
    return {};
  switch (field.wire) {
  case Wire::string:
    REQUIRE(id < m.strings.size(), id);
    return {};
  case Wire::type:
    REQUIRE(isType(id), id);
    return {};
  case Wire::attr:
    return checkWanted(id, field.want);
  case Wire::flaggedAttr:
  case Wire::countedAttr:
    return id == absent ? std::string() : checkWanted(id, field.want);
  case Wire::choice:
  case Wire::signedNumber:
    REQUIRE(id >= field.first && id < field.limit, id);
    return {};
  case Wire::boolByte:
    REQUIRE(id < 2, id);
    return {};
  case Wire::optionalNumber:
    return {};
  case Wire::attrs:
  case Wire::pairs: {
    REQUIRE(inside(list, m.attrLists), "list");
    const size_t step = field.wire == Wire::pairs ? 2 : 1;
    REQUIRE(list.size % step == 0, list.size);
    std::span<const AttrId> ids = m.attrsIn(list);
    for (size_t i = 0; i < ids.size(); ++i) {
      REQUIRE(isAttr(ids[i]), ids[i]);
      if (i % step == 0)
        if (std::string broken = checkWanted(ids[i], field.want); !broken.empty())
          return broken;
    }
    for (size_t i = 2; step == 2 && i < ids.size(); i += 2)
      REQUIRE(m.textOf(ids[i - 2]) < m.textOf(ids[i]), m.textOf(ids[i]));
    return {};
  }
  case Wire::numbers:
    REQUIRE(list.size == field.limit, list.size);
    [[fallthrough]];
  case Wire::numberList:
  case Wire::value:
    REQUIRE(inside(list, m.numbers), "list");
    REQUIRE(field.wire != Wire::value || list.size > 0, list.size);
    return {};
  case Wire::lineColumn:
  case Wire::lineColumnRange:
    REQUIRE(inside(list, m.numbers) && list.size == 4, list.size);
    return {};
  case Wire::literal:
  case Wire::arrayLiteral: {
    REQUIRE(id < m.literals.size(), id);
    const Literal &literal = m.literals[id];
    const Type &type = m.types[attr.a];
    std::optional<numerics::ElementType> element =
        elementTypeOf(m, field.wire == Wire::literal ? type.inner : attr.a);
    const size_t each = element ? numerics::storageBytes(*element) : 8;
    const uint64_t count = static_cast<uint64_t>(literal.elementCount);
    if (field.wire == Wire::literal) {
      Result<numerics::Shape> shape = numerics::Shape::create(m.numbersIn(type.dims));
      REQUIRE(shape.isOk() && shape->elementCount() == literal.elementCount, count);
    }
    const uint64_t size = literal.form == LiteralForm::elements ? count * each
                          : literal.form == LiteralForm::splat  ? each
                                                                : (count + 7) / 8;
    REQUIRE(literal.bytes.size() == size, literal.bytes.size());
    return {};
  }
  }
  return {};
}

std::string ModuleCheck::checkWanted(AttrId id, Want want) {
  REQUIRE(isAttr(id), id);
  REQUIRE(want == Want::anything || satisfies(m.attrs[id].kind, want), describe(want));
  return {};
}

std::string ModuleCheck::checkOperations() {
  REQUIRE(!m.operations.empty(), "no module");
  REQUIRE(m.operations[0].name < m.opNames.size(), m.operations[0].name);
  REQUIRE(m.rowOf(m.operations[0]).op == Op::builtinModule, "outermost operation");
  REQUIRE(m.operations[0].end == m.operations.size(), m.operations[0].end);
  for (TypeId type : m.valueTypes)
    REQUIRE(isType(type), type);
  state.assign(m.valueTypes.size(), 0);
  if (std::string broken = checkOp(0); !broken.empty())
    return broken;
  for (size_t value = 0; value < state.size(); ++value)
    REQUIRE(state[value] != 0, "value ", value, " is never defined");
  return {};
}

/// The recursion depth is the nesting depth of regions, which the reader bounds.
std::string ModuleCheck::checkOp(OpId id) {
  const Operation &op = m.operations[id];
  REQUIRE(op.name < m.opNames.size(), op.name);
  const OpRow &row = m.rowOf(op);
  REQUIRE(op.end > id && op.end <= m.operations.size(), op.end);
  REQUIRE(isAttr(op.location) && isLocation(m.attrs[op.location].kind), op.location);
  REQUIRE(op.attributes == absent || isAttr(op.attributes, AttrKind::dictionary), op.attributes);
  REQUIRE(inside(op.operands, m.operands) && row.operands.accepts(op.operands.size), id);
  for (ValueId operand : m.operandsOf(op))
    REQUIRE(operand < state.size() && state[operand] == 1, "operand ", operand, " of ", id);
  REQUIRE(inside(op.properties, m.attrLists), id);
  REQUIRE(op.properties.size == row.attributes.size(), op.properties.size);
  for (size_t i = 0; i < row.attributes.size(); ++i) {
    AttrId property = m.propertiesOf(op)[i];
    REQUIRE(property == absent ? bool(row.optional[i]) : isAttr(property), property);
  }
  REQUIRE(row.results.accepts(op.resultCount), op.resultCount);
  REQUIRE(inside(op.regions, m.regions) && row.regions.accepts(op.regions.size), id);

  // Inside the regions of an isolated operation, values from outside are not visible.
  const size_t outerStart = scopeStart;
  std::vector<ValueId> hidden;
  if (row.isolated) {
    hidden.assign(defined.begin() + static_cast<ptrdiff_t>(scopeStart), defined.end());
    for (ValueId value : hidden)
      state[value] = 2;
    scopeStart = defined.size();
  }
  OpId next = id + 1;
  for (RegionId region = op.regions.begin; region != op.regions.end(); ++region) {
    REQUIRE(m.regions[region].parent == id, region);
    if (std::string broken = checkRegion(region, next); !broken.empty())
      return broken;
  }
  REQUIRE(next == op.end, next);
  scopeStart = outerStart;
  for (ValueId value : hidden)
    state[value] = 1;
  for (uint32_t i = 0; i < op.resultCount; ++i) {
    const uint64_t value = uint64_t(op.firstResult) + i;
    REQUIRE(value < state.size() && state[value] == 0, "result ", value);
    state[value] = 1;
    defined.push_back(static_cast<ValueId>(value));
  }
  return {};
}

std::string ModuleCheck::checkRegion(RegionId id, OpId &next) {
  const Region &region = m.regions[id];
  REQUIRE(region.firstOp == next && region.endOp >= region.firstOp, region.firstOp);
  REQUIRE(region.hasBlock || (region.argumentCount == 0 && region.firstOp == region.endOp), id);
  const size_t outer = defined.size();
  REQUIRE(inside(region.argumentLocations, m.attrLists), id);
  REQUIRE(region.argumentLocations.size == region.argumentCount, id);
  for (uint32_t i = 0; i < region.argumentCount; ++i) {
    const uint64_t value = uint64_t(region.firstArgument) + i;
    REQUIRE(value < state.size() && state[value] == 0, "argument ", value);
    state[value] = 1;
    defined.push_back(static_cast<ValueId>(value));
    AttrId location = m.attrsIn(region.argumentLocations)[i];
    REQUIRE(location == absent || (isAttr(location) && isLocation(m.attrs[location].kind)), i);
  }
  while (next < region.endOp) {
    if (std::string broken = checkOp(next); !broken.empty())
      return broken;
    next = m.operations[next].end;
  }
  REQUIRE(next == region.endOp, next);
  for (size_t i = outer; i < defined.size(); ++i)
    state[defined[i]] = 2;
  defined.resize(outer);
  return {};
}

} // namespace

std::string brokenPromise(const Module &module) { return ModuleCheck(module).run(); }

size_t tableBytes(const Module &m) {
  auto bytes = [](const auto &table) { return table.capacity() * sizeof(*table.data()); };
  return bytes(m.strings) + bytes(m.types) + bytes(m.quantizations) + bytes(m.attrs) +
         bytes(m.literals) + bytes(m.opNames) + bytes(m.operations) + bytes(m.regions) +
         bytes(m.valueTypes) + bytes(m.operands) + bytes(m.attrLists) + bytes(m.typeLists) +
         bytes(m.numbers) + bytes(m.lists);
}

} // namespace tilewright::fuzz
