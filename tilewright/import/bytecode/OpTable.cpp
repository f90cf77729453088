#include "tilewright/import/bytecode/OpTable.h"

#include "tilewright/support/Concat.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <unordered_map>

namespace tilewright::bytecode {
namespace {

/// Splits "*inputs token" into names; a `mark` before a name sets its flag.
void split(std::string_view text, char mark, std::vector<std::string_view> &names,
           std::vector<bool> &flags) {
  while (!text.empty()) {
    std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    bool marked = word[0] == mark;
    names.push_back(word.substr(marked));
    flags.push_back(marked);
  }
}

Signature signature(std::string_view text) {
  Signature result;
  split(text, '*', result.names, result.variadic);
  result.variadicCount =
      static_cast<unsigned>(std::count(result.variadic.begin(), result.variadic.end(), true));
  return result;
}

/// A `?` before an attribute marks it as optional.
OpRow row(Op op, Dialect dialect, std::string_view name, Version since, Version until,
          std::string_view operands, std::string_view attributes, std::string_view regions,
          std::string_view results) {
  OpRow row{
      op, dialect, name, since, until, signature(operands), signature(regions), signature(results),
      {}, {},      false};
  split(attributes, '?', row.attributes, row.optional);
  row.isolated = op == Op::builtinModule || op == Op::func_v1;
  assert(std::is_sorted(row.attributes.begin(), row.attributes.end()) &&
         "properties are encoded in alphabetical order");
  return row;
}

std::vector<OpRow> makeRows() {
  using V = Version;
  const Version first = oldestVersion, now = newestVersion;
  const Version mixed{1, 11}; // the first version that allows other dialects besides VHLO
  std::vector<OpRow> rows = {
#define TILEWRIGHT_VHLO_OP(id, name, since, until, operands, attributes, regions, results)         \
  row(Op::id, Dialect::vhlo, name, since, until, operands, attributes, regions, results),
#include "tilewright/import/bytecode/VhloOps.def"
      row(Op::builtinModule, Dialect::builtin, "module", first, now, "",
          "?sym_name ?sym_visibility", "body", ""),
      row(Op::builtinUnrealizedConversionCast, Dialect::builtin, "unrealized_conversion_cast",
          mixed, now, "*inputs", "", "", "*outputs"),
      row(Op::sdyMesh, Dialect::sdy, "mesh", mixed, now, "", "mesh sym_name", "", ""),
      row(Op::sdyManualComputation, Dialect::sdy, "manual_computation", mixed, now, "*tensors",
          "in_shardings manual_axes out_shardings", "body", "*results"),
      row(Op::sdyReturn, Dialect::sdy, "return", mixed, now, "*results", "", "", ""),
      row(Op::sdyShardingConstraint, Dialect::sdy, "sharding_constraint", mixed, now, "input",
          "sharding", "", "result"),
      row(Op::sdyShardingGroup, Dialect::sdy, "sharding_group", mixed, now, "input", "group_id", "",
          ""),
  };
  assert(rows.size() == opCount);
  return rows;
}

const std::vector<OpRow> &rows() {
  static const std::vector<OpRow> all = makeRows();
  return all;
}

} // namespace

std::string_view nameOf(Dialect dialect) {
  constexpr std::string_view names[] = {"builtin", "vhlo", "sdy"};
  return names[static_cast<size_t>(dialect)];
}

bool Signature::accepts(uint64_t count) const {
  uint64_t fixed = names.size() - variadicCount;
  if (variadicCount == 0)
    return count == fixed;
  return count >= fixed && (count - fixed) % variadicCount == 0;
}

std::string Signature::expected() const {
  uint64_t fixed = names.size() - variadicCount;
  if (variadicCount == 0)
    return concat(fixed);
  if (variadicCount == 1)
    return concat("at least ", fixed);
  return concat(fixed, " and a multiple of ", variadicCount);
}

std::string OpRow::fullName() const { return concat(nameOf(dialect), ".", name); }

int OpRow::attributeIndex(std::string_view name) const {
  auto place = std::lower_bound(attributes.begin(), attributes.end(), name);
  if (place == attributes.end() || *place != name)
    return -1;
  return static_cast<int>(place - attributes.begin());
}

const OpRow &rowOf(Op op) { return rows()[static_cast<size_t>(op)]; }
std::span<const OpRow> allOps() { return rows(); }

const OpRow *findOp(Dialect dialect, std::string_view name) {
  using Index = std::unordered_map<std::string_view, const OpRow *>;
  static const auto *byDialect = [] {
    auto *indices = new std::array<Index, 3>;
    for (const OpRow &row : rows())
      (*indices)[static_cast<size_t>(row.dialect)].emplace(row.name, &row);
    return indices;
  }();
  const Index &index = (*byDialect)[static_cast<size_t>(dialect)];
  auto place = index.find(name);
  return place == index.end() ? nullptr : place->second;
}

} // namespace tilewright::bytecode
