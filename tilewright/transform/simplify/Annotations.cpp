// Removes shardings, annotations, tuples, redundant tokens, and pairs of asynchronous starts and
// waits.
#include "tilewright/dialect/sdy/SdyDialect.h"
#include "tilewright/dialect/stablehlo/ops/CallOps.h"
#include "tilewright/dialect/stablehlo/ops/CollectiveOps.h"
#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"
#include "tilewright/transform/simplify/Constants.h"
#include "tilewright/transform/simplify/Patterns.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace tilewright::simplify {
namespace {

/// Removes custom calls that only annotate their operands. Shardings were resolved before this
/// phase. A placement names a memory space, which the schedule reads from the attribute on the
/// producer.
LogicalResult dropAnnotation(stablehlo::CustomCallOp op, PatternRewriter &rewriter) {
  static const llvm::StringSet<> targets = {
      "Sharding",     "LayoutConstraint",           "annotate_device_placement", "MoveToHost",
      "MoveToDevice", "xla.sdy.FuncResultSharding", "tilewright.sharding_rule"};
  if (!targets.contains(op.getCallTargetName()))
    return rewriter.notifyMatchFailure(op, Twine("custom call '") + op.getCallTargetName() +
                                               "' is not an annotation");
  // A call without results, such as xla.sdy.FuncResultSharding, computes nothing: the sharding is
  // an attribute of the function.
  if (op.getNumResults() == 0) {
    rewriter.eraseOp(op);
    return success();
  }
  // The rule of a function relates other operands to those that it returns.
  ValueRange returned = op.getOperands();
  if (op.getCallTargetName() == "tilewright.sharding_rule" && returned.size() > op.getNumResults())
    returned = returned.take_back(op.getNumResults());
  if (op.getResultTypes() != TypeRange(returned))
    return rewriter.notifyMatchFailure(op, "the result types differ from the operand types");
  rewriter.replaceOp(op, returned);
  return success();
}

LogicalResult dropShardingConstraint(sdy::ShardingConstraintOp op, PatternRewriter &rewriter) {
  rewriter.replaceOp(op, op.getInput());
  return success();
}

/// Sharding groups were resolved before this phase.
LogicalResult dropShardingGroup(sdy::ShardingGroupOp op, PatternRewriter &rewriter) {
  rewriter.eraseOp(op);
  return success();
}

/// Inlines a manual computation on a single device, where each shard is the whole tensor.
LogicalResult inlineManualComputation(sdy::ManualComputationOp op, PatternRewriter &rewriter) {
  Block &body = op.getBody().front();
  Operation *terminator = body.getTerminator();
  if (body.getArgumentTypes() != op.getOperandTypes() ||
      terminator->getOperandTypes() != op.getResultTypes())
    return rewriter.notifyMatchFailure(
        op, "the types of the shards differ from those of the whole tensors");
  SmallVector<Value> results(terminator->getOperands());
  rewriter.eraseOp(terminator);
  // A result may be an argument of the body.
  for (Value &result : results)
    if (auto argument = dyn_cast<BlockArgument>(result); argument && argument.getOwner() == &body)
      result = op.getOperand(argument.getArgNumber());
  rewriter.inlineBlockBefore(&body, op, op.getOperands());
  rewriter.replaceOp(op, results);
  return success();
}

LogicalResult takeFromTuple(stablehlo::GetTupleElementOp op, PatternRewriter &rewriter) {
  auto tuple = op.getOperand().getDefiningOp<stablehlo::TupleOp>();
  if (!tuple)
    return rewriter.notifyMatchFailure(op, "the operand is not the result of stablehlo.tuple");
  rewriter.replaceOp(op, tuple.getVal()[op.getIndex()]);
  return success();
}

/// tuple(t[0], t[1], …) is t.
LogicalResult rebuildTuple(stablehlo::TupleOp op, PatternRewriter &rewriter) {
  Value whole;
  for (auto [index, value] : llvm::enumerate(op.getVal())) {
    auto element = value.getDefiningOp<stablehlo::GetTupleElementOp>();
    if (!element || element.getIndex() != index || (whole && whole != element.getOperand()))
      return rewriter.notifyMatchFailure(
          op, "the values are not the elements of the same tuple, in order");
    whole = element.getOperand();
  }
  if (!whole || whole.getType() != op.getType())
    return rewriter.notifyMatchFailure(op, "has no values, or the tuple has another type");
  rewriter.replaceOp(op, whole);
  return success();
}

/// Replaces an asynchronous start and its wait by the synchronous op, which is always legal.
LogicalResult finishAsync(stablehlo::AsyncDoneOp op, PatternRewriter &rewriter) {
  auto start = op->getOperand(0).getDefiningOp<stablehlo::AsyncStartOp>();
  if (!start || !start->hasOneUse())
    return rewriter.notifyMatchFailure(op, "the operand is not an async_start with a single use");
  Block &body = start->getRegion(0).front();
  SmallVector<Value> results(body.getTerminator()->getOperands());
  if (TypeRange(ValueRange(results)) != op->getResultTypes())
    return rewriter.notifyMatchFailure(op, "the result types differ from those of the body");
  // Insert the op at the start, because its operands may be donated before the wait.
  IRMapping mapping;
  mapping.map(body.getArguments(), start->getOperands());
  rewriter.setInsertionPoint(start);
  for (Operation &inner : body.without_terminator())
    rewriter.clone(inner, mapping);
  for (Value &result : results)
    result = mapping.lookupOrDefault(result);
  rewriter.replaceOp(op, results);
  rewriter.eraseOp(start);
  return success();
}

/// after_all of a single token is that token.
LogicalResult simplifyAfterAll(stablehlo::AfterAllOp op, PatternRewriter &rewriter) {
  if (op.getInputs().size() != 1)
    return rewriter.notifyMatchFailure(op, Twine("it joins ") + Twine(op.getInputs().size()) +
                                               " tokens, not 1");
  rewriter.replaceOp(op, op.getInputs()[0]);
  return success();
}

LogicalResult modernToken(stablehlo::CreateTokenOp op, PatternRewriter &rewriter) {
  rewriter.replaceOpWithNewOp<stablehlo::AfterAllOp>(op, op.getType(), ValueRange());
  return success();
}

} // namespace

void addAnnotationPatterns(RewritePatternSet &patterns) {
  addPattern<stablehlo::CustomCallOp>(patterns, "dropAnnotation", dropAnnotation);
  addPattern<sdy::ShardingConstraintOp>(patterns, "dropShardingConstraint", dropShardingConstraint);
  addPattern<sdy::ShardingGroupOp>(patterns, "dropShardingGroup", dropShardingGroup);
  addPattern<sdy::ManualComputationOp>(patterns, "inlineManualComputation",
                                       inlineManualComputation);
  addPattern<stablehlo::GetTupleElementOp>(patterns, "takeFromTuple", takeFromTuple);
  addPattern<stablehlo::TupleOp>(patterns, "rebuildTuple", rebuildTuple);
  addPattern<stablehlo::AsyncDoneOp>(patterns, "finishAsync", finishAsync);
  addPattern<stablehlo::AfterAllOp>(patterns, "simplifyAfterAll", simplifyAfterAll);
  addPattern<stablehlo::CreateTokenOp>(patterns, "modernToken", modernToken);
}

} // namespace tilewright::simplify
