// Verifiers of the ops for engines.
#include "tilewright/dialect/sm/SmDialect.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::sm;

namespace {

/// The shape and the element type of a memref, a buffer or a tile.
struct Shaped {
  ArrayRef<int64_t> shape;
  Type element;
};
Shaped shapedOf(Type type) {
  if (auto buffer = dyn_cast<BufferType>(type))
    return {buffer.getShape(), buffer.getElementType()};
  auto shaped = cast<ShapedType>(type);
  return {shaped.getShape(), shaped.getElementType()};
}

std::string text(ArrayRef<int64_t> shape) {
  std::string all;
  for (int64_t size : shape)
    all += (all.empty() ? "" : "x") + std::to_string(size);
  return all;
}

} // namespace

LogicalResult ChannelOp::verify() {
  int64_t depth = getDepth(), filled = getFilled();
  if (depth < 1)
    return emitOpError("needs at least 1 slot, got ") << depth;
  if (filled < 0 || filled > depth)
    return emitOpError("needs a number of full slots from 0 to its depth ")
           << depth << ", got " << filled;
  return success();
}

LogicalResult RoleOp::verify() {
  if (static_cast<int64_t>(getWarps()) < 1)
    return emitOpError("needs at least 1 warp, got ") << static_cast<int64_t>(getWarps());
  int64_t registers = getRegisters();
  if (registers % 8 != 0 || registers < 24 || registers > 256)
    return emitOpError("needs a multiple of 8 from 24 to 256 as registers of a thread, got ")
           << registers;
  if (!isa<KernelOp>((*this)->getParentOp()))
    return emitOpError("needs an sm.kernel around it, got ") << (*this)->getParentOp()->getName();
  return success();
}

LogicalResult CopyOp::verify() {
  Type from = getSource().getType();
  if (bool(getTarget()) == bool(getResult()))
    return emitOpError("needs a target or a result, one of them");
  Type to = getTarget() ? getTarget().getType() : getResult().getType();
  bool fromMemory = isa<MemRefType>(from), toMemory = isa<MemRefType>(to);
  if (fromMemory && toMemory)
    return emitOpError("needs a buffer or a tile on one side, got ") << from << " and " << to;
  if (isa<RankedTensorType>(from) && getResult())
    return emitOpError("moves between registers, which is sm.convert's");
  Shaped source = shapedOf(from), target = shapedOf(to);
  if (source.element != target.element)
    return emitOpError("needs one element type, got ")
           << source.element << " and " << target.element;
  auto checkOffsets = [&](Type type, size_t count, size_t rank, StringRef side) -> LogicalResult {
    // A whole buffer needs none; a memref has its own rank.
    if (isa<MemRefType>(type) ? count != rank : count != 0 && count != rank)
      return emitOpError("needs ") << rank << " offsets of its " << side << ", got " << count;
    return success();
  };
  if (failed(checkOffsets(from, getSourceOffsets().size(), source.shape.size(), "source")) ||
      failed(checkOffsets(to, getTargetOffsets().size(), target.shape.size(), "target")))
    return failure();
  size_t rank = (fromMemory ? target : source).shape.size();
  size_t other = (fromMemory ? source : target).shape.size();
  if (fromMemory || toMemory ? other < rank : other != rank)
    return emitOpError("needs places of one rank, got ")
           << text(source.shape) << " and " << text(target.shape);
  if (getTransposed() && (rank != 2 || (!fromMemory && !toMemory)))
    return emitOpError("transposes a matrix on its way from or to a memref, got ")
           << text(source.shape) << " and " << text(target.shape);
  if (std::optional<ArrayRef<int64_t>> dims = getDims()) {
    const auto memoryRank = static_cast<int64_t>(other);
    if ((!fromMemory && !toMemory) || dims->size() != rank || !llvm::is_sorted(*dims) ||
        (!dims->empty() && (dims->front() < 0 || dims->back() >= memoryRank)))
      return emitOpError("needs ") << rank << " rising dimensions of a memref of " << memoryRank
                                   << ", got " << text(*dims);
  }
  // The tile is what is not a memref; a part of a buffer may be the tile in registers.
  if (!fromMemory && !toMemory && getSourceOffsets().empty() && getTargetOffsets().empty() &&
      source.shape != target.shape)
    return emitOpError("needs places of one shape, got ")
           << text(source.shape) << " and " << text(target.shape);
  return success();
}

LogicalResult MmaOp::verify() {
  Shaped lhs = shapedOf(getLhs().getType()), rhs = shapedOf(getRhs().getType());
  if (bool(getInto()) == bool(getResult()))
    return emitOpError("gives a tile or goes into a buffer, one of them");
  if (getAcc() && getInto())
    return emitOpError("needs one accumulator, got a tile and a buffer");
  Shaped sum = shapedOf(getInto() ? Type(getInto().getType()) : Type(getResult().getType()));
  if (lhs.shape.size() != 2 || rhs.shape.size() != 2 || sum.shape.size() != 2)
    return emitOpError("needs matrices, got ")
           << text(lhs.shape) << ", " << text(rhs.shape) << " and " << text(sum.shape);
  if (lhs.shape[1] != rhs.shape[0])
    return emitOpError("contracts lhs dimension 1 with rhs dimension 0, which must be equal, got ")
           << lhs.shape[1] << " and " << rhs.shape[0];
  if (sum.shape[0] != lhs.shape[0] || sum.shape[1] != rhs.shape[1])
    return emitOpError("needs an accumulator of ")
           << lhs.shape[0] << "x" << rhs.shape[1] << ", got " << text(sum.shape);
  if (getAtom() == Atom::tcgen05 && !getInto())
    return emitOpError("accumulates in tensor memory with tcgen05: give it a buffer with `into`");
  if (getAtom() != Atom::tcgen05 && getInto())
    return emitOpError("accumulates in registers with ")
           << stringifyAtom(getAtom()) << ", got a buffer";
  if (getAtom() != Atom::mma_sync && !isa<BufferType>(getRhs().getType()))
    return emitOpError("needs its rhs in a buffer with ")
           << stringifyAtom(getAtom()) << ", got " << getRhs().getType();
  return success();
}
