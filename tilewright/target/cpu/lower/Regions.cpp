// Classifies scalar regions: known ones get a name, others become functions.
#include "tilewright/target/cpu/lower/Lowering.h"

#include "tilewright/dialect/elements/ScalarSemantics.h"
#include "tilewright/dialect/stablehlo/ops/BinaryOps.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tilewright::cpu {

/// Writes a value of a region as a formula over its arguments, for example
/// "or(compare.GT(0,2),compare.NE(0,0))". Stops when the text is longer than any known formula.
static void writeFormula(Value value, std::string &text) {
  if (text.size() > 512)
    return;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    text += std::to_string(argument.getArgNumber());
    return;
  }
  Operation *op = value.getDefiningOp();
  if (auto constant = dyn_cast<stablehlo::ConstantOp>(op)) {
    auto splat = dyn_cast<SplatElementsAttr>(constant.getValue());
    if (splat && isa<FloatType>(splat.getElementType())) {
      APFloat number = splat.getSplatValue<APFloat>();
      text += number.isNaN() ? "nan" : number.isPosZero() ? "zero" : "number";
    } else {
      text += "constant";
    }
    return;
  }
  text += op->getName().stripDialect();
  if (auto compare = dyn_cast<stablehlo::CompareOp>(op)) {
    text += "." + stablehlo::stringifyComparisonDirection(compare.getComparisonDirection()).str();
    if (auto type = compare.getCompareType();
        type && *type == stablehlo::ComparisonType::TOTALORDER)
      text += ".TOTALORDER";
  }
  text += "(";
  for (auto [number, operand] : llvm::enumerate(op->getOperands())) {
    if (number)
      text += ",";
    writeFormula(operand, text);
  }
  text += ")";
}

static std::string formulaOf(Region &region, unsigned result = 0) {
  std::string text;
  writeFormula(region.front().getTerminator()->getOperand(result), text);
  return text;
}

numerics::Combiner Lowering::combinerOf(Region &region) {
  using enum numerics::Combiner;
  if (region.front().getNumArguments() != 2)
    return function;
  std::string text = formulaOf(region);
  for (numerics::Combiner combiner : {add, multiply, maximum, minimum, bitAnd, bitOr, bitXor}) {
    const std::string op(numerics::nameOf(combiner)); // StableHLO's name
    if (text == op + "(0,1)" || text == op + "(1,0)")
      return combiner;
  }
  return function;
}

numerics::Combiner Lowering::updaterOf(Region &region) {
  if (region.front().getNumArguments() == 2 && formulaOf(region) == "1")
    return numerics::Combiner::second;
  return combinerOf(region);
}

numerics::Combiner Lowering::reducerOf(Region &region) {
  using numerics::Combiner;
  if (region.front().getNumArguments() != 4)
    return combinerOf(region);
  std::string value = formulaOf(region, 0), index = formulaOf(region, 1);
  for (auto [combiner, direction] :
       {std::pair(Combiner::argmax, "GT"), std::pair(Combiner::argmin, "LT")}) {
    std::string better = std::string("compare.") + direction + "(0,2)";
    std::string orNan = "or(" + better + ",compare.NE(0,0))";
    // The first of equal elements wins. `better` is for integers, which have no NaN.
    for (const std::string &wins : {better, orNan}) {
      std::string tie = "and(compare.EQ(0,2),compare.LT(1,3))";
      if (value == "select(" + wins + ",0,2)" &&
          index == "select(or(" + wins + "," + tie + "),1,3)")
        return combiner;
    }
    // The form after simplification, where the first of two NaNs also wins.
    std::string beats = "and(" + orNan + ",compare.EQ(2,2))";
    std::string bothNan = "and(compare.NE(0,0),compare.NE(2,2))";
    std::string first = "and(or(compare.EQ(0,2)," + bothNan + "),compare.LT(1,3))";
    if (value == "select(" + orNan + ",0,2)" &&
        index == "select(or(" + beats + "," + first + "),1,3)")
      return combiner;
  }
  return Combiner::function;
}

Lowering::Comparator Lowering::comparatorOf(Region &region) {
  std::string text = formulaOf(region);
  for (unsigned operand = 0; 2 * operand < region.front().getNumArguments(); ++operand) {
    std::string x = std::to_string(2 * operand), y = std::to_string(2 * operand + 1);
    auto canonical = [](const std::string &v) {
      return "select(compare.NE(" + v + "," + v + "),nan,select(compare.EQ(" + v + ",zero),zero," +
             v + "))";
    };
    for (auto [kind, direction] : {std::pair(numerics::Comparator::less, "LT"),
                                   std::pair(numerics::Comparator::greater, "GT")}) {
      std::string compare = std::string("compare.") + direction;
      std::string total = compare + ".TOTALORDER(";
      if (text == compare + "(" + x + "," + y + ")")
        return {kind, operand, false, false};
      if (text == total + x + "," + y + ")")
        return {kind, operand, true, false};
      if (text == total + canonical(x) + "," + canonical(y) + ")")
        return {kind, operand, true, true};
    }
  }
  return {};
}

numerics::Selector Lowering::selectorOf(Region &region) {
  using enum numerics::Selector;
  std::string text = formulaOf(region);
  for (auto [selector, direction] : {std::pair(greaterOrEqual, "GE"), std::pair(greater, "GT"),
                                     std::pair(lessOrEqual, "LE"), std::pair(less, "LT")})
    if (text == std::string("compare.") + direction + "(0,1)")
      return selector;
  return function;
}

FailureOr<FlatSymbolRefAttr> Lowering::functionOf(Region &region) {
  std::string name = "body_" + std::to_string(functions.size());
  while (symbols.lookup(name))
    name += "_";
  FailureOr<func::FuncOp> function = elements::buildScalarFunction(region, name, module);
  if (failed(function))
    return refuse(region.getParentOp(), "has a region that is not a function of scalars");
  // Equal functions have the same text except for their names and are shared.
  function->setSymName("");
  std::string text;
  llvm::raw_string_ostream stream(text);
  function->print(stream, OpPrintingFlags().useLocalScope());
  function->setSymName(name);
  auto [known, isNew] = functions.try_emplace(text, FlatSymbolRefAttr::get(*function));
  if (isNew)
    symbols.insert(*function);
  else
    function->erase();
  return known->second;
}

} // namespace tilewright::cpu
