#include "tilewright/transform/communicate/LoopState.h"

#include "tilewright/interpret/Types.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace tilewright::communicate {

static int64_t bytesOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape())
    return 0;
  auto element = interpret::elementTypeOf(tensor.getElementType());
  Result<interpret::Shape> shape = interpret::staticShapeOf(tensor);
  return element && shape.isOk() ? shape->byteCount(*element) : 0;
}

int64_t memoryAllowance(func::FuncOp function, int64_t percent) {
  int64_t sum = 0;
  for (Type type : function.getArgumentTypes())
    sum += bytesOf(type);
  for (Type type : function.getResultTypes())
    sum += bytesOf(type);
  function.walk([&](stablehlo::WhileOp loop) {
    for (Type type : loop->getResultTypes())
      sum += bytesOf(type);
  });
  return std::max<int64_t>(sum / 100 * percent, int64_t(16) << 20);
}

stablehlo::WhileOp addState(stablehlo::WhileOp loop, ValueRange inits) {
  OpBuilder builder(loop);
  SmallVector<Value> operands(loop->getOperands());
  operands.append(inits.begin(), inits.end());
  SmallVector<Type> types;
  for (Value operand : operands)
    types.push_back(operand.getType());
  auto larger = stablehlo::WhileOp::create(builder, loop.getLoc(), types, operands);
  larger->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  larger.getCond().takeBody(loop.getCond());
  larger.getBody().takeBody(loop.getBody());
  Block &body = larger.getBody().front();
  SmallVector<Value> next(body.getTerminator()->getOperands());
  for (Value init : inits) {
    larger.getCond().front().addArgument(init.getType(), init.getLoc());
    next.push_back(body.addArgument(init.getType(), init.getLoc()));
  }
  body.getTerminator()->setOperands(next);
  for (unsigned i = 0; i < loop->getNumResults(); ++i)
    loop->getResult(i).replaceAllUsesWith(larger->getResult(i));
  loop->erase();
  return larger;
}

bool isOutside(stablehlo::WhileOp loop, Value value) {
  return !loop->isAncestor(value.getParentBlock()->getParentOp());
}

static bool isCounterType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() == 0 && isa<IntegerType>(tensor.getElementType());
}

bool IterationClone::isPossible(stablehlo::WhileOp loop, Value value) {
  // The maximum number of ops to copy: more would cost more than a collective saves.
  constexpr unsigned maxOps = 48;
  Block &body = loop.getBody().front();
  DenseSet<Value> seen;
  SmallVector<Value> pending{value};
  while (!pending.empty()) {
    Value current = pending.pop_back_val();
    if (isOutside(loop, current) || !seen.insert(current).second)
      continue;
    if (seen.size() > maxOps)
      return false;
    if (auto argument = dyn_cast<BlockArgument>(current)) {
      if (argument.getOwner() != &body || !isCounterType(argument.getType()))
        return false;
      pending.push_back(body.getTerminator()->getOperand(argument.getArgNumber()));
      continue;
    }
    Operation *op = current.getDefiningOp();
    if (op->getBlock() != &body || op->getNumRegions() != 0 || !isMemoryEffectFree(op) ||
        isa<stablehlo::OptimizationBarrierOp>(op))
      return false;
    pending.append(op->operand_begin(), op->operand_end());
  }
  return true;
}

Value IterationClone::clone(Value value, IRMapping &known) {
  if (isOutside(loop, value))
    return value;
  if (Value done = known.lookupOrNull(value))
    return done;
  Value result;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    const unsigned number = argument.getArgNumber();
    if (&known == &inThis)
      result = argument; // only in the body
    else if (iteration == Iteration::first)
      result = loop->getOperand(number);
    else
      result = clone(loop.getBody().front().getTerminator()->getOperand(number), inThis);
  } else {
    Operation *op = value.getDefiningOp();
    IRMapping operands;
    for (Value operand : op->getOperands())
      operands.map(operand, clone(operand, known));
    Operation *copy = builder.clone(*op, operands);
    for (auto [from, to] : llvm::zip_equal(op->getResults(), copy->getResults()))
      known.map(from, to);
    return known.lookup(value);
  }
  known.map(value, result);
  return result;
}

Value IterationClone::of(Value value) { return clone(value, inAnother); }

} // namespace tilewright::communicate
