#include "tilewright/transform/distribute/local/Merged.h"

#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/transform/distribute/local/Local.h"
#include "tilewright/transform/distribute/local/LocalBuilder.h"
#include "tilewright/transform/distribute/rules/Rules.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace tilewright::distribute {
namespace {

/// A sharding of one dimension only.
Sharding along(const OpPlan &plan, size_t rank, size_t dim, const Axes &axes) {
  Sharding sharding{plan.mesh, std::vector<Axes>(rank), {}};
  sharding.dims[dim] = axes;
  return sharding;
}

/// The axes of loops that a local form completes by communication.
Axes shiftedAxes(const OpPlan &plan) {
  Axes all;
  for (auto [loop, axes] : llvm::zip_equal(plan.rule.loops, plan.loops))
    if (loop.kind == LoopKind::shifted)
      for (const numerics::AxisRef &axis : axes)
        append(all, axis);
  return all;
}

/// A reduction along `dim` with the body of another op.
SmallVector<Value> reduceAlong(LocalBuilder &b, ValueRange inputs, ValueRange inits, int64_t dim,
                               Region &body) {
  SmallVector<Type> types;
  for (Value input : inputs) {
    auto type = cast<RankedTensorType>(input.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape.erase(shape.begin() + dim);
    types.push_back(type.clone(shape));
  }
  auto reduce = stablehlo::ReduceOp::create(b.builder, b.location, types, inputs, inits,
                                            b.builder.getDenseI64ArrayAttr({dim}));
  IRMapping mapping;
  body.cloneInto(&reduce.getBody(), mapping);
  return SmallVector<Value>(reduce->getResults());
}

} // namespace

Status computeReduce(stablehlo::ReduceOp op, const OpPlan &plan, ShardBuilder &shards) {
  OpBuilder builder(op);
  LocalBuilder b(builder, op.getLoc());
  if (const Axes axes = plan.reducedAxes();
      !axes.empty() && !isNeutral(op.getInitValues()[0], plan.combine())) {
    Value init = op.getInitValues()[0];
    Value number = shards.shardOffset(builder, op.getLoc(), along(plan, 1, 0, axes), 0, 1);
    Value isFirst = b.compare(number, stablehlo::ComparisonDirection::EQ, b.position(0));
    Value neutral = b.splat(cast<RankedTensorType>(init.getType()),
                            neutralElement(getElementTypeOrSelf(init), plan.combine()));
    op.getInitValuesMutable().assign(b.select(isFirst, init, neutral));
  }
  const Axes axes = shiftedAxes(plan);
  if (axes.empty())
    return Status();
  builder.setInsertionPointAfter(op);
  SmallVector<std::pair<OpOperand *, unsigned>> uses; // of partial results, before there are more
  for (OpResult partial : op->getResults())
    for (OpOperand &use : partial.getUses())
      uses.push_back({&use, partial.getResultNumber()});
  SmallVector<Value> gathered;
  for (Value partial : op->getResults()) {
    // [kept…] -> [1, kept…] -> [shards, kept…]
    SmallVector<int64_t> row(shapeOf(partial));
    row.insert(row.begin(), 1);
    TILEWRIGHT_ASSIGN(Value all, shards.gather(builder, op.getLoc(), b.reshape(partial, row),
                                               along(plan, row.size(), 0, axes)));
    gathered.push_back(all);
  }
  // The body may compute in a wider type than that of the operands, and partial results have it.
  SmallVector<Value> inits;
  for (auto [init, partial] : llvm::zip_equal(op.getInitValues(), gathered))
    inits.push_back(b.convert(init, getElementTypeOrSelf(partial)));
  SmallVector<Value> merged = reduceAlong(b, gathered, inits, 0, op.getBody());
  for (auto [use, number] : uses)
    use->set(merged[number]);
  return Status();
}

Status computeScan(stablehlo::ReduceWindowOp op, const OpPlan &plan, ShardBuilder &shards) {
  const Sharding sharding = plan.shardingOf(plan.rule.operands[0]);
  SmallVector<int64_t> whole(shapeOf(op.getInputs()[0]));
  for (auto [dim, size] : llvm::enumerate(whole))
    size *= sharding.count(dim);
  const std::optional<ScanForm> form = scanFormOf(op, whole);
  const auto dim = form ? static_cast<size_t>(form->dim) : 0;
  if (!form || sharding.along(dim).empty())
    return Status();
  OpBuilder builder(op);
  LocalBuilder b(builder, op.getLoc());
  auto type = cast<RankedTensorType>(op.getResult(0).getType());
  const int64_t rank = type.getRank(), rows = type.getShape()[dim];
  SmallVector<int64_t> window(op.getWindowDimensions());
  window[dim] = rows;
  op.setWindowDimensions(window);
  SmallVector<int64_t> padding(static_cast<size_t>(2 * rank));
  padding[2 * dim + (form->isReverse ? 1 : 0)] = rows - 1;
  op.setPaddingAttr(cast<DenseIntElementsAttr>(DenseElementsAttr::get(
      RankedTensorType::get({rank, 2}, builder.getI64Type()), ArrayRef<int64_t>(padding))));

  builder.setInsertionPointAfter(op);
  Value local = op.getResult(0), init = b.convert(op.getInitValues()[0], type.getElementType());
  SmallVector<OpOperand *> uses; // before there are more
  for (OpOperand &use : local.getUses())
    uses.push_back(&use);
  // The last row of a scan is the reduction of its shard.
  const int64_t last = form->isReverse ? 0 : rows - 1;
  TILEWRIGHT_ASSIGN(Value totals,
                    shards.gather(builder, op.getLoc(), b.slice(local, form->dim, last, last + 1),
                                  along(plan, sharding.dims.size(), dim, sharding.along(dim))));
  // Combine only the results of the shards before this one.
  Value number = shards.shardOffset(builder, op.getLoc(), sharding, dim, 1);
  ArrayRef<int64_t> shape = shapeOf(totals);
  Value isBefore = b.compare(b.iota(shape, form->dim),
                             form->isReverse ? stablehlo::ComparisonDirection::GT
                                             : stablehlo::ComparisonDirection::LT,
                             b.broadcast(number, shape));
  Value before = b.select(isBefore, totals, b.broadcast(init, shape));
  before = reduceAlong(b, before, init, form->dim, op.getBody())[0];
  SmallVector<int64_t> kept;
  for (int64_t other = 0; other < rank; ++other)
    if (other != form->dim)
      kept.push_back(other);
  before = b.broadcast(before, type.getShape(), kept);
  auto map = stablehlo::MapOp::create(
      builder, op.getLoc(), type,
      form->isReverse ? ValueRange{local, before} : ValueRange{before, local},
      builder.getDenseI64ArrayAttr(llvm::to_vector(llvm::seq<int64_t>(0, rank))));
  IRMapping mapping;
  op.getBody().cloneInto(&map.getComputation(), mapping);
  for (OpOperand *use : uses)
    use->set(map.getResult());
  return Status();
}

Status computeTopK(stablehlo::CompositeOp op, const OpPlan &plan, ShardBuilder &shards) {
  OpBuilder builder(op);
  LocalBuilder b(builder, op.getLoc());
  stablehlo::SortOp meaning = topKSortOf(op);
  const auto dim = static_cast<int64_t>(shapeOf(op.getOperand(0)).size()) - 1;
  const auto at = static_cast<size_t>(dim);
  const int64_t count = shapeOf(op.getResult(0))[at];
  const Sharding sharding = plan.shardingOf(plan.rule.operands[0]);
  /// The first rows of values and their positions.
  auto first = [&](ValueRange both) {
    auto sort =
        stablehlo::SortOp::create(builder, op.getLoc(), both.getTypes(), both,
                                  builder.getI64IntegerAttr(dim), builder.getBoolAttr(true));
    IRMapping mapping;
    meaning.getComparator().cloneInto(&sort.getComparator(), mapping);
    SmallVector<Value> slices;
    for (Value sorted : sort->getResults())
      slices.push_back(b.slice(sorted, dim, 0, std::min(count, shapeOf(sorted)[at])));
    return slices;
  };
  Value values = op.getOperand(0);
  Value positions = b.iota(shapeOf(values), dim);
  if (!sharding.along(at).empty())
    positions = b.add(positions, b.broadcast(shards.shardOffset(builder, op.getLoc(), sharding, at,
                                                                shapeOf(values)[at]),
                                             shapeOf(values)));
  SmallVector<Value> found = first({values, positions});
  if (!sharding.along(at).empty()) {
    // Shards are in order, so among equal elements the one with the lowest position stays first.
    for (Value &rows : found) {
      TILEWRIGHT_ASSIGN(rows,
                        shards.gather(builder, op.getLoc(), rows,
                                      along(plan, sharding.dims.size(), at, sharding.along(at))));
    }
    found = first(found);
  }
  op->replaceAllUsesWith(found);
  op.erase();
  return Status();
}

int64_t mergedWireBytes(Operation *op, const OpPlan &plan) {
  const Axes axes = shiftedAxes(plan);
  const int64_t count = countOf(axes);
  if (count == 1)
    return 0;
  // Prices an all-gather: each device sends what it holds to all others.
  int64_t bits = 0;
  for (auto [result, dims] : llvm::zip_equal(op->getResults(), plan.rule.results)) {
    const Sharding sharding = plan.shardingOf(dims);
    auto type = cast<RankedTensorType>(result.getType());
    int64_t elements = type.getNumElements();
    for (size_t dim = 0; dim < sharding.dims.size(); ++dim)
      elements /= sharding.count(dim);
    if (auto window = dyn_cast<stablehlo::ReduceWindowOp>(op)) {
      const auto dim = static_cast<size_t>(scanFormOf(window, type.getShape())->dim);
      elements /= type.getShape()[dim] / sharding.count(dim);
    }
    Type element = type.getElementType();
    auto complex = dyn_cast<ComplexType>(element);
    bits += elements * (complex ? 2 * complex.getElementType().getIntOrFloatBitWidth()
                                : std::max(8u, element.getIntOrFloatBitWidth()));
  }
  return bits / 8 * (count - 1);
}

} // namespace tilewright::distribute
