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
  /// The memory dimensions along which the copy has several rows, outermost first, and the
  /// contiguous dimension. Along all others, the copy has a single index.
  SmallVector<sm::CopyOp::RowDim> rows = {};
  size_t innerDim = 0;
  int64_t bytes = 0;                    // of an element
  SmallVector<int64_t> rowBytesOf = {}; // between rows along each of `rows`
  int64_t piece = 0;                    // bytes of a piece
  int64_t perRow = 0, pieces = 0;       // pieces of a row, and of the copy
  int64_t threads = 0;
  Type word = nullptr; // of offsets in memory
  /// The thread's position in each round, in elements, and the address of its first piece.
  Value innerOfThread = nullptr, source = nullptr;
  /// The thread's element along each of `rows`; null if it is 0 for all threads.
  SmallVector<Value> rowOfThread = {};

  /// Each of these functions returns false after it has refused the copy.
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
  /// The index of a row along `rows[i]`, in rows. Sizes are powers of two, so the index of a sum of
  /// rows with different bits is the sum of their indices.
  int64_t rowIndex(int64_t row, size_t i) const {
    for (const sm::CopyOp::RowDim &inner : ArrayRef(rows).drop_front(i + 1))
      row /= inner.size;
    return row % rows[i].size;
  }
  Value rowIndexOfThread(Value row, size_t i);
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
  return true;
}

bool AsyncCopiesLowering::AsyncCopy::findPieces() {
  const int64_t rowBytes = memory.getShape().back() * bytes;
  const int64_t start = sm::divisorOf(copy.getSourceOffsets()[innerDim]) * bytes;
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

/// The index along `rows[i]` of a thread's row; null if it is 0 for all threads.
Value AsyncCopiesLowering::AsyncCopy::rowIndexOfThread(Value row, size_t i) {
  int64_t below = 1;
  for (const sm::CopyOp::RowDim &inner : ArrayRef(rows).drop_front(i + 1))
    below *= inner.size;
  if (rows.size() > 1 && (below * perRow >= threads || rows[i].size == 1))
    return nullptr;
  return group.kernel.once([&]() -> Value {
    Value index = below > 1 ? b.lshr(row, b.i32(Log2_64(uint64_t(below)))) : row;
    return i > 0 ? b.bitAnd(index, b.i32(rows[i].size - 1)) : index;
  });
}

void AsyncCopiesLowering::AsyncCopy::emitAddresses() {
  const bool isWide = memory.getNumElements() * bytes > 0x7FFFFFFF;
  word = isWide ? b.i64Type : b.i32Type;
  Value thread = group.kernel.thread;
  innerOfThread = group.kernel.once(
      [&]() -> Value { return b.mul(b.bitAnd(thread, b.i32(perRow - 1)), b.i32(piece / bytes)); });
  Value outerOfThread = group.kernel.once(
      [&]() -> Value { return b.lshr(thread, b.i32(Log2_64(uint64_t(perRow)))); });
  for (size_t i = 0; i < rows.size(); ++i)
    rowOfThread.push_back(rowIndexOfThread(outerOfThread, i));
  Value from = group.kernel.once([&]() -> Value {
    Value all = nullptr;
    for (auto [row, stride] : zip_equal(rowOfThread, rowBytesOf))
      if (row) {
        Value part = b.mul(b.zextOrTrunc(row, word), number(stride));
        all = all ? b.add(all, part) : part;
      }
    Value inner = b.mul(b.zextOrTrunc(innerOfThread, word), number(bytes));
    return all ? b.add(all, inner) : inner;
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
  int64_t from = index[in] * bytes;
  for (size_t i = 0; i < rows.size(); ++i)
    from += rowIndex(index[out], i) * rowBytesOf[i];
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
  auto isRow = [&](size_t dim) {
    return any_of(rows, [&](const auto &row) { return size_t(row.dim) == dim; });
  };
  for (size_t dim = 0; dim < memory.getShape().size(); ++dim)
    if (dim != innerDim && !isRow(dim) && mayBeOutside(dim, 1))
      common = both(common, isInside(dim, nullptr, 0));
  const bool checksInner = mayBeOutside(innerDim, layout().cover(int64_t(in)));
  SmallVector<bool> checksRow;
  for (const sm::CopyOp::RowDim &row : rows)
    checksRow.push_back(mayBeOutside(size_t(row.dim), (row.size - 1) * row.stride + 1));
  std::map<int64_t, Value> innerInside;
  // Indexed by the number in `rows` and the constant part of the index.
  std::map<std::pair<size_t, int64_t>, Value> rowInside;
  Value isOn =
      pieces < threads ? b.unsignedLess(group.kernel.thread, group.b.i32(pieces)) : nullptr;
  for (int64_t first = 0; first < pieces; first += threads) {
    const SmallVector<int64_t> index = indexOfPiece(first);
    Value inside = common;
    if (checksInner) {
      Value &known = innerInside[index[in]];
      if (!known)
        known = isInside(innerDim, innerOfThread, index[in]);
      inside = both(inside, known);
    }
    for (auto [i, row] : enumerate(rows)) {
      if (!checksRow[i])
        continue;
      const int64_t constant = rowIndex(index[out], i);
      Value &known = rowInside[{i, constant}];
      if (!known) {
        Value at = rowOfThread[i];
        if (at && row.stride != 1)
          at = b.mul(at, b.i32(row.stride));
        known = isInside(size_t(row.dim), at, constant * row.stride);
      }
      inside = both(inside, known);
    }
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
