#include "tilewright/transform/distribute/Pieces.h"

#include "tilewright/dialect/stablehlo/CollectiveOps.h"
#include "tilewright/dialect/stablehlo/CreationOps.h"
#include "tilewright/dialect/stablehlo/DataMovementOps.h"
#include "tilewright/dialect/stablehlo/IndexingOps.h"
#include "tilewright/dialect/stablehlo/UnaryOps.h"
#include "tilewright/support/Concat.h"

#include <numeric>

using namespace mlir;

namespace tilewright::distribute {
namespace {

using interpret::Mesh;

Status refuse(std::string why) {
  return Status(Error::planOp, concat("a sharding cannot be followed: ", why));
}

/// All axes that cut, the first dimension's outermost: the order in which pieces are gathered.
std::vector<Mesh::AxisRef> axesOf(const Cut &cut) {
  std::vector<Mesh::AxisRef> all;
  for (const std::vector<Mesh::AxisRef> &dim : cut.dims)
    all.insert(all.end(), dim.begin(), dim.end());
  return all;
}

/// A field of a protocol buffer: numbers below 128 and packed lists of numbers.
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

bool Cut::isWhole() const {
  return !mesh ||
         llvm::all_of(dims, [](const std::vector<Mesh::AxisRef> &dim) { return dim.empty(); });
}

int64_t Cut::count(size_t dim) const {
  int64_t pieces = 1;
  for (const Mesh::AxisRef &axis : dims[dim])
    pieces *= axis.size;
  return pieces;
}

Result<Cut> Pieces::cutOf(sdy::TensorShardingAttr sharding,
                          std::optional<ArrayRef<StringAttr>> names) const {
  auto meshAttr = dyn_cast<sdy::MeshAttr>(sharding.getMeshOrRef());
  if (!meshAttr) {
    auto symbol = cast<FlatSymbolRefAttr>(sharding.getMeshOrRef());
    auto op = const_cast<Pieces *>(this)->module.lookupSymbol<sdy::MeshOp>(symbol.getValue());
    if (!op)
      return refuse(concat("there is no mesh '", symbol.getValue().str(), "'"));
    meshAttr = op.getMesh();
  }
  if (meshAttr.getAxes().empty()) // one device, or all of them without a cut
    return Cut();
  std::vector<Mesh::Axis> axes;
  for (sdy::MeshAxisAttr axis : meshAttr.getAxes())
    axes.push_back({axis.getName().str(), axis.getSize()});
  TILEWRIGHT_ASSIGN(Mesh mesh, Mesh::create(std::move(axes), meshAttr.getDeviceIds().vec()));
  if (mesh.deviceCount() != partitions)
    return refuse(
        concat("its mesh has ", mesh.deviceCount(), " devices, the program ", partitions));
  Cut cut;
  for (sdy::DimensionShardingAttr dimension : sharding.getDimShardings()) {
    cut.dims.emplace_back();
    for (sdy::AxisRefAttr axis : dimension.getAxes()) {
      if (names &&
          llvm::none_of(*names, [&](StringAttr name) { return name.getValue() == axis.getName(); }))
        continue;
      sdy::SubAxisInfoAttr factor = axis.getSubAxisInfo();
      std::string name = axis.getName().str();
      TILEWRIGHT_ASSIGN(Mesh::AxisRef ref,
                        factor ? mesh.axis(name, factor.getPreSize(), factor.getSize())
                               : mesh.axis(name));
      cut.dims.back().push_back(ref);
    }
  }
  cut.mesh = std::move(mesh);
  return cut;
}

Result<Type> Pieces::pieceType(Type whole, const Cut &cut) const {
  auto type = dyn_cast<RankedTensorType>(whole);
  if (!type || !type.hasStaticShape() || type.getRank() != static_cast<int64_t>(cut.dims.size()))
    return refuse("it is of another rank than its tensor");
  SmallVector<int64_t> sizes(type.getShape());
  for (auto [dim, size] : llvm::enumerate(sizes)) {
    if (size % cut.count(dim) != 0)
      return refuse(concat("a dimension of ", size, " is divided by ", cut.count(dim)));
    size /= cut.count(dim);
  }
  return Type(type.clone(sizes));
}

Result<Value> Pieces::take(OpBuilder &builder, Location location, Value whole,
                           const Cut &cut) const {
  if (cut.isWhole())
    return whole;
  TILEWRIGHT_ASSIGN(Type type, pieceType(whole.getType(), cut));
  auto piece = cast<RankedTensorType>(type);
  auto scalar = RankedTensorType::get({}, builder.getI32Type());
  Value rank = stablehlo::PartitionIdOp::create(
      builder, location, RankedTensorType::get({}, builder.getIntegerType(32, /*isSigned=*/false)));
  rank = stablehlo::ConvertOp::create(builder, location, scalar, rank);
  // Where each device's piece begins is a table, so any mesh is as simple as a straight one.
  SmallVector<Value> starts;
  for (size_t dim = 0; dim < cut.dims.size(); ++dim) {
    SmallVector<int32_t> table;
    for (int64_t device = 0; device < partitions; ++device)
      table.push_back(static_cast<int32_t>(cut.mesh->positionAlong(cut.dims[dim], device) *
                                           piece.getDimSize(static_cast<unsigned>(dim))));
    auto tableType = RankedTensorType::get({partitions}, builder.getI32Type());
    Value offsets = stablehlo::ConstantOp::create(
        builder, location, tableType, DenseElementsAttr::get(tableType, ArrayRef<int32_t>(table)));
    Value offset = stablehlo::DynamicSliceOp::create(
        builder, location, RankedTensorType::get({1}, builder.getI32Type()), offsets,
        ValueRange(rank), builder.getDenseI64ArrayAttr({1}));
    starts.push_back(stablehlo::ReshapeOp::create(builder, location, scalar, offset));
  }
  return Value(stablehlo::DynamicSliceOp::create(builder, location, piece, whole, starts,
                                                 builder.getDenseI64ArrayAttr(piece.getShape())));
}

Result<Value> Pieces::join(OpBuilder &builder, Location location, Value piece, const Cut &cut) {
  if (cut.isWhole())
    return piece;
  auto type = dyn_cast<RankedTensorType>(piece.getType());
  if (!type || type.getRank() != static_cast<int64_t>(cut.dims.size()))
    return refuse("it is of another rank than its tensor");
  std::vector<std::vector<int64_t>> groups = cut.mesh->groupsAlong(axesOf(cut));
  auto width = static_cast<int64_t>(groups.front().size());
  SmallVector<int64_t> flat;
  for (const std::vector<int64_t> &group : groups)
    flat.append(group.begin(), group.end());
  auto groupsType =
      RankedTensorType::get({static_cast<int64_t>(groups.size()), width}, builder.getI64Type());

  // [local…] -> [1, local…] -> [pieces, local…] -> [p0, p1…, l0, l1…] -> [p0, l0, p1, l1…] -> whole
  SmallVector<int64_t> row = {1}, gathered = {width}, split, mixed, whole, order;
  int64_t rank = type.getRank();
  for (int64_t dim = 0; dim < rank; ++dim) {
    int64_t count = cut.count(static_cast<size_t>(dim)), local = type.getDimSize(dim);
    row.push_back(local);
    gathered.push_back(local);
    split.insert(split.begin() + dim, count);
    split.push_back(local);
    mixed.append({count, local});
    whole.push_back(count * local);
    order.append({dim, rank + dim});
  }
  Value value = stablehlo::ReshapeOp::create(builder, location, type.clone(row), piece);
  value =
      stablehlo::AllGatherOp::create(
          builder, location, TypeRange(Type(type.clone(gathered))), ValueRange(value),
          builder.getI64IntegerAttr(0),
          cast<DenseIntElementsAttr>(DenseElementsAttr::get(groupsType, ArrayRef<int64_t>(flat))),
          stablehlo::ChannelHandleAttr::get(builder.getContext(), nextChannel++, 1),
          builder.getUnitAttr())
          ->getResult(0);
  value = stablehlo::ReshapeOp::create(builder, location, type.clone(split), value);
  value = stablehlo::TransposeOp::create(builder, location, type.clone(mixed), value,
                                         builder.getDenseI64ArrayAttr(order));
  return Value(stablehlo::ReshapeOp::create(builder, location, type.clone(whole), value));
}

std::string Pieces::opSharding(const Cut &cut) const {
  // Devices in the order of their pieces; those that hold the same one side by side.
  std::vector<Mesh::AxisRef> axes = axesOf(cut);
  int64_t pieces = 1;
  std::vector<int64_t> tiles;
  for (size_t dim = 0; dim < cut.dims.size(); ++dim) {
    tiles.push_back(cut.count(dim));
    pieces *= cut.count(dim);
  }
  std::vector<std::vector<int64_t>> holders(static_cast<size_t>(pieces));
  for (int64_t device = 0; device < partitions; ++device)
    holders[static_cast<size_t>(cut.mesh->positionAlong(axes, device))].push_back(device);
  std::vector<int64_t> devices;
  for (const std::vector<int64_t> &holder : holders)
    devices.insert(devices.end(), holder.begin(), holder.end());
  bool isReplicated = pieces < partitions;
  if (isReplicated)
    tiles.push_back(partitions / pieces);

  std::string out = {0x08, 0x03}; // type: OTHER
  putList(out, 3, tiles);
  putList(out, 4, devices);
  if (isReplicated)
    out += {0x30, 0x01}; // replicate_on_last_tile_dim
  return out;
}

} // namespace tilewright::distribute
