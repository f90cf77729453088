// Verifiers of the ops for asynchronous engines.
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
    return emitOpError("expects at least 1 slot, got ") << depth;
  if (filled < 0 || filled > depth)
    return emitOpError("expects 0 to ")
           << depth << " full slots, because its depth is " << depth << ", got " << filled;
  const int64_t parts = getParts();
  if (parts < 1 || (parts > 1 && (depth != 1 || filled != 0)))
    return emitOpError("expects a single part, or several with one free slot each, got ")
           << parts << " parts with " << depth << " slots, of which " << filled << " are full";
  for (Operation *user : getResult().getUsers()) {
    auto part = user->getAttrOfType<IntegerAttr>("part");
    if (part && part.getInt() >= parts)
      return emitOpError("has parts 0 to ") << parts - 1 << ", but an op names " << part.getInt();
  }
  return success();
}

LogicalResult RoleOp::verify() {
  if (static_cast<int64_t>(getWarps()) < 1)
    return emitOpError("expects at least 1 warp, got ") << static_cast<int64_t>(getWarps());
  int64_t registers = getRegisters();
  if (registers % 8 != 0 || registers < 24 || registers > 256)
    return emitOpError("expects the number of registers per thread to be a multiple of 8 from 24 "
                       "to 256, got ")
           << registers;
  if (!isa<KernelOp>((*this)->getParentOp()))
    return emitOpError("expects parent op 'sm.kernel', got ") << (*this)->getParentOp()->getName();
  return success();
}

SmallVector<CopyOp::RowDim> CopyOp::getRowDims() {
  const bool fromMemory = isa<MemRefType>(getSource().getType());
  Value memory = fromMemory ? getSource() : getTarget();
  auto buffer = cast<BufferType>((fromMemory ? getTarget() : getSource()).getType());
  const int64_t rank = cast<MemRefType>(memory.getType()).getRank();
  if (!getBox())
    return {{getDims() ? getDims()->front() : rank - 2,
             buffer.getLayout().getValue().cover(getTransposed() ? 1 : 0), 1}};
  SmallVector<RowDim> rows;
  for (auto [i, dim] : llvm::enumerate(getDims()->drop_back()))
    rows.push_back({dim, (*getBox())[i], getStrides() ? (*getStrides())[i] : 1});
  return rows;
}

/// Checks the dimensions of memory that a copy of a matrix spans with a box.
static LogicalResult verifyBox(CopyOp copy, BufferType buffer, int64_t memoryRank) {
  const ArrayRef<int64_t> box = *copy.getBox();
  const ArrayRef<int64_t> dims = copy.getDims().value_or(ArrayRef<int64_t>());
  llvm::SmallDenseSet<int64_t> distinct(dims.begin(), dims.end());
  if (dims.size() < 2 || dims.size() != box.size() || distinct.size() != dims.size() ||
      llvm::any_of(dims, [&](int64_t dim) { return dim < 0 || dim >= memoryRank; }))
    return copy.emitOpError("expects a box of distinct dimensions of a memref of rank ")
           << memoryRank << ", got dimensions " << text(dims) << " and sizes " << text(box);
  const ArrayRef<int64_t> strides = copy.getStrides().value_or(ArrayRef<int64_t>());
  if (copy.getStrides() && (strides.size() != dims.size() || strides.back() != 1 ||
                            llvm::any_of(strides, [](int64_t stride) { return stride < 1; })))
    return copy.emitOpError("expects a positive stride for each dimension of the box, and 1 along "
                            "the columns, got ")
           << text(strides);
  if (!buffer || buffer.getShape().size() != 2)
    return copy.emitOpError("can copy a box only between a memref and a matrix in a buffer");
  int64_t rows = 1;
  for (int64_t size : box.drop_back())
    rows *= size;
  const Layout &layout = buffer.getLayout().getValue();
  const int64_t outer = copy.getTransposed() ? 1 : 0;
  if (rows != layout.cover(outer) || box.back() != layout.cover(1 - outer))
    return copy.emitOpError("expects a box of the ")
           << layout.cover(outer) << " rows and " << layout.cover(1 - outer)
           << " columns of its buffer's layout, got " << text(box);
  return success();
}

LogicalResult CopyOp::verify() {
  Type from = getSource().getType();
  if (bool(getTarget()) == bool(getResult()))
    return emitOpError("expects either a target or a result, got ")
           << (getTarget() ? "both" : "neither");
  Type to = getTarget() ? getTarget().getType() : getResult().getType();
  bool fromMemory = isa<MemRefType>(from), toMemory = isa<MemRefType>(to);
  if (fromMemory && toMemory)
    return emitOpError("expects a buffer or a tile as source or target, got ")
           << from << " and " << to;
  if (isa<RankedTensorType>(from) && getResult())
    return emitOpError("cannot copy between registers; use sm.convert");
  Shaped source = shapedOf(from), target = shapedOf(to);
  if (source.element != target.element)
    return emitOpError("expects source and target to have the same element type, got ")
           << source.element << " and " << target.element;
  auto checkOffsets = [&](Type type, size_t count, size_t rank, StringRef side) -> LogicalResult {
    // A copy of a whole buffer needs no offsets; a memref needs one per dimension.
    if (isa<MemRefType>(type) ? count != rank : count != 0 && count != rank)
      return emitOpError("expects ") << rank << " " << side << " offsets, got " << count;
    return success();
  };
  if (failed(checkOffsets(from, getSourceOffsets().size(), source.shape.size(), "source")) ||
      failed(checkOffsets(to, getTargetOffsets().size(), target.shape.size(), "target")))
    return failure();
  size_t rank = (fromMemory ? target : source).shape.size();
  size_t other = (fromMemory ? source : target).shape.size();
  if ((fromMemory || toMemory) && other < rank)
    return emitOpError("expects the memref to have at least the rank of the tile, ")
           << rank << ", got " << other;
  if (!fromMemory && !toMemory && other != rank)
    return emitOpError("expects source and target to have the same rank, got ")
           << text(source.shape) << " and " << text(target.shape);
  if (getTransposed() && (rank != 2 || (!fromMemory && !toMemory)))
    return emitOpError("can transpose only a matrix that is copied from or to a memref, got ")
           << text(source.shape) << " and " << text(target.shape);
  if (getTf32() && (getEngine() != Engine::tma || !fromMemory || !source.element.isF32()))
    return emitOpError("can round to tf32 only f32 elements that the copy engine loads from a "
                       "memref, got a copy by ")
           << stringifyEngine(getEngine()) << " of " << from;
  if (getStrides() && !getBox())
    return emitOpError("expects a box for its strides");
  if (getBox()) {
    if (!fromMemory && !toMemory)
      return emitOpError("can copy a box only between a memref and a matrix in a buffer");
    return verifyBox(*this, dyn_cast<BufferType>(fromMemory ? to : from),
                     static_cast<int64_t>(other));
  }
  if (std::optional<ArrayRef<int64_t>> dims = getDims()) {
    const auto memoryRank = static_cast<int64_t>(other);
    if ((!fromMemory && !toMemory) || dims->size() != rank || !llvm::is_sorted(*dims) ||
        (!dims->empty() && (dims->front() < 0 || dims->back() >= memoryRank)))
      return emitOpError("expects ") << rank << " increasing dimensions of a memref of rank "
                                     << memoryRank << ", got " << text(*dims);
  }
  // A tile may have the rows of several warpgroups.
  if (getEngine() == Engine::tmem && rank == 2) {
    const int64_t rows = (getResult() ? target : source).shape[0],
                  part = (getResult() ? source : target).shape[0];
    if (rows % part == 0 && source.shape[1] == target.shape[1])
      return success();
  }
  // Memrefs, and buffers with offsets, may be larger than the copied tile. In all other cases the
  // shapes must be equal.
  if (!fromMemory && !toMemory && getSourceOffsets().empty() && getTargetOffsets().empty() &&
      source.shape != target.shape)
    return emitOpError("expects source and target to have the same shape, got ")
           << text(source.shape) << " and " << text(target.shape);
  return success();
}

LogicalResult ScaleOp::verify() {
  BufferType buffer = getBuffer().getType();
  auto factors = cast<RankedTensorType>(getFactors().getType());
  if (buffer.getSpace() != Space::tensor || buffer.getShape().size() != 2 ||
      !buffer.getElementType().isF32() || !factors.getElementType().isF32())
    return emitOpError("multiplies rows of f32 in tensor memory by factors of f32, got ")
           << buffer << " and " << factors;
  if (factors.getRank() != 1 || factors.getDimSize(0) % buffer.getShape()[0] != 0)
    return emitOpError("expects a factor for each of ")
           << buffer.getShape()[0] << " rows, got " << text(factors.getShape());
  return success();
}

LogicalResult MmaOp::verify() {
  Shaped lhs = shapedOf(getLhs().getType()), rhs = shapedOf(getRhs().getType());
  if (bool(getInto()) == bool(getResult()))
    return emitOpError("expects either a result or a buffer to accumulate into, got ")
           << (getInto() ? "both" : "neither");
  if (getAcc() && getInto())
    return emitOpError("expects a single accumulator, got a tile and a buffer");
  Shaped sum = shapedOf(getInto() ? Type(getInto().getType()) : Type(getResult().getType()));
  if (lhs.shape.size() != 2 || rhs.shape.size() != 2 || sum.shape.size() != 2)
    return emitOpError("expects matrices, got ")
           << text(lhs.shape) << ", " << text(rhs.shape) << " and " << text(sum.shape);
  if (lhs.shape[1] != rhs.shape[0])
    return emitOpError("contracts lhs dimension 1 with rhs dimension 0, which must be equal, got ")
           << lhs.shape[1] << " and " << rhs.shape[0];
  if (sum.shape[0] != lhs.shape[0] || sum.shape[1] != rhs.shape[1])
    return emitOpError("expects an accumulator of ")
           << lhs.shape[0] << "x" << rhs.shape[1] << ", got " << text(sum.shape);
  if (getAtom() == Atom::tcgen05 && !getInto())
    return emitOpError(
        "must accumulate in tensor memory with tcgen05; specify a buffer with `into`");
  if (getAtom() != Atom::tcgen05 && getInto())
    return emitOpError("must accumulate in registers with ")
           << stringifyAtom(getAtom()) << ", got a buffer";
  if (bool(getLhsScale()) != bool(getRhsScale()) || bool(getLhsScale()) != getBlock().has_value() ||
      getBlock().has_value() != getLhsType().has_value() ||
      getBlock().has_value() != getRhsType().has_value() ||
      getBlock().has_value() != getScaleType().has_value())
    return emitOpError("expects scales of both operands with `block`, `lhs_type`, `rhs_type` and "
                       "`scale_type`, or none of these");
  if (getBlock() && getAtom() == Atom::wgmma)
    return emitOpError("multiplies with scales, which only tcgen05 and mma_sync do, got wgmma");
  for (Value scale : {getLhsScale(), getRhsScale()})
    if (scale && isa<BufferType>(scale.getType()) != (getAtom() == Atom::tcgen05))
      return emitOpError("expects scales in ")
             << (getAtom() == Atom::tcgen05 ? "buffers" : "registers") << " with "
             << stringifyAtom(getAtom()) << ", got " << scale.getType();
  if (getAtom() != Atom::mma_sync && !isa<BufferType>(getRhs().getType()))
    return emitOpError("expects rhs to be a buffer with ")
           << stringifyAtom(getAtom()) << ", got " << getRhs().getType();
  return success();
}
