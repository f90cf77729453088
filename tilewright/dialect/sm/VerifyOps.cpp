// Verifiers and folders of the sm ops.
#include "tilewright/dialect/sm/SmDialect.h"

#include "tilewright/dialect/tile/SortOps.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::sm;

//===- Kernel -------------------------------------------------------------===//

LogicalResult KernelOp::verify() {
  if (static_cast<int64_t>(getWarps()) < 1)
    return emitOpError("expects at least 1 warp, got ") << static_cast<int64_t>(getWarps());
  if (auto cluster = getCluster();
      cluster && (cluster->size() != 3 || llvm::any_of(*cluster, [](int64_t n) { return n < 1; })))
    return emitOpError("expects a cluster of three sizes, each at least 1, got [")
           << *cluster << "]";
  if (getPersistent() && *getPersistent() != "static" && *getPersistent() != "stealing")
    return emitOpError("expects attribute `persistent` to be `static` or `stealing`, got ")
           << *getPersistent();
  if (auto raster = getRaster();
      raster && (static_cast<int64_t>(*raster) < 1 || getGrid().size() < 2))
    return emitOpError("expects a raster of at least 1 and a grid of rank at least 2, got raster ")
           << static_cast<int64_t>(*raster) << " and rank " << getGrid().size();
  return tile::verifyKernelFrame(*this, getBlock(), getGrid(), getNumInputs(),
                                 getUpdates().value_or(ArrayRef<int64_t>()));
}

/// Checks one tile's layout against the kernel's warps and cluster. `lanes` is the number of lanes
/// of the first tile, or 0 if this is the first.
static LogicalResult verifyTile(Operation *op, KernelOp kernel, Type type, int64_t &lanes) {
  if (!isa<RankedTensorType>(type))
    return success();
  LayoutAttr attribute = layoutOf(type);
  if (!attribute)
    return op->emitOpError("expects all tiles in an sm.kernel to have a layout, got ") << type;
  const Layout &layout = attribute.getValue();
  for (Axis axis : {Axis::offset, Axis::tmemLane, Axis::tmemColumn})
    if (layout.extent(axis) != 1)
      return op->emitOpError("expects a layout of registers, got a layout with axis ")
             << nameOf(axis) << ": " << type;
  for (Axis axis : {Axis::reg, Axis::lane, Axis::warp, Axis::group, Axis::cta})
    if (!layout.isDense(axis))
      return op->emitOpError("has a layout that leaves some of the ")
             << layout.extent(axis) << " positions on axis " << nameOf(axis)
             << " unused; replicate elements to fill them: " << type;
  const std::array<int64_t, 3> cluster = kernel.getClusterSizes();
  const int64_t warps = layout.extent(Axis::warp) * layout.extent(Axis::group);
  auto role = op->getParentOfType<RoleOp>();
  const int64_t present = role ? role.getWarps() : kernel.getWarps();
  if (warps != present)
    return op->emitOpError("has a layout for ")
           << warps << " warps in a " << (role ? "role" : "kernel") << " of " << present
           << " warps: " << type;
  if (layout.extent(Axis::cta) != cluster[0] * cluster[1] * cluster[2])
    return op->emitOpError("has a layout for ")
           << layout.extent(Axis::cta) << " CTAs in a kernel with a cluster of "
           << cluster[0] * cluster[1] * cluster[2] << ": " << type;
  if (lanes == 0)
    lanes = layout.extent(Axis::lane);
  if (layout.extent(Axis::lane) != lanes)
    return op->emitOpError("has a layout for warps of ")
           << layout.extent(Axis::lane) << " lanes in a kernel with warps of " << lanes
           << " lanes: " << type;
  return success();
}

/// Checks that all tiles have the layout of the first.
static LogicalResult verifyOneLayout(Operation *op, ArrayRef<Value> tiles) {
  for (Value tile : tiles) {
    LayoutAttr first = layoutOf(tiles.front().getType()), other = layoutOf(tile.getType());
    if (first != other && !first.getValue().sameAs(other.getValue()))
      return op->emitOpError("expects the same layout for all tiles, got ")
             << first << " and " << other << "; insert an sm.convert";
  }
  return success();
}

static LogicalResult verifyView(tile::ViewOp view) {
  auto source = cast<RankedTensorType>(view.getSource().getType()), result = view.getType();
  const Layout &from = layoutOf(source).getValue(), &to = layoutOf(result).getValue();
  std::optional<ViewMap> map = viewMapOf(view.getMap(), result.getShape(), source.getShape());
  if (!map)
    return view.emitOpError("has a map that layouts cannot represent: each index must be a sum of "
                            "digits of the indices of the result, got ")
           << view.getMapAttr();
  // If the layout algebra derives the source's layout, the registers need not be checked one by
  // one.
  if (std::optional<Layout> derived = sourceLayout(to, *map);
      derived && *derived == from.canonical())
    return success();
  if (registersOfView(to, from, *map))
    return success();
  return view.emitOpError("cannot change the layout from ")
         << layoutOf(source) << " to " << layoutOf(result)
         << ", because that moves elements between threads or reads a register whose number "
            "depends on the thread; insert an sm.convert";
}

static LogicalResult verifyReduce(tile::ReduceOp reduce) {
  SmallVector<Value> inputs(reduce.getInputs());
  if (failed(verifyOneLayout(reduce, inputs)))
    return failure();
  const Layout &input = layoutOf(inputs.front().getType()).getValue();
  std::optional<Layout> expected = input.reduce(reduce.getDims());
  for (Value result : reduce.getResults()) {
    const Layout &got = layoutOf(result.getType()).getValue();
    if (!expected || !expected->sameAs(got))
      return reduce.emitOpError("expects results to have the inputs' layout with dimensions [")
             << reduce.getDims() << "] removed, "
             << (expected ? expected->str() : std::string("which this swizzle does not allow"))
             << ", got " << got.str();
  }
  return success();
}

/// Checks that a body with roles contains only roles, channels and pure ops, and that the roles use
/// all warps.
static LogicalResult verifyRoles(KernelOp kernel) {
  auto roles = kernel.getBody().getOps<RoleOp>();
  if (roles.empty())
    return success();
  int64_t warps = 0;
  for (RoleOp role : roles)
    warps += role.getWarps();
  if (warps != static_cast<int64_t>(kernel.getWarps()))
    return kernel.emitOpError("has ")
           << kernel.getWarps() << " warps, but its roles have " << warps;
  for (Operation &op : kernel.getBlock().without_terminator())
    if (!isa<RoleOp, ChannelOp>(op) && !isMemoryEffectFree(&op))
      return op.emitOpError("is outside the kernel's roles; move it into one of them");
  return success();
}

LogicalResult KernelOp::verifyRegions() {
  if (failed(verifyRoles(*this)))
    return failure();
  int64_t lanes = 0;
  WalkResult result = getBody().walk<WalkOrder::PreOrder>([&](Operation *op) -> WalkResult {
    for (Type type : op->getResultTypes())
      if (failed(verifyTile(op, *this, type, lanes)))
        return WalkResult::interrupt();
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          if (failed(verifyTile(op, *this, argument.getType(), lanes)))
            return WalkResult::interrupt();
    LogicalResult local = success();
    SmallVector<Value> tiles;
    if (auto map = dyn_cast<tile::MapOp>(op)) {
      llvm::append_range(tiles, map.getInputs());
      llvm::append_range(tiles, map.getResults());
    } else if (auto scan = dyn_cast<tile::ScanOp>(op)) {
      llvm::append_range(tiles, scan.getInputs());
      llvm::append_range(tiles, scan.getResults());
    } else if (auto sort = dyn_cast<tile::SortOp>(op)) {
      llvm::append_range(tiles, sort.getInputs());
      llvm::append_range(tiles, sort.getResults());
    } else if (auto gather = dyn_cast<tile::GatherOp>(op)) {
      llvm::append_range(tiles, gather.getIndices());
      tiles.push_back(gather.getResult());
    } else if (auto scatter = dyn_cast<tile::ScatterOp>(op)) {
      llvm::append_range(tiles, scatter.getIndices());
      tiles.push_back(scatter.getTile());
    } else if (auto update = dyn_cast<tile::UpdateOp>(op)) {
      llvm::append_range(tiles, update.getIndices());
      tiles.push_back(update.getTile());
    } else if (auto carry = dyn_cast<tile::CarryOp>(op)) {
      tiles = {carry.getInput(), carry.getResult()};
    } else if (auto bucket = dyn_cast<tile::BucketOp>(op)) {
      tiles.push_back(bucket.getDigits());
      llvm::append_range(tiles, bucket.getInputs());
      llvm::append_range(tiles, bucket.getResults());
    } else if (auto take = dyn_cast<tile::TakeOp>(op)) {
      tiles = {take.getIndices(), take.getResult()};
    } else if (auto view = dyn_cast<tile::ViewOp>(op)) {
      local = verifyView(view);
    } else if (auto reduce = dyn_cast<tile::ReduceOp>(op)) {
      local = verifyReduce(reduce);
    }
    if (failed(local) || failed(verifyOneLayout(op, tiles)))
      return WalkResult::interrupt();
    // Regions over scalars do not contain tiles.
    return isa<tile::MapOp, tile::ReduceOp, tile::ScanOp, tile::SortOp, tile::UpdateOp,
               tile::CarryOp>(op)
               ? WalkResult::skip()
               : WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

//===- Convert ------------------------------------------------------------===//

LogicalResult ConvertOp::verify() {
  auto source = cast<RankedTensorType>(getSource().getType()), result = getType();
  std::optional<AffineMap> map = getMap();
  if (source.getElementType() != result.getElementType() ||
      (!map && source.getShape() != result.getShape()))
    return emitOpError("must change only the layout, got ") << source << " and " << result;
  if (!layoutOf(source) || !layoutOf(result))
    return emitOpError("expects tiles with layouts, got ") << source << " and " << result;
  if (!map)
    return success();
  if (map->getNumSymbols() != 0 || map->getNumDims() != result.getRank() ||
      map->getNumResults() != source.getRank())
    return emitOpError("expects a map from ")
           << result.getRank() << " dimensions to " << source.getRank()
           << " indices, without symbols, got " << getMapAttr();
  return success();
}

OpFoldResult ConvertOp::fold(FoldAdaptor) {
  if (getMap())
    return {};
  if (getSource().getType() == getType())
    return getSource();
  // Merge two conversions in a row.
  if (auto inner = getSource().getDefiningOp<ConvertOp>(); inner && !inner.getMap()) {
    getSourceMutable().assign(inner.getSource());
    return getResult();
  }
  return {};
}
