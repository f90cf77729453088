// simplify-finish: removes barriers and copies constants into scalar regions.
#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/dialect/stablehlo/ops/IndexingOps.h"
#include "tilewright/dialect/stablehlo/ops/ReductionOps.h"
#include "tilewright/interpret/PassLog.h"
#include "tilewright/transform/simplify/Passes.h"

using namespace mlir;

namespace tilewright::simplify {
#define GEN_PASS_DEF_FINISHPASS
#include "tilewright/transform/simplify/Passes.h.inc"

namespace {

/// Copies constants that a region uses, but that are defined outside of it, into the region.
void closeRegion(Region &region) {
  Block &block = region.front();
  DenseMap<Value, Value> copies;
  region.walk([&](Operation *op) {
    for (OpOperand &operand : op->getOpOperands()) {
      auto constant = operand.get().getDefiningOp<stablehlo::ConstantOp>();
      if (!constant || region.isAncestor(constant->getParentRegion()))
        continue;
      Value &copy = copies[operand.get()];
      if (!copy) {
        OpBuilder builder = OpBuilder::atBlockBegin(&block);
        copy = builder.clone(*constant)->getResult(0);
      }
      operand.set(copy);
    }
  });
}

struct Finish : impl::FinishPassBase<Finish> {
  void runOnOperation() override {
    SmallVector<Operation *> barriers;
    getOperation().walk([&](Operation *op) {
      if (isa<stablehlo::OptimizationBarrierOp>(op))
        barriers.push_back(op);
      else if (isa<stablehlo::ReduceOp, stablehlo::ReduceWindowOp, stablehlo::SortOp,
                   stablehlo::ScatterOp, stablehlo::SelectAndScatterOp, stablehlo::MapOp>(op))
        for (Region &region : op->getRegions())
          closeRegion(region);
    });
    for (Operation *barrier : barriers) {
      TILEWRIGHT_LOG(getArgument(), barrier, "is removed: no later pass merges equal code");
      barrier->replaceAllUsesWith(barrier->getOperands());
      barrier->erase();
    }
  }
};

} // namespace
} // namespace tilewright::simplify
