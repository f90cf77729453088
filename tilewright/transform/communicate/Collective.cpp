#include "tilewright/transform/communicate/Collective.h"

#include "tilewright/dialect/stablehlo/ops/CollectiveOps.h"
#include "tilewright/interpret/Types.h"
#include "tilewright/interpret/ranks/RankGroups.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace tilewright::communicate {

std::optional<numerics::CollectiveKind> kindOf(Operation *op) {
  using numerics::CollectiveKind;
  if (isa<stablehlo::AllReduceOp>(op))
    return CollectiveKind::allReduce;
  if (isa<stablehlo::AllGatherOp>(op))
    return CollectiveKind::allGather;
  if (isa<stablehlo::ReduceScatterOp>(op))
    return CollectiveKind::reduceScatter;
  if (isa<stablehlo::AllToAllOp>(op))
    return CollectiveKind::allToAll;
  if (isa<stablehlo::CollectivePermuteOp>(op))
    return CollectiveKind::permute;
  return std::nullopt;
}

DenseIntElementsAttr groupsOf(Operation *op) {
  for (StringRef name : {"replica_groups", "source_target_pairs"})
    if (auto groups = op->getAttrOfType<DenseIntElementsAttr>(name);
        groups && cast<ShapedType>(groups.getType()).getRank() == 2)
      return groups;
  return {};
}

Operation *combinerOf(Region &region) {
  if (!region.hasOneBlock() || region.front().getOperations().size() != 2 ||
      region.getNumArguments() != 2)
    return nullptr;
  Operation &op = region.front().front();
  Operation *terminator = region.front().getTerminator();
  if (op.getNumOperands() != 2 || op.getNumResults() != 1 || terminator->getNumOperands() != 1 ||
      terminator->getOperand(0) != op.getResult(0))
    return nullptr;
  const Value x = region.getArgument(0), y = region.getArgument(1);
  const bool isInOrder = op.getOperand(0) == x && op.getOperand(1) == y;
  const bool isSwapped = op.getOperand(0) == y && op.getOperand(1) == x;
  if (!isInOrder && !(isSwapped && op.hasTrait<OpTrait::IsCommutative>()))
    return nullptr;
  return &op;
}

std::optional<CollectiveKey> keyOf(Operation *op) {
  if (!isa<stablehlo::AllReduceOp, stablehlo::AllGatherOp, stablehlo::ReduceScatterOp,
           stablehlo::AllToAllOp, stablehlo::CollectivePermuteOp>(op) ||
      op->getNumOperands() == 0)
    return std::nullopt;
  CollectiveKey key{.name = op->getName()};
  SmallVector<NamedAttribute> dimensions;
  auto properties = dyn_cast_or_null<DictionaryAttr>(op->getPropertiesAsAttribute());
  for (NamedAttribute attribute : properties ? properties.getValue() : ArrayRef<NamedAttribute>()) {
    StringRef name = attribute.getName();
    if (name == "replica_groups" || name == "source_target_pairs") {
      key.groups = attribute.getValue();
    } else if (name == "channel_handle") {
      if (auto channel = dyn_cast<stablehlo::ChannelHandleAttr>(attribute.getValue()))
        key.hasChannel = channel.getHandle() > 0;
    } else if (name == "use_global_device_ids") {
      key.isGlobal = true;
    } else {
      dimensions.push_back(attribute);
    }
  }
  key.dimensions = DictionaryAttr::get(op->getContext(), dimensions);
  key.annotations = op->getAttr("mhlo.frontend_attributes");
  for (Value operand : op->getOperands()) {
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    if (!type || !type.hasStaticShape() || (key.element && key.element != type.getElementType()))
      return std::nullopt;
    key.element = type.getElementType();
  }
  // A reduction may convert its operands to a wider type first. Users of the key compute with the
  // operands and the results as with one type.
  for (Value result : op->getResults())
    if (auto type = dyn_cast<RankedTensorType>(result.getType());
        !type || type.getElementType() != key.element)
      return std::nullopt;
  if (op->getNumRegions() == 1) {
    Operation *combiner = combinerOf(op->getRegion(0));
    if (!combiner)
      return std::nullopt;
    key.reduction = combiner->getName().getStringRef().str();
  }
  return key;
}

Operation *cloneWith(OpBuilder &builder, Operation *op, ValueRange operands, TypeRange types) {
  OperationState state(op->getLoc(), op->getName());
  state.addOperands(operands);
  state.addTypes(types);
  state.propertiesAttr = op->getPropertiesAsAttribute();
  for (Region &region : op->getRegions()) {
    IRMapping mapping;
    region.cloneInto(state.addRegion(), mapping);
  }
  Operation *copy = builder.create(state);
  copy->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  return copy;
}

int64_t operandBytes(Operation *op) {
  int64_t sum = 0;
  for (Value operand : op->getOperands())
    if (auto type = dyn_cast<RankedTensorType>(operand.getType()); type && type.hasStaticShape())
      if (auto element = interpret::elementTypeOf(type.getElementType()))
        if (Result<interpret::Shape> shape = interpret::staticShapeOf(type); shape.isOk())
          sum += shape->byteCount(*element);
  return sum;
}

int64_t ranksOf(Operation *op) {
  auto module = op->getParentOfType<ModuleOp>();
  Result<interpret::RankGroups> groups = interpret::rankGroupsOf(op, interpret::rankGridOf(module));
  size_t most = 1;
  if (groups.isOk())
    for (const std::vector<int64_t> &group : *groups)
      most = std::max(most, group.size());
  return static_cast<int64_t>(most);
}

} // namespace tilewright::communicate
