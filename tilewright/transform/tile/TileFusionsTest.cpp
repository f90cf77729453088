// Every fusion means the same before and after it is tiled.
#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/dialect/tile/TileDialect.h"
#include "tilewright/interpret/Evaluator.h"
#include "tilewright/interpret/Types.h"
#include "tilewright/support/Concat.h"
#include "tilewright/transform/tile/Passes.h"
#include "tilewright/transform/tile/TestPrograms.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <random>

namespace tilewright::tile {

using interpret::ElementType;
using interpret::RuntimeValues;
using interpret::Scalar;
using interpret::Tensor;

static Tensor randomTensor(mlir::RankedTensorType type, std::mt19937_64 &random,
                           interpret::Context &context) {
  const ElementType element = *interpret::elementTypeOf(type.getElementType());
  Tensor tensor = *Tensor::allocate(element, *numerics::Shape::create(type.getShape()), context);
  for (int64_t i = 0; i < tensor.elementCount(); ++i) {
    const auto number = static_cast<int64_t>(random() % 41) - 20;
    if (numerics::isReal(element))
      tensor.set(i, Scalar::ofReal(static_cast<double>(number) / 4));
    else if (numerics::isComplex(element))
      tensor.set(i, Scalar::ofComplex({static_cast<double>(number) / 4, 0.5}));
    else if (element == ElementType::pred)
      tensor.set(i, Scalar::ofUnsigned(number & 1));
    else if (numerics::isSigned(element))
      tensor.set(i, Scalar::ofSigned(number));
    else
      tensor.set(i, Scalar::ofUnsigned(static_cast<uint64_t>(number + 20)));
  }
  return tensor;
}

/// How far two computations of the same real may be apart: an order of sums, or an operation
/// that one of them rounds twice. The rest of the program may have enlarged it.
static double toleranceOf(ElementType type) { return numerics::bitWidth(type) >= 32 ? 1e-3 : 0.1; }

static bool isClose(double a, double b, double tolerance) {
  if (std::isnan(a) || std::isnan(b))
    return std::isnan(a) == std::isnan(b);
  return a == b || std::fabs(a - b) <= tolerance * std::max({1.0, std::fabs(a), std::fabs(b)});
}

static bool isClose(ElementType type, const Scalar &a, const Scalar &b) {
  if (numerics::isReal(type))
    return isClose(a.r, b.r, toleranceOf(type));
  if (numerics::isComplex(type))
    return isClose(a.r, b.r, 1e-3) && isClose(a.im, b.im, 1e-3);
  return a.u == b.u;
}

std::string compareWithTiled(const std::string &text, uint64_t seed) {
  mlir::MLIRContext mlirContext;
  mlirContext.loadDialect<mlir::func::FuncDialect, stablehlo::StablehloDialect, exec::ExecDialect,
                          TileDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &mlirContext);
  if (!module)
    return "does not parse";
  auto main = module->lookupSymbol<mlir::func::FuncOp>("main");
  interpret::Context context;
  std::mt19937_64 random(seed);
  RuntimeValues inputs;
  for (mlir::Type type : main.getArgumentTypes())
    inputs.emplace_back(randomTensor(llvm::cast<mlir::RankedTensorType>(type), random, context));
  auto expected = interpret::evaluate(*module, "main", inputs, context);
  if (!expected.isOk())
    return concat("before: ", std::move(expected).takeStatus().message());

  mlir::PassManager passes(&mlirContext);
  passes.addPass(createTileFusionsPass());
  if (mlir::failed(passes.run(*module)))
    return "the pass fails";
  std::string tiled;
  llvm::raw_string_ostream(tiled) << *module;
  auto actual = interpret::evaluate(*module, "main", inputs, context);
  if (!actual.isOk())
    return concat("after: ", std::move(actual).takeStatus().message(), "\n", tiled);
  for (size_t r = 0; r < expected->size(); ++r) {
    const Tensor &a = (*expected)[r].tensor(), &b = (*actual)[r].tensor();
    for (int64_t i = 0; i < a.elementCount(); ++i)
      if (!isClose(a.type(), a.at(i), b.at(i)))
        return concat("result ", r, ", element ", i, ": ", toString(a.type(), a.at(i)), " became ",
                      toString(b.type(), b.at(i)), "\n", tiled);
  }
  return "";
}

TEST(TileFusions, RandomFusionsKeepTheirMeaning) {
  const char *first = std::getenv("TILEWRIGHT_TEST_SEED");
  const char *count = std::getenv("TILEWRIGHT_TEST_COUNT");
  const uint64_t begin = first ? std::strtoull(first, nullptr, 10) : 0;
  const uint64_t end = begin + (count ? std::strtoull(count, nullptr, 10) : 150);
  int failures = 0;
  for (uint64_t seed = begin; seed < end && failures < 3; ++seed) {
    const std::string text = randomFusion(seed, 1 + static_cast<int>(seed % 14));
    const std::string difference = compareWithTiled(text, seed);
    if (difference.empty())
      continue;
    ADD_FAILURE() << "seed " << seed << ": " << difference << "\n" << text;
    ++failures;
  }
}

} // namespace tilewright::tile
