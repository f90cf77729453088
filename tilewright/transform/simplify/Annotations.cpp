// What only tells somebody something: shardings of one device, tuples, tokens,
// asynchronous starts that need not be.
#include "tilewright/dialect/sdy/SdyDialect.h"
#include "tilewright/dialect/stablehlo/CallOps.h"
#include "tilewright/dialect/stablehlo/CollectiveOps.h"
#include "tilewright/dialect/stablehlo/ControlFlowOps.h"
#include "tilewright/transform/simplify/Constants.h"
#include "tilewright/transform/simplify/Patterns.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace tilewright::simplify {
namespace {

/// Targets that pass their operands on. A sharding says where pieces live, which
/// is decided before this stage; a placement says in which memory, which the
/// schedule reads from the attribute that is left on the producer.
LogicalResult dropAnnotation(stablehlo::CustomCallOp op, PatternRewriter &rewriter) {
  static const llvm::StringSet<> targets = {
      "Sharding",   "LayoutConstraint", "annotate_device_placement",
      "MoveToHost", "MoveToDevice",     "xla.sdy.FuncResultSharding"};
  if (!targets.contains(op.getCallTargetName()))
    return failure();
  // The result's sharding is a fact about the function, written on it; nothing is computed.
  if (op.getNumResults() == 0) {
    rewriter.eraseOp(op);
    return success();
  }
  if (op.getResultTypes() != op.getOperandTypes())
    return failure();
  rewriter.replaceOp(op, op.getOperands());
  return success();
}

LogicalResult dropShardingConstraint(sdy::ShardingConstraintOp op, PatternRewriter &rewriter) {
  rewriter.replaceOp(op, op.getInput());
  return success();
}

/// A computation written per device, where one device has all: pieces are wholes.
LogicalResult inlineManualComputation(sdy::ManualComputationOp op, PatternRewriter &rewriter) {
  Block &body = op.getBody().front();
  Operation *terminator = body.getTerminator();
  if (body.getArgumentTypes() != op.getOperandTypes() ||
      terminator->getOperandTypes() != op.getResultTypes())
    return failure();
  SmallVector<Value> results(terminator->getOperands());
  rewriter.eraseOp(terminator);
  // The results may be arguments of the body.
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
    return failure();
  rewriter.replaceOp(op, tuple.getVal()[op.getIndex()]);
  return success();
}

/// tuple(t[0], t[1], …) is t.
LogicalResult rebuildTuple(stablehlo::TupleOp op, PatternRewriter &rewriter) {
  Value whole;
  for (auto [index, value] : llvm::enumerate(op.getVal())) {
    auto element = value.getDefiningOp<stablehlo::GetTupleElementOp>();
    if (!element || element.getIndex() != index || (whole && whole != element.getOperand()))
      return failure();
    whole = element.getOperand();
  }
  if (!whole || whole.getType() != op.getType())
    return failure();
  rewriter.replaceOp(op, whole);
  return success();
}

/// Starts that are waited for become the op that they start, where the wait
/// was: one of the orders that the start allows.
LogicalResult finishAsync(stablehlo::AsyncDoneOp op, PatternRewriter &rewriter) {
  auto start = op->getOperand(0).getDefiningOp<stablehlo::AsyncStartOp>();
  if (!start || !start->hasOneUse())
    return failure();
  Block &body = start->getRegion(0).front();
  SmallVector<Value> results(body.getTerminator()->getOperands());
  if (TypeRange(ValueRange(results)) != op->getResultTypes())
    return failure();
  // Where it started, because its operands may be donated later.
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

/// A token that waits for one is that one; create_token is after_all of nothing.
LogicalResult simplifyAfterAll(stablehlo::AfterAllOp op, PatternRewriter &rewriter) {
  if (op.getInputs().size() != 1)
    return failure();
  rewriter.replaceOp(op, op.getInputs()[0]);
  return success();
}

LogicalResult modernToken(stablehlo::CreateTokenOp op, PatternRewriter &rewriter) {
  rewriter.replaceOpWithNewOp<stablehlo::AfterAllOp>(op, op.getType(), ValueRange());
  return success();
}

} // namespace

void addAnnotationPatterns(RewritePatternSet &patterns) {
  addPattern<stablehlo::CustomCallOp>(patterns, dropAnnotation);
  addPattern<sdy::ShardingConstraintOp>(patterns, dropShardingConstraint);
  addPattern<sdy::ManualComputationOp>(patterns, inlineManualComputation);
  addPattern<stablehlo::GetTupleElementOp>(patterns, takeFromTuple);
  addPattern<stablehlo::TupleOp>(patterns, rebuildTuple);
  addPattern<stablehlo::AsyncDoneOp>(patterns, finishAsync);
  addPattern<stablehlo::AfterAllOp>(patterns, simplifyAfterAll);
  addPattern<stablehlo::CreateTokenOp>(patterns, modernToken);
}

} // namespace tilewright::simplify
