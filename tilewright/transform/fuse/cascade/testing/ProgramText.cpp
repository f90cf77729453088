#include "tilewright/transform/fuse/cascade/testing/ProgramText.h"

#include "tilewright/support/Concat.h"

#include <algorithm>

namespace tilewright::cascade {

std::string ProgramText::full(const std::string &of) const {
  return concat("tensor<", rows, "x", length, "x", of, ">");
}
std::string ProgramText::row(const std::string &of) const {
  return concat("tensor<", rows, "x", of, ">");
}

std::string ProgramText::infinity(bool isNegative) const {
  if (element == "f64")
    return isNegative ? "0xFFF0000000000000" : "0x7FF0000000000000";
  return isNegative ? "0xFF800000" : "0x7F800000";
}

std::string ProgramText::type(const std::string &value) const {
  if (value == "%x" || value == "%y")
    return full(element);
  if (value == "%b")
    return row(element);
  for (const auto &[known, itsType] : types)
    if (known == value)
      return itsType;
  return "?";
}

bool ProgramText::isFull(const std::string &value) const {
  return type(value).starts_with(concat("tensor<", rows, "x", length, "x"));
}

std::string ProgramText::name(const std::string &itsType) {
  types.emplace_back(concat("%v", types.size()), itsType);
  return types.back().first;
}

std::string ProgramText::atElements(const std::string &value) {
  if (isFull(value))
    return value;
  const std::string from = type(value);
  const std::string of = from.substr(from.rfind('x') + 1, from.size() - from.rfind('x') - 2);
  const std::string result = name(full(of));
  body += concat("  ", result, " = stablehlo.broadcast_in_dim ", value, ", dims = [0] : (", from,
                 ") -> ", full(of), "\n");
  return result;
}

std::string ProgramText::op(const std::string &opName, std::vector<std::string> operands) {
  const bool anyFull =
      std::any_of(operands.begin(), operands.end(), [&](auto &value) { return isFull(value); });
  std::string list;
  for (std::string &operand : operands) {
    operand = anyFull ? atElements(operand) : operand;
    list += list.empty() ? operand : concat(", ", operand);
  }
  const std::string result = name(type(operands[0]));
  body += concat("  ", result, " = stablehlo.", opName, " ", list, " : ", type(result), "\n");
  return result;
}

std::string ProgramText::number(const std::string &value) {
  const std::string result = name(row(element));
  body += concat("  ", result, " = stablehlo.constant dense<", value, "> : ", row(element), "\n");
  return result;
}

std::string ProgramText::compare(const std::string &direction, std::string a, std::string b) {
  const bool anyFull = isFull(a) || isFull(b);
  if (anyFull) {
    a = atElements(a);
    b = atElements(b);
  }
  const std::string result = name(anyFull ? full("i1") : row("i1"));
  body += concat("  ", result, " = stablehlo.compare ", direction, ", ", a, ", ", b, " : (",
                 type(a), ", ", type(b), ") -> ", type(result), "\n");
  return result;
}

std::string ProgramText::isFinite(std::string a) {
  const std::string result = name(isFull(a) ? full("i1") : row("i1"));
  body += concat("  ", result, " = stablehlo.is_finite ", a, " : (", type(a), ") -> ", type(result),
                 "\n");
  return result;
}

std::string ProgramText::select(std::string condition, std::string a, std::string b) {
  if (isFull(condition) || isFull(a) || isFull(b)) {
    condition = atElements(condition);
    a = atElements(a);
    b = atElements(b);
  }
  const std::string result = name(type(a));
  body += concat("  ", result, " = stablehlo.select ", condition, ", ", a, ", ", b, " : ",
                 type(condition), ", ", type(a), "\n");
  return result;
}

std::string ProgramText::reduce(const std::string &opName, const std::string &init, std::string a) {
  a = atElements(a);
  const std::string start = name(concat("tensor<", element, ">"));
  body += concat("  ", start, " = stablehlo.constant dense<", init, "> : tensor<", element, ">\n");
  const std::string result = name(row(element));
  body += concat("  ", result, " = stablehlo.reduce(", a, " init: ", start, ") applies stablehlo.",
                 opName, " across dimensions = [1] : (", full(element), ", tensor<", element,
                 ">) -> ", row(element), "\n");
  return result;
}

std::string ProgramText::positions() {
  const std::string result = name(full(element));
  body += concat("  ", result, " = stablehlo.iota dim = 1 : ", full(element), "\n");
  return result;
}

std::string ProgramText::argmax(std::string a) {
  a = atElements(a);
  const std::string at = positions(), scalar = concat("tensor<", element, ">");
  const std::string start = name(scalar), zero = name(scalar);
  body += concat("  ", start, " = stablehlo.constant dense<", infinity(true), "> : ", scalar, "\n");
  body += concat("  ", zero, " = stablehlo.constant dense<0.0> : ", scalar, "\n");
  const std::string result = concat(name(row(element)), "_1");
  types.back().first = result;
  const std::string pair = result.substr(0, result.size() - 2);
  body += concat(
      "  ", pair, "_0, ", result, " = \"stablehlo.reduce\"(", a, ", ", at, ", ", start, ", ", zero,
      ") <{dimensions = array<i64: 1>}> ({\n  ^bb0(%a: ", scalar, ", %i: ", scalar,
      ", %c: ", scalar, ", %j: ", scalar, "):\n    %g = stablehlo.compare GE, %a, %c : (", scalar,
      ", ", scalar, ") -> tensor<i1>\n    %m = stablehlo.select %g, %a, %c : tensor<i1>, ", scalar,
      "\n    %k = stablehlo.select %g, %i, %j : tensor<i1>, ", scalar,
      "\n    stablehlo.return %m, %k : ", scalar, ", ", scalar, "\n  }) : (", full(element), ", ",
      full(element), ", ", scalar, ", ", scalar, ") -> (", row(element), ", ", row(element), ")\n");
  return result;
}

std::string ProgramText::dot(std::string a, bool isTransposed) {
  a = atElements(a);
  const std::string w = concat("tensor<", length, "x", columns, "x", element, ">");
  const std::string itsType = isTransposed
                                  ? concat("tensor<", columns, "x", rows, "x", element, ">")
                                  : concat("tensor<", rows, "x", columns, "x", element, ">");
  const std::string result = name(itsType);
  body += isTransposed ? concat("  ", result, " = stablehlo.dot_general %w, ", a,
                                ", contracting_dims = [0] x [1] : (", w, ", ", full(element),
                                ") -> ", itsType, "\n")
                       : concat("  ", result, " = stablehlo.dot_general ", a,
                                ", %w, contracting_dims = [1] x [0] : (", full(element), ", ", w,
                                ") -> ", itsType, "\n");
  return result;
}

std::string ProgramText::text() const {
  std::string names, itsTypes;
  for (const std::string &result : results) {
    names += names.empty() ? result : concat(", ", result);
    itsTypes += itsTypes.empty() ? type(result) : concat(", ", type(result));
  }
  return concat("func.func @main(%x: ", full(element), ", %y: ", full(element), ", %w: tensor<",
                length, "x", columns, "x", element, ">, %b: ", row(element), ") -> (", itsTypes,
                ") {\n", body, "  return ", names, " : ", itsTypes, "\n}\n");
}

} // namespace tilewright::cascade
