#include "tilewright/target/amdgcn/lower/SlotLoads.h"

#include "tilewright/dialect/sm/BankConflicts.h"
#include "tilewright/support/Concat.h"
#include "tilewright/target/gpu/KernelLowering.h"

#include "mlir/IR/Matchers.h"

using namespace llvm;

namespace tilewright::amdgcn {

using gpu::ThreadBuilder;
using mlir::Type;
using mlir::Value;
using sm::Axis;

/// The bytes that a lane has of each fragment.
static constexpr int64_t fragmentBytes = 16;

struct SlotLoadsLowering::Load {
  SlotLoadsLowering &group;
  sm::CopyOp copy;
  ThreadBuilder &b = group.b;
  gpu::KernelState &kernel = group.kernel;
  sm::BufferType buffer = {};
  sm::Layout fragments = {};
  int64_t bytes = 0;                // of an element
  SmallVector<int64_t> origin = {}; // of the tile in the buffer
  size_t depth = 1, side = 0; // the dimension along which a lane's elements are, and the other

  int64_t perFragment() const { return fragmentBytes / bytes; }
  int64_t byteAt(ArrayRef<int64_t> index) const {
    SmallVector<int64_t> at(index);
    for (auto [i, first] : enumerate(origin))
      at[i] += first;
    return gpu::byteOf(buffer, at);
  }
  /// The bytes between two elements of a tile at the buffer's start.
  int64_t bytesBetween(size_t dim, int64_t step) const {
    SmallVector<int64_t> index(2, 0);
    index[dim] = step;
    return gpu::byteOf(buffer, index);
  }
  bool isContiguous(size_t dim, int64_t size) const {
    for (int64_t step = 1; step * bytes < size; step *= 2)
      if (bytesBetween(dim, step) != step * bytes)
        return false;
    return true;
  }
  bool findTile();
  SmallVector<int64_t> ofThreads(bool isTransposed) const;
  Value pointer(ArrayRef<int64_t> ofBits, unsigned reg) {
    const gpu::SplitOffset at = kernel.offsetOfThread(ofBits, byteAt(*fragments.indexOf(reg, 0)));
    Value address = b.add(kernel.buffers[copy.getSource()].address, at.varying);
    return b.advance(b.sharedPointer(address), at.constant);
  }
  Value readTransposed(ArrayRef<int64_t> ofBits, unsigned reg);
};

bool SlotLoadsLowering::Load::findTile() {
  buffer = dyn_cast<sm::BufferType>(copy.getSource().getType());
  auto type = copy.getResult() ? dyn_cast<mlir::RankedTensorType>(copy.getResult().getType())
                               : mlir::RankedTensorType();
  if (!buffer || !type || type.getRank() != 2 || !type.getElementType().isIntOrFloat() ||
      type.getElementTypeBitWidth() % 8 != 0)
    return false;
  fragments = sm::layoutOf(type).getValue();
  bytes = int64_t(type.getElementTypeBitWidth()) / 8;
  origin.assign(2, 0);
  for (auto [dim, offset] : enumerate(copy.getSourceOffsets())) {
    APInt number;
    if (!mlir::matchPattern(offset, mlir::m_ConstantInt(&number)))
      return false;
    origin[dim] = number.getSExtValue();
    if (origin[dim] % fragments.cover(int64_t(dim)) != 0)
      return false;
  }
  if (!sm::isLinear(buffer.getLayout().getValue()) || !sm::isLinear(fragments) ||
      fragments.extent(Axis::reg) % perFragment() != 0)
    return false;
  if (perFragment() > 1)
    depth = (*fragments.indexOf(1, 0))[0] != 0 ? 0 : 1;
  else
    depth = (*fragments.indexOf(0, 16))[0] != 0 ? 0 : 1;
  side = 1 - depth;
  return true;
}

/// The contribution of each bit of the thread id to the offset in the buffer.
SmallVector<int64_t> SlotLoadsLowering::Load::ofThreads(bool isTransposed) const {
  SmallVector<int64_t> ofBits;
  for (int64_t lane = 1; lane < Chip::waveSize; lane *= 2)
    ofBits.push_back(gpu::byteOf(buffer, *fragments.indexOf(0, lane)));
  if (isTransposed) {
    // Of each 16 lanes, which get 16 elements along the side, a lane reads 8 bytes along it.
    int64_t along = 8 / bytes, bit = 0;
    for (; along < 16; along *= 2)
      ofBits[size_t(bit++)] = bytesBetween(side, along);
    for (int64_t row = 1; bit < 4; row *= 2)
      ofBits[size_t(bit++)] = bytesBetween(depth, row);
  }
  const int64_t warps = sm::CopyOp(copy)->getParentOfType<sm::KernelOp>().getWarps();
  for (int64_t warp = 1; warp < warps; warp *= 2) {
    std::optional<SmallVector<int64_t>> index =
        warp < fragments.extent(Axis::warp) ? fragments.indexOf(0, 0, warp) : std::nullopt;
    ofBits.push_back(index ? gpu::byteOf(buffer, *index) : 0);
  }
  return ofBits;
}

/// Reads a fragment whose elements are consecutive along the side.
Value SlotLoadsLowering::Load::readTransposed(ArrayRef<int64_t> ofBits, unsigned reg) {
  const bool isWord = bytes == 2;
  Type part = isWord ? b.vectorOf(b.i16Type, 4) : b.vectorOf(b.i32Type, 2);
  Type whole = b.vectorOf(b.i32Type, 4);
  Value words = b.poisonOf(whole);
  for (unsigned half = 0; half < 2; ++half) {
    Value read = b.intrinsic(
        part, isWord ? "llvm.amdgcn.ds.read.tr16.b64.v4i16" : "llvm.amdgcn.ds.read.tr8.b64.v2i32",
        {pointer(ofBits, reg + half * unsigned(perFragment() / 2))});
    read = b.bitcast(read, b.vectorOf(b.i32Type, 2));
    for (unsigned i = 0; i < 2; ++i)
      words = b.insertElement(words, b.extractElement(read, i), 2 * half + i);
  }
  return words;
}

void SlotLoadsLowering::load(sm::CopyOp copy) {
  Load load{.group = *this, .copy = copy};
  if (!load.findTile())
    return kernel.refuse(copy, "must load fragments of MFMA from a constant place in a slot");
  const bool isTransposed = !load.isContiguous(load.depth, fragmentBytes);
  if (isTransposed && (!chip.loadsWideToLds || load.bytes > 2 || !load.isContiguous(load.side, 8)))
    return kernel.refuse(copy, concat("loads ", load.fragments.str(), " from ",
                                      load.buffer.getLayout().getValue().str(), ", which ",
                                      chip.name, " has no instruction for"));
  const SmallVector<int64_t> ofBits = load.ofThreads(isTransposed);
  gpu::Tile tile;
  const auto registers = unsigned(load.fragments.extent(Axis::reg));
  for (unsigned reg = 0; reg < registers; reg += unsigned(load.perFragment()))
    tile.push_back({isTransposed ? load.readTransposed(ofBits, reg)
                                 : b.load(b.vectorOf(b.i32Type, 4), load.pointer(ofBits, reg),
                                          fragmentBytes)});
  kernel.tiles[copy.getResult()] = std::move(tile);
  mfma.markPacked(copy.getResult());
}

} // namespace tilewright::amdgcn
