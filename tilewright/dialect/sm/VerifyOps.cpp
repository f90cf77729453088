// Verifiers and folders of the sm ops.
#include "tilewright/dialect/sm/SmDialect.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::sm;

//===- Kernel -------------------------------------------------------------===//

LogicalResult KernelOp::verify() {
  if (static_cast<int64_t>(getWarps()) < 1)
    return emitOpError("needs at least 1 warp, got ") << static_cast<int64_t>(getWarps());
  if (auto cluster = getCluster();
      cluster && (cluster->size() != 3 || llvm::any_of(*cluster, [](int64_t n) { return n < 1; })))
    return emitOpError("needs a cluster of three sizes of at least 1, got [") << *cluster << "]";
  if (getPersistent() && *getPersistent() != "static")
    return emitOpError("needs `static` as its kind of persistence, got ") << *getPersistent();
  if (auto raster = getRaster();
      raster && (static_cast<int64_t>(*raster) < 1 || getGrid().size() < 2))
    return emitOpError("needs a raster of at least 1 and a grid of at least two sizes, got ")
           << static_cast<int64_t>(*raster) << " and " << getGrid().size();
  return tile::verifyKernelFrame(*this, getBlock(), getGrid(), getNumInputs());
}

/// Checks one tile's layout against the machine. `lanes` is that of the first tile.
static LogicalResult verifyTile(Operation *op, KernelOp kernel, Type type, int64_t &lanes) {
  if (!isa<RankedTensorType>(type))
    return success();
  LayoutAttr attribute = layoutOf(type);
  if (!attribute)
    return op->emitOpError("is in an sm.kernel, where every tile has a layout, got ") << type;
  const Layout &layout = attribute.getValue();
  for (Axis axis : {Axis::offset, Axis::tmemLane, Axis::tmemColumn})
    if (layout.extent(axis) != 1)
      return op->emitOpError("needs a layout of registers, got one with axis ")
             << nameOf(axis) << ": " << type;
  for (Axis axis : {Axis::reg, Axis::lane, Axis::warp, Axis::group, Axis::cta})
    if (!layout.isDense(axis))
      return op->emitOpError("leaves free some of ")
             << layout.extent(axis) << " places on axis " << nameOf(axis)
             << "; make them copies: " << type;
  const std::array<int64_t, 3> cluster = kernel.getClusterSizes();
  const int64_t warps = layout.extent(Axis::warp) * layout.extent(Axis::group);
  auto role = op->getParentOfType<RoleOp>();
  const int64_t present = role ? role.getWarps() : kernel.getWarps();
  if (warps != present)
    return op->emitOpError("has a layout for ")
           << warps << " warps in a " << (role ? "role" : "kernel") << " of " << present << ": "
           << type;
  if (layout.extent(Axis::cta) != cluster[0] * cluster[1] * cluster[2])
    return op->emitOpError("has a layout for ")
           << layout.extent(Axis::cta) << " CTAs in a kernel with a cluster of "
           << cluster[0] * cluster[1] * cluster[2] << ": " << type;
  if (lanes == 0)
    lanes = layout.extent(Axis::lane);
  if (layout.extent(Axis::lane) != lanes)
    return op->emitOpError("has a layout for warps of ")
           << layout.extent(Axis::lane) << " lanes in a kernel of " << lanes << ": " << type;
  return success();
}

/// Checks that all tiles have the layout of the first.
static LogicalResult verifyOneLayout(Operation *op, ArrayRef<Value> tiles) {
  for (Value tile : tiles) {
    LayoutAttr first = layoutOf(tiles.front().getType()), other = layoutOf(tile.getType());
    if (first != other && !first.getValue().sameAs(other.getValue()))
      return op->emitOpError("needs one layout of its tiles, got ")
             << first << " and " << other << "; insert an sm.convert";
  }
  return success();
}

static LogicalResult verifyView(tile::ViewOp view) {
  auto source = cast<RankedTensorType>(view.getSource().getType()), result = view.getType();
  const Layout &from = layoutOf(source).getValue(), &to = layoutOf(result).getValue();
  std::optional<ViewMap> map = viewMapOf(view.getMap(), result.getShape(), source.getShape());
  if (!map)
    return view.emitOpError("has a map that is no sum of digits, so no layouts can follow it: ")
           << view.getMapAttr();
  // What the algebra derives needs no look at single registers.
  if (std::optional<Layout> derived = sourceLayout(to, *map);
      derived && *derived == from.canonical())
    return success();
  if (registersOfView(to, from, *map))
    return success();
  return view.emitOpError(
             "moves elements between threads or to registers that differ by thread, from ")
         << layoutOf(source) << " to " << layoutOf(result) << "; insert an sm.convert";
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
      return reduce.emitOpError("needs results in the inputs' layout without dims [")
             << reduce.getDims() << "], "
             << (expected ? expected->str() : std::string("which a swizzle rules out")) << ", got "
             << got.str();
  }
  return success();
}

/// A body with roles runs nothing beside them, and they have all warps.
static LogicalResult verifyRoles(KernelOp kernel) {
  auto roles = kernel.getBody().getOps<RoleOp>();
  if (roles.empty())
    return success();
  int64_t warps = 0;
  for (RoleOp role : roles)
    warps += role.getWarps();
  if (warps != static_cast<int64_t>(kernel.getWarps()))
    return kernel.emitOpError("has ") << kernel.getWarps() << " warps, and its roles have " << warps
                                      << ", which must be equal";
  for (Operation &op : kernel.getBlock().without_terminator())
    if (!isa<RoleOp, ChannelOp>(op) && !isMemoryEffectFree(&op))
      return op.emitOpError("acts beside roles; put it into one of them");
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
    } else if (auto gather = dyn_cast<tile::GatherOp>(op)) {
      llvm::append_range(tiles, gather.getIndices());
      tiles.push_back(gather.getResult());
    } else if (auto view = dyn_cast<tile::ViewOp>(op)) {
      local = verifyView(view);
    } else if (auto reduce = dyn_cast<tile::ReduceOp>(op)) {
      local = verifyReduce(reduce);
    }
    if (failed(local) || failed(verifyOneLayout(op, tiles)))
      return WalkResult::interrupt();
    // Regions over scalars hold no tiles.
    return isa<tile::MapOp, tile::ReduceOp, tile::ScanOp>(op) ? WalkResult::skip()
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
    return emitOpError("changes nothing but the layout, got ") << source << " and " << result;
  if (!layoutOf(source) || !layoutOf(result))
    return emitOpError("needs tiles with layouts, got ") << source << " and " << result;
  if (!map)
    return success();
  if (map->getNumSymbols() != 0 || map->getNumDims() != result.getRank() ||
      map->getNumResults() != source.getRank())
    return emitOpError("needs a map from ")
           << result.getRank() << " dimensions to " << source.getRank() << ", without symbols, got "
           << getMapAttr();
  return success();
}

OpFoldResult ConvertOp::fold(FoldAdaptor) {
  if (getMap())
    return {};
  if (getSource().getType() == getType())
    return getSource();
  // There and on is there at once.
  if (auto inner = getSource().getDefiningOp<ConvertOp>(); inner && !inner.getMap()) {
    getSourceMutable().assign(inner.getSource());
    return getResult();
  }
  return {};
}
