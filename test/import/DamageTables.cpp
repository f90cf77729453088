#include "test/import/DamageTables.h"

#include <cstring>
#include <vector>

namespace tilewright {

using namespace bytecode;

namespace {

class Vandal {
public:
  Vandal(Module &tables, std::mt19937_64 &random) : tables(tables), random(random) {}

  void act() {
    switch (pick(9)) {
    case 0:
      return retypeValue();
    case 1:
    case 2:
      return swapOperand();
    case 3:
      return replaceProperty();
    case 4:
      return renameOperation();
    case 5:
      return changeNumber();
    case 6:
      return changeDimension();
    case 7:
      return changeElementType();
    case 8:
      return emptyRegion();
    }
  }

private:
  size_t pick(size_t below) { return below ? random() % below : 0; }
  int64_t oddNumber() {
    constexpr int64_t numbers[] = {0, 1, 2, 3, 7, 64, -1, -2, 1 << 20, INT64_MAX, INT64_MIN};
    return numbers[pick(std::size(numbers))];
  }
  Operation &someOperation() { return tables.operations[pick(tables.operations.size())]; }

  void retypeValue() {
    if (!tables.valueTypes.empty() && !tables.types.empty())
      tables.valueTypes[pick(tables.valueTypes.size())] = pick(tables.types.size());
  }

  /// Replaces an operand by another operand of the same operation, which is therefore visible.
  void swapOperand() {
    Operation &op = someOperation();
    if (op.operands.size > 1)
      tables.operands[op.operands.begin + pick(op.operands.size)] =
          tables.operands[op.operands.begin + pick(op.operands.size)];
  }

  /// Replaces a property by any attribute of the module: Module promises nothing about these.
  void replaceProperty() {
    Operation &op = someOperation();
    if (op.properties.size == 0)
      return;
    AttrId &slot = tables.attrLists[op.properties.begin + pick(op.properties.size)];
    slot = pick(tables.attrs.size());
  }

  /// Renames an operation to one with the same numbers of operands, results and regions.
  void renameOperation() {
    Operation &op = someOperation();
    const OpRow &row = allOps()[pick(allOps().size())];
    if (row.operands.accepts(op.operands.size) && row.results.accepts(op.resultCount) &&
        row.regions.accepts(op.regions.size) && row.attributes.size() == op.properties.size &&
        row.op != Op::builtinModule && row.op != Op::func_v1 &&
        tables.rowOf(op).op != Op::func_v1 && tables.rowOf(op).op != Op::builtinModule) {
      op.name = static_cast<uint32_t>(tables.opNames.size());
      tables.opNames.push_back({row.op});
    }
  }

  void changeNumber() {
    Attr &attr = tables.attrs[pick(tables.attrs.size())];
    if (attr.kind == AttrKind::vhloInteger && attr.list.size == 1)
      tables.numbers[attr.list.begin] = oddNumber();
    else if (attr.kind == AttrKind::vhloTensor)
      changeList(attr);
    else if (attr.kind == AttrKind::vhloBoolean)
      attr.a ^= 1;
  }

  /// Changes the numbers of a list such as a permutation, in our own copy of the bytes.
  void changeList(Attr &attr) {
    Literal &literal = tables.literals[attr.b];
    if (literal.form != LiteralForm::elements || literal.bytes.size() % 8 != 0 ||
        literal.bytes.empty() || literal.bytes.size() > 256)
      return;
    static std::vector<std::vector<std::byte>> owned;
    owned.emplace_back(literal.bytes.begin(), literal.bytes.end());
    int64_t number = oddNumber();
    std::memcpy(owned.back().data() + 8 * pick(literal.bytes.size() / 8), &number, 8);
    tables.literals.push_back({owned.back(), literal.elementCount, literal.form});
    attr.b = static_cast<uint32_t>(tables.literals.size() - 1);
  }

  void changeDimension() {
    Type &type = tables.types[pick(tables.types.size())];
    if (type.kind != TypeKind::tensor || type.dims.size == 0)
      return;
    constexpr int64_t sizes[] = {0, 1, 2, 3, 5, 1 << 10, dynamicSize};
    tables.numbers[type.dims.begin + pick(type.dims.size)] = sizes[pick(std::size(sizes))];
  }

  void changeElementType() {
    Type &type = tables.types[pick(tables.types.size())];
    TypeId other = pick(tables.types.size());
    bool isLeaf = tables.types[other].kind == TypeKind::integer ||
                  tables.types[other].kind == TypeKind::real ||
                  tables.types[other].kind == TypeKind::index ||
                  tables.types[other].kind == TypeKind::token;
    if (type.kind == TypeKind::tensor && isLeaf)
      type.inner = other;
  }

  void emptyRegion() {
    if (pick(8) == 0)
      tables.regions[pick(tables.regions.size())].hasBlock = false;
  }

  Module &tables;
  std::mt19937_64 &random;
};

} // namespace

void damageTables(Module &tables, std::mt19937_64 &random) {
  Vandal vandal(tables, random);
  for (size_t changes = 1 + random() % 6; changes > 0; --changes)
    vandal.act();
}

} // namespace tilewright
