// Simplifies branches with a known condition, and removes unused results of branches.
#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"
#include "tilewright/transform/simplify/Constants.h"
#include "tilewright/transform/simplify/Patterns.h"

using namespace mlir;

namespace tilewright::simplify {
namespace {

/// Replaces `op` by the inlined region `branch`.
void inlineBranch(Operation *op, Region &branch, PatternRewriter &rewriter) {
  Block &body = branch.front();
  Operation *terminator = body.getTerminator();
  SmallVector<Value> results(terminator->getOperands());
  rewriter.eraseOp(terminator);
  rewriter.inlineBlockBefore(&body, op);
  rewriter.replaceOp(op, results);
}

LogicalResult chooseBranch(stablehlo::IfOp op, PatternRewriter &rewriter) {
  std::optional<int64_t> pred = integerOf(op.getPred());
  if (!pred)
    return rewriter.notifyMatchFailure(op, "the condition is not constant");
  inlineBranch(op, *pred ? op.getTrueBranch() : op.getFalseBranch(), rewriter);
  return success();
}

LogicalResult chooseCase(stablehlo::CaseOp op, PatternRewriter &rewriter) {
  const auto count = static_cast<int64_t>(op.getBranches().size());
  std::optional<int64_t> index = count == 1 ? 0 : integerOf(op.getIndex());
  if (!index)
    return rewriter.notifyMatchFailure(op, "the branch index is not constant");
  const int64_t branch = *index >= 0 && *index < count ? *index : count - 1;
  inlineBranch(op, op.getBranches()[static_cast<size_t>(branch)], rewriter);
  return success();
}

/// Drops unused results, and results for which every branch yields the same outer value.
LogicalResult dropResults(Operation *op, PatternRewriter &rewriter) {
  SmallVector<unsigned> kept;
  bool changed = false;
  for (OpResult result : op->getResults()) {
    Value common;
    bool same = true;
    for (Region &region : op->getRegions()) {
      Value given = region.front().getTerminator()->getOperand(result.getResultNumber());
      same = same && !region.isAncestor(given.getParentRegion()) && (!common || given == common);
      common = given;
    }
    if (same && common && !result.use_empty())
      rewriter.replaceAllUsesWith(result, common);
    if (result.use_empty())
      changed = true;
    else
      kept.push_back(result.getResultNumber());
  }
  if (!changed)
    return rewriter.notifyMatchFailure(
        op, "every result is used, and the branches yield different values for it");
  OperationState state(op->getLoc(), op->getName());
  state.addOperands(op->getOperands());
  for (unsigned index : kept)
    state.addTypes(op->getResult(index).getType());
  state.addAttributes(op->getAttrs());
  for (unsigned i = 0; i < op->getNumRegions(); ++i)
    state.addRegion();
  Operation *smaller = rewriter.create(state);
  for (unsigned i = 0; i < op->getNumRegions(); ++i) {
    Operation *terminator = op->getRegion(i).front().getTerminator();
    SmallVector<Value> values;
    for (unsigned index : kept)
      values.push_back(terminator->getOperand(index));
    rewriter.modifyOpInPlace(terminator, [&] { terminator->setOperands(values); });
    rewriter.inlineRegionBefore(op->getRegion(i), smaller->getRegion(i),
                                smaller->getRegion(i).begin());
  }
  for (auto [position, index] : llvm::enumerate(kept))
    rewriter.replaceAllUsesWith(op->getResult(index),
                                smaller->getResult(static_cast<unsigned>(position)));
  rewriter.eraseOp(op);
  return success();
}

template <typename Op> LogicalResult dropResultsOf(Op op, PatternRewriter &rewriter) {
  return dropResults(op, rewriter);
}

} // namespace

void addControlFlowPatterns(RewritePatternSet &patterns) {
  addPattern<stablehlo::IfOp>(patterns, "chooseBranch", chooseBranch);
  addPattern<stablehlo::CaseOp>(patterns, "chooseCase", chooseCase);
  addPattern<stablehlo::IfOp>(patterns, "dropResultsOf", dropResultsOf);
  addPattern<stablehlo::CaseOp>(patterns, "dropResultsOf", dropResultsOf);
}

} // namespace tilewright::simplify
