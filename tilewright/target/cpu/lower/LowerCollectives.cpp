// Collectives: groups of the specification become groups of ranks, and each op a start and a done.
#include "tilewright/target/cpu/lower/Lowering.h"

#include "tilewright/dialect/stablehlo/CollectiveOps.h"
#include "tilewright/interpret/Mesh.h"
#include "tilewright/support/Concat.h"

using namespace mlir;

namespace tilewright::cpu {

using Groups = std::vector<std::vector<int64_t>>;

namespace {

/// The four ways of the specification in which numbers become ranks.
enum class Strategy { crossReplica, crossPartition, crossReplicaAndPartition, flattenedIds };

/// A program of `replicas` times `partitions` ranks; rank = replica · partitions + partition.
struct RankGrid {
  int64_t replicas = 1, partitions = 1;
};

} // namespace

static RankGrid gridOf(ModuleOp module) {
  RankGrid grid;
  if (auto count = module->getAttrOfType<IntegerAttr>("mhlo.num_replicas"))
    grid.replicas = count.getInt();
  if (auto count = module->getAttrOfType<IntegerAttr>("mhlo.num_partitions"))
    grid.partitions = count.getInt();
  return grid;
}

static int64_t channelOf(Operation *op) {
  auto handle = op->getAttrOfType<stablehlo::ChannelHandleAttr>("channel_handle");
  return handle ? handle.getHandle() : 0;
}

static Strategy strategyOf(Operation *op) {
  bool isGlobal = op->hasAttr("use_global_device_ids");
  bool joins = isa<stablehlo::AllReduceOp, stablehlo::AllGatherOp, stablehlo::ReduceScatterOp>(op);
  if (isGlobal)
    return Strategy::flattenedIds;
  if (channelOf(op) <= 0)
    return Strategy::crossReplica;
  return joins ? Strategy::crossReplicaAndPartition : Strategy::crossPartition;
}

/// Groups along axes of a mesh, which is given in place or by symbol.
static FailureOr<Groups> groupsOfMesh(Operation *op, stablehlo::ReplicaGroupMeshAxesAttr axes) {
  Attribute attribute = axes.getMesh();
  if (auto symbol = dyn_cast<FlatSymbolRefAttr>(attribute)) {
    Operation *named = SymbolTable::lookupNearestSymbolFrom(op, symbol);
    attribute = named ? named->getAttr("mesh") : Attribute();
  }
  auto mesh = dyn_cast_if_present<stablehlo::MeshAttr>(attribute);
  if (!mesh)
    return refuse(op, "names a mesh that the module does not have");
  std::vector<interpret::Mesh::Axis> grid;
  for (stablehlo::MeshAxisAttr axis : mesh.getAxes())
    grid.push_back({axis.getName().str(), axis.getSize()});
  std::vector<int64_t> ids;
  if (mesh.getDeviceIds())
    for (const APInt &id : mesh.getDeviceIds().getValues<APInt>())
      ids.push_back(id.getSExtValue());
  auto made = interpret::Mesh::create(std::move(grid), std::move(ids));
  if (!made.isOk())
    return refuse(op, std::move(made).takeStatus().message());
  std::vector<interpret::Mesh::AxisRef> refs;
  for (Attribute entry : axes.getAxes()) {
    auto ref = cast<stablehlo::AxisRefAttr>(entry);
    stablehlo::SubAxisInfoAttr part = ref.getSubAxisInfo();
    std::string name = ref.getName().str();
    auto axis = part ? made->axis(name, part.getPreSize(), part.getSize()) : made->axis(name);
    if (!axis.isOk())
      return refuse(op, std::move(axis).takeStatus().message());
    refs.push_back(*axis);
  }
  return made->groupsAlong(refs);
}

static FailureOr<Groups> numbersOf(Operation *op, Attribute attribute) {
  if (auto axes = dyn_cast<stablehlo::ReplicaGroupMeshAxesAttr>(attribute))
    return groupsOfMesh(op, axes);
  Groups groups;
  auto elements = cast<DenseIntElementsAttr>(attribute);
  int64_t rows = elements.getType().getDimSize(0), columns = elements.getType().getDimSize(1);
  auto value = elements.getValues<APInt>().begin();
  for (int64_t row = 0; row < rows; ++row) {
    groups.emplace_back();
    for (int64_t column = 0; column < columns; ++column, ++value)
      if (!(*value).isAllOnes())
        groups.back().push_back((*value).getSExtValue());
  }
  return groups;
}

static FailureOr<Groups> ranksOf(Operation *op, Groups lists, Strategy strategy, RankGrid grid) {
  int64_t limit = strategy == Strategy::crossPartition ? grid.partitions
                  : strategy == Strategy::flattenedIds ? grid.replicas * grid.partitions
                                                       : grid.replicas;
  if (lists.empty() && !isa<stablehlo::CollectivePermuteOp>(op)) {
    // No groups at all mean one of all.
    lists.emplace_back();
    for (int64_t number = 0; number < limit; ++number)
      lists.back().push_back(number);
  }
  Groups groups;
  auto rank = [&](int64_t replica, int64_t partition) {
    return replica * grid.partitions + partition;
  };
  for (const std::vector<int64_t> &list : lists) {
    for (int64_t number : list)
      if (number < 0 || number >= limit)
        return refuse(op, "names process " + Twine(number) + ", but the program is for " +
                              Twine(grid.replicas) + " replicas of " + Twine(grid.partitions) +
                              " partitions (mhlo.num_replicas, mhlo.num_partitions)");
    switch (strategy) {
    case Strategy::flattenedIds:
      groups.push_back(list);
      break;
    case Strategy::crossReplicaAndPartition:
      groups.emplace_back();
      for (int64_t partition = 0; partition < grid.partitions; ++partition)
        for (int64_t replica : list)
          groups.back().push_back(rank(replica, partition));
      break;
    case Strategy::crossReplica:
      for (int64_t partition = 0; partition < grid.partitions; ++partition) {
        groups.emplace_back();
        for (int64_t replica : list)
          groups.back().push_back(rank(replica, partition));
      }
      break;
    case Strategy::crossPartition:
      for (int64_t replica = 0; replica < grid.replicas; ++replica) {
        groups.emplace_back();
        for (int64_t partition : list)
          groups.back().push_back(rank(replica, partition));
      }
      break;
    }
  }
  return groups;
}

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
  RankGrid grid = gridOf(module);
  Config config(op->getContext());
  if (isa<stablehlo::PartitionIdOp, stablehlo::ReplicaIdOp>(op)) {
    config.set("kind", isa<stablehlo::PartitionIdOp>(op) ? "partition" : "replica");
    config.set("replicas", grid.replicas);
    config.set("partitions", grid.partitions);
    replaceByLibrary(op, "rank_id", config);
    return success();
  }
  Attribute groups = op->getAttr(isa<stablehlo::CollectivePermuteOp>(op) ? "source_target_pairs"
                                                                         : "replica_groups");
  FailureOr<Groups> numbers = numbersOf(op, groups);
  if (failed(numbers))
    return failure();
  bool isSum = isa<stablehlo::CrossReplicaSumOp>(op);
  FailureOr<Groups> ranks =
      ranksOf(op, *numbers, isSum ? Strategy::crossReplica : strategyOf(op), grid);
  if (failed(ranks))
    return failure();

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
