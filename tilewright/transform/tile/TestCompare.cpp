#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/sdy/SdyDialect.h"
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/dialect/tile/TileDialect.h"
#include "tilewright/interpret/Evaluator.h"
#include "tilewright/interpret/Types.h"
#include "tilewright/interpret/scalar/Operations.h"
#include "tilewright/support/Concat.h"
#include "tilewright/transform/tile/Passes.h"
#include "tilewright/transform/tile/TestPrograms.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <algorithm>
#include <cmath>
#include <limits>
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
      tensor.set(i, Scalar::ofReal(static_cast<double>(number) / 64));
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

/// How far two computations of the same real may be apart, relatively: one rounding, where one
/// op is compared, or an order of sums that the rest of the program may have enlarged.
static double toleranceOf(ElementType type, bool oneOp) {
  if (!oneOp)
    return numerics::bitWidth(type) >= 32 ? 1e-3 : 0.1;
  switch (numerics::bitWidth(type)) {
  case 64:
    return 3e-16;
  case 32:
    return 2e-7;
  case 16:
    return type == ElementType::f16 ? 1e-3 : 8e-3;
  default:
    return 0.25;
  }
}

static bool isClose(double a, double b, double tolerance, double floor) {
  if (std::isnan(a) || std::isnan(b))
    return std::isnan(a) == std::isnan(b);
  return a == b || std::fabs(a - b) <= tolerance * std::max({floor, std::fabs(a), std::fabs(b)});
}

static bool isClose(ElementType type, const Scalar &a, const Scalar &b, bool oneOp) {
  if (numerics::isInteger(type) || type == ElementType::pred)
    return a.u == b.u;
  // Functions of complex numbers take several steps.
  const double tolerance =
      toleranceOf(numerics::componentOf(type), oneOp) * (numerics::isComplex(type) ? 8 : 1);
  const double floor = oneOp ? 0 : 1;
  return isClose(a.r, b.r, tolerance, floor) &&
         (!numerics::isComplex(type) || isClose(a.im, b.im, tolerance, floor));
}

/// Numbers at which scalar operations have something to say.
static std::vector<Scalar> edgeValues(ElementType type) {
  std::vector<Scalar> values = {interpret::zeroOf(type), interpret::oneOf(type),
                                interpret::highestOf(type), interpret::lowestOf(type)};
  if (type == ElementType::pred)
    return {Scalar::ofUnsigned(0), Scalar::ofUnsigned(1)};
  auto add = [&](const Scalar &from, ElementType fromType) {
    values.push_back(
        interpret::operationFor(interpret::ScalarOp::convert, fromType, type)(from, from, from));
  };
  for (double number : {-1.0, 0.5, -0.75, 1.5, 2.5, -2.5, 3.0, 7.0, 31.0, 64.0, -100.25, 1e10,
                        1e-30, 88.0, -104.0, 300.7})
    add(Scalar::ofReal(number), ElementType::f64);
  if (numerics::isReal(type) || numerics::isComplex(type)) {
    for (double number : {std::numeric_limits<double>::quiet_NaN(), -0.0,
                          std::numeric_limits<double>::infinity(), 1e-310})
      add(Scalar::ofReal(number), ElementType::f64);
  }
  if (numerics::isComplex(type))
    for (size_t i = 0; i < values.size(); ++i)
      values[i].im = static_cast<double>(static_cast<int>(i % 5) - 2);
  if (numerics::isInteger(type))
    for (int64_t number : {-7, 5, 8, 127, -128, 1 << 30})
      add(Scalar::ofSigned(number), ElementType::i64);
  return values;
}

/// Operand `which` of `arity`: together the operands have every combination of edge values.
static Tensor edgeTensor(mlir::RankedTensorType type, size_t which, interpret::Context &context) {
  const ElementType element = *interpret::elementTypeOf(type.getElementType());
  Tensor tensor = *Tensor::allocate(element, *numerics::Shape::create(type.getShape()), context);
  const std::vector<Scalar> values = edgeValues(element);
  for (int64_t i = 0; i < tensor.elementCount(); ++i)
    tensor.set(i, values[static_cast<size_t>(which == 0   ? i / 31
                                             : which == 1 ? i
                                                          : i * 7 + 3) %
                         values.size()]);
  return tensor;
}

std::string compareWithTiled(const std::string &text, uint64_t seed, bool edges, int *kernels) {
  static mlir::MLIRContext mlirContext(mlir::MLIRContext::Threading::DISABLED);
  mlir::ScopedDiagnosticHandler quiet(&mlirContext, [](mlir::Diagnostic &) {});
  mlirContext.loadDialect<mlir::func::FuncDialect, sdy::SdyDialect, stablehlo::StablehloDialect,
                          exec::ExecDialect, TileDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &mlirContext);
  if (!module)
    return "does not parse";
  auto main = module->lookupSymbol<mlir::func::FuncOp>("main");
  interpret::Context context;
  std::mt19937_64 random(seed);
  RuntimeValues inputs;
  for (mlir::Type type : main.getArgumentTypes()) {
    auto tensorType = llvm::cast<mlir::RankedTensorType>(type);
    inputs.emplace_back(edges ? edgeTensor(tensorType, inputs.size(), context)
                              : randomTensor(tensorType, random, context));
  }
  auto expected = interpret::evaluate(*module, "main", inputs, context);
  if (!expected.isOk())
    return concat("before: ", std::move(expected).takeStatus().message());

  mlir::PassManager passes(&mlirContext);
  passes.addPass(createTileFusionsPass());
  if (mlir::failed(passes.run(*module)))
    return "the pass fails";
  std::string tiled;
  llvm::raw_string_ostream(tiled) << *module;
  if (kernels)
    *kernels = static_cast<int>(llvm::range_size(module->getOps<KernelOp>()));
  if (edges && tiled.find("exec.launch") == std::string::npos)
    return "no kernel";
  auto actual = interpret::evaluate(*module, "main", inputs, context);
  if (!actual.isOk())
    return concat("after: ", std::move(actual).takeStatus().message(), "\n", tiled);
  for (size_t r = 0; r < expected->size(); ++r) {
    const Tensor &a = (*expected)[r].tensor(), &b = (*actual)[r].tensor();
    for (int64_t i = 0; i < a.elementCount(); ++i)
      if (!isClose(a.type(), a.at(i), b.at(i), edges))
        return concat("result ", r, ", element ", i, ": ", toString(a.type(), a.at(i)), " became ",
                      toString(b.type(), b.at(i)), "\n", tiled);
  }
  return "";
}

} // namespace tilewright::tile
