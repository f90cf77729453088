// Handwritten tables of an artifact: what a hostile file can decode to.
#ifndef TILEWRIGHT_IMPORT_TESTING_TABLES_H
#define TILEWRIGHT_IMPORT_TESTING_TABLES_H

#include "tilewright/import/bytecode/Module.h"

#include <cstring>
#include <deque>
#include <initializer_list>
#include <string>

namespace tilewright {

/// Builds a bytecode::Module from the outside in. It satisfies the invariants of Module (ids in
/// range, preorder) but none of those that the importer checks.
///
///   TestTables tables;
///   tables.beginFunction("main", {f32}, {f32});
///   auto sum = tables.op(Op::add_v1, {x, x}, {f32});
///   tables.op(Op::return_v1, {sum}, {});
///   tables.endRegion();
///   Result<…> module = build(tables.finish());
class TestTables {
public:
  using Op = bytecode::Op;
  using AttrKind = bytecode::AttrKind;
  using TypeKind = bytecode::TypeKind;
  using Ids = std::vector<uint32_t>;

  TestTables() { begin(Op::builtinModule, {}, {}, {bytecode::absent, bytecode::absent}); }

  // Types.
  static bytecode::Type ofKind(TypeKind kind) {
    bytecode::Type type;
    type.kind = kind;
    return type;
  }
  uint32_t type(bytecode::Type type) {
    module.types.push_back(type);
    return last(module.types);
  }
  uint32_t integer(uint32_t width,
                   bytecode::Signedness signedness = bytecode::Signedness::signless) {
    bytecode::Type built = ofKind(TypeKind::integer);
    built.width = width;
    built.signedness = signedness;
    return type(built);
  }
  uint32_t real(numerics::ElementType element) {
    bytecode::Type built = ofKind(TypeKind::real);
    built.element = element;
    return type(built);
  }
  uint32_t tensor(std::vector<int64_t> dims, uint32_t element,
                  uint32_t encoding = bytecode::absent) {
    bytecode::Type built = ofKind(TypeKind::tensor);
    built.dims = pool(module.numbers, dims);
    built.inner = element;
    built.encoding = encoding;
    return type(built);
  }
  uint32_t function(Ids inputs, Ids results) {
    bytecode::Type built = ofKind(TypeKind::function);
    built.types = pool(module.typeLists, inputs);
    built.results = pool(module.typeLists, results);
    return type(built);
  }

  // Attributes.
  uint32_t attr(AttrKind kind, uint32_t a, uint32_t b = bytecode::absent,
                bytecode::Range list = {}) {
    module.attrs.push_back({kind, a, b, list});
    return last(module.attrs);
  }
  uint32_t enumeration(AttrKind kind, uint32_t value) { return attr(kind, value); }
  uint32_t boolean(bool value) { return attr(AttrKind::vhloBoolean, value); }
  uint32_t string(std::string text, AttrKind kind = AttrKind::vhloString) {
    texts.push_back(std::move(text));
    module.strings.push_back(texts.back());
    return attr(kind, last(module.strings));
  }
  uint32_t number(int64_t value, uint32_t width = 64) {
    uint32_t of = integer(width);
    return attr(AttrKind::vhloInteger, of, bytecode::absent, pool(module.numbers, {value}));
  }
  uint32_t typeAttr(uint32_t of) { return attr(AttrKind::vhloType, of); }
  uint32_t array(Ids elements, AttrKind kind = AttrKind::vhloArray) {
    return attr(kind, bytecode::absent, bytecode::absent, pool(module.attrLists, elements));
  }
  /// A tensor of type `of`; `bytes` are encoded as in the file.
  uint32_t constant(uint32_t of, std::string bytes, int64_t count,
                    bytecode::LiteralForm form = bytecode::LiteralForm::elements) {
    texts.push_back(std::move(bytes));
    auto raw = std::as_bytes(std::span(texts.back().data(), texts.back().size()));
    module.literals.push_back({raw, count, form});
    return attr(AttrKind::vhloTensor, of, last(module.literals));
  }
  uint32_t numbers(std::vector<int64_t> values) {
    std::string bytes(values.size() * sizeof(int64_t), '\0');
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return constant(tensor({int64_t(values.size())}, integer(64)), bytes, values.size());
  }
  /// "train.py":line:column under a name, as JAX writes it.
  uint32_t place(std::string file, int64_t line, int64_t column, std::string name) {
    uint32_t path = string(std::move(file), AttrKind::string);
    uint32_t where = attr(AttrKind::fileLocation, path, bytecode::absent,
                          pool(module.numbers, {line, column, line, column}));
    return attr(AttrKind::nameLocation, string(std::move(name), AttrKind::string), where);
  }

  // Operations.
  /// Appends an operation without regions and returns its first result.
  uint32_t op(Op op, Ids operands, Ids results, Ids properties = {},
              uint32_t location = bytecode::absent) {
    uint32_t id = append(op, operands, results, properties, location);
    module.operations[id].end = id + 1;
    return module.operations[id].firstResult;
  }
  /// Appends an operation and opens its only region, with these arguments.
  /// Returns the first argument.
  uint32_t begin(Op op, Ids operands, Ids results, Ids properties = {}, Ids arguments = {}) {
    uint32_t id = append(op, operands, results, properties, bytecode::absent);
    bytecode::Region region;
    region.hasBlock = true;
    region.parent = id;
    region.firstOp = id + 1;
    region.firstArgument = static_cast<uint32_t>(module.valueTypes.size());
    region.argumentCount = static_cast<uint32_t>(arguments.size());
    region.argumentLocations = pool(module.attrLists, Ids(arguments.size(), bytecode::absent));
    module.valueTypes.insert(module.valueTypes.end(), arguments.begin(), arguments.end());
    module.operations[id].regions = {static_cast<uint32_t>(module.regions.size()), 1};
    module.regions.push_back(region);
    open.push_back(id);
    return region.firstArgument;
  }
  void end() {
    uint32_t id = open.back();
    open.pop_back();
    auto size = static_cast<uint32_t>(module.operations.size());
    module.operations[id].end = size;
    module.regions[module.operations[id].regions.begin].endOp = size;
  }
  uint32_t beginFunction(std::string name, Ids inputs, Ids results, std::string visibility = "") {
    Ids properties = {array({}), typeAttr(function(inputs, results)), array({}),
                      string(std::move(name)), string(std::move(visibility))};
    return begin(Op::func_v1, {}, {}, properties, inputs);
  }

  const bytecode::Module &finish() {
    while (!open.empty())
      end();
    return module;
  }

  bytecode::Module module;

private:
  template <typename T> static uint32_t last(const std::vector<T> &table) {
    return static_cast<uint32_t>(table.size() - 1);
  }
  template <typename T>
  static bytecode::Range pool(std::vector<T> &into, const std::vector<T> &values) {
    auto begin = static_cast<uint32_t>(into.size());
    into.insert(into.end(), values.begin(), values.end());
    return {begin, static_cast<uint32_t>(values.size())};
  }
  uint32_t append(Op op, Ids operands, Ids results, Ids properties, uint32_t location) {
    module.opNames.push_back({op});
    bytecode::Operation built;
    built.name = last(module.opNames);
    built.location = location;
    built.operands = pool(module.operands, operands);
    built.firstResult = static_cast<uint32_t>(module.valueTypes.size());
    built.resultCount = static_cast<uint32_t>(results.size());
    built.properties = pool(module.attrLists, properties);
    module.valueTypes.insert(module.valueTypes.end(), results.begin(), results.end());
    module.operations.push_back(built);
    return last(module.operations);
  }

  std::vector<uint32_t> open;
  // Strings and literals are views; a deque keeps the addresses of its elements.
  std::deque<std::string> texts;
};

} // namespace tilewright

#endif // TILEWRIGHT_IMPORT_TESTING_TABLES_H
