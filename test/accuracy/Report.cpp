#include "Report.h"

#include "tilewright/support/Concat.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <limits>
#include <sstream>
#include <vector>

namespace tilewright::accuracy {

using numerics::spelling;

static bool isWide(ElementType type) {
  return type == ElementType::f64 || numerics::isComplex(type);
}

static std::optional<ScalarOp> opNamed(std::string_view name) {
  for (auto list : {unaryOps(), binaryOps(), complexOps()})
    for (ScalarOp op : list)
      if (nameOf(op) == name)
        return op;
  return std::nullopt;
}

std::string rowOf(ElementType type, ScalarOp op, const Measurement &found) {
  std::ostringstream out;
  out << spelling(type) << '\t' << nameOf(op) << '\t' << found.tested << '\t' << found.byMpfr
      << '\t' << found.misrounded << '\t' << std::setprecision(17) << found.largestError << '\t'
      << std::hexfloat << found.worstA << '\t' << found.worstB;
  return out.str();
}

Rows readRows(std::istream &in) {
  Rows rows;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string type, op, error, a, b;
    Measurement found;
    words >> type >> op >> found.tested >> found.byMpfr >> found.misrounded >> error >> a >> b;
    // Streams cannot parse "inf" or hexadecimal floats.
    found.largestError = std::strtod(error.c_str(), nullptr);
    found.worstA = std::strtod(a.c_str(), nullptr);
    found.worstB = std::strtod(b.c_str(), nullptr);
    if (auto knownType = numerics::elementTypeNamed(type))
      if (auto knownOp = opNamed(op))
        rows[{*knownType, *knownOp}] = found;
  }
  return rows;
}

/// An error with four decimals, rounded up so that the page never understates it.
static std::string errorText(double error) {
  if (std::isinf(error))
    return "wrong";
  std::ostringstream out;
  out << std::fixed << std::setprecision(4) << std::floor(error * 1e4 + 1) / 1e4;
  return out.str();
}

static std::string cellOf(ElementType type, ScalarOp op, const Measurement &found) {
  if (numerics::isComplex(type))
    return errorText(found.largestError);
  if (found.misrounded == 0)
    return isExact(op) ? "exact" : "0.5";
  return isWide(type) ? errorText(found.largestError)
                      : concat(errorText(found.largestError), " (", found.misrounded, ")");
}

/// 4294967296 as "4,294,967,296".
static std::string grouped(uint64_t number) {
  std::string text = concat(number);
  for (size_t at = text.size(); at > 3; at -= 3)
    text.insert(at - 3, ",");
  return text;
}

/// If `counted` is given, a last column shows how many inputs were tested.
static std::string table(const Rows &rows, std::span<const ScalarOp> ops,
                         std::span<const ElementType> types,
                         std::optional<ElementType> counted = std::nullopt) {
  std::string text = "| |";
  for (ElementType type : types)
    text += concat(" ", spelling(type), " |");
  if (counted)
    text += concat(" ", spelling(*counted), " inputs |");
  text += "\n|---|";
  for (size_t i = 0; i < types.size() + (counted ? 1 : 0); ++i)
    text += "---|";
  text += "\n";
  for (ScalarOp op : ops) {
    text += concat("| ", nameOf(op), " |");
    for (ElementType type : types) {
      const auto row = rows.find({type, op});
      text += row == rows.end() ? " |" : concat(" ", cellOf(type, op, row->second), " |");
    }
    if (counted) {
      const auto row = rows.find({*counted, op});
      text += row == rows.end() ? " |" : concat(" ", grouped(row->second.tested), " |");
    }
    text += "\n";
  }
  return text;
}

/// "bf16 65,536 · f32 4,294,967,296": the minimum over the operations.
static std::string coverage(const Rows &rows, std::span<const ScalarOp> ops,
                            std::span<const ElementType> types) {
  std::string text;
  for (ElementType type : types) {
    uint64_t least = std::numeric_limits<uint64_t>::max();
    for (ScalarOp op : ops)
      if (const auto row = rows.find({type, op}); row != rows.end())
        least = std::min(least, row->second.tested);
    if (least != std::numeric_limits<uint64_t>::max())
      text += concat(text.empty() ? "" : " · ", spelling(type), " ", grouped(least));
  }
  return text;
}

std::string render(const Rows &rows) {
  std::vector<ElementType> narrow;
  for (size_t i = 0; i < numerics::elementTypeCount; ++i)
    if (const auto type = static_cast<ElementType>(i); numerics::isReal(type) && !isWide(type))
      narrow.push_back(type);
  const ElementType wide[] = {ElementType::f64, ElementType::c64, ElementType::c128};
  // The wide types have one alphabetical list of all operations.
  std::vector<ScalarOp> all(unaryOps().begin(), unaryOps().end());
  all.insert(all.end(), binaryOps().begin(), binaryOps().end());
  std::sort(all.begin(), all.end(), [](ScalarOp a, ScalarOp b) { return nameOf(a) < nameOf(b); });

  return concat(
      R"(# Accuracy of the evaluator

How far the results of the evaluator's scalar operations (`tilewright/numerics/scalar`) are from the exact ones, in
ulps: units in the last place of the result's type. Made by `accuracy render`; the test `accuracy` measures a sample
again and fails where it finds more than this page says.

- `exact`: the operation never rounds, and every result is right.
- `0.5`: every result is the correctly rounded one, so no error exceeds half an ulp.
- `0.5001 (3)`: three results are not the correctly rounded ones; the worst is 0.5001 ulps off. Rounded up.

Special values are part of it: a NaN, an infinity or a zero of the wrong sign would show as `wrong`. They follow IEEE
754, as the StableHLO specification asks. In formats without infinity or NaN, results that need one are what `convert`
makes of them.

Denormal numbers are kept, by the evaluator and by compiled code alike: `jax.jit(lambda x: x * 1e-40)(1.5)` is 1.5e-40.
jaxlib's CPU backend flushes them to zero and gives 0 there; so results below 1.2e-38 in f32 may differ from its.
There is one exception: matrix products and convolutions of bf16 (and of 8-bit types) on a CPU with bf16 instructions,
which flush denormal factors, products and sums and have no mode that keeps them. Small products do not use them.

The reference is MPFR. One operand up to 16 bits, two up to 8, and f64 are decided by MPFR alone. Elsewhere a
result is accepted at once if the C library's long double functions, which share no code with those under test,
leave no doubt about it; MPFR decides the rest and one in 8,192 of all.

## One operand

Every input of every type up to tf32 was tested. The last column says how many of f32, which has 4,294,967,296.

)",
      table(rows, unaryOps(), narrow, ElementType::f32), R"(
## Two operands

All pairs of types up to 8 bits; above, random pairs and all pairs of special values: )",
      coverage(rows, binaryOps(), std::span(narrow).last(4)), ".\n\n",
      table(rows, binaryOps(), narrow), R"(
## f64 and complex

The largest error among random inputs; each result was compared with MPFR. For complex numbers it is the distance from
the exact number in ulps of its magnitude, for parts between 2^-10 and 2^10 in size. Tested: )",
      coverage(rows, all, wide), ".\n\n", table(rows, all, wide), R"(
## Making it again

    build/dev/test/accuracy/accuracy rows --jobs=2 --samples=100000000 --wide-samples=1000000 > test/accuracy/rows.tsv
    build/dev/test/accuracy/accuracy render test/accuracy/rows.tsv > docs/reference/accuracy.md

takes some hours; `--type=f32 --op=sine` measures a part, and rows of several runs can be joined.
)");
}

std::map<std::pair<ElementType, ScalarOp>, Bound> readBounds(std::istream &page) {
  std::map<std::pair<ElementType, ScalarOp>, Bound> bounds;
  std::vector<std::optional<ElementType>> columns;
  for (std::string line; std::getline(page, line);) {
    std::vector<std::string> cells;
    std::istringstream in(line);
    for (std::string cell; std::getline(in, cell, '|');) {
      const size_t first = cell.find_first_not_of(' '), last = cell.find_last_not_of(' ');
      cells.push_back(first == std::string::npos ? "" : cell.substr(first, last - first + 1));
    }
    if (line.rfind("| |", 0) == 0) {
      columns.clear();
      for (const std::string &cell : cells)
        columns.push_back(numerics::elementTypeNamed(cell));
      continue;
    }
    const std::optional<ScalarOp> op = cells.size() > 1 ? opNamed(cells[1]) : std::nullopt;
    for (size_t i = 2; op && i < std::min(cells.size(), columns.size()); ++i) {
      if (!columns[i] || cells[i].empty())
        continue;
      Bound bound{0.5, 0};
      if (cells[i] != "exact" && cells[i] != "0.5") {
        bound.error = std::strtod(cells[i].c_str(), nullptr);
        const size_t open = cells[i].find('(');
        bound.misrounded = open == std::string::npos
                               ? std::nullopt
                               : std::optional(std::strtoull(&cells[i][open + 1], nullptr, 10));
      }
      bounds[{*columns[i], *op}] = bound;
    }
  }
  return bounds;
}

std::string violation(ElementType type, ScalarOp op, const Measurement &found, const Bound &bound) {
  if (found.largestError <= bound.error && found.misrounded <= bound.misrounded.value_or(~0ull))
    return "";
  std::ostringstream inputs;
  inputs << std::hexfloat << found.worstA << ", " << found.worstB;
  return concat(nameOf(op), " on ", spelling(type), ": the worst result is ", found.largestError,
                " ulps off, at (", inputs.str(), "), and ", found.misrounded,
                " are not the correctly rounded ones; docs/reference/accuracy.md allows ",
                bound.error, " ulps", bound.misrounded ? concat(" and ", *bound.misrounded) : "");
}

} // namespace tilewright::accuracy
