#include "tilewright/transform/communicate/LoopState.h"

#include "tilewright/dialect/stablehlo/Collectives.h"
#include "tilewright/dialect/stablehlo/ops/CallOps.h"
#include "tilewright/dialect/stablehlo/ops/CollectiveOps.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/interpret/Types.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseSet.h"

#include <complex>

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

bool isSameOnAllRanks(Value value) {
  // The maximum number of values to look at: an index is computed by a few ops.
  constexpr unsigned maxValues = 256;
  DenseSet<Value> seen;
  SmallVector<Value> pending{value};
  while (!pending.empty()) {
    Value current = pending.pop_back_val();
    if (!seen.insert(current).second)
      continue;
    if (seen.size() > maxValues)
      return false;
    if (auto argument = dyn_cast<BlockArgument>(current)) {
      // A caller may pass each rank its own parameters.
      auto loop = dyn_cast<stablehlo::WhileOp>(argument.getOwner()->getParentOp());
      if (!loop)
        return false;
      pending.push_back(loop->getOperand(argument.getArgNumber()));
      pending.push_back(
          loop.getBody().front().getTerminator()->getOperand(argument.getArgNumber()));
      continue;
    }
    Operation *op = current.getDefiningOp();
    // The results of a loop or a branch also depend on its condition.
    if (op->getNumRegions() != 0 || !isMemoryEffectFree(op) || stablehlo::isCollective(op) ||
        isa<stablehlo::PartitionIdOp, stablehlo::ReplicaIdOp, stablehlo::CustomCallOp,
            stablehlo::CompositeOp>(op))
      return false;
    pending.append(op->operand_begin(), op->operand_end());
  }
  return true;
}

Value zerosOf(OpBuilder &builder, Location location, Type type) {
  auto tensor = cast<RankedTensorType>(type);
  auto zeros = [&] {
    auto complex = dyn_cast<ComplexType>(tensor.getElementType());
    if (!complex)
      return DenseElementsAttr::get(tensor, builder.getZeroAttr(tensor.getElementType()));
    const APFloat zero(cast<FloatType>(complex.getElementType()).getFloatSemantics());
    return DenseElementsAttr::get(tensor, std::complex<APFloat>(zero, zero));
  };
  return stablehlo::ConstantOp::create(builder, location, zeros());
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
