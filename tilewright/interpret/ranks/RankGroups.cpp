#include "tilewright/interpret/ranks/RankGroups.h"

#include "tilewright/dialect/stablehlo/Collectives.h"
#include "tilewright/dialect/stablehlo/ops/CollectiveOps.h"
#include "tilewright/numerics/Mesh.h"
#include "tilewright/support/Concat.h"

using namespace mlir;

namespace tilewright::interpret {

static Status refuse(std::string why) { return Status(Error::interpretGroups, std::move(why)); }

namespace {

/// The StableHLO specification's four strategies for mapping process groups to ranks.
enum class Strategy { crossReplica, crossPartition, crossReplicaAndPartition, flattenedIds };

} // namespace

RankGrid rankGridOf(mlir::ModuleOp module) {
  RankGrid grid;
  if (auto count = module->getAttrOfType<IntegerAttr>("mhlo.num_replicas"))
    grid.replicas = count.getInt();
  if (auto count = module->getAttrOfType<IntegerAttr>("mhlo.num_partitions"))
    grid.partitions = count.getInt();
  return grid;
}

/// The attribute of ops that have source-target pairs instead of groups.
static constexpr const char *pairs = "source_target_pairs";

static int64_t channelOf(Operation *op) {
  if (stablehlo::isRaggedAllToAll(op)) {
    auto channel = stablehlo::raggedConfigOf(op).getAs<IntegerAttr>("channel_id");
    return channel ? channel.getInt() : 0;
  }
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

/// Groups along axes of a mesh, which is given inline or by symbol.
static Result<RankGroups> groupsOfMesh(Operation *op, stablehlo::ReplicaGroupMeshAxesAttr axes) {
  Attribute attribute = axes.getMesh();
  if (auto symbol = dyn_cast<FlatSymbolRefAttr>(attribute)) {
    Operation *named = SymbolTable::lookupNearestSymbolFrom(op, symbol);
    attribute = named ? named->getAttr("mesh") : Attribute();
  }
  auto mesh = dyn_cast_if_present<stablehlo::MeshAttr>(attribute);
  if (!mesh)
    return refuse("refers to a mesh that the module does not define");
  std::vector<numerics::MeshAxis> grid;
  for (stablehlo::MeshAxisAttr axis : mesh.getAxes())
    grid.push_back({axis.getName().str(), axis.getSize()});
  std::vector<int64_t> ids;
  if (mesh.getDeviceIds())
    for (const APInt &id : mesh.getDeviceIds().getValues<APInt>())
      ids.push_back(id.getSExtValue());
  TILEWRIGHT_ASSIGN(const auto coordinates,
                    numerics::MeshCoordinates::create(std::move(grid), std::move(ids)));
  std::vector<numerics::AxisRef> refs;
  for (Attribute entry : axes.getAxes()) {
    auto ref = cast<stablehlo::AxisRefAttr>(entry);
    stablehlo::SubAxisInfoAttr part = ref.getSubAxisInfo();
    std::string name = ref.getName().str();
    TILEWRIGHT_ASSIGN(const numerics::AxisRef axis,
                      part ? coordinates.mesh().axis(name, part.getPreSize(), part.getSize())
                           : coordinates.mesh().axis(name));
    for (const numerics::AxisRef &before : refs)
      if (overlap(axis, before))
        return refuse(concat("names axis '", name, "' twice, or sub-axes of it that overlap"));
    refs.push_back(axis);
  }
  return coordinates.groupsAlong(refs);
}

static Result<RankGroups> numbersOf(Operation *op, Attribute attribute) {
  if (auto axes = dyn_cast<stablehlo::ReplicaGroupMeshAxesAttr>(attribute))
    return groupsOfMesh(op, axes);
  RankGroups groups;
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

static Result<RankGroups> ranksOf(Operation *op, RankGroups lists, Strategy strategy,
                                  RankGrid grid) {
  int64_t limit = strategy == Strategy::crossPartition ? grid.partitions
                  : strategy == Strategy::flattenedIds ? grid.replicas * grid.partitions
                                                       : grid.replicas;
  if (lists.empty() && !op->hasAttr(pairs)) {
    // No groups means one group of all processes.
    lists.emplace_back();
    for (int64_t number = 0; number < limit; ++number)
      lists.back().push_back(number);
  }
  RankGroups groups;
  auto rank = [&](int64_t replica, int64_t partition) {
    return replica * grid.partitions + partition;
  };
  for (const std::vector<int64_t> &list : lists) {
    for (int64_t number : list)
      if (number < 0 || number >= limit)
        return refuse(concat("refers to process ", number, ", but the program has ", grid.replicas,
                             " replicas of ", grid.partitions,
                             " partitions (mhlo.num_replicas, mhlo.num_partitions)"));
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

Result<RankGroups> rankGroupsOf(Operation *op, const RankGrid &grid) {
  constexpr const char *groups = "replica_groups";
  const Attribute given = stablehlo::isRaggedAllToAll(op)
                              ? stablehlo::raggedConfigOf(op).get(groups)
                              : op->getAttr(op->hasAttr(pairs) ? pairs : groups);
  TILEWRIGHT_ASSIGN(RankGroups numbers, numbersOf(op, given));
  const bool isSum = isa<stablehlo::CrossReplicaSumOp>(op);
  return ranksOf(op, std::move(numbers), isSum ? Strategy::crossReplica : strategyOf(op), grid);
}

} // namespace tilewright::interpret
