#include "tilewright/transform/fuse/cascade/testing/CompareInBlocks.h"

#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/interpret/Evaluator.h"
#include "tilewright/interpret/Types.h"
#include "tilewright/support/Concat.h"
#include "tilewright/transform/fuse/cascade/Online.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace tilewright::interpret;

namespace tilewright::cascade {

Judge::Judge() : context(MLIRContext::Threading::DISABLED) {
  context.loadDialect<func::FuncDialect, stablehlo::StablehloDialect>();
}

OwningOpRef<ModuleOp> Judge::parse(const std::string &text) {
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  EXPECT_TRUE(module) << text;
  return module;
}

static Block &bodyOf(ModuleOp module) {
  return cast<func::FuncOp>(module.lookupSymbol("main")).getBody().front();
}

/// The cascade with the most reductions.
static Cascade &largestOf(const std::vector<std::unique_ptr<Cascade>> &cascades) {
  return **std::max_element(cascades.begin(), cascades.end(), [](const auto &a, const auto &b) {
    return a->reductions.size() < b->reductions.size();
  });
}

std::string Judge::decisionOf(const std::string &text) {
  OwningOpRef<ModuleOp> module = parse(text);
  auto cascades = findCascades(bodyOf(*module));
  if (cascades.empty())
    return "no cascade";
  std::string decision;
  for (const Reduction &reduction : largestOf(cascades).reductions) {
    decision += concat(decision.empty() ? "" : ", ", reduction.pass);
    if (reduction.failed != Condition::none)
      decision += concat(" ", nameOf(reduction.failed));
  }
  return decision;
}

std::string Judge::description(const std::string &text) {
  OwningOpRef<ModuleOp> module = parse(text);
  std::string description;
  for (auto &cascade : findCascades(bodyOf(*module)))
    description += cascade->describe();
  return description;
}

RuntimeValues Judge::inputs(const std::string &text, unsigned seed, bool hasInfinities,
                            double center) {
  OwningOpRef<ModuleOp> module = parse(text);
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, 2);
  Context evaluation;
  RuntimeValues values;
  for (BlockArgument argument : bodyOf(*module).getArguments()) {
    auto type = cast<RankedTensorType>(argument.getType());
    Tensor tensor =
        *Tensor::allocate(type.getElementType().isF64() ? ElementType::f64 : ElementType::f32,
                          *Shape::create(std::vector<int64_t>(type.getShape())), evaluation);
    const bool isSpace = argument.getArgNumber() < 2;
    for (int64_t i = 0; i < tensor.elementCount(); ++i) {
      double value = normal(random) + (isSpace ? center : 0);
      const int64_t length = type.getShape().back();
      const bool isMasked = random() % 3 == 0 || (argument.getArgNumber() == 0 && i / length == 1);
      if (hasInfinities && isSpace && isMasked)
        value = -std::numeric_limits<double>::infinity();
      tensor.set(i, Scalar::ofReal(value));
    }
    values.push_back(std::move(tensor));
  }
  return values;
}

RuntimeValues Judge::nudged(const RuntimeValues &inputs, unsigned seed) {
  std::mt19937 random(seed);
  Context evaluation;
  RuntimeValues values;
  for (const RuntimeValue &input : inputs) {
    const Tensor &from = input.tensor();
    Tensor tensor = *Tensor::allocate(from.type(), from.shape(), evaluation);
    for (int64_t i = 0; i < from.elementCount(); ++i)
      tensor.set(i, Scalar::ofReal(from.at(i).r * (random() % 2 ? 1 + 1e-13 : 1 - 1e-13)));
    values.push_back(std::move(tensor));
  }
  return values;
}

RuntimeValues Judge::run(const std::string &text, const RuntimeValues &inputs, int64_t blockSize,
                         bool asTree) {
  OwningOpRef<ModuleOp> module = parse(text);
  if (blockSize > 0) {
    auto cascades = findCascades(bodyOf(*module));
    if (!cascades.empty() && largestOf(cascades).canSplit())
      computeInBlocks(largestOf(cascades), blockSize, asTree);
    EXPECT_TRUE(succeeded(verify(*module))) << text;
  }
  Result<RuntimeValues> results = evaluate(*module, "main", inputs);
  EXPECT_TRUE(results.isOk()) << text;
  return results.isOk() ? *std::move(results) : RuntimeValues();
}

double difference(const RuntimeValues &expected, const RuntimeValues &actual) {
  double largest = 0;
  for (size_t i = 0; i < expected.size(); ++i)
    for (int64_t at = 0; at < expected[i].tensor().elementCount(); ++at) {
      const double a = expected[i].tensor().at(at).r, b = actual[i].tensor().at(at).r;
      if (std::isfinite(a) != std::isfinite(b))
        return std::numeric_limits<double>::infinity();
      if (std::isfinite(a))
        largest = std::max(largest, std::abs(a - b) / std::max(1.0, std::abs(a)));
    }
  return largest;
}

} // namespace tilewright::cascade
