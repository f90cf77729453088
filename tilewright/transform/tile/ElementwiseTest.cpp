// Tests every elementwise op for every element type at edge values.
#include "tilewright/support/Concat.h"
#include "tilewright/transform/tile/testing/Programs.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace tilewright::tile {

/// A module whose @main is a fusion of one op. `predicate` is the type of operand 0 if it differs.
static std::string oneOp(const std::string &op, const std::string &attributes,
                         const std::string &from, const std::string &to, int arity,
                         const std::string &predicate = "") {
  const std::string result = concat("tensor<961x", to, ">");
  std::string outer, inner, names, arguments, types;
  for (int i = 0; i < arity; ++i) {
    const char *comma = i ? ", " : "";
    const std::string type =
        concat("tensor<961x", i == 0 && !predicate.empty() ? predicate : from, ">");
    outer += concat(comma, "%x", i, ": ", type);
    inner += concat(comma, "%a", i, ": ", type);
    names += concat(comma, "%x", i);
    arguments += concat(comma, "%a", i);
    types += concat(comma, type);
  }
  return concat("func.func @main(", outer, ") -> ", result, " {\n  %r = exec.fusion \"one\" (",
                names, ") : (", types, ") -> ", result, " {\n  ^bb0(", inner,
                "):\n    %v = \"stablehlo.", op, "\"(", arguments, ") ", attributes, " : (", types,
                ") -> ", result, "\n    exec.yield %v : ", result, "\n  }\n  return %r : ", result,
                "\n}\n");
}

static const std::vector<std::string> &allTypes() {
  static const std::vector<std::string> types = {
      "i1",  "i2",       "i4",     "i8",         "i16",      "i32",          "i64",         "ui2",
      "ui4", "ui8",      "ui16",   "ui32",       "ui64",     "f16",          "bf16",        "f32",
      "f64", "f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "f4E2M1FN", "complex<f32>", "complex<f64>"};
  return types;
}

/// Compares one op on each number of elements, and counts it. Skips programs that are invalid or
/// that the reference interpreter rejects.
static void checkOp(const std::string &text, size_t &checked) {
  for (int size : elementwiseSizes()) {
    std::string sized = text;
    for (size_t at = 0; (at = sized.find("<961x", at)) != std::string::npos; ++at)
      sized.replace(at, 5, concat("<", size, "x"));
    const std::string difference = compareWithTiled(sized, 0, /*edges=*/true);
    if (difference == "does not parse" || difference.starts_with("before: "))
      continue;
    ++checked;
    EXPECT_EQ(difference, "") << sized;
  }
}

TEST(TileFusions, EveryElementwiseOpKeepsItsMeaningOnEveryType) {
  const std::vector<std::pair<std::string, int>> ops = {{"abs", 1},
                                                        {"cbrt", 1},
                                                        {"ceil", 1},
                                                        {"cosine", 1},
                                                        {"count_leading_zeros", 1},
                                                        {"exponential", 1},
                                                        {"exponential_minus_one", 1},
                                                        {"floor", 1},
                                                        {"imag", 1},
                                                        {"log", 1},
                                                        {"log_plus_one", 1},
                                                        {"logistic", 1},
                                                        {"negate", 1},
                                                        {"not", 1},
                                                        {"popcnt", 1},
                                                        {"real", 1},
                                                        {"round_nearest_afz", 1},
                                                        {"round_nearest_even", 1},
                                                        {"rsqrt", 1},
                                                        {"sign", 1},
                                                        {"sine", 1},
                                                        {"sqrt", 1},
                                                        {"tan", 1},
                                                        {"tanh", 1},
                                                        {"add", 2},
                                                        {"and", 2},
                                                        {"atan2", 2},
                                                        {"divide", 2},
                                                        {"maximum", 2},
                                                        {"minimum", 2},
                                                        {"multiply", 2},
                                                        {"or", 2},
                                                        {"power", 2},
                                                        {"remainder", 2},
                                                        {"shift_left", 2},
                                                        {"shift_right_arithmetic", 2},
                                                        {"shift_right_logical", 2},
                                                        {"subtract", 2},
                                                        {"xor", 2},
                                                        {"clamp", 3}};
  size_t checked = 0;
  for (const auto &[op, arity] : ops)
    for (const std::string &type : allTypes()) {
      std::string to = type;
      if ((op == "abs" || op == "real" || op == "imag") && type[0] == 'c')
        to = type.substr(8, 3);
      checkOp(oneOp(op, "", type, to, arity), checked);
    }
  for (const std::string &type : allTypes()) {
    checkOp(oneOp("is_finite", "", type, "i1", 1), checked);
    checkOp(oneOp("select", "", type, type, 3, "i1"), checked);
    if (type == "f32" || type == "f64")
      checkOp(oneOp("complex", "", type, concat("complex<", type, ">"), 2), checked);
    for (const char *direction : {"EQ", "NE", "GE", "GT", "LE", "LT"})
      for (const char *kind : {"", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"}) {
        const bool integer = type[0] == 'i' || type[0] == 'u';
        if (integer && (kind == std::string("FLOAT") || kind == std::string("TOTALORDER")))
          continue;
        std::string attributes =
            concat("<{comparison_direction = #stablehlo<comparison_direction ", direction, ">");
        if (*kind)
          attributes += concat(", compare_type = #stablehlo<comparison_type ", kind, ">");
        checkOp(oneOp("compare", attributes + "}>", type, "i1", 2), checked);
      }
  }
  EXPECT_GT(checked, elementwiseSizes().size() * 400);
}

TEST(TileFusions, BitsAndPrecisionKeepTheirMeaning) {
  size_t checked = 0;
  for (const auto &[from, to] : std::vector<std::pair<std::string, std::string>>{{"f32", "i32"},
                                                                                 {"i32", "f32"},
                                                                                 {"f64", "ui64"},
                                                                                 {"bf16", "ui16"},
                                                                                 {"i16", "f16"},
                                                                                 {"f8E5M2", "i8"},
                                                                                 {"ui8", "i8"},
                                                                                 {"i64", "f64"}})
    checkOp(oneOp("bitcast_convert", "", from, to, 1), checked);
  for (const std::string type :
       {"f16", "bf16", "f32", "f64", "f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "f4E2M1FN"})
    for (const auto &[exponent, mantissa] :
         std::vector<std::pair<int, int>>{{8, 7}, {5, 10}, {4, 3}, {11, 52}, {2, 1}, {8, 23}})
      checkOp(oneOp("reduce_precision",
                    concat("<{exponent_bits = ", exponent, " : i32, mantissa_bits = ", mantissa,
                           " : i32}>"),
                    type, type, 1),
              checked);
  EXPECT_EQ(checked, elementwiseSizes().size() * (8 + 48));
}

TEST(TileFusions, EveryConversionKeepsItsMeaning) {
  size_t checked = 0;
  for (const std::string &from : allTypes())
    for (const std::string &to : allTypes())
      checkOp(oneOp("convert", "", from, to, 1), checked);
  EXPECT_EQ(checked, elementwiseSizes().size() * 23 * 23);
}

} // namespace tilewright::tile
