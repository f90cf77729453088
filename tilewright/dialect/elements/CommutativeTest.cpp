#include "tilewright/dialect/elements/Commutative.h"

#include "tilewright/dialect/stablehlo/StablehloDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

namespace tilewright::elements {
namespace {

/// Whether the body of a reduction is commutative. `types` has the element types of one half of its
/// arguments; these are %a, %b, … and the other half %a2, %b2, ….
bool commutes(const std::vector<std::string> &types, const std::string &body) {
  mlir::MLIRContext context;
  context.loadDialect<mlir::func::FuncDialect, stablehlo::StablehloDialect>();
  std::string arguments, values, tensors, inits, operands, operandTypes, results;
  for (const char *half : {"", "2"})
    for (size_t i = 0; i < types.size(); ++i) {
      const std::string scalar = "tensor<" + types[i] + ">", letter(1, char('a' + i));
      const bool isFirst = arguments.empty();
      arguments += (isFirst ? "%" : ", %") + letter + half + ": " + scalar;
      values += (isFirst ? "%x" : ", %x") + letter + half;
      const std::string type = *half ? scalar : "tensor<8x" + types[i] + ">";
      tensors += (isFirst ? "%x" : ", %x") + letter + half + ": " + type;
      operandTypes += (isFirst ? "" : ", ") + type;
      if (!*half)
        results += (results.empty() ? "" : ", ") + scalar;
    }
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      "func.func @main(" + tensors + ") {\n  %r:" + std::to_string(types.size()) +
          " = \"stablehlo.reduce\"(" + values + ") <{dimensions = array<i64: 0>}> ({\n  ^bb0(" +
          arguments + "):\n" + body + "\n  }) : (" + operandTypes + ") -> (" + results +
          ")\n  return\n}\n",
      &context);
  EXPECT_TRUE(module) << body;
  if (!module)
    return false;
  bool result = false;
  module->walk([&](mlir::Operation *op) {
    if (op->getName().getStringRef() == "stablehlo.reduce")
      result = isCommutative(op->getRegion(0));
  });
  return result;
}

std::string compare(const char *name, const char *direction, const char *lhs, const char *rhs,
                    const char *type) {
  return std::string("%") + name + " = stablehlo.compare " + direction + ", %" + lhs + ", %" + rhs +
         " : (tensor<" + type + ">, tensor<" + type + ">) -> tensor<i1>\n";
}

} // namespace

TEST(CommutativeTest, SymmetricArithmeticIsCommutative) {
  EXPECT_TRUE(commutes({"f32"}, R"(%v = stablehlo.add %a2, %a : tensor<f32>
    stablehlo.return %v : tensor<f32>)"));
  EXPECT_TRUE(commutes({"f32", "i32"}, R"(%v = stablehlo.add %a, %a2 : tensor<f32>
    %w = stablehlo.xor %b2, %b : tensor<i32>
    stablehlo.return %v, %w : tensor<f32>, tensor<i32>)"));
  EXPECT_TRUE(commutes({"f32"}, R"(%m = stablehlo.maximum %a, %a2 : tensor<f32>
    %d = stablehlo.subtract %a, %a2 : tensor<f32>
    %nan = stablehlo.compare NE, %d, %d : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %s = stablehlo.add %a, %a2 : tensor<f32>
    %size = stablehlo.abs %d : tensor<f32>
    %minus = stablehlo.negate %size : tensor<f32>
    %e = stablehlo.exponential %minus : tensor<f32>
    %l = stablehlo.log_plus_one %e : tensor<f32>
    %t = stablehlo.add %m, %l : tensor<f32>
    %v = stablehlo.select %nan, %s, %t : tensor<i1>, tensor<f32>
    stablehlo.return %v : tensor<f32>)"));
}

TEST(CommutativeTest, FlagsMayTellWhichElementsThereAre) {
  const std::string body = R"(%any = stablehlo.or %a, %a2 : tensor<i1>
    %both = stablehlo.and %a, %a2 : tensor<i1>
    %s = stablehlo.OP %b, %b2 : tensor<f32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %second = stablehlo.select %a2, %b2, %zero : tensor<i1>, tensor<f32>
    %one = stablehlo.select %a, %b, SECOND : tensor<i1>, tensor<f32>
    %v = stablehlo.select %both, %s, %one : tensor<i1>, tensor<f32>
    stablehlo.return %any, %v : tensor<i1>, tensor<f32>)";
  auto with = [&](const std::string &op, const std::string &second) {
    std::string text = body;
    text.replace(text.find("OP"), 2, op);
    return text.replace(text.find("SECOND"), 6, second);
  };
  EXPECT_TRUE(commutes({"i1", "f32"}, with("add", "%second")));
  EXPECT_FALSE(commutes({"i1", "f32"}, with("subtract", "%second")));
  EXPECT_FALSE(commutes({"i1", "f32"}, with("add", "%b2")));
}

TEST(CommutativeTest, AnyOtherArithmeticIsNot) {
  for (const char *op : {"subtract", "divide", "power"})
    EXPECT_FALSE(commutes({"f32"}, std::string("%v = stablehlo.") + op +
                                       " %a, %a2 : tensor<f32>\n"
                                       "stablehlo.return %v : tensor<f32>"));
  EXPECT_FALSE(commutes({"f32"}, "stablehlo.return %a2 : tensor<f32>"));
  EXPECT_FALSE(commutes({"f32"}, R"(%two = stablehlo.constant dense<2.0> : tensor<f32>
    %b = stablehlo.multiply %a2, %two : tensor<f32>
    %v = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %v : tensor<f32>)"));
  // The composition of x -> a x + b.
  EXPECT_FALSE(commutes({"f32", "f32"}, R"(%v = stablehlo.multiply %a, %a2 : tensor<f32>
    %m = stablehlo.multiply %a, %b2 : tensor<f32>
    %w = stablehlo.add %m, %b : tensor<f32>
    stablehlo.return %v, %w : tensor<f32>, tensor<f32>)"));
}

TEST(CommutativeTest, ASelectionIsIfItBreaksTies) {
  const std::string wins = compare("wins", "GT", "a", "a2", "i32"),
                    value = "%v = stablehlo.select %wins, %a, %a2 : tensor<i1>, tensor<i32>\n",
                    results = "stablehlo.return %v, %w : tensor<i32>, tensor<i32>";
  EXPECT_FALSE(commutes(
      {"i32", "i32"},
      wins + value + "%w = stablehlo.select %wins, %b, %b2 : tensor<i1>, tensor<i32>\n" + results));
  EXPECT_TRUE(commutes({"i32", "i32"},
                       wins + value + compare("tie", "EQ", "a2", "a", "i32") +
                           compare("first", "LT", "b", "b2", "i32") +
                           "%both = stablehlo.and %tie, %first : tensor<i1>\n"
                           "%takes = stablehlo.or %wins, %both : tensor<i1>\n"
                           "%w = stablehlo.select %takes, %b, %b2 : tensor<i1>, tensor<i32>\n" +
                           results));
}

TEST(CommutativeTest, ASelectionOfFloatsIsIfItAlsoTreatsNanAlike) {
  const std::string results = "stablehlo.return %v : tensor<f32>",
                    value = "%v = stablehlo.select %wins, %a, %a2 : tensor<i1>, tensor<f32>\n";
  EXPECT_FALSE(commutes({"f32"}, compare("wins", "GT", "a", "a2", "f32") + value + results));
  EXPECT_TRUE(
      commutes({"i32"}, compare("wins", "GT", "a", "a2", "i32") +
                            "%v = stablehlo.select %wins, %a, %a2 : tensor<i1>, tensor<i32>\n"
                            "stablehlo.return %v : tensor<i32>"));
  EXPECT_TRUE(commutes(
      {"f32"}, compare("more", "GT", "a", "a2", "f32") + compare("nan", "NE", "a", "a", "f32") +
                   "%wins = stablehlo.or %more, %nan : tensor<i1>\n" + value + results));
  // Where the rank is 2, the smaller number wins, otherwise the greater one.
  const std::string ranked = compare("more", "GT", "a", "a2", "i32") +
                             compare("same", "EQ", "a", "a2", "i32") +
                             "%two = stablehlo.constant dense<2> : tensor<i32>\n" +
                             compare("fixed", "EQ", "a", "two", "i32") +
                             compare("free", "NE", "a", "two", "i32") +
                             compare("greater", "GT", "b", "b2", "i32") +
                             compare("smaller", "LT", "b", "b2", "i32") +
                             R"(%f = stablehlo.and %fixed, %smaller : tensor<i1>
    %g = stablehlo.and %free, %greater : tensor<i1>
    %either = stablehlo.or %f, %g : tensor<i1>
    %tie = stablehlo.and %same, %either : tensor<i1>
)",
                    ends = R"(
    %v = stablehlo.select %w, %a, %a2 : tensor<i1>, tensor<i32>
    %u = stablehlo.select %w, %b, %b2 : tensor<i1>, tensor<i32>
    stablehlo.return %v, %u : tensor<i32>, tensor<i32>)";
  EXPECT_TRUE(
      commutes({"i32", "i32"}, ranked + "%w = stablehlo.or %more, %tie : tensor<i1>" + ends));
  EXPECT_FALSE(
      commutes({"i32", "i32"}, ranked + "%w = stablehlo.or %more, %f : tensor<i1>" + ends));
  // Comparisons with anything else may distinguish more cases.
  EXPECT_FALSE(commutes({"i32", "i32"}, compare("wins", "LT", "a", "b2", "i32") +
                                            "%v = stablehlo.minimum %a, %a2 : tensor<i32>\n"
                                            "%w = stablehlo.select %wins, %b, %b2 : tensor<i1>, "
                                            "tensor<i32>\n"
                                            "stablehlo.return %v, %w : tensor<i32>, tensor<i32>"));
}

} // namespace tilewright::elements
