#include "tilewright/transform/tile/TestLaunches.h"
#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/interpret/Evaluator.h"
#include "tilewright/interpret/Types.h"
#include "tilewright/interpret/scalar/Operations.h"
#include "tilewright/support/Concat.h"

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

std::string EvaluatedProgram::prepare(mlir::MLIRContext &mlirContext, const std::string &text,
                                      uint64_t seed, bool edges) {
  this->edges = edges;
  module = mlir::parseSourceString<mlir::ModuleOp>(text, &mlirContext);
  if (!module)
    return "does not parse";
  std::mt19937_64 random(seed);
  for (mlir::Type type : module->lookupSymbol<mlir::func::FuncOp>("main").getArgumentTypes()) {
    auto tensorType = llvm::cast<mlir::RankedTensorType>(type);
    inputs.emplace_back(edges ? edgeTensor(tensorType, inputs.size(), context)
                              : randomTensor(tensorType, random, context));
  }
  auto results = interpret::evaluate(*module, "main", inputs, context);
  if (!results.isOk())
    return concat("before: ", std::move(results).takeStatus().message());
  expected = *std::move(results);
  return "";
}

std::string EvaluatedProgram::differenceFrom(const RuntimeValues &actual) const {
  if (actual.size() != expected.size())
    return concat(expected.size(), " results became ", actual.size());
  for (size_t r = 0; r < expected.size(); ++r) {
    const Tensor &a = expected[r].tensor(), &b = actual[r].tensor();
    for (int64_t i = 0; i < a.elementCount(); ++i)
      if (!isClose(a.type(), a.at(i), b.at(i), edges))
        return concat("result ", r, ", element ", i, ": ", toString(a.type(), a.at(i)), " became ",
                      toString(b.type(), b.at(i)));
  }
  return "";
}

GuardedMemory::GuardedMemory(size_t bytes) : bytes(bytes), data(std::aligned_alloc(256, size())) {
  std::memset(data, 0xA5, size());
}

bool GuardedMemory::isIntact() const {
  const auto *at = static_cast<const unsigned char *>(data);
  return std::all_of(at + bytes, at + size(), [](unsigned char byte) { return byte == 0xA5; });
}

std::string runLaunches(EvaluatedProgram &program, RuntimeValues &results, const RunKernel &run) {
  interpret::Context &context = program.context;
  llvm::DenseMap<mlir::Value, Tensor> values;
  auto main = program.module->lookupSymbol<mlir::func::FuncOp>("main");
  for (auto [argument, input] : llvm::zip_equal(main.getArguments(), program.inputs))
    values[argument] = input.tensor();
  for (mlir::Operation &op : main.getBody().front()) {
    if (op.hasTrait<mlir::OpTrait::IsTerminator>()) {
      for (mlir::Value operand : op.getOperands())
        results.emplace_back(values[operand]);
      return "";
    }
    if (llvm::isa<stablehlo::StablehloDialect>(op.getDialect())) {
      if (auto value = op.getAttrOfType<mlir::ElementsAttr>("value")) {
        values[op.getResult(0)] = *interpret::constantTensor(value, context);
        continue;
      }
      if (op.getName().stripDialect() == "reshape") {
        auto type = llvm::cast<mlir::RankedTensorType>(op.getResult(0).getType());
        values[op.getResult(0)] =
            values[op.getOperand(0)].reshaped(*interpret::staticShapeOf(type));
        continue;
      }
    }
    auto launch = llvm::dyn_cast<exec::LaunchOp>(op);
    if (!launch)
      return "not compiled";
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
    // In place where the kernel says that it may be.
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
  }
  return "no return";
}

} // namespace tilewright::tile
