// Verifiers of windows and of the ops on them.
#include "tilewright/dialect/tile/WindowOps.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace tilewright::tile {

StringAttr windowSpace(MLIRContext *context) { return StringAttr::get(context, "window"); }
StringAttr heapSpace(MLIRContext *context) { return StringAttr::get(context, "heap"); }

static bool isIn(Type type, StringRef name) {
  auto memory = dyn_cast<MemRefType>(type);
  auto space = memory ? dyn_cast_or_null<StringAttr>(memory.getMemorySpace()) : StringAttr();
  return space && space.getValue() == name;
}
bool isWindow(Type type) { return isIn(type, "window") || isIn(type, "heap"); }
bool isOnHeap(Type type) { return isIn(type, "heap"); }

static LogicalResult verifyIsWindow(Operation *op, Value window) {
  if (isWindow(window.getType()))
    return success();
  return op->emitOpError("expects a memref in the memory space \"window\" or \"heap\", got ")
         << window.getType();
}

/// Checks ops that access the parts of other ranks.
static LogicalResult verifyIsReachable(Operation *op, Value window) {
  if (isIn(window.getType(), "window"))
    return success();
  return op->emitOpError("expects a memref in the memory space \"window\", whose parts all ranks "
                         "can access, got ")
         << window.getType();
}

LogicalResult verifyWindowAccess(Operation *op, MemRefType window, RankedTensorType tile,
                                 std::optional<ArrayRef<bool>> inBounds) {
  if (!isWindow(window))
    return success();
  if (tile.getDimSize(0) != 1 || (inBounds && !inBounds->front()))
    return op->emitOpError("expects a tile of one part of the window, which is in bounds in "
                           "dimension 0, got ")
           << tile;
  return success();
}

LogicalResult verifyWindow(Operation *kernel, BlockArgument window) {
  auto type = cast<MemRefType>(window.getType());
  if (type.getRank() < 2 || type.getDimSize(0) < 1)
    return kernel->emitOpError(
               "expects a window to have at least two dimensions, the first of which "
               "is the number of ranks, got ")
           << type;
  for (Operation *user : window.getUsers()) {
    if (!isa<LoadOp, StoreOp, RankOp, BarrierOp, EpochOp, SignalOp, WaitOp, PutOp, ReducePartsOp,
             StorePartsOp>(user))
      return user->emitOpError("cannot access a window; load the tile that it needs");
    if (!isOnHeap(type) || !isa<LoadOp, StoreOp>(user))
      continue;
    Value part = isa<LoadOp>(user) ? cast<LoadOp>(user).getOffsets()[0]
                                   : cast<StoreOp>(user).getOffsets()[0];
    if (!part.getDefiningOp<RankOp>())
      return user->emitOpError("accesses a part of the heap that may be on another node; access "
                               "the part of `tile.rank`, and send to others by `tile.put`");
  }
  return success();
}

LogicalResult RankOp::verify() { return verifyIsWindow(*this, getWindow()); }

/// The number of points of the kernel around an op; -1 if there is none.
static int64_t pointsAround(Operation *op) {
  for (Operation *parent = op->getParentOp(); parent; parent = parent->getParentOp())
    if (auto grid = parent->getAttrOfType<DenseI64ArrayAttr>("grid")) {
      int64_t points = 1;
      for (int64_t size : grid.asArrayRef())
        points *= size;
      return points;
    }
  return -1;
}

static LogicalResult verifyWords(Operation *op, Value words) {
  if (failed(verifyIsWindow(op, words)))
    return failure();
  auto type = cast<MemRefType>(words.getType());
  const unsigned bits = isOnHeap(type) ? 64 : 32; // NVSHMEM's signals have 64
  if (type.getRank() != 3 || !type.getElementType().isInteger(bits))
    return op->emitOpError("expects words of ")
           << bits << " bits in a window of rank 3, got " << type;
  return success();
}

static LogicalResult verifySignals(Operation *op, Value signals) {
  if (failed(verifyWords(op, signals)))
    return failure();
  auto type = cast<MemRefType>(signals.getType());
  const int64_t points = pointsAround(op);
  if (type.getDimSize(1) < points || type.getDimSize(2) != 2 * type.getDimSize(0))
    return op->emitOpError("expects signals of at least ")
           << points << " points and " << 2 * type.getDimSize(0)
           << " words each, two for each rank, got " << type;
  return success();
}

LogicalResult BarrierOp::verify() { return verifySignals(*this, getSignals()); }
LogicalResult EpochOp::verify() {
  if (failed(verifyIsReachable(*this, getSignals())))
    return failure();
  return verifySignals(*this, getSignals());
}

static LogicalResult verifyFlags(Operation *op, Value flags) {
  if (failed(verifyWords(op, flags)))
    return failure();
  auto type = cast<MemRefType>(flags.getType());
  if (const int64_t points = pointsAround(op); type.getDimSize(2) != 1 + points)
    return op->emitOpError("expects flags of ")
           << 1 + points << " words each, one and one for each point, got " << type;
  return success();
}

LogicalResult SignalOp::verify() {
  if (failed(verifyIsReachable(*this, getFlags())))
    return failure();
  return verifyFlags(*this, getFlags());
}

LogicalResult PutOp::verify() {
  for (Value memory : {getSource(), getTarget(), getFlags()})
    if (!isOnHeap(memory.getType()))
      return emitOpError("expects memrefs in the memory space \"heap\", got ") << memory.getType();
  auto source = cast<MemRefType>(getSource().getType());
  auto target = cast<MemRefType>(getTarget().getType());
  if (source.getElementType() != target.getElementType())
    return emitOpError("must have the same element type, got ") << source << " and " << target;
  for (auto [type, offsets] :
       {std::pair(source, getSourceOffsets().size()), std::pair(target, getTargetOffsets().size())})
    if (offsets + 1 != static_cast<size_t>(type.getRank()))
      return emitOpError("expects one offset for each of the ")
             << type.getRank() - 1 << " dimensions of a part, got " << offsets;
  const auto count = static_cast<int64_t>(getCount());
  const int64_t limit = std::min(source.getNumElements() / source.getDimSize(0),
                                 target.getNumElements() / target.getDimSize(0));
  if (count < 1 || count > limit)
    return emitOpError("expects a count of 1 to ")
           << limit << ", the size of the smaller part, got " << count;
  return verifyFlags(*this, getFlags());
}

LogicalResult WaitOp::verify() {
  if (static_cast<int64_t>(getCount()) < 1)
    return emitOpError("expects a count of at least 1, got ") << static_cast<int64_t>(getCount());
  return verifyFlags(*this, getFlags());
}

/// Offsets are relative to a part, so the first dimension has none.
static LogicalResult verifyParts(Operation *op, Value window, RankedTensorType tile,
                                 size_t offsets) {
  if (failed(verifyIsReachable(op, window)))
    return failure();
  auto type = cast<MemRefType>(window.getType());
  if (tile.getRank() != type.getRank() || tile.getElementType() != type.getElementType() ||
      tile.getDimSize(0) != 1)
    return op->emitOpError("expects a tile of one part of the window, got ")
           << tile << " and " << type;
  if (offsets + 1 != static_cast<size_t>(type.getRank()))
    return op->emitOpError("expects one offset for each of the ")
           << type.getRank() - 1 << " dimensions of a part, got " << offsets;
  return success();
}

LogicalResult ReducePartsOp::verify() {
  auto tile = cast<RankedTensorType>(getResult().getType());
  Type element = tile.getElementType();
  const unsigned bits = element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 0;
  const bool isInteger = element.isInteger(32) || element.isInteger(64);
  const bool isKnown = llvm::StringSwitch<bool>(getKind())
                           .Case("add", isInteger || element.isF32() || element.isF64() ||
                                            element.isF16() || element.isBF16())
                           .Cases({"min", "max"}, isInteger || element.isF16() || element.isBF16())
                           .Cases({"and", "or", "xor"}, isInteger)
                           .Default(false);
  if (!isKnown || bits == 0)
    return emitOpError("cannot combine ") << element << " by \"" << getKind() << "\"";
  return verifyParts(*this, getWindow(), tile, getOffsets().size());
}

LogicalResult StorePartsOp::verify() {
  return verifyParts(*this, getWindow(), cast<RankedTensorType>(getTile().getType()),
                     getOffsets().size());
}

} // namespace tilewright::tile
