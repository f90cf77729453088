#include "tilewright/interpret/Evaluation.h"

#include "tilewright/dialect/source/Source.h"
#include "tilewright/interpret/Types.h"
#include "tilewright/support/Concat.h"

#include "mlir/Dialect/Quant/IR/QuantTypes.h"

namespace tilewright::interpret {

/// The maximum nesting of regions, including calls, on one rank. Each level takes a few stack
/// frames, and a thread's stack has a few megabytes.
static constexpr int64_t maxRegionDepth = 1000;

namespace {
/// Counts a nesting level during its lifetime.
class Level {
public:
  explicit Level(int64_t &depth) : depth(depth) { ++depth; }
  ~Level() { --depth; }
  Level(const Level &) = delete;

private:
  int64_t &depth;
};
} // namespace

Result<const FunctionPlan *> Evaluation::planOf(mlir::func::FuncOp function) {
  std::unique_ptr<FunctionPlan> &plan = plans[function];
  if (!plan) {
    if (function.isExternal())
      return Status(Error::interpretFunction,
                    concat("function '", function.getName().str(), "' has no body to run"));
    TILEWRIGHT_ASSIGN(plan, FunctionPlan::create(function.getBody()));
  }
  return plan.get();
}

static std::string textOf(mlir::Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// "tensor<2x3xf32>", "a tuple" or "a token".
static std::string describe(const RuntimeValue &value) {
  if (value.isTensor())
    return concat("tensor<", value.tensor().typeString(), ">");
  return value.isTuple() ? "a tuple" : "a token";
}

static bool fits(const RuntimeValue &value, mlir::Type type) {
  if (auto tensorType = llvm::dyn_cast<mlir::RankedTensorType>(type))
    return value.isTensor() && isTensorOf(value.tensor(), tensorType);
  return !value.isTensor();
}

Result<RuntimeValues> Evaluation::call(llvm::StringRef name, RuntimeValues inputs) {
  auto function = program.symbols.lookup<mlir::func::FuncOp>(name);
  if (!function)
    return Status(Error::interpretFunction,
                  concat("the module has no function named '", name.str(), "'"));
  if (inputs.size() != function.getNumArguments())
    return Status(Error::interpretFunction,
                  concat("function '", name.str(), "' takes ", function.getNumArguments(),
                         " inputs, got ", inputs.size()));
  for (unsigned i = 0; i < inputs.size(); ++i)
    if (!fits(inputs[i], function.getArgumentTypes()[i]))
      return Status(Error::interpretFunction,
                    concat("input ", i, " of function '", name.str(), "' must be ",
                           textOf(function.getArgumentTypes()[i]), ", got ", describe(inputs[i])));

  Level level(callDepth);
  if (callDepth > context.options().maxCallDepth)
    return Status(Error::interpretDepth,
                  concat("call depth ", callDepth, " exceeds the limit of ",
                         context.options().maxCallDepth,
                         "; raise interpret.max-call-depth if the program is known to terminate"));
  TILEWRIGHT_ASSIGN(const FunctionPlan *plan, planOf(function));
  Frame frame{*plan, RuntimeValues(plan->slotCount())};
  return run(function.getBody(), std::move(inputs), frame);
}

Result<RuntimeValues> Evaluation::run(mlir::Region &region, RuntimeValues arguments, Frame &frame) {
  Level level(regionDepth);
  if (regionDepth > maxRegionDepth)
    return Status(Error::interpretDepth,
                  concat("regions and calls are nested more than ", maxRegionDepth, " deep"));
  const BlockPlan &plan = frame.plan.planOf(region);
  assert(arguments.size() == plan.argumentCount);
  for (unsigned i = 0; i < plan.argumentCount; ++i)
    frame.slots[plan.firstArgument + i] = std::move(arguments[i]);
  for (Slot slot : plan.unusedArguments)
    frame.slots[slot] = RuntimeValue();

  for (const PlannedOp &planned : plan.ops) {
    Status status = runOp(planned, frame);
    if (status.isOk())
      continue;
    if (failurePlaced)
      return status;
    failurePlaced = true;
    const std::string source = source::placeOf(planned.op->getLoc());
    return std::move(status).during(concat("evaluating '",
                                           planned.op->getName().getStringRef().str(), "'",
                                           source.empty() ? "" : " at ", source));
  }

  RuntimeValues results;
  results.reserve(plan.results.size());
  for (const SlotUse &use : plan.results)
    results.push_back(use.takes ? std::move(frame.slots[use.slot]) : frame.slots[use.slot]);
  return results;
}

Status Evaluation::runOp(const PlannedOp &planned, Frame &frame) {
  TILEWRIGHT_TRY(context.countSteps(1));
  OpCall call(planned.op, *this, frame);
  call.operands.reserve(planned.operands.size());
  for (const SlotUse &use : planned.operands)
    call.operands.push_back(use.takes ? std::move(frame.slots[use.slot]) : frame.slots[use.slot]);
  TILEWRIGHT_TRY(planned.handler(call));

  if (call.results.size() != planned.op->getNumResults())
    return Status(Error::interpretShape,
                  concat("the op has ", planned.op->getNumResults(),
                         " results, but its handler returned ", call.results.size()));
  for (unsigned i = 0; i < call.results.size(); ++i) {
    if (!fits(call.results[i], planned.op->getResult(i).getType()))
      return Status(Error::interpretShape,
                    concat("result ", i, " is declared ",
                           textOf(planned.op->getResult(i).getType()),
                           ", but the computed value is ", describe(call.results[i])));
    frame.slots[planned.firstResult + i] = std::move(call.results[i]);
  }
  for (Slot slot : planned.endsAfter)
    frame.slots[slot] = RuntimeValue();
  return Status();
}

std::vector<Tensor> OpCall::tensors(size_t first, size_t count) const {
  std::vector<Tensor> tensors;
  for (size_t i = first; i < first + count; ++i)
    tensors.push_back(tensor(i));
  return tensors;
}

std::vector<int64_t> OpCall::integers(size_t operand) const {
  const Tensor &values = tensor(operand);
  std::vector<int64_t> integers;
  for (int64_t i = 0; i < values.elementCount(); ++i)
    integers.push_back(values.indexAt(i));
  return integers;
}

mlir::RankedTensorType OpCall::resultType(size_t result) const {
  return llvm::cast<mlir::RankedTensorType>(op->getResult(static_cast<unsigned>(result)).getType());
}

ElementType OpCall::resultElementType(size_t result) const {
  mlir::Type type = resultType(result).getElementType();
  if (auto quantized = llvm::dyn_cast<mlir::quant::QuantizedType>(type);
      quantized && givesExpressedValues)
    type = quantized.getExpressedType();
  // The verifier ensures that every tensor type of the dialect has a supported element type.
  return elementTypeOf(type).value_or(ElementType::pred);
}

Result<Shape> OpCall::resultShape(size_t result) const { return staticShapeOf(resultType(result)); }

Status OpCall::give(Result<Tensor> tensor) {
  if (!tensor.isOk())
    return std::move(tensor).takeStatus();
  results.emplace_back(*std::move(tensor));
  return Status();
}

Status OpCall::give(Result<std::vector<Tensor>> tensors) {
  if (!tensors.isOk())
    return std::move(tensors).takeStatus();
  for (Tensor &tensor : *tensors)
    results.emplace_back(std::move(tensor));
  return Status();
}

Status OpCall::give(Result<RuntimeValues> values) {
  if (!values.isOk())
    return std::move(values).takeStatus();
  results = *std::move(values);
  return Status();
}

} // namespace tilewright::interpret
