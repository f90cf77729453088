#include "tilewright/transform/distribute/Pieces.h"

#include "tilewright/dialect/stablehlo/BinaryOps.h"
#include "tilewright/dialect/stablehlo/CollectiveOps.h"
#include "tilewright/dialect/stablehlo/ControlFlowOps.h"
#include "tilewright/dialect/stablehlo/CreationOps.h"
#include "tilewright/dialect/stablehlo/DataMovementOps.h"
#include "tilewright/dialect/stablehlo/IndexingOps.h"
#include "tilewright/dialect/stablehlo/UnaryOps.h"
#include "tilewright/support/Concat.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tilewright::distribute {
namespace {

using interpret::Mesh;

Status refuse(const std::string &why) {
  return Status(Error::planOp, concat("a sharding cannot be followed: ", why));
}

/// All axes that cut, the first dimension's outermost: the order in which pieces are gathered.
Axes axesOf(const Cut &cut) {
  Axes all;
  for (const Axes &dim : cut.dims)
    all.insert(all.end(), dim.begin(), dim.end());
  return all;
}

/// The devices that meet along `axes`, a row each.
DenseIntElementsAttr groupsAlong(Builder &builder, const Mesh &mesh, const Axes &axes) {
  std::vector<std::vector<int64_t>> groups = mesh.groupsAlong(axes);
  SmallVector<int64_t> flat;
  for (const std::vector<int64_t> &group : groups)
    flat.append(group.begin(), group.end());
  auto type = RankedTensorType::get(
      {static_cast<int64_t>(groups.size()), static_cast<int64_t>(groups.front().size())},
      builder.getI64Type());
  return cast<DenseIntElementsAttr>(DenseElementsAttr::get(type, ArrayRef<int64_t>(flat)));
}

DenseElementsAttr zeroOf(RankedTensorType type) {
  if (auto complex = dyn_cast<ComplexType>(type.getElementType())) {
    const llvm::APFloat zero(cast<FloatType>(complex.getElementType()).getFloatSemantics());
    return DenseElementsAttr::get(type, std::complex<llvm::APFloat>(zero, zero));
  }
  return DenseElementsAttr::get(type,
                                Builder(type.getContext()).getZeroAttr(type.getElementType()));
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

static bool isSame(const Mesh::AxisRef &one, const Mesh::AxisRef &other) {
  return one.axis == other.axis && one.preSize == other.preSize && one.size == other.size;
}

bool isSame(const Axes &one, const Axes &other) {
  return one.size() == other.size() &&
         llvm::all_of_zip(one, other, [](const auto &a, const auto &b) { return isSame(a, b); });
}

bool overlap(const Axes &one, const Axes &other) {
  for (const Mesh::AxisRef &a : one)
    for (const Mesh::AxisRef &b : other)
      if (a.axis == b.axis && a.preSize < b.preSize * b.size && b.preSize < a.preSize * a.size)
        return true;
  return false;
}

int64_t countOf(const Axes &axes) {
  int64_t pieces = 1;
  for (const Mesh::AxisRef &axis : axes)
    pieces *= axis.size;
  return pieces;
}

bool Cut::isDivided() const {
  return mesh && llvm::any_of(dims, [](const Axes &dim) { return !dim.empty(); });
}

bool Cut::isWhole() const { return !mesh || (!isDivided() && unreduced.empty()); }

const Axes &Cut::along(size_t dim) const {
  static const Axes none;
  return mesh && dim < dims.size() ? dims[dim] : none;
}

int64_t Cut::count(size_t dim) const { return countOf(along(dim)); }

bool Cut::operator==(const Cut &other) const {
  if (isWhole() || other.isWhole())
    return isWhole() == other.isWhole();
  if (mesh != other.mesh || dims.size() != other.dims.size() || !isSame(unreduced, other.unreduced))
    return false;
  return llvm::all_of_zip(dims, other.dims,
                          [](const Axes &a, const Axes &b) { return isSame(a, b); });
}

Cut Cut::commonWith(const Cut &other) const {
  if (isWhole() || other.isWhole() || mesh != other.mesh || dims.size() != other.dims.size())
    return Cut();
  // Summands are those of another cut only if there are as many.
  Cut common{mesh, {}, isSame(unreduced, other.unreduced) ? unreduced : Axes()};
  for (auto [one, two] : llvm::zip_equal(dims, other.dims)) {
    Axes &axes = common.dims.emplace_back();
    for (size_t i = 0; i < one.size() && i < two.size() && distribute::isSame(one[i], two[i]); ++i)
      axes.push_back(one[i]);
  }
  return common;
}

Cut Cut::within(const Cut &coarser) const {
  Cut rest = *this;
  for (size_t dim = 0; dim < rest.dims.size(); ++dim) {
    const auto given = static_cast<std::ptrdiff_t>(coarser.along(dim).size());
    rest.dims[dim].erase(rest.dims[dim].begin(), rest.dims[dim].begin() + given);
  }
  if (isSame(unreduced, coarser.unreduced))
    rest.unreduced.clear();
  return rest;
}

Result<Cut> Pieces::cutOf(sdy::TensorShardingAttr sharding,
                          std::optional<ArrayRef<StringAttr>> names) {
  auto meshAttr = dyn_cast<sdy::MeshAttr>(sharding.getMeshOrRef());
  if (!meshAttr) {
    auto symbol = cast<FlatSymbolRefAttr>(sharding.getMeshOrRef());
    auto op = module.lookupSymbol<sdy::MeshOp>(symbol.getValue());
    if (!op)
      return refuse(concat("there is no mesh '", symbol.getValue().str(), "'"));
    meshAttr = op.getMesh();
  }
  if (meshAttr.getAxes().empty()) // one device, or all of them without a cut
    return Cut();
  std::shared_ptr<const Mesh> &mesh = meshes[meshAttr];
  if (!mesh) {
    std::vector<Mesh::Axis> axes;
    for (sdy::MeshAxisAttr axis : meshAttr.getAxes())
      axes.push_back({axis.getName().str(), axis.getSize()});
    TILEWRIGHT_ASSIGN(Mesh made, Mesh::create(std::move(axes), meshAttr.getDeviceIds().vec()));
    if (made.deviceCount() != partitions)
      return refuse(
          concat("its mesh has ", made.deviceCount(), " devices, the program ", partitions));
    mesh = std::make_shared<const Mesh>(std::move(made));
  }
  auto read = [&](ArrayRef<sdy::AxisRefAttr> refs) -> Result<Axes> {
    Axes axes;
    for (sdy::AxisRefAttr axis : refs) {
      if (names &&
          llvm::none_of(*names, [&](StringAttr name) { return name.getValue() == axis.getName(); }))
        continue;
      sdy::SubAxisInfoAttr factor = axis.getSubAxisInfo();
      std::string name = axis.getName().str();
      TILEWRIGHT_ASSIGN(Mesh::AxisRef ref,
                        factor ? mesh->axis(name, factor.getPreSize(), factor.getSize())
                               : mesh->axis(name));
      if (ref.size == 1)
        continue;
      if (!axes.empty() && axes.back().axis == ref.axis &&
          axes.back().preSize * axes.back().size == ref.preSize)
        axes.back().size *= ref.size;
      else
        axes.push_back(ref);
    }
    return axes;
  };
  Cut cut{mesh, {}, {}};
  for (sdy::DimensionShardingAttr dimension : sharding.getDimShardings()) {
    TILEWRIGHT_ASSIGN(Axes axes, read(dimension.getAxes()));
    cut.dims.push_back(std::move(axes));
  }
  TILEWRIGHT_ASSIGN(cut.unreduced, read(sharding.getUnreducedAxes()));
  if (!cut.unreduced.empty() && sharding.getReduction() != sdy::Reduction::Sum)
    return refuse(concat("what it leaves unreduced is to be combined by '",
                         sdy::stringifyReduction(sharding.getReduction()).str(),
                         "', not by a sum"));
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

Value Pieces::placeAlong(OpBuilder &builder, Location location, const Mesh &mesh, const Axes &axes,
                         int64_t scale) const {
  auto scalar = RankedTensorType::get({}, builder.getI32Type());
  Value rank = stablehlo::PartitionIdOp::create(
      builder, location, RankedTensorType::get({}, builder.getIntegerType(32, /*isSigned=*/false)));
  rank = stablehlo::ConvertOp::create(builder, location, scalar, rank);
  // A table, so any mesh is as simple as a straight one.
  SmallVector<int32_t> table;
  for (int64_t device = 0; device < partitions; ++device)
    table.push_back(static_cast<int32_t>(mesh.positionAlong(axes, device) * scale));
  auto tableType = RankedTensorType::get({partitions}, builder.getI32Type());
  Value places = stablehlo::ConstantOp::create(
      builder, location, tableType, DenseElementsAttr::get(tableType, ArrayRef<int32_t>(table)));
  Value place = stablehlo::DynamicSliceOp::create(
      builder, location, RankedTensorType::get({1}, builder.getI32Type()), places, ValueRange(rank),
      builder.getDenseI64ArrayAttr({1}));
  return stablehlo::ReshapeOp::create(builder, location, scalar, place);
}

Value Pieces::startOf(OpBuilder &builder, Location location, const Cut &cut, size_t dim,
                      int64_t pieceSize) const {
  if (!cut.along(dim).empty())
    return placeAlong(builder, location, *cut.mesh, cut.along(dim), pieceSize);
  auto scalar = RankedTensorType::get({}, builder.getI32Type());
  return stablehlo::ConstantOp::create(builder, location,
                                       DenseElementsAttr::get(scalar, ArrayRef<int32_t>{0}));
}

Result<Value> Pieces::take(OpBuilder &builder, Location location, Value whole,
                           const Cut &cut) const {
  if (cut.isWhole())
    return whole;
  TILEWRIGHT_ASSIGN(Type type, pieceType(whole.getType(), cut));
  auto pieceType = cast<RankedTensorType>(type);
  Value piece = whole;
  if (DenseElementsAttr constant;
      cut.isDivided() && matchPattern(whole, m_Constant(&constant)) && constant.isSplat()) {
    piece = stablehlo::ConstantOp::create(builder, location, constant.resizeSplat(pieceType));
  } else if (cut.isDivided()) {
    SmallVector<Value> starts;
    for (size_t dim = 0; dim < cut.dims.size(); ++dim)
      starts.push_back(
          startOf(builder, location, cut, dim, pieceType.getDimSize(static_cast<unsigned>(dim))));
    piece = stablehlo::DynamicSliceOp::create(builder, location, pieceType, whole, starts,
                                              builder.getDenseI64ArrayAttr(pieceType.getShape()));
  }
  if (cut.unreduced.empty())
    return piece;
  auto scalar = RankedTensorType::get({}, builder.getI32Type());
  Value place = placeAlong(builder, location, *cut.mesh, cut.unreduced, 1);
  Value first = stablehlo::ConstantOp::create(builder, location,
                                              DenseElementsAttr::get(scalar, ArrayRef<int32_t>{0}));
  Value isFirst = stablehlo::CompareOp::create(builder, location, scalar.clone(builder.getI1Type()),
                                               place, first, stablehlo::ComparisonDirection::EQ,
                                               stablehlo::ComparisonTypeAttr());
  Value nothing = stablehlo::ConstantOp::create(builder, location, zeroOf(pieceType));
  return Value(stablehlo::SelectOp::create(builder, location, pieceType, isFirst, piece, nothing));
}

Result<Value> Pieces::join(OpBuilder &builder, Location location, Value piece, const Cut &cut) {
  if (cut.isWhole())
    return piece;
  auto type = dyn_cast<RankedTensorType>(piece.getType());
  if (!type || type.getRank() != static_cast<int64_t>(cut.dims.size()))
    return refuse("it is of another rank than its tensor");
  if (!cut.unreduced.empty())
    piece = allReduce(builder, location, piece, *cut.mesh, cut.unreduced, "stablehlo.add");
  if (!cut.isDivided())
    return piece;
  DenseIntElementsAttr groups = groupsAlong(builder, *cut.mesh, axesOf(cut));
  const int64_t width = cast<ShapedType>(groups.getType()).getDimSize(1);

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
  value = stablehlo::AllGatherOp::create(
              builder, location, TypeRange(Type(type.clone(gathered))), ValueRange(value),
              builder.getI64IntegerAttr(0), groups,
              stablehlo::ChannelHandleAttr::get(builder.getContext(), nextChannel++, 1),
              builder.getUnitAttr())
              ->getResult(0);
  value = stablehlo::ReshapeOp::create(builder, location, type.clone(split), value);
  value = stablehlo::TransposeOp::create(builder, location, type.clone(mixed), value,
                                         builder.getDenseI64ArrayAttr(order));
  return Value(stablehlo::ReshapeOp::create(builder, location, type.clone(whole), value));
}

Result<Value> Pieces::convert(OpBuilder &builder, Location location, Value piece, const Cut &from,
                              const Cut &to) {
  const Cut common = from.commonWith(to);
  TILEWRIGHT_ASSIGN(Value joined, join(builder, location, piece, from.within(common)));
  return take(builder, location, joined, to.within(common));
}

Value Pieces::allReduce(OpBuilder &builder, Location location, Value value, const Mesh &mesh,
                        const Axes &axes, StringRef op) {
  auto reduce = stablehlo::AllReduceOp::create(
      builder, location, TypeRange(value.getType()), ValueRange(value),
      groupsAlong(builder, mesh, axes),
      stablehlo::ChannelHandleAttr::get(builder.getContext(), nextChannel++, 1),
      builder.getUnitAttr());
  OpBuilder::InsertionGuard guard(builder);
  auto scalar = RankedTensorType::get({}, cast<RankedTensorType>(value.getType()).getElementType());
  Block *body =
      builder.createBlock(&reduce.getComputation(), {}, {scalar, scalar}, {location, location});
  OperationState state(location, op);
  state.addOperands(body->getArguments());
  state.addTypes(scalar);
  Value combined = builder.create(state)->getResult(0);
  stablehlo::ReturnOp::create(builder, location, ValueRange(combined));
  return reduce->getResult(0);
}

std::string Pieces::opSharding(const Cut &cut) const {
  // Devices in the order of their pieces; of one piece, those that hold the same side by side
  // and, innermost, those that hold its summands.
  Axes axes = axesOf(cut);
  const int64_t summands = countOf(cut.unreduced), pieces = countOf(axes);
  std::vector<int64_t> tiles;
  for (size_t dim = 0; dim < cut.dims.size(); ++dim)
    tiles.push_back(cut.count(dim));
  std::vector<std::vector<int64_t>> holders(static_cast<size_t>(pieces * summands));
  for (int64_t device = 0; device < partitions; ++device)
    holders[static_cast<size_t>(cut.mesh->positionAlong(axes, device) * summands +
                                cut.mesh->positionAlong(cut.unreduced, device))]
        .push_back(device);
  const int64_t copies = partitions / (pieces * summands);
  std::vector<int64_t> devices;
  for (int64_t piece = 0; piece < pieces; ++piece)
    for (int64_t copy = 0; copy < copies; ++copy)
      for (int64_t summand = 0; summand < summands; ++summand)
        devices.push_back(
            holders[static_cast<size_t>(piece * summands + summand)][static_cast<size_t>(copy)]);
  if (copies > 1)
    tiles.push_back(copies);
  if (summands > 1)
    tiles.push_back(summands);

  std::string out = {0x08, 0x03}; // type: OTHER
  putList(out, 3, tiles);
  putList(out, 4, devices);
  if (summands > 1)
    putList(out, 8, copies > 1 ? std::vector<int64_t>{0, 6} : std::vector<int64_t>{6}); // UNREDUCED
  else if (copies > 1)
    out += {0x30, 0x01}; // replicate_on_last_tile_dim
  return out;
}

} // namespace tilewright::distribute
