#include "tilewright/target/amdgcn/lower/Copies.h"

#include "tilewright/dialect/sm/BankConflicts.h"
#include "tilewright/dialect/sm/IndexFacts.h"
#include "tilewright/support/Concat.h"
#include "tilewright/target/gpu/KernelLowering.h"

using namespace llvm;

namespace tilewright::amdgcn {

using gpu::SplitOffset;
using mlir::Block;
using sm::Axis;

/// An offset that no tensor has: a buffer load from it reads zero.
static constexpr int64_t outsideOffset = int64_t(1) << 31;
/// The last word of a buffer resource: raw, with elements of 32 bits.
static constexpr int64_t resourceFlags = 0x27000;

/// One copy of a tile. Round r of it moves the pieces number r * threads to (r + 1) * threads - 1
/// of the slot, one for each thread.
struct CopiesLowering::Copy {
  CopiesLowering &group;
  sm::CopyOp copy;
  ThreadBuilder &b = group.b;
  gpu::KernelState &kernel = group.kernel;
  sm::BufferType buffer = {};
  mlir::MemRefType memory = {};
  /// The dimension of the buffer that is contiguous in memory, and the other dimension.
  size_t in = 1, out = 0;
  /// The memory dimensions along which the copy has several rows, outermost first, with the bytes
  /// between their rows, and the contiguous dimension.
  SmallVector<sm::CopyOp::RowDim> rows = {};
  SmallVector<int64_t> rowBytesOf = {};
  size_t innerDim = 0;
  int64_t bytes = 0;             // of an element
  int64_t piece = 0, pieces = 0; // bytes of a piece, and their number
  int64_t threads = 0;
  bool isWide = false; // more than 2^31 bytes: the tile's offset is in the base
  Value resource = nullptr, uniform = nullptr;

  /// Each of these returns false after it has refused the copy.
  bool findOperands();
  bool findPieces();
  void emitBase();
  void emit();
  void emitRound(int64_t first);

  bool refuse(std::string_view why) {
    kernel.refuse(copy, why);
    return false;
  }
  sm::Layout layout() const { return buffer.getLayout().getValue(); }
  /// The index of the first element of a piece of the slot.
  SmallVector<int64_t> indexOfPiece(int64_t number) const {
    sm::Coordinates at;
    at[Axis::offset] = number * piece / bytes;
    return *layout().indexOf(at);
  }
  bool isContiguous(int64_t size) const;
  /// The index of a row along `rows[i]`. Sizes are powers of two, so it is a digit of the row.
  int64_t rowIndex(int64_t row, size_t i) const {
    for (const sm::CopyOp::RowDim &inner : ArrayRef(rows).drop_front(i + 1))
      row /= inner.size;
    return i == 0 ? row : row % rows[i].size;
  }
  /// The contributions of the bits of the thread id to an index.
  SplitOffset ofThreads(int64_t first, function_ref<int64_t(ArrayRef<int64_t>)> index);
  Value offsetOf(size_t dim) {
    return b.trunc(kernel.scalars.lookup(copy.getSourceOffsets()[dim]).value, b.i32Type);
  }
  bool mayBeOutside(size_t dim, int64_t cover) const;
  Value isInside(size_t dim, Value index, int64_t constant);
};

bool CopiesLowering::Copy::findOperands() {
  if (copy.getTarget())
    buffer = dyn_cast<sm::BufferType>(copy.getTarget().getType());
  memory = dyn_cast<mlir::MemRefType>(copy.getSource().getType());
  if (!buffer || !memory || buffer.getShape().size() != 2)
    return refuse("must copy a matrix from global memory to a slot in LDS");
  if (!sm::isLinear(layout()) || !layout().isDense(Axis::offset))
    return refuse(concat("must fill a buffer whose layout has only powers of two and no gaps, got ",
                         layout().str()));
  in = copy.getTransposed() ? 0 : 1;
  out = 1 - in;
  const size_t rank = memory.getShape().size();
  innerDim = rank - 1;
  if (copy.getDims() && copy.getDims()->back() != int64_t(innerDim))
    return refuse("must copy along the contiguous dimension of memory");
  rows = copy.getRowDims();
  bytes = int64_t(memory.getElementTypeBitWidth() / 8);
  for (const sm::CopyOp::RowDim &row : rows) {
    int64_t stride = bytes * row.stride;
    for (size_t dim = size_t(row.dim) + 1; dim < rank; ++dim)
      stride *= memory.getShape()[dim];
    rowBytesOf.push_back(stride);
  }
  isWide = memory.getNumElements() * bytes >= outsideOffset;
  return true;
}

/// Whether the elements of a piece of this size are consecutive in memory.
bool CopiesLowering::Copy::isContiguous(int64_t size) const {
  const sm::Layout slot = layout();
  for (int64_t inner = 1; inner * bytes < size; inner *= 2) {
    SmallVector<int64_t> index(2, 0);
    index[in] = inner;
    if (slot.apply(index)[Axis::offset] != inner)
      return false;
  }
  return true;
}

bool CopiesLowering::Copy::findPieces() {
  const int64_t rowBytes = memory.getShape().back() * bytes;
  const int64_t start = sm::divisorOf(copy.getSourceOffsets()[innerDim]) * bytes;
  // A load to LDS moves 4 or 16 bytes of each lane.
  auto fits = [&] {
    return rowBytes % piece == 0 && start % piece == 0 && isContiguous(piece) &&
           !(group.chip.loadsWideToLds && piece == 8);
  };
  piece = 16;
  while (piece >= 4 && !fits())
    piece /= 2;
  if (piece < 4 || bytes == 0)
    return refuse(concat("moves rows of ", rowBytes, " bytes from offsets that are multiples of ",
                         start, ", but copies have aligned pieces of 4, 8 or 16 bytes"));
  pieces = buffer.getBytes() / piece;
  threads = kernel.threadCount();
  if (!isPowerOf2_64(uint64_t(threads)) || pieces % kernel.warpSize() != 0)
    return refuse(
        concat("must copy whole waves of pieces by a power-of-two number of threads, got ", pieces,
               " pieces and ", threads, " threads"));
  return true;
}

void CopiesLowering::Copy::emitBase() {
  Type word = isWide ? b.i64Type : b.i32Type;
  int64_t stride = bytes;
  for (size_t dim = memory.getShape().size(); dim-- > 0;) {
    mlir::Value offset = copy.getSourceOffsets()[dim];
    if (sm::divisorOf(offset) != 0) {
      Value part =
          b.mul(b.trunc(kernel.scalars.lookup(offset).value, word), b.integer(word, stride));
      uniform = uniform ? b.add(uniform, part) : part;
    }
    stride *= memory.getShape()[dim];
  }
  Value base = kernel.memory.lookup(copy.getSource());
  if (isWide && uniform) {
    base = b.advance(base, uniform);
    uniform = nullptr;
  }
  const int64_t size = isWide ? outsideOffset - 1 : memory.getNumElements() * bytes;
  resource = b.intrinsic(b.pointerIn(8), "llvm.amdgcn.make.buffer.rsrc.p8.p1",
                         {base, b.i16(0), b.i64(size), b.i32(resourceFlags)});
}

SplitOffset CopiesLowering::Copy::ofThreads(int64_t first,
                                            function_ref<int64_t(ArrayRef<int64_t>)> index) {
  SmallVector<int64_t> ofBits;
  for (int64_t bit = 1; bit < threads; bit *= 2)
    ofBits.push_back(bit < pieces ? index(indexOfPiece(bit)) : 0);
  return kernel.offsetOfThread(ofBits, index(indexOfPiece(first)));
}

/// Whether the copy of `cover` elements may be out of bounds in one dimension of memory. Offsets
/// and sizes are multiples of a piece, so each piece is entirely in or out of bounds.
bool CopiesLowering::Copy::mayBeOutside(size_t dim, int64_t cover) const {
  std::optional<sm::IndexRange> range = sm::rangeOf(sm::CopyOp(copy).getSourceOffsets()[dim]);
  return !range || range->least < 0 || range->most + cover > memory.getShape()[dim];
}

/// Whether the copy's offset plus `index` (null for zero) plus `constant` is in bounds.
Value CopiesLowering::Copy::isInside(size_t dim, Value index, int64_t constant) {
  Value at = offsetOf(dim);
  if (index)
    at = b.add(at, index);
  return b.unsignedLess(b.add(at, b.i32(constant)), b.i32(memory.getShape()[dim]));
}

void CopiesLowering::Copy::emitRound(int64_t first) {
  Value inside = nullptr;
  auto require = [&](Value condition) {
    inside = inside ? b.bitAnd(inside, condition) : condition;
  };
  const SplitOffset inner = ofThreads(first, [&](auto index) { return index[in]; });
  if (mayBeOutside(innerDim, layout().cover(int64_t(in))))
    require(isInside(innerDim, inner.varying, inner.constant));
  int64_t constant = inner.constant * bytes;
  SmallVector<Value> varying;
  for (auto [i, row] : enumerate(rows)) {
    const SplitOffset at = ofThreads(first, [&](auto index) { return rowIndex(index[out], i); });
    constant += at.constant * rowBytesOf[i];
    varying.push_back(at.varying);
    if (mayBeOutside(size_t(row.dim), (row.size - 1) * row.stride + 1))
      require(isInside(size_t(row.dim), b.mul(at.varying, b.i32(row.stride)),
                       at.constant * row.stride));
  }
  for (size_t dim = 0; dim < memory.getShape().size(); ++dim)
    if (dim != innerDim && mayBeOutside(dim, 1) &&
        none_of(rows, [&](const auto &row) { return size_t(row.dim) == dim; }))
      require(isInside(dim, nullptr, 0));
  Value offset = kernel.once([&]() -> Value {
    Value sum = b.mul(inner.varying, b.i32(bytes));
    for (auto [row, stride] : zip_equal(varying, rowBytesOf))
      sum = b.add(sum, b.mul(row, b.i32(stride)));
    return sum;
  });
  if (uniform)
    offset = b.add(offset, uniform);
  // The scalar offset is not part of the check of bounds, so a sum that may be outside without it
  // must not leave it out.
  Value scalar = b.i32(constant);
  if (inside) {
    offset = b.select(inside, b.add(offset, scalar), b.i32(outsideOffset));
    scalar = b.i32(0);
  }
  Value slot = kernel.buffers[copy.getTarget()].address;
  Value isOn =
      first + threads <= pieces ? nullptr : b.unsignedLess(kernel.thread, b.i32(pieces - first));
  if (!group.chip.loadsWideToLds) {
    Type type = piece == 4 ? b.i32Type : b.vectorOf(b.i32Type, unsigned(piece / 4));
    Value loaded =
        b.intrinsic(type, "llvm.amdgcn.raw.ptr.buffer.load", {resource, offset, scalar, b.i32(0)});
    Value own = kernel.once([&]() -> Value { return b.mul(kernel.thread, b.i32(piece)); });
    return group.channels.writeLater(loaded, b.add(b.add(slot, own), b.i32(first * piece)), isOn);
  }
  Value ofWave = kernel.once([&]() -> Value {
    return b.mul(
        b.machine.uniform(b, b.lshr(kernel.thread, b.i32(Log2_64(uint64_t(kernel.warpSize()))))),
        b.i32(kernel.warpSize() * piece));
  });
  Value target = b.sharedPointer(b.add(b.add(slot, ofWave), b.i32(first * piece)));
  Block *after = nullptr;
  if (isOn) {
    Block *active = b.newBlock();
    after = b.newBlock();
    b.branchIf(isOn, active, after);
    b.moveTo(active);
  } else {
    group.channels.countLoads(1);
  }
  b.intrinsic({}, "llvm.amdgcn.raw.ptr.buffer.load.lds",
              {resource, target, b.i32(piece), offset, scalar, b.i32(0), b.i32(0)});
  if (after) {
    b.branch(after);
    b.moveTo(after);
  }
}

void CopiesLowering::copy(sm::CopyOp op) {
  Copy copy{.group = *this, .copy = op};
  if (!copy.findOperands() || !copy.findPieces())
    return;
  copy.emitBase();
  for (int64_t first = 0; first < copy.pieces; first += copy.threads)
    copy.emitRound(first);
}

} // namespace tilewright::amdgcn
