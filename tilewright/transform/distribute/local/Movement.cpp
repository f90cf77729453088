#include "tilewright/dialect/stablehlo/ops/BinaryOps.h"
#include "tilewright/dialect/stablehlo/ops/CollectiveOps.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/transform/distribute/local/Forms.h"
#include "tilewright/transform/distribute/local/Halo.h"
#include "tilewright/transform/distribute/local/Local.h"
#include "tilewright/transform/distribute/rules/Rules.h"

using namespace mlir;

namespace tilewright::distribute {

SmallVector<SplitDim> splitDims(const OpPlan &plan, const ShardingRule::Dims &dims,
                                ArrayRef<LoopKind> kinds) {
  SmallVector<SplitDim> found;
  for (auto [dim, loops] : llvm::enumerate(dims))
    if (loops.size() == 1 && !plan.axesOf(loops[0]).empty() &&
        llvm::is_contained(kinds, plan.rule.loop(loops[0]).kind))
      found.push_back({dim, plan.axesOf(loops[0]), plan.rule.loop(loops[0]).kind});
  return found;
}

static void replace(Operation *op, Value with) {
  op->getResult(0).replaceAllUsesWith(with);
  op->erase();
}

/// Finds the all-reduce of a slice whose rows are on two devices, if nothing else uses the partial
/// sums. Then it is cheaper for each device to send only the rows that the other one lacks: a sum
/// would make both send all rows.
static stablehlo::AllReduceOp sumOfTwo(stablehlo::SliceOp op, const OpPlan &plan,
                                       ArrayRef<SplitDim> split) {
  if (split.size() != 1 || split[0].kind != LoopKind::reduced || countOf(split[0].axes) != 2 ||
      !plan.open.empty() || !op->hasOneUse())
    return {};
  const size_t dim = split[0].dim;
  const int64_t shard = shapeOf(op.getOperand())[dim];
  const int64_t first = op.getStartIndices()[dim];
  const int64_t last = first + (shapeOf(op.getResult())[dim] - 1) * op.getStrides()[dim];
  auto sum = dyn_cast<stablehlo::AllReduceOp>(*op->user_begin());
  return sum && sum->getNumOperands() == 1 && first / shard != last / shard
             ? sum
             : stablehlo::AllReduceOp();
}

Status computeSlice(stablehlo::SliceOp op, const OpPlan &plan, ShardBuilder &shards) {
  fitAttributes(op);
  const auto split = splitDims(plan, plan.rule.operands[0], {LoopKind::shifted, LoopKind::reduced});
  if (split.empty())
    return Status();
  auto sum = sumOfTwo(op, plan, split);
  OpBuilder builder(op);
  const Location location = op.getLoc();
  // Slice the other dimensions first, so that unneeded elements are not sent. If a stride divides
  // the shard size, each device also drops the rows in between.
  SmallVector<int64_t> starts(op.getStartIndices()), limits(op.getLimitIndices()),
      strides(op.getStrides());
  SmallVector<int64_t> shape(shapeOf(op.getResult()));
  ArrayRef<int64_t> shard = shapeOf(op.getOperand());
  for (const SplitDim &at : split) {
    const size_t dim = at.dim;
    if (shard[dim] % strides[dim] != 0 || at.kind == LoopKind::reduced)
      strides[dim] = 1;
    const bool isOneRow = at.kind == LoopKind::reduced && shape[dim] == 1;
    starts[dim] = op.getStartIndices()[dim] % (isOneRow ? shard[dim] : strides[dim]);
    shape[dim] = isOneRow ? 1 : shard[dim] / strides[dim];
    limits[dim] = starts[dim] + (shape[dim] - 1) * strides[dim] + 1;
  }
  auto type = cast<RankedTensorType>(op.getType());
  Value value = stablehlo::SliceOp::create(builder, location, type.clone(shape), op.getOperand(),
                                           starts, limits, strides);
  for (const SplitDim &at : split) {
    const size_t dim = at.dim;
    ShardedDim rows(builder, location, shards, *plan.mesh, at.axes, dim);
    const int64_t start = op.getStartIndices()[dim];
    // Slices rows of the dimension by the strides that have not been applied yet.
    const int64_t step = op.getStrides()[dim] / strides[dim], size = type.getDimSize(dim);
    const int64_t span = (size - 1) * step + 1;
    if (at.kind == LoopKind::reduced && size == 1) {
      value = rows.onlyOn(start / shard[dim], value);
    } else if (sum) {
      value = rows.window(value, rows.affine(start, 0), span, Value());
    } else if (at.kind == LoopKind::reduced) {
      // Treat rows of other devices as zeros. A window outside of the shard is moved next to it.
      std::vector<int64_t> own = rows.affine(start, -shard[dim]);
      for (int64_t &first : own)
        first = std::clamp(first, -span, shard[dim]);
      Value nothing = stablehlo::ConstantOp::create(
          builder, location,
          neutralOf(RankedTensorType::get({}, type.getElementType()), "stablehlo.add"));
      value = rows.paddedSlice(value, own, span, nothing);
    } else {
      value = rows.window(value, rows.affine(start / strides[dim], size * step), span, Value());
    }
    if (step == 1)
      continue;
    shape.assign(shapeOf(value).begin(), shapeOf(value).end());
    starts.assign(shape.size(), 0);
    limits = shape;
    SmallVector<int64_t> steps(shape.size(), 1);
    steps[dim] = step;
    shape[dim] = size;
    value = stablehlo::SliceOp::create(builder, location, type.clone(shape), value, starts, limits,
                                       steps);
  }
  if (sum)
    replace(sum, value);
  replace(op, value);
  return Status();
}

Status computePad(stablehlo::PadOp op, const OpPlan &plan, ShardBuilder &shards) {
  OpBuilder builder(op);
  SmallVector<int64_t> low(op.getEdgePaddingLow()), high(op.getEdgePaddingHigh()),
      interior(op.getInteriorPadding());
  Value value = op.getOperand();
  for (const SplitDim &at : splitDims(plan, plan.rule.operands[0], {LoopKind::shifted})) {
    ShardedDim rows(builder, op.getLoc(), shards, *plan.mesh, at.axes, at.dim);
    const int64_t size = shapeOf(op.getResult())[at.dim];
    value = rows.dilatedWindow(value, rows.affine(-low[at.dim], size), size, interior[at.dim] + 1,
                               op.getPaddingValue());
    low[at.dim] = high[at.dim] = interior[at.dim] = 0;
  }
  auto isZero = [](int64_t rows) { return rows == 0; };
  if (llvm::all_of(low, isZero) && llvm::all_of(high, isZero) && llvm::all_of(interior, isZero)) {
    replace(op, value);
    return Status();
  }
  op.getOperandMutable().assign(value);
  op.setEdgePaddingLow(low);
  op.setEdgePaddingHigh(high);
  op.setInteriorPadding(interior);
  return Status();
}

Status computeReverse(stablehlo::ReverseOp op, const OpPlan &plan, ShardBuilder &shards) {
  OpBuilder builder(op);
  Value value = op.getOperand();
  for (const SplitDim &at : splitDims(plan, plan.rule.operands[0], {LoopKind::shifted})) {
    // Each device reverses the shard that it receives from its mirror image.
    ShardedDim rows(builder, op.getLoc(), shards, *plan.mesh, at.axes, at.dim);
    const int64_t size = shapeOf(value)[at.dim];
    value = rows.window(value, rows.affine((rows.count() - 1) * size, -size), size, Value());
  }
  op.getOperandMutable().assign(value);
  return Status();
}

Status computeConcatenate(stablehlo::ConcatenateOp op, const OpPlan &plan, ShardBuilder &shards) {
  const auto split = splitDims(plan, plan.rule.results[0], {LoopKind::shifted});
  if (split.empty())
    return Status();
  OpBuilder builder(op);
  ShardedDim rows(builder, op.getLoc(), shards, *plan.mesh, split[0].axes, split[0].dim);
  SmallVector<RowRun> runs;
  for (auto [i, operand] : llvm::enumerate(op.getInputs()))
    runs.push_back({i, 0, shapeOf(operand)[split[0].dim] * rows.count()});
  replace(op, rows.concatenate(op.getInputs(), runs));
  return Status();
}

Status computeFoldedSlices(stablehlo::CustomCallOp op, const OpPlan &plan, ShardBuilder &shards) {
  const FoldedSlices folded = *FoldedSlices::of(op);
  const auto split = splitDims(plan, plan.rule.results[0], {LoopKind::shifted});
  if (split.empty())
    return Status(); // expandFoldedSlices() follows
  OpBuilder builder(op);
  ShardedDim rows(builder, op.getLoc(), shards, *plan.mesh, split[0].axes, split[0].dim);
  replace(op, rows.concatenate(op.getInputs(), folded.runs));
  return Status();
}

} // namespace tilewright::distribute
