// Compares two modules.
#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/ptx/Module.h"

namespace tilewright::vgpu::ptx {

namespace {

/// Compares two modules side by side. Names are compared as text, because their numbers depend on
/// the order in which the parser read them.
class Comparison {
public:
  Comparison(const Module &left, const Module &right) : left(left), right(right) {}

  bool modules();
  std::string difference;

private:
  bool differ(std::string_view what, size_t index) {
    if (difference.empty())
      difference = concat(what, " ", index, " differs");
    return false;
  }
  bool same(StringId a, StringId b) const { return left.name(a) == right.name(b); }
  bool same(const std::vector<StringId> &a, const std::vector<StringId> &b) const {
    if (a.size() != b.size())
      return false;
    for (size_t i = 0; i < a.size(); ++i)
      if (!same(a[i], b[i]))
        return false;
    return true;
  }
  bool same(const Variable &a, const Variable &b) const;
  bool same(const Performance &a, const Performance &b) const;
  bool same(const SourceLocation &a, const SourceLocation &b) const;
  bool same(const Operand &a, const Operand &b) const;
  bool same(const Instruction &a, const Instruction &b) const;
  bool functions(const Function &a, const Function &b);

  template <typename T, typename Test>
  bool each(std::string_view what, const std::vector<T> &a, const std::vector<T> &b, Test test) {
    if (a.size() != b.size())
      return differ(concat("the number of ", what, "s, ", a.size(), " and "), b.size());
    for (size_t i = 0; i < a.size(); ++i)
      if (!test(a[i], b[i]))
        return differ(what, i);
    return true;
  }

  const Module &left, &right;
};

bool Comparison::same(const Variable &a, const Variable &b) const {
  if (!same(a.name, b.name) || a.symbol != b.symbol || a.function != b.function ||
      a.scope != b.scope || a.space != b.space || a.type != b.type || a.linkage != b.linkage ||
      a.vector != b.vector || a.alignment != b.alignment || a.dimensions != b.dimensions ||
      a.pointer != b.pointer || a.pointerSpace != b.pointerSpace ||
      a.pointerAlignment != b.pointerAlignment || a.managed != b.managed ||
      a.unified != b.unified || a.reg != b.reg || a.initialised != b.initialised ||
      a.bytes != b.bytes || a.relocations.size() != b.relocations.size())
    return false;
  for (size_t i = 0; i < a.relocations.size(); ++i) {
    const Relocation &x = a.relocations[i], &y = b.relocations[i];
    if (x.offset != y.offset || x.symbol != y.symbol || x.addend != y.addend ||
        x.generic != y.generic || x.width != y.width || x.mask != y.mask)
      return false;
  }
  return true;
}

bool Comparison::same(const Performance &a, const Performance &b) const {
  return a.maxntid == b.maxntid && a.reqntid == b.reqntid &&
         a.reqnctapercluster == b.reqnctapercluster && a.minnctapersm == b.minnctapersm &&
         a.maxnctapersm == b.maxnctapersm && a.maxnreg == b.maxnreg &&
         a.maxclusterrank == b.maxclusterrank && a.explicitcluster == b.explicitcluster &&
         a.blocksareclusters == b.blocksareclusters && a.noreturn == b.noreturn &&
         a.abiPreserve == b.abiPreserve && a.abiPreserveControl == b.abiPreserveControl &&
         same(a.pragmas, b.pragmas);
}

bool Comparison::same(const SourceLocation &a, const SourceLocation &b) const {
  return a.file == b.file && a.line == b.line && a.column == b.column &&
         same(a.functionLabel, b.functionLabel) && a.functionOffset == b.functionOffset &&
         same(a.function, b.function) && a.inlined == b.inlined && a.inlinedFile == b.inlinedFile &&
         a.inlinedLine == b.inlinedLine && a.inlinedColumn == b.inlinedColumn;
}

bool Comparison::same(const Operand &a, const Operand &b) const {
  return a.kind == b.kind && a.component == b.component && a.negated == b.negated &&
         a.unified == b.unified && a.index == b.index && a.first == b.first && a.count == b.count &&
         a.value == b.value && (a.kind != OperandKind::immediate || a.number == b.number);
}

bool Comparison::same(const Instruction &a, const Instruction &b) const {
  return a.row == b.row && a.modifierCount == b.modifierCount && a.modifiers == b.modifiers &&
         a.guarded == b.guarded && a.guardNegated == b.guardNegated && a.guard == b.guard &&
         a.firstOperand == b.firstOperand && a.operandCount == b.operandCount &&
         a.location == b.location;
}

bool Comparison::functions(const Function &a, const Function &b) {
  auto list = [this](const TargetList &x, const TargetList &y) {
    return same(x.name, y.name) && x.scope == y.scope && x.targets == y.targets;
  };
  auto variables = [this](const std::vector<Variable> &x, const std::vector<Variable> &y) {
    if (x.size() != y.size())
      return false;
    for (size_t i = 0; i < x.size(); ++i)
      if (!same(x[i], y[i]))
        return false;
    return true;
  };
  if (!same(a.name, b.name) || a.symbol != b.symbol || a.entry != b.entry ||
      a.defined != b.defined || a.linkage != b.linkage || a.returns != b.returns ||
      a.parameters != b.parameters || a.variables != b.variables ||
      !same(a.performance, b.performance))
    return false;
  return each("register group", a.groups, b.groups,
              [this](const RegisterGroup &x, const RegisterGroup &y) {
                return same(x.name, y.name) && x.type == y.type && x.vector == y.vector &&
                       x.parametrised == y.parametrised && x.first == y.first &&
                       x.count == y.count && x.scope == y.scope;
              }) &&
         each("scope", a.scopes, b.scopes,
              [](const Scope &x, const Scope &y) { return x.parent == y.parent; }) &&
         each("label", a.labels, b.labels,
              [this](const Label &x, const Label &y) {
                return same(x.name, y.name) && x.scope == y.scope && x.instruction == y.instruction;
              }) &&
         each("branch target list", a.branchTargets, b.branchTargets, list) &&
         each("call target list", a.callTargets, b.callTargets, list) &&
         each("prototype", a.prototypes, b.prototypes,
              [&](const Prototype &x, const Prototype &y) {
                return same(x.name, y.name) && x.scope == y.scope && x.noreturn == y.noreturn &&
                       variables(x.returns, y.returns) && variables(x.parameters, y.parameters);
              }) &&
         each("instruction", a.instructions, b.instructions,
              [this](const Instruction &x, const Instruction &y) { return same(x, y); }) &&
         each("operand", a.operands, b.operands,
              [this](const Operand &x, const Operand &y) { return same(x, y); }) &&
         each("item", a.items, b.items, [this](const Item &x, const Item &y) {
           return x.kind == y.kind &&
                  (x.kind == ItemKind::pragma ? same(x.index, y.index) : x.index == y.index);
         });
}

bool Comparison::modules() {
  if (left.version != right.version || left.target.architecture != right.target.architecture ||
      left.target.suffix != right.target.suffix ||
      !same(left.target.options, right.target.options) || left.addressSize != right.addressSize) {
    difference = "version, target or address size differs";
    return false;
  }
  return each("file", left.files, right.files,
              [this](const SourceFile &x, const SourceFile &y) {
                return x.number == y.number && same(x.name, y.name) && x.timestamp == y.timestamp &&
                       x.size == y.size;
              }) &&
         each("location", left.locations, right.locations,
              [this](const SourceLocation &x, const SourceLocation &y) { return same(x, y); }) &&
         each("symbol", left.symbols, right.symbols,
              [this](const Symbol &x, const Symbol &y) {
                return same(x.name, y.name) && x.kind == y.kind && x.index == y.index &&
                       x.aliasOf == y.aliasOf;
              }) &&
         each("variable", left.variables, right.variables,
              [this](const Variable &x, const Variable &y) { return same(x, y); }) &&
         each("function", left.functions, right.functions,
              [this](const Function &x, const Function &y) { return functions(x, y); }) &&
         each("section", left.sections, right.sections,
              [this](const Section &x, const Section &y) {
                return same(x.name, y.name) && x.text == y.text;
              }) &&
         each("item", left.items, right.items, [this](const ModuleItem &x, const ModuleItem &y) {
           return x.kind == y.kind &&
                  (x.kind == ModuleItemKind::pragma ? same(x.index, y.index) : x.index == y.index);
         });
}

} // namespace

bool equal(const Module &left, const Module &right, std::string *difference) {
  Comparison comparison(left, right);
  bool result = comparison.modules();
  if (difference)
    *difference = std::move(comparison.difference);
  return result;
}

} // namespace tilewright::vgpu::ptx
