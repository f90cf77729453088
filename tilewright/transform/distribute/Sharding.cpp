#include "tilewright/transform/distribute/Sharding.h"

#include "tilewright/dialect/stablehlo/ops/BinaryOps.h"
#include "tilewright/dialect/stablehlo/ops/CollectiveOps.h"
#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/dialect/stablehlo/ops/IndexingOps.h"
#include "tilewright/dialect/stablehlo/ops/UnaryOps.h"
#include "tilewright/support/Concat.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tilewright::distribute {
namespace {

using numerics::AxisRef;
using numerics::MeshCoordinates;

Status refuse(const std::string &why) {
  return Status(Error::planOp, concat("cannot apply sharding: ", why));
}

/// Whether a device can hold an element that is not a term of a sum: one that changes nothing.
bool isSummable(Type element) {
  if (auto number = dyn_cast<FloatType>(element))
    return llvm::APFloatBase::semanticsHasZero(number.getFloatSemantics());
  return isa<IntegerType, ComplexType>(element);
}

std::string spelled(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// All axes that shard the tensor, in the order in which shards are gathered: the axes of the first
/// dimension are outermost.
Axes axesOf(const Sharding &sharding) {
  Axes all;
  for (const Axes &dim : sharding.dims)
    all.insert(all.end(), dim.begin(), dim.end());
  return all;
}

/// Protocol buffer encoding: varints and packed lists of varints.
void putVarint(std::string &out, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}
void putList(std::string &out, uint32_t field, const std::vector<int64_t> &values) {
  std::string packed;
  for (int64_t value : values)
    putVarint(packed, static_cast<uint64_t>(value));
  putVarint(out, field << 3 | 2);
  putVarint(out, packed.size());
  out += packed;
}

} // namespace

DenseElementsAttr zeroOf(RankedTensorType type) {
  if (auto complex = dyn_cast<ComplexType>(type.getElementType())) {
    const llvm::APFloat zero(cast<FloatType>(complex.getElementType()).getFloatSemantics());
    return DenseElementsAttr::get(type, std::complex<llvm::APFloat>(zero, zero));
  }
  return DenseElementsAttr::get(type,
                                Builder(type.getContext()).getZeroAttr(type.getElementType()));
}

bool overlap(const Axes &one, const Axes &other) {
  for (const AxisRef &a : one)
    for (const AxisRef &b : other)
      if (numerics::overlap(a, b))
        return true;
  return false;
}

int64_t countOf(const Axes &axes) {
  int64_t shards = 1;
  for (const AxisRef &axis : axes)
    shards *= axis.size;
  return shards;
}

void append(Axes &axes, const AxisRef &axis) {
  if (axis.size == 1)
    return;
  if (!axes.empty() && axes.back().axis == axis.axis &&
      axes.back().preSize * axes.back().size == axis.preSize)
    axes.back().size *= axis.size;
  else
    axes.push_back(axis);
}

Axes merged(const Axes &axes) {
  Axes merged;
  for (const AxisRef &axis : axes)
    append(merged, axis);
  return merged;
}

Axes ordered(Axes axes) {
  llvm::sort(axes, [](const AxisRef &one, const AxisRef &other) {
    return std::pair(one.axis, one.preSize) < std::pair(other.axis, other.preSize);
  });
  return merged(axes);
}

std::string toString(const Axes &axes, const MeshCoordinates &mesh) {
  std::string text = "{";
  for (const AxisRef &axis : axes) {
    const numerics::MeshAxis &whole = mesh.mesh().axes[axis.axis];
    text += concat(text.size() > 1 ? ", " : "", whole.name);
    if (axis.size != whole.size)
      text += concat(":(", axis.preSize, ")", axis.size);
  }
  return text + "}";
}

std::string Sharding::toString() const {
  if (isReplicated())
    return "replicated";
  std::vector<std::string> texts;
  for (const Axes &axes : dims)
    texts.push_back(distribute::toString(axes, *mesh));
  return concat(listed(texts), unreduced.empty() ? "" : " unreduced ",
                unreduced.empty() ? "" : distribute::toString(unreduced, *mesh));
}

bool Sharding::isSharded() const {
  return mesh && llvm::any_of(dims, [](const Axes &dim) { return !dim.empty(); });
}

bool Sharding::isReplicated() const { return !mesh || (!isSharded() && unreduced.empty()); }

const Axes &Sharding::along(size_t dim) const {
  static const Axes none;
  return mesh && dim < dims.size() ? dims[dim] : none;
}

int64_t Sharding::count(size_t dim) const { return countOf(along(dim)); }

int64_t Sharding::padded(size_t dim, int64_t size) const {
  return llvm::divideCeil(static_cast<uint64_t>(size), static_cast<uint64_t>(count(dim))) *
         count(dim);
}

bool Sharding::operator==(const Sharding &other) const {
  if (isReplicated() || other.isReplicated())
    return isReplicated() == other.isReplicated();
  return mesh == other.mesh && dims == other.dims &&
         (unreduced == other.unreduced || ordered(unreduced) == ordered(other.unreduced)) &&
         (unreduced.empty() || combine == other.combine);
}

Sharding Sharding::commonWith(const Sharding &other) const {
  if (isReplicated() || other.isReplicated() || mesh != other.mesh ||
      dims.size() != other.dims.size())
    return Sharding();
  // Partial terms can be kept only if both shardings have the same unreduced axes.
  Sharding common{mesh, {}, unreduced == other.unreduced ? unreduced : Axes()};
  for (auto [one, two] : llvm::zip_equal(dims, other.dims)) {
    Axes &axes = common.dims.emplace_back();
    for (size_t i = 0; i < one.size() && i < two.size() && one[i] == two[i]; ++i)
      axes.push_back(one[i]);
  }
  return common;
}

Sharding Sharding::within(const Sharding &coarser) const {
  Sharding rest = *this;
  for (size_t dim = 0; dim < rest.dims.size(); ++dim) {
    const auto given = static_cast<std::ptrdiff_t>(coarser.along(dim).size());
    rest.dims[dim].erase(rest.dims[dim].begin(), rest.dims[dim].begin() + given);
  }
  if (unreduced == coarser.unreduced)
    rest.unreduced.clear();
  return rest;
}

sdy::MeshAttr ShardBuilder::meshOf(sdy::TensorShardingAttr sharding) const {
  if (auto mesh = dyn_cast<sdy::MeshAttr>(sharding.getMeshOrRef()))
    return mesh;
  auto op =
      module.lookupSymbol<sdy::MeshOp>(cast<FlatSymbolRefAttr>(sharding.getMeshOrRef()).getValue());
  return op ? op.getMesh() : sdy::MeshAttr();
}

Result<Sharding> ShardBuilder::shardingOf(sdy::TensorShardingAttr attr,
                                          std::optional<ArrayRef<StringAttr>> names) {
  sdy::MeshAttr meshAttr = meshOf(attr);
  if (!meshAttr)
    return refuse(concat("the module has no mesh named '",
                         cast<FlatSymbolRefAttr>(attr.getMeshOrRef()).getValue().str(), "'"));
  // Without axes of size greater than 1, the tensor is on a single device or replicated. A program
  // that was exported for one device and is called on many has such a mesh.
  if (llvm::all_of(meshAttr.getAxes(), [](sdy::MeshAxisAttr axis) { return axis.getSize() == 1; }))
    return Sharding();
  std::shared_ptr<const MeshCoordinates> &mesh = meshes[meshAttr];
  if (!mesh) {
    std::vector<numerics::MeshAxis> axes;
    for (sdy::MeshAxisAttr axis : meshAttr.getAxes())
      axes.push_back({axis.getName().str(), axis.getSize()});
    TILEWRIGHT_ASSIGN(MeshCoordinates made,
                      MeshCoordinates::create(std::move(axes), meshAttr.getDeviceIds().vec()));
    if (made.ranks() != partitions)
      return refuse(concat("its mesh has ", made.ranks(), " devices, but the program has ",
                           partitions, " partitions"));
    mesh = std::make_shared<const MeshCoordinates>(std::move(made));
  }
  auto read = [&](ArrayRef<sdy::AxisRefAttr> refs) -> Result<Axes> {
    Axes axes;
    for (sdy::AxisRefAttr axis : refs) {
      if (names &&
          llvm::none_of(*names, [&](StringAttr name) { return name.getValue() == axis.getName(); }))
        continue;
      sdy::SubAxisInfoAttr factor = axis.getSubAxisInfo();
      std::string name = axis.getName().str();
      TILEWRIGHT_ASSIGN(AxisRef ref,
                        factor ? mesh->mesh().axis(name, factor.getPreSize(), factor.getSize())
                               : mesh->mesh().axis(name));
      append(axes, ref);
    }
    return axes;
  };
  Sharding sharding{mesh, {}, {}};
  for (sdy::DimensionShardingAttr dimension : attr.getDimShardings()) {
    TILEWRIGHT_ASSIGN(Axes axes, read(dimension.getAxes()));
    sharding.dims.push_back(std::move(axes));
  }
  TILEWRIGHT_ASSIGN(sharding.unreduced, read(attr.getUnreducedAxes()));
  sharding.combine = attr.getReduction() == sdy::Reduction::Max   ? "stablehlo.maximum"
                     : attr.getReduction() == sdy::Reduction::Min ? "stablehlo.minimum"
                                                                  : "stablehlo.add";
  return sharding;
}

Result<Type> ShardBuilder::shardType(Type global, const Sharding &sharding) const {
  auto type = dyn_cast<RankedTensorType>(global);
  if (!type || !type.hasStaticShape() ||
      type.getRank() != static_cast<int64_t>(sharding.dims.size()))
    return refuse(concat("its tensor must have a static shape of rank ", sharding.dims.size()));
  if (!sharding.unreduced.empty() && !isSummable(type.getElementType()))
    return refuse(concat("its unreduced axes need numbers that have a zero, got elements of type ",
                         spelled(type.getElementType())));
  SmallVector<int64_t> sizes(type.getShape());
  for (auto [dim, size] : llvm::enumerate(sizes)) {
    if (size % sharding.count(dim) != 0)
      return refuse(
          concat("a dimension of size ", size, " is not divisible by ", sharding.count(dim)));
    size /= sharding.count(dim);
  }
  return Type(type.clone(sizes));
}

Value ShardBuilder::deviceId(OpBuilder &builder, Location location) const {
  Value number = stablehlo::PartitionIdOp::create(
      builder, location, RankedTensorType::get({}, builder.getIntegerType(32, /*isSigned=*/false)));
  return stablehlo::ConvertOp::create(builder, location,
                                      RankedTensorType::get({}, builder.getI32Type()), number);
}

Value ShardBuilder::lookUp(OpBuilder &builder, Location location,
                           ArrayRef<int32_t> byDevice) const {
  auto type = RankedTensorType::get({partitions}, builder.getI32Type());
  return lookUp(builder, location, DenseElementsAttr::get(type, byDevice));
}

Value ShardBuilder::lookUp(OpBuilder &builder, Location location,
                           DenseElementsAttr byDevice) const {
  // A table works for any device order of the mesh.
  Value device = deviceId(builder, location);
  Type element = byDevice.getElementType();
  Value table = stablehlo::ConstantOp::create(builder, location, byDevice);
  Value entry = stablehlo::DynamicSliceOp::create(
      builder, location, RankedTensorType::get({1}, element), table, ValueRange(device),
      builder.getDenseI64ArrayAttr({1}));
  return stablehlo::ReshapeOp::create(builder, location, RankedTensorType::get({}, element), entry);
}

Value ShardBuilder::shardOffset(OpBuilder &builder, Location location, const Sharding &sharding,
                                size_t dim, int64_t shardSize, unsigned width) const {
  Type element = builder.getIntegerType(width);
  auto number = [&](int64_t value) {
    return APInt(width, static_cast<uint64_t>(value), /*isSigned=*/true, /*implicitTrunc=*/true);
  };
  if (sharding.along(dim).empty())
    return stablehlo::ConstantOp::create(
        builder, location, DenseElementsAttr::get(RankedTensorType::get({}, element), number(0)));
  SmallVector<APInt> byDevice;
  for (int64_t device = 0; device < partitions; ++device)
    byDevice.push_back(number(sharding.mesh->along(sharding.along(dim), device) * shardSize));
  return lookUp(builder, location,
                DenseElementsAttr::get(RankedTensorType::get({partitions}, element), byDevice));
}

Result<Value> ShardBuilder::gather(OpBuilder &builder, Location location, Value shard,
                                   const Sharding &sharding) {
  return reshard(builder, location, shard, sharding, Sharding());
}

DenseIntElementsAttr ShardBuilder::groupsAlong(Builder &builder, const MeshCoordinates &mesh,
                                               const Axes &axes) {
  std::vector<std::vector<int64_t>> groups = mesh.groupsAlong(axes);
  SmallVector<int64_t> flat;
  for (const std::vector<int64_t> &group : groups)
    flat.append(group.begin(), group.end());
  auto type = RankedTensorType::get(
      {static_cast<int64_t>(groups.size()), static_cast<int64_t>(groups.front().size())},
      builder.getI64Type());
  return cast<DenseIntElementsAttr>(DenseElementsAttr::get(type, ArrayRef<int64_t>(flat)));
}

stablehlo::ChannelHandleAttr ShardBuilder::newChannel(Builder &builder) {
  return stablehlo::ChannelHandleAttr::get(builder.getContext(), nextChannel++, 1);
}

void ShardBuilder::setCombination(OpBuilder &builder, Region &region, StringRef op,
                                  Type elementType) {
  OpBuilder::InsertionGuard guard(builder);
  const Location location = region.getLoc();
  auto scalar = RankedTensorType::get({}, elementType);
  Block *body = builder.createBlock(&region, {}, {scalar, scalar}, {location, location});
  OperationState state(location, op);
  state.addOperands(body->getArguments());
  state.addTypes(scalar);
  Value combined = builder.create(state)->getResult(0);
  stablehlo::ReturnOp::create(builder, location, ValueRange(combined));
}

Value ShardBuilder::permute(OpBuilder &builder, Location location, Value value,
                            ArrayRef<std::pair<int64_t, int64_t>> pairs) {
  SmallVector<int64_t> flat;
  for (auto [source, target] : pairs)
    flat.append({source, target});
  auto type = RankedTensorType::get({static_cast<int64_t>(pairs.size()), 2}, builder.getI64Type());
  return stablehlo::CollectivePermuteOp::create(
      builder, location, value.getType(), value,
      cast<DenseIntElementsAttr>(DenseElementsAttr::get(type, ArrayRef<int64_t>(flat))),
      newChannel(builder));
}

Value ShardBuilder::allReduce(OpBuilder &builder, Location location, Value value,
                              const MeshCoordinates &mesh, const Axes &axes, StringRef op) {
  auto reduce = stablehlo::AllReduceOp::create(builder, location, TypeRange(value.getType()),
                                               ValueRange(value), groupsAlong(builder, mesh, axes),
                                               newChannel(builder), builder.getUnitAttr());
  setCombination(builder, reduce.getComputation(), op,
                 cast<RankedTensorType>(value.getType()).getElementType());
  return reduce->getResult(0);
}

std::optional<int64_t> ShardBuilder::onlyDeviceOf(Operation *op) const {
  auto shardings = op->getAttrOfType<sdy::TensorShardingPerValueAttr>("sdy.sharding");
  if (!shardings || shardings.getShardings().empty())
    return std::nullopt;
  std::optional<int64_t> device;
  for (sdy::TensorShardingAttr sharding : shardings.getShardings()) {
    sdy::MeshAttr mesh = meshOf(sharding);
    if (!mesh || !mesh.isMaximal() || mesh.getDeviceIds().front() >= partitions ||
        (device && *device != mesh.getDeviceIds().front()))
      return std::nullopt;
    device = mesh.getDeviceIds().front();
  }
  return device;
}

void ShardBuilder::runOnOneDevice(Operation *op, int64_t device) {
  OpBuilder builder(op);
  const Location location = op->getLoc();
  auto scalar = RankedTensorType::get({}, builder.getI32Type());
  Value wanted = stablehlo::ConstantOp::create(
      builder, location,
      DenseElementsAttr::get(scalar, ArrayRef<int32_t>{static_cast<int32_t>(device)}));
  Value isHere = stablehlo::CompareOp::create(
      builder, location, scalar.clone(builder.getI1Type()), deviceId(builder, location), wanted,
      stablehlo::ComparisonDirection::EQ, stablehlo::ComparisonTypeAttr());
  auto branch = stablehlo::IfOp::create(builder, location, op->getResultTypes(), isHere);
  op->replaceAllUsesWith(branch);
  builder.createBlock(&branch.getFalseBranch());
  SmallVector<Value> nothing;
  for (Type type : op->getResultTypes())
    nothing.push_back(
        stablehlo::ConstantOp::create(builder, location, zeroOf(cast<RankedTensorType>(type))));
  stablehlo::ReturnOp::create(builder, location, nothing);
  Block *here = builder.createBlock(&branch.getTrueBranch());
  op->moveBefore(here, here->end());
  builder.setInsertionPointToEnd(here);
  stablehlo::ReturnOp::create(builder, location, op->getResults());
  if (op->getNumResults() == 0)
    return;

  SmallVector<int64_t> devices = {device}; // the first device of a group sends
  for (int64_t other = 0; other < partitions; ++other)
    if (other != device)
      devices.push_back(other);
  auto groups = DenseIntElementsAttr::get(
      RankedTensorType::get({1, partitions}, builder.getI64Type()), ArrayRef<int64_t>(devices));
  builder.setInsertionPointAfter(branch);
  auto sent = stablehlo::CollectiveBroadcastOp::create(builder, location, branch.getResultTypes(),
                                                       branch.getResults(), groups,
                                                       newChannel(builder), UnitAttr());
  for (auto [mine, result] : llvm::zip_equal(branch.getResults(), sent->getResults()))
    mine.replaceAllUsesExcept(result, sent);
}

std::string ShardBuilder::opSharding(const Sharding &sharding) const {
  // The order of devices: shards outermost, then the replicas of each shard, and innermost the
  // devices that hold its partial terms.
  Axes axes = axesOf(sharding);
  const int64_t partials = countOf(sharding.unreduced), shards = countOf(axes);
  std::vector<int64_t> tiles;
  for (size_t dim = 0; dim < sharding.dims.size(); ++dim)
    tiles.push_back(sharding.count(dim));
  std::vector<std::vector<int64_t>> holders(static_cast<size_t>(shards * partials));
  for (int64_t device = 0; device < partitions; ++device)
    holders[static_cast<size_t>(sharding.mesh->along(axes, device) * partials +
                                sharding.mesh->along(sharding.unreduced, device))]
        .push_back(device);
  const int64_t copies = partitions / (shards * partials);
  std::vector<int64_t> devices;
  for (int64_t shard = 0; shard < shards; ++shard)
    for (int64_t copy = 0; copy < copies; ++copy)
      for (int64_t partial = 0; partial < partials; ++partial)
        devices.push_back(
            holders[static_cast<size_t>(shard * partials + partial)][static_cast<size_t>(copy)]);
  if (copies > 1)
    tiles.push_back(copies);
  if (partials > 1)
    tiles.push_back(partials);

  std::string out = {0x08, 0x03}; // type: OTHER
  putList(out, 3, tiles);
  putList(out, 4, devices);
  if (partials > 1)
    putList(out, 8, copies > 1 ? std::vector<int64_t>{0, 6} : std::vector<int64_t>{6}); // UNREDUCED
  else if (copies > 1)
    out += {0x30, 0x01}; // replicate_on_last_tile_dim
  return out;
}

} // namespace tilewright::distribute
