// Translates scalar regions to ScalarFunctions.
#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/dialect/stablehlo/ops/UnaryOps.h"
#include "tilewright/interpret/Evaluation.h"
#include "tilewright/interpret/Types.h"
#include "tilewright/interpret/evaluate/ScalarOps.h"
#include "tilewright/support/Concat.h"

namespace tilewright::interpret {

/// The element type of a scalar tensor type that is not quantized.
static std::optional<ElementType> scalarTypeOf(mlir::Type type) {
  auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
  if (!tensor || tensor.getRank() != 0 ||
      !llvm::isa<mlir::IntegerType, mlir::FloatType, mlir::ComplexType>(tensor.getElementType()))
    return std::nullopt;
  return elementTypeOf(tensor.getElementType());
}

namespace {
using Register = ScalarFunction::Register;

/// Translates a region to a register program. `false` or nullopt means that this is impossible; the
/// evaluator then runs the region op by op.
class Translator {
public:
  Translator(ScalarFunction::Builder &builder, OpCall &call) : builder(builder), call(call) {}

  /// Translates the body of a block with `arguments`; returns the registers of its results.
  std::optional<std::vector<Register>> block(mlir::Block &block,
                                             const std::vector<Register> &arguments) {
    for (auto [value, source] : llvm::zip_equal(block.getArguments(), arguments))
      registers[value] = source;
    for (mlir::Operation &op : block) {
      if (op.hasTrait<mlir::OpTrait::IsTerminator>())
        return operandsOf(op);
      if (!translate(op))
        return std::nullopt;
    }
    return std::nullopt;
  }

private:
  bool translate(mlir::Operation &op) {
    if (auto called = llvm::dyn_cast<mlir::func::CallOp>(op))
      return inlineCall(called);
    if (auto constant = llvm::dyn_cast<stablehlo::ConstantOp>(op)) {
      if (!scalarTypeOf(constant.getType()))
        return false;
      Result<Tensor> value = constantTensor(constant.getValue(), call.context());
      return value.isOk() && define(op, builder.constant(value->at(0)));
    }
    std::optional<std::vector<Register>> operands = operandsOf(op);
    if (!operands || op.getNumResults() == 0 || op.getNumRegions() != 0)
      return false;
    // No-ops on scalars.
    if (llvm::isa<stablehlo::ReshapeOp, stablehlo::BroadcastInDimOp>(op))
      return scalarTypeOf(op.getResult(0).getType()) && define(op, operands->front());
    if (llvm::isa<stablehlo::OptimizationBarrierOp>(op)) {
      for (auto [result, source] : llvm::zip_equal(op.getResults(), *operands))
        registers[result] = source;
      return true;
    }
    std::optional<ElementType> result = scalarTypeOf(op.getResult(0).getType());
    if (!result || op.getNumResults() != 1)
      return false;
    if (auto reduce = llvm::dyn_cast<stablehlo::ReducePrecisionOp>(op)) {
      std::optional<Register> exponent =
          builder.constant(Scalar::ofUnsigned(reduce.getExponentBits()));
      std::optional<Register> mantissa =
          builder.constant(Scalar::ofUnsigned(reduce.getMantissaBits()));
      if (!exponent || !mantissa)
        return false;
      operands->insert(operands->end(), {*exponent, *mantissa});
      return define(op, builder.append(ScalarOp::reducePrecision, *result, *result, *operands));
    }
    std::optional<ElementType> operand = scalarTypeOf(op.getOperand(0).getType());
    if (llvm::isa<stablehlo::BitcastConvertOp>(op)) {
      std::optional<Register> bits = builder.append(
          ScalarOp::toBits, *operand, resultTypeOf(ScalarOp::toBits, *operand), *operands);
      return bits && define(op, builder.append(ScalarOp::fromBits, *result, *result,
                                               std::vector<Register>{*bits}));
    }
    std::optional<ScalarOp> scalarOp = scalarOpOf(&op);
    if (!scalarOp || operands->size() != arityOf(*scalarOp))
      return false;
    return define(op, builder.append(*scalarOp, scalarOp == ScalarOp::select ? *result : *operand,
                                     *result, *operands));
  }

  bool inlineCall(mlir::func::CallOp called) {
    auto function = call.evaluation.program.symbols.lookup<mlir::func::FuncOp>(called.getCallee());
    std::optional<std::vector<Register>> arguments = operandsOf(*called);
    // The limit stops the inlining of recursive functions.
    if (!function || function.isExternal() || !arguments || ++depth > 8)
      return false;
    std::optional<std::vector<Register>> results = block(function.getBody().front(), *arguments);
    --depth;
    if (!results)
      return false;
    for (auto [result, source] : llvm::zip_equal(called.getResults(), *results))
      registers[result] = source;
    return true;
  }

  bool define(mlir::Operation &op, std::optional<Register> value) {
    if (value)
      registers[op.getResult(0)] = *value;
    return value.has_value();
  }

  std::optional<std::vector<Register>> operandsOf(mlir::Operation &op) {
    std::vector<Register> operands;
    for (mlir::Value value : op.getOperands()) {
      std::optional<Register> source = registerOf(value);
      if (!source)
        return std::nullopt;
      operands.push_back(*source);
    }
    return operands;
  }

  /// The register of a value. A captured outer value becomes a constant, because it does not change
  /// while the op runs.
  std::optional<Register> registerOf(mlir::Value value) {
    if (auto found = registers.find(value); found != registers.end())
      return found->second;
    if (!scalarTypeOf(value.getType()))
      return std::nullopt;
    const RuntimeValue &captured = call.frame.slots[call.frame.plan.slotOf(value)];
    std::optional<Register> source = builder.constant(captured.tensor().at(0));
    if (source)
      registers[value] = *source;
    return source;
  }

  ScalarFunction::Builder &builder;
  OpCall &call;
  llvm::DenseMap<mlir::Value, Register> registers;
  int depth = 0;
};
} // namespace

Result<ScalarFunction> OpCall::scalarFunction(mlir::Region &region) {
  mlir::Block &block = region.front();
  std::vector<ElementType> arguments, resultTypes;
  auto addTypes = [](mlir::TypeRange types, std::vector<ElementType> &into) {
    for (mlir::Type type : types) {
      // Quantized scalars are represented by their storage type; the ops of the body convert them.
      auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
      std::optional<ElementType> element =
          tensor && tensor.getRank() == 0 ? elementTypeOf(tensor.getElementType()) : std::nullopt;
      if (!element)
        return false;
      into.push_back(*element);
    }
    return true;
  };
  if (!addTypes(block.getArgumentTypes(), arguments) ||
      !addTypes(block.getTerminator()->getOperandTypes(), resultTypes))
    return Status(Error::interpretOp, "arguments and results of the body must be scalars");

  ScalarFunction::Builder builder(arguments);
  std::vector<Register> registers(arguments.size());
  for (size_t i = 0; i < registers.size(); ++i)
    registers[i] = static_cast<Register>(i);
  Translator translator(builder, *this);
  const bool plain = llvm::all_of(block.getArgumentTypes(),
                                  [](mlir::Type type) { return scalarTypeOf(type).has_value(); });
  if (auto results = plain ? translator.block(block, registers) : std::nullopt) {
    for (size_t i = 0; i < results->size(); ++i)
      builder.addResult((*results)[i], resultTypes[i]);
    return std::move(builder).finish();
  }

  auto callback = [this, &region, arguments](const Scalar *values, Scalar *results) -> Status {
    RuntimeValues tensors;
    for (size_t i = 0; i < arguments.size(); ++i) {
      TILEWRIGHT_ASSIGN(Tensor tensor, Tensor::scalar(arguments[i], values[i], context()));
      tensors.emplace_back(std::move(tensor));
    }
    TILEWRIGHT_ASSIGN(RuntimeValues outputs, run(region, std::move(tensors)));
    for (const RuntimeValue &output : outputs)
      *results++ = output.tensor().at(0);
    return Status();
  };
  return ScalarFunction(arguments, resultTypes, callback);
}

} // namespace tilewright::interpret
