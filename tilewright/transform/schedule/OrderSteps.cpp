// schedule-order: moves starts of collectives up and dones down, so that they overlap computation.
#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"
#include "tilewright/interpret/PassLog.h"
#include "tilewright/transform/schedule/BlockProblem.h"
#include "tilewright/transform/schedule/Passes.h"

#include "mlir/IR/Remarks.h"

using namespace mlir;

namespace tilewright::schedule {

#define GEN_PASS_DEF_ORDERPASS
#include "tilewright/transform/schedule/Passes.h.inc"

namespace {

struct Order : impl::OrderPassBase<Order> {
  using OrderPassBase::OrderPassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (!overlap || function.isPrivate() || function.isExternal() || !hasCollective(function))
      return;
    FailureOr<transform::Prices> prices = transform::Prices::of(function, cluster);
    if (failed(prices))
      return signalPassFailure();
    const StepCost cost(*std::move(prices));
    function.walk([&](Block *block) {
      Operation *parent = block->getParentOp();
      if (isa<func::FuncOp, stablehlo::WhileOp, stablehlo::IfOp, stablehlo::CaseOp>(parent) &&
          llvm::any_of(*block, llvm::IsaPred<exec::CollectiveStartOp>))
        orderBlock(*block, cost);
    });
  }

private:
  void orderBlock(Block &block, const StepCost &cost) {
    const BlockProblem described(block, cost);
    const OrderProblem &problem = described.get();
    const std::vector<unsigned> order = predict::chooseOrder(problem, overlapMemory);
    for (unsigned i : order)
      described.op(i)->moveBefore(block.getTerminator());
    std::vector<unsigned> original(order.size());
    for (unsigned i = 0; i < original.size(); ++i)
      original[i] = i;
    const predict::OrderCost before = predict::costOf(problem, original);
    const predict::OrderCost after = predict::costOf(problem, order);
    report(block, before, after);
  }

  void report(Block &block, const predict::OrderCost &before, const predict::OrderCost &after) {
    auto first = llvm::find_if(block, llvm::IsaPred<exec::CollectiveStartOp>);
    auto opts = remark::RemarkOpts::name("schedule").category("schedule");
    auto text = [](double nanoseconds) { return static_cast<int64_t>(nanoseconds / 1e3); };
    auto made = after.time < before.time ? remark::passed(first->getLoc(), opts)
                                         : remark::missed(first->getLoc(), opts);
    made << remark::add("collectives of this block: {0} us of {1} us are predicted to be hidden",
                        text(before.exposed - after.exposed), text(before.exposed))
         << remark::reason("{0}", after.time < before.time
                                      ? "other steps run between their starts and dones"
                                      : "no step is independent of them, within the memory limit");
    TILEWRIGHT_LOG(getArgument(), &*first, "predicted wait ", text(before.exposed), " us before, ",
                   text(after.exposed), " us after; peak ", before.peak, " bytes before, ",
                   after.peak, " bytes after");
  }
};

} // namespace
} // namespace tilewright::schedule
