#include "tilewright/interpret/Plan.h"

#include "tilewright/dialect/source/Source.h"
#include "tilewright/interpret/Types.h"
#include "tilewright/support/Concat.h"

#include "mlir/IR/OpDefinition.h"

namespace tilewright::interpret {

Result<std::unique_ptr<FunctionPlan>> FunctionPlan::create(mlir::Region &body) {
  return create(mlir::MutableArrayRef<mlir::Region>(body));
}

Result<std::unique_ptr<FunctionPlan>>
FunctionPlan::create(mlir::MutableArrayRef<mlir::Region> regions) {
  auto plan = std::make_unique<FunctionPlan>();
  for (mlir::Region &region : regions)
    TILEWRIGHT_TRY(plan->addRegion(region));
  return plan;
}

void FunctionPlan::addValues(mlir::ValueRange values) {
  for (mlir::Value value : values)
    slots[value] = nextSlot++;
}

Status FunctionPlan::addRegion(mlir::Region &region) {
  if (!region.hasOneBlock())
    return Status(Error::interpretOp, concat("a region must have exactly one block, got ",
                                             std::distance(region.begin(), region.end())));
  return addBlock(region.front());
}

/// The op of `block` that is or contains the last user of `value`; null if the value has no user.
static mlir::Operation *lastUserIn(mlir::Block &block, mlir::Value value) {
  mlir::Operation *last = nullptr;
  for (mlir::Operation *user : value.getUsers()) {
    mlir::Operation *here = block.findAncestorOpInBlock(*user);
    if (here && (!last || last->isBeforeInBlock(here)))
      last = here;
  }
  return last;
}

Status FunctionPlan::addBlock(mlir::Block &block) {
  BlockPlan plan;
  plan.firstArgument = nextSlot;
  plan.argumentCount = block.getNumArguments();
  addValues(block.getArguments());

  // Maps each op to the values of this block whose last use it is.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value, 2>> endingAt;
  for (mlir::BlockArgument argument : block.getArguments()) {
    if (mlir::Operation *last = lastUserIn(block, argument))
      endingAt[last].push_back(argument);
    else
      plan.unusedArguments.push_back(slots[argument]);
  }
  for (mlir::Operation &op : block)
    for (mlir::Value result : op.getResults())
      endingAt[result.use_empty() ? &op : lastUserIn(block, result)].push_back(result);

  for (mlir::Operation &op : block) {
    addValues(op.getResults());
    for (mlir::Region &region : op.getRegions())
      if (!region.empty())
        TILEWRIGHT_TRY(addRegion(region));

    llvm::SmallVector<SlotUse, 3> operands;
    llvm::SmallVector<mlir::Value, 2> &ending = endingAt[&op];
    // Iterate backwards: if an op uses a value twice, the later operand moves it.
    for (mlir::Value operand : llvm::reverse(op.getOperands())) {
      bool takes = llvm::is_contained(ending, operand);
      if (takes)
        takes = llvm::none_of(operand.getUsers(),
                              [&](mlir::Operation *user) { return op.isProperAncestor(user); });
      if (takes)
        llvm::erase(ending, operand);
      operands.push_back({slots[operand], takes});
    }
    std::reverse(operands.begin(), operands.end());

    if (op.hasTrait<mlir::OpTrait::IsTerminator>()) {
      plan.results.assign(operands.begin(), operands.end());
      break;
    }
    Handler handler = handlerNamed(op.getName().getStringRef());
    if (!handler)
      return Status(Error::interpretOp,
                    concat("'", op.getName().getStringRef().str(), "' at ",
                           source::placeOf(op.getLoc()), " is not supported by the evaluator"));
    PlannedOp planned{&op,
                      handler,
                      std::move(operands),
                      op.getNumResults() ? slots[op.getResult(0)] : nextSlot,
                      {}};
    for (mlir::Value value : ending)
      planned.endsAfter.push_back(slots[value]);
    plan.ops.push_back(std::move(planned));
  }
  blocks[&block] = std::move(plan);
  return Status();
}

} // namespace tilewright::interpret
