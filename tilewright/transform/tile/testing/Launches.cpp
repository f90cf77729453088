#include "tilewright/transform/tile/testing/Launches.h"
#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/stablehlo/StablehloOps.h"
#include "tilewright/interpret/Evaluator.h"
#include "tilewright/interpret/Types.h"
#include "tilewright/interpret/evaluate/OpEvaluator.h"
#include "tilewright/numerics/scalar/Operations.h"
#include "tilewright/support/Concat.h"
#include "tilewright/transform/tile/testing/Programs.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>

namespace tilewright::tile {

using interpret::ElementType;
using interpret::RuntimeValues;
using interpret::Tensor;
using numerics::Scalar;

/// An integer of any magnitude that the type has, as its low 64 bits.
static uint64_t anyInteger(ElementType type, std::mt19937_64 &random) {
  const unsigned unused = 64 - unsigned(numerics::bitWidth(type));
  const uint64_t bits = (random() >> random() % 64) << unused;
  return numerics::isSigned(type) ? uint64_t(static_cast<int64_t>(bits) >> unused) : bits >> unused;
}

/// Small multiples of 1/64, whose sums are exact in any order; with `allBits`, reals with random
/// mantissas and integers of any magnitude.
static Tensor randomTensor(mlir::RankedTensorType type, std::mt19937_64 &random, bool allBits,
                           interpret::Context &context) {
  const ElementType element = *interpret::elementTypeOf(type.getElementType());
  Tensor tensor = *Tensor::allocate(element, *numerics::Shape::create(type.getShape()), context);
  for (int64_t i = 0; i < tensor.elementCount(); ++i) {
    const auto number = static_cast<int64_t>(random() % 41) - 20;
    if (numerics::isReal(element))
      tensor.set(i, Scalar::ofReal(allBits ? std::ldexp(static_cast<double>(random()), -63) - 1
                                           : static_cast<double>(number) / 64));
    else if (numerics::isComplex(element))
      tensor.set(i, Scalar::ofComplex({static_cast<double>(number) / 4, 0.5}));
    else if (element == ElementType::pred)
      tensor.set(i, Scalar::ofUnsigned(number & 1));
    else if (allBits)
      tensor.set(i, Scalar::ofUnsigned(anyInteger(element, random)));
    else if (numerics::isSigned(element))
      tensor.set(i, Scalar::ofSigned(number));
    else
      tensor.set(i, Scalar::ofUnsigned(static_cast<uint64_t>(number + 20)));
  }
  return tensor;
}

/// The relative tolerance between two computations of the same op: one rounding.
static double toleranceOf(ElementType type) {
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

static bool isClose(double a, double b, double tolerance) {
  if (std::isnan(a) || std::isnan(b))
    return std::isnan(a) == std::isnan(b);
  return a == b || std::fabs(a - b) <= tolerance * std::max(std::fabs(a), std::fabs(b));
}

/// `lost` is the factor by which the evaluator's own error of a complex number is larger than the
/// precision in which it computes.
static bool isClose(ElementType type, const Scalar &a, const Scalar &b, double lost) {
  if (numerics::isInteger(type) || type == ElementType::pred)
    return a.u == b.u;
  // Functions of complex numbers take several roundings.
  const double tolerance =
      toleranceOf(numerics::componentOf(type)) * (numerics::isComplex(type) ? 8 : 1);
  if (!numerics::isComplex(type))
    return isClose(a.r, b.r, tolerance);
  if (std::isinf(lost))
    return true;
  // A component that cancels is known only to the precision in which the evaluator computes: double
  // for f32, long double for f64.
  const double known =
      std::hypot(a.r, a.im) * lost * (type == ElementType::c64 ? 0x1p-50 : 0x1p-61);
  auto isSame = [&](double x, double y) {
    return isClose(x, y, tolerance) || std::fabs(x - y) <= known;
  };
  // Beside a NaN, a finite part says nothing.
  if (std::isnan(a.r) && std::isfinite(a.im))
    return std::isnan(b.r);
  if (std::isnan(a.im) && std::isfinite(a.r))
    return std::isnan(b.im);
  return isSame(a.r, b.r) && isSame(a.im, b.im);
}

/// Edge values of scalar operations.
static std::vector<Scalar> edgeValues(ElementType type) {
  std::vector<Scalar> values = {numerics::zeroOf(type), numerics::oneOf(type),
                                numerics::highestOf(type), numerics::lowestOf(type)};
  if (type == ElementType::pred)
    return {Scalar::ofUnsigned(0), Scalar::ofUnsigned(1)};
  auto add = [&](const Scalar &from, ElementType fromType) {
    values.push_back(
        numerics::operationFor(numerics::ScalarOp::convert, fromType, type)(from, from, from));
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

/// Operand `which`: together, the operands have every combination of edge values.
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

std::string EvaluatedProgram::prepare(mlir::MLIRContext &mlirContext, const std::string &text,
                                      uint64_t seed, bool edges) {
  this->edges = edges;
  this->text = text;
  module = mlir::parseSourceString<mlir::ModuleOp>(text, &mlirContext);
  if (!module)
    return "does not parse";
  std::mt19937_64 random(seed);
  for (mlir::Type type : module->lookupSymbol<mlir::func::FuncOp>("main").getArgumentTypes()) {
    auto tensorType = llvm::cast<mlir::RankedTensorType>(type);
    inputs.emplace_back(edges ? edgeTensor(tensorType, inputs.size(), context)
                              : randomTensor(tensorType, random, seed % 4 == 3, context));
  }
  auto results = interpret::evaluate(*module, "main", inputs, context);
  if (!results.isOk())
    return concat("before: ", std::move(results).takeStatus().message());
  expected = *std::move(results);
  return "";
}

ComparisonCounts &comparisonCounts() {
  static ComparisonCounts counts;
  return counts;
}

std::string EvaluatedProgram::differenceFrom(const RuntimeValues &actual) {
  if (actual.size() != expected.size())
    return concat(expected.size(), " results became ", actual.size());
  if (edges) {
    // A power is e^(w log z): an error of the product w log z is a relative one of the power.
    const bool isPower = text.find("stablehlo.power") != text.npos;
    auto lost = [&](int64_t i) {
      if (!isPower || !numerics::isComplex(inputs[0].tensor().type()))
        return 1.0;
      const Scalar base = inputs[0].tensor().at(i), power = inputs[1].tensor().at(i);
      // Of operands that are not finite, the range of the evaluator's numbers decides on the
      // result; target/lanes compares the usual ones.
      for (double part : {base.r, base.im, power.r, power.im})
        if (!std::isfinite(part))
          return HUGE_VAL;
      const double logarithm = std::fabs(std::log(std::hypot(base.r, base.im))) + 4;
      return 1 + std::hypot(power.r, power.im) * logarithm;
    };
    for (size_t r = 0; r < expected.size(); ++r) {
      const Tensor &a = expected[r].tensor(), &b = actual[r].tensor();
      for (int64_t i = 0; i < a.elementCount(); ++i)
        if (!isClose(a.type(), a.at(i), b.at(i), lost(i)))
          return concat("result ", r, ", element ", i, ": ", interpret::toString(a.type(), a.at(i)),
                        " became ", interpret::toString(b.type(), b.at(i)));
    }
    return "";
  }
  // The module was transformed since it was evaluated, so parse the text again.
  auto original = mlir::parseSourceString<mlir::ModuleOp>(text, module->getContext());
  auto bounds = interpret::evaluateWithBounds(*original, "main", inputs, allowance);
  if (!bounds.isOk())
    return concat("bounds: ", std::move(bounds).takeStatus().message());
  ComparisonCounts &counts = comparisonCounts();
  if (counts.look)
    counts.look(*bounds, actual);
  for (size_t r = 0; r < expected.size(); ++r)
    if (std::string wrong =
            interpret::differenceFrom((*bounds)[r], actual[r].tensor(), &counts.compared);
        !wrong.empty())
      return concat("result ", r, ": ", wrong);
  return "";
}

GuardedMemory::GuardedMemory(size_t bytes) : bytes(bytes), data(std::aligned_alloc(256, size())) {
  std::memset(data, 0xA5, size());
}

bool GuardedMemory::isIntact() const {
  const auto *at = static_cast<const unsigned char *>(data);
  return std::all_of(at + bytes, at + size(), [](unsigned char byte) { return byte == 0xA5; });
}

namespace {
/// Runs the ops of a program whose fusions have become launches.
class LaunchRunner {
public:
  LaunchRunner(EvaluatedProgram &program, const RunKernel &run, bool mayEvaluate)
      : context(program.context), evaluator(*program.module), run(run), mayEvaluate(mayEvaluate) {}

  /// Returns an error message, or "".
  std::string runBlock(mlir::Region &region, const RuntimeValues &arguments,
                       RuntimeValues &results);

private:
  std::string runOp(mlir::Operation &op);
  std::string runLaunch(exec::LaunchOp launch);
  std::string runWhile(stablehlo::WhileOp loop);
  RuntimeValues operandsOf(mlir::Operation &op) {
    RuntimeValues operands;
    for (mlir::Value operand : op.getOperands())
      operands.emplace_back(values[operand]);
    return operands;
  }

  interpret::Context &context;
  interpret::OpEvaluator evaluator;
  const RunKernel &run;
  const bool mayEvaluate;
  llvm::DenseMap<mlir::Value, Tensor> values;
};
} // namespace

std::string LaunchRunner::runBlock(mlir::Region &region, const RuntimeValues &arguments,
                                   RuntimeValues &results) {
  for (auto [argument, value] : llvm::zip_equal(region.getArguments(), arguments))
    values[argument] = value.tensor();
  for (mlir::Operation &op : region.front()) {
    if (op.hasTrait<mlir::OpTrait::IsTerminator>()) {
      results = operandsOf(op);
      return "";
    }
    if (std::string problem = runOp(op); !problem.empty())
      return problem;
  }
  return "no return";
}

std::string LaunchRunner::runWhile(stablehlo::WhileOp loop) {
  RuntimeValues state = operandsOf(*loop);
  while (true) {
    RuntimeValues condition, next;
    if (std::string problem = runBlock(loop->getRegion(0), state, condition); !problem.empty())
      return problem;
    if (!condition[0].tensor().at(0).u)
      break;
    if (std::string problem = runBlock(loop->getRegion(1), state, next); !problem.empty())
      return problem;
    state = next;
  }
  for (auto [result, value] : llvm::zip_equal(loop->getResults(), state))
    values[result] = value.tensor();
  return "";
}

std::string LaunchRunner::runOp(mlir::Operation &op) {
  if (auto launch = llvm::dyn_cast<exec::LaunchOp>(op))
    return runLaunch(launch);
  if (auto loop = llvm::dyn_cast<stablehlo::WhileOp>(op); loop && mayEvaluate)
    return runWhile(loop);
  // Constants and views need no kernel.
  if (!llvm::isa<stablehlo::ConstantOp, stablehlo::ReshapeOp>(op)) {
    if (!mayEvaluate)
      return concat("not compiled: ", op.getName().getStringRef().str());
    ++comparisonCounts().evaluatedOps[op.getName().getStringRef().str()];
  }
  auto answers = evaluator.evaluate(&op, operandsOf(op), context.options());
  if (!answers.isOk())
    return concat("not compiled: ", std::move(answers).takeStatus().message());
  for (auto [result, value] : llvm::zip_equal(op.getResults(), *answers))
    values[result] = value.tensor();
  return "";
}

std::string LaunchRunner::runLaunch(exec::LaunchOp launch) {
  ++comparisonCounts().launches;
  std::vector<std::unique_ptr<GuardedMemory>> memory;
  std::vector<void *> buffers;
  auto add = [&](size_t bytes) {
    memory.push_back(std::make_unique<GuardedMemory>(bytes));
    buffers.push_back(memory.back()->data);
  };
  for (mlir::Value input : launch.getInputs()) {
    add(static_cast<size_t>(values[input].byteCount()));
    std::memcpy(buffers.back(), values[input].data(), memory.back()->bytes);
  }
  std::vector<Tensor> made;
  for (mlir::Value result : launch.getResults()) {
    auto type = llvm::cast<mlir::RankedTensorType>(result.getType());
    made.push_back(*Tensor::allocate(*interpret::elementTypeOf(type.getElementType()),
                                     *interpret::staticShapeOf(type), context));
    add(static_cast<size_t>(made.back().byteCount()));
  }
  // Run in place where the launch declares an alias.
  if (auto aliases = launch.getAliases())
    for (size_t i = 0; i + 1 < aliases->size(); i += 2)
      buffers[launch.getInputs().size() + static_cast<size_t>((*aliases)[i])] =
          buffers[static_cast<size_t>((*aliases)[i + 1])];
  if (std::string problem = run(launch.getKernel().str(), buffers); !problem.empty())
    return problem;
  for (const auto &piece : memory)
    if (!piece->isIntact())
      return "written behind the end of a buffer";
  for (size_t r = 0; r < made.size(); ++r) {
    std::memcpy(made[r].mutableData(), buffers[launch.getInputs().size() + r],
                static_cast<size_t>(made[r].byteCount()));
    values[launch.getResult(static_cast<unsigned>(r))] = made[r];
  }
  return "";
}

std::string runLaunches(EvaluatedProgram &program, RuntimeValues &results, const RunKernel &run,
                        bool mayEvaluate) {
  auto main = program.module->lookupSymbol<mlir::func::FuncOp>("main");
  return LaunchRunner(program, run, mayEvaluate).runBlock(main.getBody(), program.inputs, results);
}

} // namespace tilewright::tile
