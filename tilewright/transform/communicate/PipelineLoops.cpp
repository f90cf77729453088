// communicate-pipeline-loops: overlaps the collectives of one iteration with the computation of
// another.
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/dialect/stablehlo/ops/CollectiveOps.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/dialect/stablehlo/ops/IndexingOps.h"
#include "tilewright/dialect/stablehlo/ops/UnaryOps.h"
#include "tilewright/interpret/PassLog.h"
#include "tilewright/transform/communicate/Collective.h"
#include "tilewright/transform/communicate/LoopState.h"
#include "tilewright/transform/communicate/Passes.h"

#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace tilewright::communicate {

#define GEN_PASS_DEF_PIPELINELOOPSPASS
#include "tilewright/transform/communicate/Passes.h.inc"

namespace {

/// With fewer iterations, the one superfluous collective costs too much in comparison.
constexpr int64_t minIterations = 4;

/// A reduction whose only use is a store into a carried stack that the body does not read.
struct Stored {
  Operation *reduction = nullptr;
  stablehlo::DynamicUpdateSliceOp update;
  unsigned stack = 0;            // the carried value
  SmallVector<Operation *> path; // pure ops from the reduction to the update, such as a reshape
};

struct PipelineLoops : impl::PipelineLoopsPassBase<PipelineLoops> {
  using PipelineLoopsPassBase::PipelineLoopsPassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal() || function.isPrivate())
      return;
    allowance = memoryAllowance(function, memory);
    SmallVector<stablehlo::WhileOp> loops;
    function.walk([&](stablehlo::WhileOp loop) {
      auto count = loop->getAttrOfType<IntegerAttr>("exec.trip_count");
      if (count && count.getInt() >= minIterations)
        loops.push_back(loop);
    });
    for (stablehlo::WhileOp loop : loops) {
      loop = gatherEarlier(loop);
      storeLater(loop);
    }
  }

private:
  bool mayUse(Operation *op, int64_t bytes) {
    if (bytes > allowance) {
      remark::missed(op->getLoc(), options())
          << remark::add("{0} is not moved to another iteration", op->getName().getStringRef())
          << remark::reason("it would take {0} bytes, more than communicate.overlap-memory allows",
                            bytes);
      return false;
    }
    allowance -= bytes;
    return true;
  }

  static remark::RemarkOpts options() {
    return remark::RemarkOpts::name("communicate").category("communicate");
  }

  static void report(Operation *op, StringRef what) {
    TILEWRIGHT_LOG("communicate-pipeline-loops", op, what);
    remark::passed(op->getLoc(), options())
        << remark::add("{0} {1}", op->getName().getStringRef(), what);
  }

  /// Issues gathers of values that depend only on counters one iteration earlier.
  stablehlo::WhileOp gatherEarlier(stablehlo::WhileOp loop) {
    SmallVector<Operation *> gathers;
    for (Operation &op : loop.getBody().front())
      if (isa<stablehlo::AllGatherOp>(op) && keyOf(&op) &&
          llvm::all_of(op.getOperands(),
                       [&](Value operand) {
                         return !isOutside(loop, operand) &&
                                IterationClone::isPossible(loop, operand);
                       }) &&
          mayUse(&op, operandBytes(&op) * ranksOf(&op)))
        gathers.push_back(&op);
    if (gathers.empty())
      return loop;
    // The gathers of the first iteration run before the loop.
    OpBuilder builder(loop);
    IterationClone first(loop, builder, IterationClone::Iteration::first);
    SmallVector<Value> inits;
    for (Operation *gather : gathers)
      llvm::append_range(inits, cloneGather(builder, gather, first)->getResults());
    const unsigned before = loop->getNumOperands();
    loop = addState(loop, inits);
    // The other gathers run at the beginning of the body, for the next iteration.
    Block &body = loop.getBody().front();
    builder.setInsertionPointToStart(&body);
    IterationClone next(loop, builder, IterationClone::Iteration::next);
    unsigned state = before;
    SmallVector<std::pair<Operation *, Operation *>> replaced;
    for (Operation *gather : gathers)
      replaced.push_back({gather, cloneGather(builder, gather, next)});
    for (auto [gather, early] : replaced) {
      report(gather, "begins one iteration earlier");
      for (auto [old, fresh] : llvm::zip_equal(gather->getResults(), early->getResults())) {
        old.replaceAllUsesWith(body.getArgument(state));
        body.getTerminator()->setOperand(state++, fresh);
      }
      gather->erase();
    }
    // Nothing else may read the gathered value.
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
      if (isOpTriviallyDead(&op))
        op.erase();
    return loop;
  }

  static Operation *cloneGather(OpBuilder &builder, Operation *gather, IterationClone &other) {
    IRMapping mapping;
    for (Value operand : gather->getOperands())
      mapping.map(operand, other.of(operand));
    return builder.clone(*gather, mapping);
  }

  /// The reductions of a loop that can be stored one iteration later.
  SmallVector<Stored> storedReductions(stablehlo::WhileOp loop) {
    SmallVector<Stored> found;
    Block &body = loop.getBody().front();
    for (Operation &op : body) {
      if (!isa<stablehlo::AllReduceOp, stablehlo::ReduceScatterOp>(op) || op.getNumResults() != 1 ||
          !keyOf(&op))
        continue;
      Stored stored;
      stored.reduction = &op;
      Operation *at = &op;
      while (at->hasOneUse() && !stored.update) {
        Operation *user = *at->getUsers().begin();
        if (user->getBlock() != &body)
          break;
        if (auto update = dyn_cast<stablehlo::DynamicUpdateSliceOp>(user);
            update && update.getUpdate() == at->getResult(0))
          stored.update = update;
        else if (isa<stablehlo::ReshapeOp, stablehlo::ConvertOp, stablehlo::BroadcastInDimOp,
                     stablehlo::TransposeOp>(user))
          stored.path.push_back(at = user);
        else
          break;
      }
      if (!stored.update)
        continue;
      auto stack = dyn_cast<BlockArgument>(stored.update.getOperand());
      if (!stack || stack.getOwner() != &body || !stack.hasOneUse() ||
          !stored.update->hasOneUse() ||
          body.getTerminator()->getOperand(stack.getArgNumber()) != stored.update.getResult() ||
          !loop.getCond().front().getArgument(stack.getArgNumber()).use_empty() ||
          !llvm::all_of(stored.update.getStartIndices(),
                        [&](Value index) { return IterationClone::isPossible(loop, index); }))
        continue;
      // The operand is carried, and the reduction of the previous iteration is still in flight.
      if (!mayUse(&op, operandBytes(&op)))
        continue;
      stored.stack = stack.getArgNumber();
      found.push_back(std::move(stored));
    }
    return found;
  }

  /// Reduces and stores a value in the iteration after the one that computed it. The first
  /// iteration has no such value, so it stores zeros where the second one stores the first value.
  void storeLater(stablehlo::WhileOp loop) {
    SmallVector<Stored> all = storedReductions(loop);
    if (all.empty())
      return;
    OpBuilder builder(loop);
    IterationClone first(loop, builder, IterationClone::Iteration::first);
    SmallVector<Value> inits;
    const unsigned before = loop->getNumOperands();
    for (Stored &stored : all) {
      const Value operand = stored.reduction->getOperand(0);
      inits.push_back(zerosOf(builder, operand.getLoc(), operand.getType()));
      for (Value index : stored.update.getStartIndices())
        if (isCarried(loop, index))
          inits.push_back(first.of(index));
    }
    loop = addState(loop, inits);
    Block &body = loop.getBody().front();
    Operation *terminator = body.getTerminator();
    OpBuilder after(loop->getContext());
    after.setInsertionPointAfter(loop);
    builder.setInsertionPointToStart(&body);
    unsigned state = before;
    for (Stored &stored : all) {
      report(stored.reduction, "ends one iteration later");
      const Value operand = stored.reduction->getOperand(0);
      SmallVector<Value> indices(stored.update.getStartIndices());
      // In the body, use the value of the previous iteration.
      IRMapping inBody;
      inBody.map(operand, body.getArgument(state));
      inBody.map(stored.update.getOperand(), body.getArgument(stored.stack));
      // After the loop, use the value of the last iteration.
      IRMapping behind;
      behind.map(operand, loop->getResult(state));
      behind.map(stored.update.getOperand(), loop->getResult(stored.stack));
      terminator->setOperand(state++, operand);
      for (Value index : indices) {
        if (!isCarried(loop, index))
          continue;
        inBody.map(index, body.getArgument(state));
        behind.map(index, loop->getResult(state));
        terminator->setOperand(state++, index);
      }
      Value kept = cloneStore(builder, stored, inBody), last = cloneStore(after, stored, behind);
      terminator->setOperand(stored.stack, kept);
      loop->getResult(stored.stack).replaceAllUsesExcept(last, last.getDefiningOp());
      stored.update->erase();
      for (Operation *op : llvm::reverse(stored.path))
        op->erase();
      stored.reduction->erase();
    }
  }

  /// Whether an index of a store changes from iteration to iteration.
  static bool isCarried(stablehlo::WhileOp loop, Value index) {
    return !isOutside(loop, index) && !index.getDefiningOp<stablehlo::ConstantOp>();
  }

  static Value cloneStore(OpBuilder &builder, const Stored &stored, IRMapping &mapping) {
    for (Value index : stored.update->getOperands())
      if (auto constant = index.getDefiningOp<stablehlo::ConstantOp>())
        builder.clone(*constant, mapping);
    builder.clone(*stored.reduction, mapping);
    for (Operation *op : stored.path)
      builder.clone(*op, mapping);
    return builder.clone(*stored.update, mapping)->getResult(0);
  }

  int64_t allowance = 0;
};

} // namespace
} // namespace tilewright::communicate
