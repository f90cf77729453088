// Simplifies while loops: removes invariant and dead state, computes trip counts, hoists and
// unrolls.
#include "tilewright/dialect/stablehlo/ops/BinaryOps.h"
#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/dialect/stablehlo/ops/IndexingOps.h"
#include "tilewright/transform/simplify/Constants.h"
#include "tilewright/transform/simplify/Patterns.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;

namespace tilewright::simplify {

/// The trip count, if known; read by transform/schedule and later phases.
static constexpr llvm::StringLiteral tripCountAttr = "exec.trip_count";

namespace {

Operation *terminatorOf(Region &region) { return region.front().getTerminator(); }

/// Replaces uses of a carried value that the body passes on unchanged by the loop's operand.
LogicalResult captureInvariants(stablehlo::WhileOp op, PatternRewriter &rewriter) {
  Operation *next = terminatorOf(op.getBody());
  bool changed = false;
  for (unsigned i = 0; i < op.getNumOperands(); ++i) {
    BlockArgument inBody = op.getBody().getArgument(i), inCond = op.getCond().getArgument(i);
    Value operand = op->getOperand(i);
    const bool passedOn = next->getOperand(i) == inBody || next->getOperand(i) == operand;
    if (!passedOn || !isa<RankedTensorType>(operand.getType()))
      continue;
    auto replace = [&](Value value) {
      // The terminator still returns the argument, so that dropState() can drop the carried value.
      if (llvm::all_of(value.getUses(), [&](OpOperand &use) {
            return use.getOwner() == next && use.getOperandNumber() == i;
          }))
        return;
      rewriter.replaceUsesWithIf(value, operand, [&](OpOperand &use) {
        return use.getOwner() != next || use.getOperandNumber() != i;
      });
      changed = true;
    };
    replace(inBody);
    replace(inCond);
    if (!op.getResult(i).use_empty()) {
      rewriter.replaceAllUsesWith(op.getResult(i), operand);
      changed = true;
    }
  }
  if (!changed)
    return rewriter.notifyMatchFailure(op, "no used carried value is passed on unchanged");
  return success();
}

/// Adds to `needed` the arguments of the body (or the condition) that `root`, including its
/// regions, depends on.
void addDependencies(Operation *root, Region &region, llvm::SmallBitVector &needed,
                     DenseSet<Operation *> &seen) {
  SmallVector<Operation *> stack{root};
  while (!stack.empty()) {
    Operation *op = stack.pop_back_val();
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands()) {
        if (auto argument = dyn_cast<BlockArgument>(operand)) {
          if (argument.getOwner() == &region.front())
            needed.set(argument.getArgNumber());
          continue;
        }
        Operation *producer = region.front().findAncestorOpInBlock(*operand.getDefiningOp());
        if (producer && seen.insert(producer).second)
          stack.push_back(producer);
      }
    });
  }
}

/// Drops carried values that neither the used results nor the condition depend on.
LogicalResult dropState(stablehlo::WhileOp op, PatternRewriter &rewriter) {
  const unsigned count = op.getNumOperands();
  Operation *next = terminatorOf(op.getBody());
  llvm::SmallBitVector needed(count), done(count);
  DenseSet<Operation *> seenInCond, seenInBody;
  for (unsigned i = 0; i < count; ++i)
    if (!op.getResult(i).use_empty() || !isa<RankedTensorType>(op->getOperand(i).getType()))
      needed.set(i);
  addDependencies(terminatorOf(op.getCond()), op.getCond(), needed, seenInCond);
  if (needed.all())
    return rewriter.notifyMatchFailure(
        op, "the used results or the condition depend on every carried value");
  for (Region *region : {&op.getCond(), &op.getBody()})
    for (Operation &inner : region->front().without_terminator())
      if (!isMemoryEffectFree(&inner)) {
        auto &seen = region == &op.getCond() ? seenInCond : seenInBody;
        if (seen.insert(&inner).second)
          addDependencies(&inner, *region, needed, seen);
      }
  if (needed.all())
    return rewriter.notifyMatchFailure(
        op, "the used results or the condition depend on every carried value");
  // If a carried value is needed, all values that its next value depends on are needed too.
  for (bool grew = true; grew;) {
    grew = false;
    for (unsigned i = 0; i < count; ++i) {
      if (!needed[i] || done[i])
        continue;
      done.set(i);
      grew = true;
      Value value = next->getOperand(i);
      if (auto argument = dyn_cast<BlockArgument>(value)) {
        if (argument.getOwner() == &op.getBody().front())
          needed.set(argument.getArgNumber());
        continue;
      }
      Operation *producer = op.getBody().front().findAncestorOpInBlock(*value.getDefiningOp());
      if (producer && seenInBody.insert(producer).second)
        addDependencies(producer, op.getBody(), needed, seenInBody);
    }
    if (needed.all())
      return rewriter.notifyMatchFailure(
          op, "the used results or the condition depend on every carried value");
  }

  SmallVector<Value> operands;
  SmallVector<Type> types;
  for (unsigned i : needed.set_bits()) {
    operands.push_back(op->getOperand(i));
    types.push_back(op->getOperand(i).getType());
  }
  auto smaller = stablehlo::WhileOp::create(rewriter, op.getLoc(), types, operands);
  smaller->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  SmallVector<Value> values;
  for (unsigned i : needed.set_bits())
    values.push_back(next->getOperand(i));
  rewriter.modifyOpInPlace(next, [&] { next->setOperands(values); });
  // Ops that computed only dropped values are dead now, but still use the arguments. Let them use
  // the loop's operands until they are erased.
  llvm::BitVector dropped(count);
  for (unsigned i = 0; i < count; ++i) {
    if (needed[i])
      continue;
    dropped.set(i);
    rewriter.replaceAllUsesWith(op.getBody().getArgument(i), op->getOperand(i));
    rewriter.replaceAllUsesWith(op.getCond().getArgument(i), op->getOperand(i));
  }
  op.getBody().front().eraseArguments(dropped);
  op.getCond().front().eraseArguments(dropped);
  rewriter.inlineRegionBefore(op.getCond(), smaller.getCond(), smaller.getCond().begin());
  rewriter.inlineRegionBefore(op.getBody(), smaller.getBody(), smaller.getBody().begin());
  unsigned position = 0;
  for (unsigned i : needed.set_bits())
    rewriter.replaceAllUsesWith(op.getResult(i), smaller.getResult(position++));
  rewriter.eraseOp(op);
  return success();
}

/// A counting loop `for (i = begin; i < end; i += stride)` with constant bounds.
struct Counting {
  unsigned index; // of the counter among the carried values
  int64_t begin, stride, turns;
};

std::optional<Counting> countingOf(stablehlo::WhileOp op) {
  using stablehlo::ComparisonDirection;
  auto compare = terminatorOf(op.getCond())->getOperand(0).getDefiningOp<stablehlo::CompareOp>();
  if (!compare)
    return std::nullopt;
  auto counter = dyn_cast<BlockArgument>(compare.getLhs());
  std::optional<int64_t> end = integerOf(compare.getRhs());
  if (!counter || counter.getOwner() != &op.getCond().front() || !end)
    return std::nullopt;
  const unsigned index = counter.getArgNumber();
  auto type = dyn_cast<IntegerType>(typeOf(counter).getElementType());
  std::optional<int64_t> begin = integerOf(op->getOperand(index));
  auto step = terminatorOf(op.getBody())->getOperand(index).getDefiningOp<stablehlo::AddOp>();
  if (!type || type.getWidth() < 8 || !begin || !step ||
      step.getLhs() != op.getBody().getArgument(index))
    return std::nullopt;
  std::optional<int64_t> stride = integerOf(step.getRhs());
  if (!stride || *stride <= 0 || *stride > (1 << 30))
    return std::nullopt;
  int64_t limit = *end;
  if (compare.getComparisonDirection() == ComparisonDirection::LE && limit < INT64_MAX)
    ++limit;
  else if (compare.getComparisonDirection() != ComparisonDirection::LT)
    return std::nullopt;
  if (*begin >= limit)
    return Counting{index, *begin, *stride, 0};
  __int128 distance = static_cast<__int128>(limit) - *begin;
  __int128 turns = (distance + *stride - 1) / *stride;
  // The counter must reach its limit without wrapping around.
  __int128 last = *begin + turns * *stride;
  const unsigned bits = type.isUnsigned() ? type.getWidth() : type.getWidth() - 1;
  if (last >= (static_cast<__int128>(1) << bits) || turns > INT64_MAX)
    return std::nullopt;
  return Counting{index, *begin, *stride, static_cast<int64_t>(turns)};
}

std::optional<int64_t> tripCountOf(stablehlo::WhileOp op) {
  std::optional<Counting> counting = countingOf(op);
  return counting ? std::optional(counting->turns) : std::nullopt;
}

/// Folds comparisons of the counter that have the same result in every iteration. JAX tests each
/// index for being negative.
LogicalResult decideComparisons(stablehlo::WhileOp op, PatternRewriter &rewriter) {
  using stablehlo::ComparisonDirection;
  std::optional<Counting> counting = countingOf(op);
  if (!counting || counting->turns < 1)
    return rewriter.notifyMatchFailure(
        op, "it does not count from a constant to a constant, or has no iterations");
  const int64_t first = counting->begin, last = first + (counting->turns - 1) * counting->stride;
  SmallVector<std::pair<stablehlo::CompareOp, bool>> decided;
  for (Operation *user : op.getBody().getArgument(counting->index).getUsers()) {
    auto compare = dyn_cast<stablehlo::CompareOp>(user);
    if (!compare || compare.getLhs() != op.getBody().getArgument(counting->index))
      continue;
    std::optional<int64_t> bound = integerOf(compare.getRhs());
    if (!bound)
      continue;
    switch (compare.getComparisonDirection()) {
    case ComparisonDirection::LT:
      if (last < *bound || first >= *bound)
        decided.push_back({compare, last < *bound});
      break;
    case ComparisonDirection::GE:
      if (first >= *bound || last < *bound)
        decided.push_back({compare, first >= *bound});
      break;
    default:
      break;
    }
  }
  for (auto [compare, answer] : decided) {
    rewriter.setInsertionPoint(compare);
    rewriter.replaceOp(compare,
                       makeNumber(rewriter, compare.getLoc(), typeOf(compare), answer ? 1 : 0));
  }
  if (decided.empty())
    return rewriter.notifyMatchFailure(
        op, "no comparison of the counter has the same result in every iteration");
  return success();
}

/// Whether an op is free to recompute in each iteration. If it were hoisted, it would occupy
/// memory.
bool isRecomputed(Operation *op) {
  return isa<stablehlo::ConstantOp, stablehlo::IotaOp, stablehlo::BroadcastInDimOp,
             stablehlo::ReshapeOp, stablehlo::SliceOp>(op);
}

/// Hoists loop-invariant ops whose results do not take much more memory than their operands.
LogicalResult hoistInvariants(stablehlo::WhileOp op, PatternRewriter &rewriter) {
  Block &body = op.getBody().front();
  DenseSet<Operation *> invariant;
  SmallVector<Operation *> wanted;
  // An op without regions sees values of the body, and values from outside of the loop.
  auto comesFromOutside = [&](Value value) {
    return value.getParentBlock() != &body ||
           (value.getDefiningOp() && invariant.contains(value.getDefiningOp()));
  };
  for (Operation &inner : body.without_terminator()) {
    // Check the operands first: that decides nearly all ops, and the other checks take longer.
    if (inner.getNumRegions() != 0 || !llvm::all_of(inner.getOperands(), comesFromOutside) ||
        isa<stablehlo::OptimizationBarrierOp>(inner) || !isMemoryEffectFree(&inner) ||
        !isSpeculatable(&inner) || !llvm::all_of(inner.getResults(), isStatic))
      continue;
    invariant.insert(&inner);
    if (isRecomputed(&inner))
      continue;
    int64_t read = 4096, made = 0;
    for (Value operand : inner.getOperands()) {
      if (auto broadcast = operand.getDefiningOp<stablehlo::BroadcastInDimOp>())
        operand = broadcast.getOperand();
      if (isStatic(operand))
        read += bytesOf(typeOf(operand));
    }
    for (Value result : inner.getResults())
      made += bytesOf(typeOf(result));
    if (made <= read)
      wanted.push_back(&inner);
  }
  if (wanted.empty())
    return rewriter.notifyMatchFailure(op, "no loop-invariant op is worth hoisting");
  // Include the invariant ops that these depend on, and keep the order of the body.
  DenseSet<Operation *> moved;
  SmallVector<Operation *> pending(wanted);
  while (!pending.empty()) {
    Operation *inner = pending.pop_back_val();
    if (!moved.insert(inner).second)
      continue;
    for (Value operand : inner->getOperands())
      if (Operation *producer = operand.getDefiningOp(); producer && invariant.contains(producer))
        pending.push_back(producer);
  }
  for (Operation &inner : llvm::make_early_inc_range(body.without_terminator()))
    if (moved.contains(&inner))
      rewriter.moveOpBefore(&inner, op);
  return success();
}

LogicalResult countTurns(stablehlo::WhileOp op, PatternRewriter &rewriter) {
  std::optional<int64_t> turns = tripCountOf(op);
  if (!turns)
    return rewriter.notifyMatchFailure(
        op, "it does not count from a constant to a constant by a constant stride");
  if (*turns == 0) {
    rewriter.replaceOp(op, op.getOperands());
    return success();
  }
  if (*turns == 1) {
    Block &body = op.getBody().front();
    Operation *next = body.getTerminator();
    SmallVector<Value> results;
    for (Value value : next->getOperands()) {
      auto argument = dyn_cast<BlockArgument>(value);
      results.push_back(argument && argument.getOwner() == &body
                            ? op->getOperand(argument.getArgNumber())
                            : value);
    }
    rewriter.eraseOp(next);
    SmallVector<Value> operands(op.getOperands());
    rewriter.inlineBlockBefore(&body, op, operands);
    rewriter.replaceOp(op, results);
    return success();
  }
  auto count = rewriter.getI64IntegerAttr(*turns);
  if (op->getAttr(tripCountAttr) == count)
    return rewriter.notifyMatchFailure(op, "the trip count is already recorded");
  rewriter.modifyOpInPlace(op, [&] { op->setAttr(tripCountAttr, count); });
  return success();
}

/// The maximum trip count and number of ops of an unrolled loop: about as much as one kernel can
/// hold.
constexpr int64_t maxUnrolledTurns = 8, maxUnrolledOps = 600;

/// Whether a body contains only elementwise arithmetic and data movement, so that one kernel could
/// compute all iterations without storing intermediate values.
bool isArithmetic(Block &body) {
  return llvm::all_of(body.without_terminator(), [](Operation &op) {
    return op.getNumRegions() == 0 &&
           (op.hasTrait<OpTrait::Elementwise>() ||
            isa<stablehlo::ConstantOp, stablehlo::SelectOp, stablehlo::ClampOp,
                stablehlo::ReshapeOp, stablehlo::BroadcastInDimOp, stablehlo::SliceOp,
                stablehlo::IotaOp, stablehlo::DynamicSliceOp, stablehlo::ConcatenateOp>(op));
  });
}

/// Unrolls a short loop of arithmetic ops, such as the rounds of a random number generator.
LogicalResult unroll(stablehlo::WhileOp op, PatternRewriter &rewriter) {
  std::optional<int64_t> turns = tripCountOf(op);
  Block &body = op.getBody().front();
  if (!turns)
    return rewriter.notifyMatchFailure(op, "the trip count is unknown");
  if (*turns > maxUnrolledTurns)
    return rewriter.notifyMatchFailure(op, Twine("the trip count is ") + Twine(*turns) +
                                               ", limit " + Twine(maxUnrolledTurns));
  if (!isArithmetic(body))
    return rewriter.notifyMatchFailure(op, "the body does more than arithmetic and data movement");
  const int64_t ops = static_cast<int64_t>(body.getOperations().size()) * *turns;
  if (ops > maxUnrolledOps)
    return rewriter.notifyMatchFailure(op, Twine("unrolled it would have ") + Twine(ops) +
                                               " ops, limit " + Twine(maxUnrolledOps));
  SmallVector<Value> state(op.getOperands());
  for (int64_t turn = 0; turn < *turns; ++turn) {
    IRMapping mapping;
    mapping.map(body.getArguments(), state);
    for (Operation &inner : body.without_terminator())
      rewriter.clone(inner, mapping);
    for (auto [value, next] : llvm::zip_equal(state, body.getTerminator()->getOperands()))
      value = mapping.lookupOrDefault(next);
  }
  rewriter.replaceOp(op, state);
  return success();
}

/// Removes a loop whose condition is false from the start.
LogicalResult neverTurns(stablehlo::WhileOp op, PatternRewriter &rewriter) {
  std::optional<int64_t> condition = integerOf(terminatorOf(op.getCond())->getOperand(0));
  if (condition != 0)
    return rewriter.notifyMatchFailure(op, "the condition is not a constant false");
  rewriter.replaceOp(op, op.getOperands());
  return success();
}

} // namespace

void addLoopPatterns(RewritePatternSet &patterns) {
  addPattern<stablehlo::WhileOp>(patterns, "captureInvariants", captureInvariants);
  addPattern<stablehlo::WhileOp>(patterns, "dropState", dropState);
  addPattern<stablehlo::WhileOp>(patterns, "countTurns", countTurns);
  addPattern<stablehlo::WhileOp>(patterns, "neverTurns", neverTurns);
  addPattern<stablehlo::WhileOp>(patterns, "unroll", unroll);
  addPattern<stablehlo::WhileOp>(patterns, "decideComparisons", decideComparisons);
  addPattern<stablehlo::WhileOp>(patterns, "hoistInvariants", hoistInvariants);
}

} // namespace tilewright::simplify
