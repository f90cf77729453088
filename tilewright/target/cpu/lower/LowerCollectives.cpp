// Lowers collectives: converts replica groups to groups of ranks, and each op to a start and a
// done.
#include "tilewright/target/cpu/lower/Lowering.h"

#include "tilewright/dialect/stablehlo/ops/CollectiveOps.h"
#include "tilewright/interpret/ranks/RankGroups.h"

using namespace mlir;

namespace tilewright::cpu {

using Groups = interpret::RankGroups;

/// The groups as rows of equal length, padded with -1.
static DenseIntElementsAttr toAttribute(Builder &builder, const Groups &groups) {
  size_t columns = 1;
  for (const std::vector<int64_t> &group : groups)
    columns = std::max(columns, group.size());
  SmallVector<int64_t> flat;
  for (const std::vector<int64_t> &group : groups) {
    flat.append(group.begin(), group.end());
    flat.resize(flat.size() + columns - group.size(), -1);
  }
  auto type = RankedTensorType::get(
      {static_cast<int64_t>(groups.size()), static_cast<int64_t>(columns)}, builder.getI64Type());
  return DenseIntElementsAttr::get(type, flat);
}

LogicalResult Lowering::lowerCollective(Operation *op) {
  interpret::RankGrid grid = interpret::rankGridOf(module);
  Result<Groups> ranks = interpret::rankGroupsOf(op, grid);
  if (!ranks.isOk())
    return refuse(op, std::move(ranks).takeStatus().message());
  const bool isSum = isa<stablehlo::CrossReplicaSumOp>(op);
  const std::optional<numerics::CollectiveKind> kind =
      isSum ? numerics::CollectiveKind::allReduce
            : numerics::collectiveNamed(op->getName().stripDialect());
  if (!kind || op->hasAttr("has_dynamic_root"))
    return refuse(op, !kind ? "is not supported by the collective engines"
                            : "has a dynamic root, which is not supported");

  int64_t dimension = 0, splitDimension = 0;
  if (auto gather = dyn_cast<stablehlo::AllGatherOp>(op)) {
    dimension = static_cast<int64_t>(gather.getAllGatherDim());
  } else if (auto scatter = dyn_cast<stablehlo::ReduceScatterOp>(op)) {
    dimension = static_cast<int64_t>(scatter.getScatterDimension());
  } else if (auto all = dyn_cast<stablehlo::AllToAllOp>(op)) {
    dimension = static_cast<int64_t>(all.getConcatDimension());
    splitDimension = static_cast<int64_t>(all.getSplitDimension());
  }
  numerics::ReductionKind reduction =
      isSum ? numerics::ReductionKind::add : numerics::ReductionKind::none;
  SmallVector<Attribute> bodies;
  if (!isSum && op->getNumRegions() == 1) {
    // Reductions without a ReductionKind, such as one that returns its second operand, become
    // functions.
    reduction = numerics::reductionNamed(numerics::nameOf(combinerOf(op->getRegion(0))))
                    .value_or(numerics::ReductionKind::function);
    if (reduction == numerics::ReductionKind::function) {
      FailureOr<FlatSymbolRefAttr> body = functionOf(op->getRegion(0));
      if (failed(body))
        return failure();
      bodies.push_back(*body);
    }
  }
  OpBuilder builder(op);
  int64_t id = nextCollective++;
  auto start = exec::CollectiveStartOp::create(
      builder, op->getLoc(), op->getResultTypes(),
      exec::CollectiveAttr::get(op->getContext(), *kind, dimension, splitDimension, reduction),
      op->getOperands(), builder.getI64IntegerAttr(id), toAttribute(builder, *ranks),
      bodies.empty() ? ArrayAttr() : builder.getArrayAttr(bodies));
  auto done = exec::CollectiveDoneOp::create(builder, op->getLoc(), op->getResultTypes(),
                                             start.getResults(), builder.getI64IntegerAttr(id));
  op->replaceAllUsesWith(done);
  op->erase();
  return success();
}

} // namespace tilewright::cpu
