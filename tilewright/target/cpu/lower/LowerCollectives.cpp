// Collectives: groups of the specification become groups of ranks, and each op a start and a done.
#include "tilewright/target/cpu/lower/Lowering.h"

#include "tilewright/dialect/stablehlo/CollectiveOps.h"
#include "tilewright/interpret/RankGroups.h"

using namespace mlir;

namespace tilewright::cpu {

using Groups = interpret::RankGroups;

/// Rows of one length, -1 where there is nobody.
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
  Config config(op->getContext());
  if (isa<stablehlo::PartitionIdOp, stablehlo::ReplicaIdOp>(op)) {
    config.set("kind", isa<stablehlo::PartitionIdOp>(op) ? "partition" : "replica");
    config.set("replicas", grid.replicas);
    config.set("partitions", grid.partitions);
    replaceByLibrary(op, "rank_id", config);
    return success();
  }
  Result<Groups> ranks = interpret::rankGroupsOf(op, grid);
  if (!ranks.isOk())
    return refuse(op, std::move(ranks).takeStatus().message());
  bool isSum = isa<stablehlo::CrossReplicaSumOp>(op);

  SmallVector<Attribute> bodies;
  if (auto gather = dyn_cast<stablehlo::AllGatherOp>(op)) {
    config.set("dimension", static_cast<int64_t>(gather.getAllGatherDim()));
  } else if (auto scatter = dyn_cast<stablehlo::ReduceScatterOp>(op)) {
    config.set("dimension", static_cast<int64_t>(scatter.getScatterDimension()));
  } else if (auto all = dyn_cast<stablehlo::AllToAllOp>(op)) {
    config.set("split_dimension", static_cast<int64_t>(all.getSplitDimension()));
    config.set("concat_dimension", static_cast<int64_t>(all.getConcatDimension()));
    config.set("split_count", static_cast<int64_t>(all.getSplitCount()));
  } else if (op->hasAttr("has_dynamic_root")) {
    return refuse(op, "has a root that is known only when it runs");
  }
  if (isSum) {
    config.set("body", "add");
  } else if (op->getNumRegions() == 1) {
    StringRef word = combinerWord(op->getRegion(0));
    config.set("body", word);
    if (word == "function") {
      FailureOr<FlatSymbolRefAttr> body = functionOf(op->getRegion(0));
      if (failed(body))
        return failure();
      bodies.push_back(*body);
    }
  }
  OpBuilder builder(op);
  StringRef kind = isSum ? "all_reduce" : op->getName().stripDialect();
  int64_t id = nextCollective++;
  auto start = exec::CollectiveStartOp::create(
      builder, op->getLoc(), op->getResultTypes(), builder.getStringAttr(kind), op->getOperands(),
      builder.getI64IntegerAttr(id), toAttribute(builder, *ranks), config.get(),
      bodies.empty() ? ArrayAttr() : builder.getArrayAttr(bodies));
  auto done = exec::CollectiveDoneOp::create(builder, op->getLoc(), op->getResultTypes(),
                                             start.getResults(), builder.getI64IntegerAttr(id));
  op->replaceAllUsesWith(done);
  op->erase();
  return success();
}

} // namespace tilewright::cpu
