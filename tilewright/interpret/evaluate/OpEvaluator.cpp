#include "tilewright/interpret/evaluate/OpEvaluator.h"

#include "tilewright/interpret/Evaluation.h"
#include "tilewright/interpret/StopAt.h"
#include "tilewright/interpret/Types.h"
#include "tilewright/support/Concat.h"

#include <cstring>

namespace tilewright::interpret {

OpEvaluator::OpEvaluator(mlir::ModuleOp module)
    : program(std::make_unique<Program>(module, CustomCalls::standard())),
      world(std::make_unique<World>(RankGrid{})) {}

OpEvaluator::~OpEvaluator() = default;

/// Whether a region of `op` captures an outer value.
static bool usesOuterValues(mlir::Operation *op) {
  if (op->getNumRegions() == 0)
    return false;
  return op
      ->walk([&](mlir::Operation *inner) {
        for (mlir::Value operand : inner->getOperands())
          if (inner != op && !op->isAncestor(operand.getParentBlock()->getParentOp()))
            return mlir::WalkResult::interrupt();
        return mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

Result<RuntimeValues> OpEvaluator::evaluate(mlir::Operation *op, RuntimeValues operands,
                                            const InterpretOptions &limits) {
  Handler handler = handlerNamed(op->getName().getStringRef());
  if (!handler || usesOuterValues(op))
    return Status(
        Error::interpretOp,
        concat("'", op->getName().getStringRef().str(), "' cannot be evaluated in isolation: ",
               handler ? "it uses values that are defined outside it" : "it is not supported"));
  TILEWRIGHT_ASSIGN(std::unique_ptr<FunctionPlan> plan, FunctionPlan::create(op->getRegions()));
  Evaluation evaluation(*program, Context(limits), Rank{world.get(), 0});
  Frame frame{*plan, RuntimeValues(plan->slotCount())};
  OpCall call(op, evaluation, frame);
  call.operands = std::move(operands);
  Status status = handler(call);
  // A kernel that reached the work limit has stopped early, so its result is incomplete.
  if (mustStopAt(op))
    return Status(Code::cancelled, "the work limit is reached");
  TILEWRIGHT_TRY(std::move(status));
  return std::move(call.results);
}

mlir::DenseElementsAttr attributeOf(const Tensor &tensor, mlir::RankedTensorType type) {
  mlir::Type element = type.getElementType();
  if (!llvm::isa<mlir::IntegerType, mlir::FloatType, mlir::ComplexType>(element) ||
      tensor.type() == ElementType::tf32 || !type.hasStaticShape() || !isTensorOf(tensor, type))
    return {};
  const std::byte *data = tensor.data();
  const size_t bytes = tensor.elementBytes();
  const int64_t count = tensor.elementCount();
  bool splat = count > 0;
  for (int64_t i = 1; splat && i < count; ++i)
    splat = std::memcmp(data, data + static_cast<size_t>(i) * bytes, bytes) == 0;
  const int64_t stored = splat ? 1 : count;
  if (tensor.type() == ElementType::pred) {
    llvm::SmallVector<bool> bits;
    for (int64_t i = 0; i < stored; ++i)
      bits.push_back(data[i] != std::byte(0));
    return mlir::DenseElementsAttr::get(type, bits);
  }
  return mlir::DenseElementsAttr::getFromRawBuffer(
      type, llvm::ArrayRef<char>(reinterpret_cast<const char *>(data),
                                 static_cast<size_t>(stored) * bytes));
}

} // namespace tilewright::interpret
