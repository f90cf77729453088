#include "tilewright/transform/communicate/window/Ring.h"

#include "tilewright/dialect/stablehlo/ShapedBuilder.h"
#include "tilewright/dialect/stablehlo/ops/BinaryOps.h"
#include "tilewright/dialect/stablehlo/ops/CollectiveOps.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"

using namespace mlir;

namespace tilewright::communicate {

std::optional<Ring> Ring::of(Operation *collective) {
  const interpret::RankGrid grid = interpret::rankGridOf(collective->getParentOfType<ModuleOp>());
  if (grid.replicas != 1 && grid.partitions != 1)
    return std::nullopt;
  Result<interpret::RankGroups> groups = interpret::rankGroupsOf(collective, grid);
  if (!groups.isOk() || groups->empty() || groups->front().size() < 2)
    return std::nullopt;
  size_t members = 0;
  for (const std::vector<int64_t> &group : *groups) {
    if (group.size() != groups->front().size())
      return std::nullopt;
    members += group.size();
  }
  if (static_cast<int64_t>(members) != grid.count())
    return std::nullopt;
  return Ring(*std::move(groups), grid.partitions != 1, collective->getContext());
}

Ring::Ring(interpret::RankGroups groups, bool isOfPartitions, MLIRContext *context)
    : groups(std::move(groups)), isOfPartitions(isOfPartitions) {
  SmallVector<int64_t> flat;
  for (const std::vector<int64_t> &group : this->groups)
    for (size_t i = 0; i < group.size(); ++i)
      flat.append({group[(i + 1) % group.size()], group[i]});
  auto type = RankedTensorType::get({static_cast<int64_t>(flat.size()) / 2, 2},
                                    IntegerType::get(context, 64));
  messages = cast<DenseIntElementsAttr>(DenseElementsAttr::get(type, ArrayRef<int64_t>(flat)));
}

Value Ring::permute(OpBuilder &builder, Location location, Value value) const {
  // Without a channel, the pairs are replica numbers.
  auto channel = isOfPartitions
                     ? stablehlo::ChannelHandleAttr::get(builder.getContext(), 1, /*type=*/1)
                     : stablehlo::ChannelHandleAttr();
  return stablehlo::CollectivePermuteOp::create(builder, location, value.getType(), value, messages,
                                                channel);
}

Value Ring::begin(OpBuilder &builder, Location location, int64_t distance, int64_t length) const {
  stablehlo::ShapedBuilder b(builder, location);
  const auto scalar = RankedTensorType::get({}, builder.getI32Type());
  const auto constant = [&](int64_t value) {
    return b.constant(DenseElementsAttr::get(scalar, static_cast<int32_t>(value)));
  };
  const auto numberType = RankedTensorType::get({}, builder.getIntegerType(32, /*isSigned=*/false));
  Value rank = isOfPartitions
                   ? stablehlo::PartitionIdOp::create(builder, location, numberType)->getResult(0)
                   : stablehlo::ReplicaIdOp::create(builder, location, numberType)->getResult(0);
  rank = b.convert(rank, builder.getI32Type());
  // Along an axis of a mesh, a position is (rank / stride) mod size.
  const int64_t size = ranks(), stride = groups.front()[1] - groups.front()[0];
  SmallVector<int32_t> positions(groups.size() * groups.front().size());
  bool isAxis = stride > 0;
  for (const std::vector<int64_t> &group : groups)
    for (int64_t i = 0; i < size; ++i) {
      const int64_t member = group[static_cast<size_t>(i)];
      positions[static_cast<size_t>(member)] = static_cast<int32_t>(i);
      isAxis = isAxis && member / stride % size == i;
    }
  Value position;
  if (isAxis) {
    position = rank;
    if (stride != 1)
      position = b.binary<stablehlo::DivideOp>(position, constant(stride));
  } else {
    auto tableType =
        RankedTensorType::get({static_cast<int64_t>(positions.size())}, builder.getI32Type());
    Value table = b.constant(DenseElementsAttr::get(tableType, ArrayRef<int32_t>(positions)));
    position = b.reshape(b.dynamicSlice(table, rank, {1}), {});
  }
  if (distance != 0)
    position = b.add(position, constant(distance));
  if (distance != 0 || isAxis)
    position = b.binary<stablehlo::RemainderOp>(position, constant(size));
  return length == 1 ? position : b.multiply(position, constant(length));
}

} // namespace tilewright::communicate
