// Copies from global to shared memory that threads issue themselves (cp.async).
#include "tilewright/target/nvptx/lower/KernelLowering.h"

#include "tilewright/dialect/sm/BankConflicts.h"
#include "tilewright/support/Concat.h"

using namespace llvm;

namespace tilewright::nvptx {

using sm::Axis;

/// A copy in pieces of 4 to 16 bytes along the dimension that is contiguous in memory. Consecutive
/// threads copy consecutive pieces, in rounds.
struct AsyncCopiesLowering::AsyncCopy {
  AsyncCopiesLowering &group;
  sm::CopyOp copy;
  ThreadBuilder &b = group.b;
  sm::BufferType buffer = {};
  mlir::MemRefType memory = {};
  /// The dimension of the buffer that is contiguous in memory, and the other dimension.
  size_t in = 1, out = 0;
  /// The two dimensions of memory that the copy spans; in all others it has a single index.
  std::array<size_t, 2> dims = {};
  int64_t bytes = 0;              // of an element
  int64_t outerBytes = 0;         // between indices of the outer dimension of memory
  int64_t piece = 0;              // bytes of a piece
  int64_t perRow = 0, pieces = 0; // pieces of a row, and of the copy
  int64_t threads = 0;
  Type word = nullptr; // of offsets in memory
  /// The thread's position in each round, in elements, and the address of its first piece.
  Value innerOfThread = nullptr, outerOfThread = nullptr, source = nullptr;

  /// Each returns false after it has refused the copy.
  bool findOperands();
  bool findDims();
  bool findPieces();
  void emitAddresses();
  void emitPieces();
  void emitPiece(ArrayRef<int64_t> index, SplitOffset to, Value isOn, Value inside);

  bool refuse(std::string_view why) {
    group.kernel.refuse(copy, why);
    return false;
  }
  sm::Layout layout() const { return buffer.getLayout().getValue(); }
  SmallVector<int64_t> indexOf(int64_t inner, int64_t outer) const {
    SmallVector<int64_t> index(2);
    index[in] = inner;
    index[out] = outer;
    return index;
  }
  SmallVector<int64_t> indexOfPiece(int64_t number) const {
    return indexOf(number % perRow * (piece / bytes), number / perRow);
  }
  bool isContiguous(int64_t size) const {
    for (int64_t inner = 1; inner * bytes < size; inner *= 2)
      if (byteOf(buffer, indexOf(inner, 0)) != inner * bytes)
        return false;
    return true;
  }
  Value number(int64_t value) const { return b.integer(word, value); }
  Value offsetOf(size_t dim) {
    Value offset = group.kernel.scalars.lookup(copy.getSourceOffsets()[dim]).value;
    return b.trunc(offset, word);
  }
  Value emitUniformOffset();
  bool mayBeOutside(size_t dim, int64_t cover);
  Value isInside(size_t dim, Value index, int64_t constant);
};

bool AsyncCopiesLowering::AsyncCopy::findOperands() {
  if (copy.getTarget())
    buffer = dyn_cast<sm::BufferType>(copy.getTarget().getType());
  memory = dyn_cast<mlir::MemRefType>(copy.getSource().getType());
  if (!buffer || !memory || buffer.getShape().size() != 2)
    return refuse("must copy a matrix from global memory to a shared buffer (cp_async supports "
                  "nothing else)");
  if (!sm::isLinear(layout()) || layout().extent(Axis::cta) != 1)
    return refuse(
        concat("must fill a buffer in a single CTA whose layout has only powers of two, got ",
               layout().str()));
  if (group.kernel.buffers[copy.getTarget()].barrier)
    return refuse("fills a slot for another role, which only tma copies can do");
  return true;
}

bool AsyncCopiesLowering::AsyncCopy::findDims() {
  in = copy.getTransposed() ? 0 : 1;
  out = 1 - in;
  const size_t rank = memory.getShape().size();
  dims = {rank - 2, rank - 1};
  if (std::optional<ArrayRef<int64_t>> named = copy.getDims())
    dims = {size_t((*named)[0]), size_t((*named)[1])};
  if (dims[1] != rank - 1)
    return refuse("must copy along the contiguous dimension of memory");
  bytes = int64_t(memory.getElementTypeBitWidth() / 8);
  outerBytes = bytes;
  for (size_t dim = dims[0] + 1; dim < rank; ++dim)
    outerBytes *= memory.getShape()[dim];
  return true;
}

bool AsyncCopiesLowering::AsyncCopy::findPieces() {
  const int64_t rowBytes = memory.getShape().back() * bytes;
  const int64_t start = sm::divisorOf(copy.getSourceOffsets()[dims[1]]) * bytes;
  piece = std::min<int64_t>(16, layout().cover(int64_t(in)) * bytes);
  while (piece >= 4 && (rowBytes % piece != 0 || start % piece != 0 || !isContiguous(piece)))
    piece /= 2;
  if (piece < 4 || bytes == 0)
    return refuse(concat("moves rows of ", rowBytes, " bytes from offsets that are multiples of ",
                         start, ", but cp.async copies aligned pieces of 4, 8 or 16 bytes"));
  perRow = layout().cover(int64_t(in)) * bytes / piece;
  pieces = perRow * layout().cover(int64_t(out));
  threads = group.kernel.warpCount() * Chip::warpSize;
  if (!isPowerOf2_64(uint64_t(threads)))
    return refuse(concat("must be executed by a power-of-two number of threads, got ", threads));
  return true;
}

/// The part of the byte offset in memory that all threads share; null for zero.
Value AsyncCopiesLowering::AsyncCopy::emitUniformOffset() {
  Value uniform = nullptr;
  int64_t stride = bytes;
  for (size_t dim = memory.getShape().size(); dim-- > 0;) {
    if (sm::divisorOf(copy.getSourceOffsets()[dim]) != 0) {
      Value part = b.mul(offsetOf(dim), number(stride));
      uniform = uniform ? b.add(uniform, part) : part;
    }
    stride *= memory.getShape()[dim];
  }
  return uniform;
}

void AsyncCopiesLowering::AsyncCopy::emitAddresses() {
  const bool isWide = memory.getNumElements() * bytes > 0x7FFFFFFF;
  word = isWide ? b.i64Type : b.i32Type;
  Value thread = group.kernel.thread;
  innerOfThread = group.kernel.once(
      [&]() -> Value { return b.mul(b.bitAnd(thread, b.i32(perRow - 1)), b.i32(piece / bytes)); });
  outerOfThread = group.kernel.once(
      [&]() -> Value { return b.lshr(thread, b.i32(Log2_64(uint64_t(perRow)))); });
  Value from = group.kernel.once([&]() -> Value {
    Value row = b.mul(b.zextOrTrunc(outerOfThread, word), number(outerBytes));
    return b.add(row, b.mul(b.zextOrTrunc(innerOfThread, word), number(bytes)));
  });
  if (Value uniform = emitUniformOffset())
    from = b.add(uniform, from);
  source = b.advance(group.kernel.memory.lookup(copy.getSource()), b.sext(from, b.i64Type));
}

/// Whether the copy of `cover` elements may be out of bounds in one dimension of memory. Offsets
/// and sizes are multiples of a piece, so each piece is entirely in or out of bounds.
bool AsyncCopiesLowering::AsyncCopy::mayBeOutside(size_t dim, int64_t cover) {
  std::optional<sm::IndexRange> range = sm::rangeOf(copy.getSourceOffsets()[dim]);
  return !range || range->least < 0 || range->most + cover > memory.getShape()[dim];
}

/// Whether the copy's offset plus `index` (null for zero) plus `constant` is in bounds.
Value AsyncCopiesLowering::AsyncCopy::isInside(size_t dim, Value index, int64_t constant) {
  Value at = offsetOf(dim);
  if (index)
    at = b.add(at, b.zextOrTrunc(index, word));
  return b.unsignedLess(b.add(at, number(constant)), number(memory.getShape()[dim]));
}

void AsyncCopiesLowering::AsyncCopy::emitPiece(ArrayRef<int64_t> index, SplitOffset to, Value isOn,
                                               Value inside) {
  Value target = b.add(group.kernel.buffers[copy.getTarget()].address, to.varying);
  const int64_t from = index[out] * outerBytes + index[in] * bytes;
  // A piece that is out of bounds reads no bytes; cp.async fills the rest with zeros.
  Value size = inside ? b.select(inside, b.i32(piece), b.i32(0)) : Value();
  // 16-byte copies bypass L1 (.cg), because the data is not read from there.
  if (!isOn) {
    b.make<NVVM::CpAsyncOp>(
        b.advance(b.sharedPointer(target), to.constant), b.advance(source, from), uint32_t(piece),
        piece == 16 ? NVVM::LoadCacheModifierKind::CG : NVVM::LoadCacheModifierKind::CA, size);
    return;
  }
  // The nvvm dialect has no predicated copy.
  SmallVector<Value> operands{target, b.ptrToInt(source, b.i64Type), isOn};
  if (size)
    operands.push_back(size);
  b.assembly({},
             concat("@$2 cp.async.", piece == 16 ? "cg" : "ca", ".shared.global [$0+", to.constant,
                    "], [$1+", from, "], ", piece, size ? ", $3;" : ";"),
             size ? "r,l,b,r,~{memory}" : "r,l,b,~{memory}", operands);
}

void AsyncCopiesLowering::AsyncCopy::emitPieces() {
  SmallVector<int64_t>
      ofBits; // the offset in the buffer that each bit of the thread id contributes
  for (int64_t bit = 1; bit < threads; bit *= 2)
    ofBits.push_back(bit < pieces ? byteOf(buffer, indexOfPiece(bit)) : 0);
  auto both = [&](Value left, Value right) { return left ? b.bitAnd(left, right) : right; };
  Value common = nullptr;
  for (size_t dim = 0; dim < memory.getShape().size(); ++dim)
    if (dim != dims[0] && dim != dims[1] && mayBeOutside(dim, 1))
      common = both(common, isInside(dim, nullptr, 0));
  const bool checksInner = mayBeOutside(dims[1], layout().cover(int64_t(in))),
             checksOuter = mayBeOutside(dims[0], layout().cover(int64_t(out)));
  std::map<int64_t, Value> innerInside;
  Value isOn =
      pieces < threads ? b.unsignedLess(group.kernel.thread, group.b.i32(pieces)) : nullptr;
  for (int64_t first = 0; first < pieces; first += threads) {
    const SmallVector<int64_t> index = indexOfPiece(first);
    Value inside = common;
    if (checksInner) {
      Value &known = innerInside[index[in]];
      if (!known)
        known = isInside(dims[1], innerOfThread, index[in]);
      inside = both(inside, known);
    }
    if (checksOuter)
      inside = both(inside, isInside(dims[0], outerOfThread, index[out]));
    emitPiece(index, group.kernel.offsetOfThread(ofBits, byteOf(buffer, index)), isOn, inside);
  }
}

void AsyncCopiesLowering::copy(sm::CopyOp op) {
  AsyncCopy copy{.group = *this, .copy = op};
  if (!copy.findOperands() || !copy.findDims() || !copy.findPieces())
    return;
  copy.emitAddresses();
  copy.emitPieces();
}

} // namespace tilewright::nvptx
