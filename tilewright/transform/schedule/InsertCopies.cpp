#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/stablehlo/ControlFlowOps.h"
#include "tilewright/transform/schedule/BufferClasses.h"
#include "tilewright/transform/schedule/Passes.h"

using namespace mlir;

namespace tilewright::schedule {

#define GEN_PASS_DEF_INSERTCOPIESPASS
#include "tilewright/transform/schedule/Passes.h.inc"

/// What `value` is another name of: through reshapes and the like.
static Value rootOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isAlias(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

static Value copyBefore(Operation *op, Value value) {
  OpBuilder builder(op);
  return exec::CopyOp::create(builder, value.getLoc(), value.getType(), value);
}

static void copyOperands(Operation *op) {
  for (OpOperand &operand : op->getOpOperands())
    operand.set(copyBefore(op, operand.get()));
}

static void copyIntoLoop(stablehlo::WhileOp loop) {
  copyOperands(loop);
  Block &body = loop.getBody().front();
  Operation *yield = body.getTerminator();
  // First those that come from other loop values, into temporaries: the final
  // copies overwrite loop values one after the other.
  for (OpOperand &operand : yield->getOpOperands()) {
    Value own = body.getArgument(operand.getOperandNumber()), root = rootOf(operand.get());
    if (root != own && llvm::is_contained(body.getArguments(), root))
      operand.set(copyBefore(yield, operand.get()));
  }
  for (OpOperand &operand : yield->getOpOperands())
    if (rootOf(operand.get()) != body.getArgument(operand.getOperandNumber()))
      operand.set(copyBefore(yield, operand.get()));
}

namespace {

struct InsertCopies : impl::InsertCopiesPassBase<InsertCopies> {
  void runOnOperation() override {
    // Private functions are bodies of library calls; they have no plan.
    if (getOperation().isPrivate())
      return;
    getOperation().walk([](Operation *op) {
      if (auto loop = dyn_cast<stablehlo::WhileOp>(op))
        copyIntoLoop(loop);
      else if (isa<stablehlo::IfOp, stablehlo::CaseOp>(op))
        for (Region &region : op->getRegions())
          copyOperands(region.front().getTerminator());
      else if (isa<func::ReturnOp>(op))
        copyOperands(op);
    });
  }
};

} // namespace
} // namespace tilewright::schedule
