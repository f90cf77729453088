// Verifiers of windows and of the ops on them.
#include "tilewright/dialect/tile/WindowOps.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace tilewright::tile {

StringAttr windowSpace(MLIRContext *context) { return StringAttr::get(context, "window"); }

bool isWindow(Type type) {
  auto memory = dyn_cast<MemRefType>(type);
  auto space = memory ? dyn_cast_or_null<StringAttr>(memory.getMemorySpace()) : StringAttr();
  return space && space.getValue() == "window";
}

static LogicalResult verifyIsWindow(Operation *op, Value window) {
  if (isWindow(window.getType()))
    return success();
  return op->emitOpError("expects a memref in the memory space \"window\", got ")
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
    return kernel->emitOpError("expects a window to have a first dimension for at least one rank "
                               "and further dimensions, got ")
           << type;
  for (Operation *user : window.getUsers())
    if (!isa<LoadOp, StoreOp, RankOp, BarrierOp, EpochOp, SignalOp, WaitOp, ReducePartsOp,
             StorePartsOp>(user))
      return user->emitOpError("cannot access a window; load the tile that it needs");
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
  if (type.getRank() != 3 || !type.getElementType().isInteger(32))
    return op->emitOpError("expects words of 32 bits in a window of rank 3, got ") << type;
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
LogicalResult EpochOp::verify() { return verifySignals(*this, getSignals()); }

static LogicalResult verifyFlags(Operation *op, Value flags) {
  if (failed(verifyWords(op, flags)))
    return failure();
  auto type = cast<MemRefType>(flags.getType());
  if (const int64_t points = pointsAround(op); type.getDimSize(2) != 1 + points)
    return op->emitOpError("expects flags of ")
           << 1 + points << " words each, one and one for each point, got " << type;
  return success();
}

LogicalResult SignalOp::verify() { return verifyFlags(*this, getFlags()); }

LogicalResult WaitOp::verify() {
  if (static_cast<int64_t>(getCount()) < 1)
    return emitOpError("expects a count of at least 1, got ") << static_cast<int64_t>(getCount());
  return verifyFlags(*this, getFlags());
}

/// Offsets are those inside a part, so the first dimension has none.
static LogicalResult verifyParts(Operation *op, Value window, RankedTensorType tile,
                                 size_t offsets) {
  if (failed(verifyIsWindow(op, window)))
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
