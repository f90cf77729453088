// Windows that slide over a sharded dimension: each device gets the rows of its windows (Halo.h)
// and computes without padding.
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/transform/distribute/local/Forms.h"
#include "tilewright/transform/distribute/local/Halo.h"
#include "tilewright/transform/distribute/rules/Rules.h"

#include <algorithm>

using namespace mlir;

namespace tilewright::distribute {
namespace {

using OptionalSizes = std::optional<ArrayRef<int64_t>>;

SmallVector<int64_t> orOnes(OptionalSizes values, size_t rank) {
  return values ? SmallVector<int64_t>(*values) : SmallVector<int64_t>(rank, 1);
}

/// Low and high padding of each dimension.
SmallVector<int64_t> orZeros(std::optional<DenseIntElementsAttr> padding, size_t rank) {
  SmallVector<int64_t> values(2 * rank, 0);
  if (padding)
    for (auto [value, said] : llvm::zip_equal(values, padding->getValues<APInt>()))
      value = said.getSExtValue();
  return values;
}

DenseIntElementsAttr paddingAttr(Builder &builder, ArrayRef<int64_t> values) {
  auto type =
      RankedTensorType::get({static_cast<int64_t>(values.size()) / 2, 2}, builder.getI64Type());
  return cast<DenseIntElementsAttr>(DenseElementsAttr::get(type, values));
}

int64_t floorDiv(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

Value zeroScalar(OpBuilder &builder, Location location, Value like) {
  auto type = cast<RankedTensorType>(like.getType());
  return stablehlo::ConstantOp::create(builder, location,
                                       zeroOf(RankedTensorType::get({}, type.getElementType())));
}

} // namespace

Status computeReduceWindow(stablehlo::ReduceWindowOp op, const OpPlan &plan, ShardBuilder &shards) {
  const auto split = splitDims(plan, plan.rule.results[0], {LoopKind::shifted});
  if (split.empty())
    return Status();
  OpBuilder builder(op);
  const size_t rank = op.getWindowDimensions().size();
  SmallVector<int64_t> strides = orOnes(op.getWindowStrides(), rank),
                       dilations = orOnes(op.getWindowDilations(), rank),
                       baseDilations = orOnes(op.getBaseDilations(), rank),
                       padding = orZeros(op.getPadding(), rank);
  for (const SplitDim &at : split) {
    const size_t dim = at.dim;
    const int64_t windows = shapeOf(op.getResult(0))[dim];
    const int64_t size =
        (windows - 1) * strides[dim] + (op.getWindowDimensions()[dim] - 1) * dilations[dim] + 1;
    ShardedDim rows(builder, op.getLoc(), shards, *plan.mesh, at.axes, dim);
    const std::vector<int64_t> starts = rows.affine(-padding[2 * dim], windows * strides[dim]);
    for (auto [i, init] : llvm::enumerate(op.getInitValues()))
      op->setOperand(static_cast<unsigned>(i),
                     rows.dilatedWindow(op.getInputs()[i], starts, size, baseDilations[dim], init));
    padding[2 * dim] = padding[2 * dim + 1] = 0;
    baseDilations[dim] = 1;
  }
  op.setPaddingAttr(paddingAttr(builder, padding));
  op.setBaseDilations(baseDilations);
  return Status();
}

Status computeSelectAndScatter(stablehlo::SelectAndScatterOp op, const OpPlan &plan,
                               ShardBuilder &shards) {
  const auto split = splitDims(plan, plan.rule.results[0], {LoopKind::shifted});
  if (split.empty())
    return Status();
  OpBuilder builder(op);
  const size_t rank = shapeOf(op.getOperand()).size();
  const SmallVector<int64_t> sizes = orOnes(op.getWindowDimensions(), rank),
                             strides = orOnes(op.getWindowStrides(), rank);
  const SmallVector<int64_t> held(shapeOf(op.getOperand()));
  Value zero = zeroScalar(builder, op.getLoc(), op.getSource());
  // The windows that touch a row of the shard, beginning with `first`; each device has `windows` of
  // them.
  struct Touching {
    std::vector<int64_t> first;
    int64_t windows = 0;
  };
  SmallVector<Touching> all;
  for (const SplitDim &at : split) {
    const size_t dim = at.dim;
    ShardedDim rows(builder, op.getLoc(), shards, *plan.mesh, at.axes, dim);
    Touching &touching = all.emplace_back();
    for (int64_t c = 0; c < rows.count(); ++c) {
      touching.first.push_back(floorDiv(c * held[dim] - sizes[dim], strides[dim]) + 1);
      touching.windows =
          std::max(touching.windows,
                   floorDiv((c + 1) * held[dim] - 1, strides[dim]) + 1 - touching.first.back());
    }
    touching.windows = std::max<int64_t>(touching.windows, 1);
    // Windows outside of the tensor scatter zeros.
    Value source = rows.window(op.getSource(), touching.first, touching.windows, zero);
    std::vector<int64_t> starts;
    for (int64_t window : touching.first)
      starts.push_back(window * strides[dim]);
    Value operand = rows.window(op.getOperand(), starts,
                                (touching.windows - 1) * strides[dim] + sizes[dim], Value());
    op.getSourceMutable().assign(source);
    op.getOperandMutable().assign(operand);
  }
  // Extract the device's rows from what all these windows scatter.
  op.getResult().setType(cast<RankedTensorType>(op.getOperand().getType()));
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : op.getResult().getUses())
    uses.push_back(&use);
  builder.setInsertionPointAfter(op);
  Value taken = op.getResult();
  for (auto [at, touching] : llvm::zip_equal(split, all)) {
    ShardedDim rows(builder, op.getLoc(), shards, *plan.mesh, at.axes, at.dim);
    std::vector<int64_t> starts;
    for (int64_t c = 0; c < rows.count(); ++c)
      starts.push_back(c * held[at.dim] - touching.first[static_cast<size_t>(c)] * strides[at.dim]);
    taken = rows.paddedSlice(taken, starts, held[at.dim], op.getInitValue());
  }
  for (OpOperand *use : uses)
    use->set(taken);
  return Status();
}

/// The number of groups in a shard. The loop over groups is the outermost loop of the dimension.
static int64_t groupsOfShard(const OpPlan &plan, const ShardingRule::Dim &dim, int64_t groups) {
  return groups == 1 ? 1 : groups / countOf(plan.axesOf(dim[0]));
}

Status computeConvolution(stablehlo::ConvolutionOp op, const OpPlan &plan, ShardBuilder &shards) {
  stablehlo::ConvDimensionNumbersAttr numbers = op.getDimensionNumbers();
  const ShardingRule::Dim &features =
      plan.rule.results[0][static_cast<size_t>(numbers.getOutputFeatureDimension())];
  op.setFeatureGroupCount(static_cast<uint64_t>(
      groupsOfShard(plan, features, static_cast<int64_t>(op.getFeatureGroupCount()))));
  op.setBatchGroupCount(static_cast<uint64_t>(
      groupsOfShard(plan, features, static_cast<int64_t>(op.getBatchGroupCount()))));

  OpBuilder builder(op);
  const size_t rank = numbers.getInputSpatialDimensions().size();
  SmallVector<int64_t> strides = orOnes(op.getWindowStrides(), rank),
                       dilations = orOnes(op.getRhsDilation(), rank),
                       baseDilations = orOnes(op.getLhsDilation(), rank),
                       padding = orZeros(op.getPadding(), rank);
  Value lhs = op.getLhs();
  for (size_t dim = 0; dim < rank; ++dim) {
    const auto in = static_cast<size_t>(numbers.getInputSpatialDimensions()[dim]);
    const ShardingRule::Dim &loops = plan.rule.operands[0][in];
    if (loops.empty() || plan.axesOf(loops[0]).empty())
      continue;
    const LoopKind kind = plan.rule.loop(loops[0]).kind;
    if (kind == LoopKind::pass)
      continue;
    ShardedDim rows(builder, op.getLoc(), shards, *plan.mesh, plan.axesOf(loops[0]), in);
    const int64_t windows =
        shapeOf(op.getResult())[static_cast<size_t>(numbers.getOutputSpatialDimensions()[dim])];
    const int64_t taps =
        shapeOf(op.getRhs())[static_cast<size_t>(numbers.getKernelSpatialDimensions()[dim])];
    // Each device computes different windows of the whole kernel, or all windows of a part of the
    // kernel.
    int64_t base = -padding[2 * dim], step = windows * strides[dim];
    if (kind == LoopKind::reduced) {
      step = taps * dilations[dim];
      if (op.getWindowReversal() && (*op.getWindowReversal())[dim]) {
        base += (rows.count() - 1) * step;
        step = -step;
      }
    }
    const int64_t size = (windows - 1) * strides[dim] + (taps - 1) * dilations[dim] + 1;
    const std::vector<int64_t> starts = rows.affine(base, step);
    Value zero = zeroScalar(builder, op.getLoc(), lhs);
    if (auto undilated = UndilatedWindow::of(starts, size, baseDilations[dim])) {
      lhs = rows.window(lhs, undilated->starts, undilated->rows, zero);
      padding[2 * dim] = undilated->low;
      padding[2 * dim + 1] = undilated->high;
    } else {
      lhs = rows.dilatedWindow(lhs, starts, size, baseDilations[dim], zero);
      padding[2 * dim] = padding[2 * dim + 1] = 0;
      baseDilations[dim] = 1;
    }
  }
  if (lhs == op.getLhs())
    return Status();
  op.getLhsMutable().assign(lhs);
  op.setPaddingAttr(paddingAttr(builder, padding));
  op.setLhsDilation(baseDilations);
  return Status();
}

} // namespace tilewright::distribute
