// Kernels without warp specialization: channels that the same threads fill and drain, and copies
// that threads issue themselves (cp.async).
#include "tilewright/target/nvptx/emit/KernelEmitter.h"

#include "tilewright/dialect/sm/BankConflicts.h"
#include "tilewright/support/Concat.h"

using namespace llvm;

namespace tilewright::nvptx {

using sm::Axis;

// --- Channels ---
//
// Publishing a slot commits a cp.async group. Groups complete in order, so taking the oldest of `n`
// slots waits until at most n - 1 groups are pending. A barrier follows, because each thread waits
// only for its own copies. A slot that any thread frees can be refilled after the next barrier.

void KernelEmitter::acquireOwn(sm::AcquireOp op, ChannelState &state) {
  if (state.filled + state.held >= state.depth)
    return refuse(op, concat("waits for a free slot, but its own threads hold all ", state.depth,
                             " slots; free one first"));
  if (state.isFreed)
    barrier();
  state.isFreed = false;
  Cursor &cursor = cursorOf(op.getChannel(), CursorKind::fill);
  giveBuffers(op->getResults(), state, b.ir.CreateLoad(b.ir.getInt32Ty(), cursor.slot));
  advance(cursor, state.depth);
}

void KernelEmitter::publishOwn(ChannelState &state) {
  assembly(b.ir.getVoidTy(), "cp.async.commit_group;", "~{memory}", {});
  ++state.filled;
}

void KernelEmitter::takeOwn(sm::TakeOp op, ChannelState &state) {
  if (state.filled == 0)
    return refuse(op, "takes a slot, but no slot has been published");
  --state.filled;
  ++state.held;
  assembly(b.ir.getVoidTy(), concat("cp.async.wait_group ", state.filled, ";"), "~{memory}", {});
  barrier();
  state.isFreed = false;
  Cursor &cursor = cursorOf(op.getChannel(), CursorKind::drain);
  giveBuffers(op->getResults(), state, b.ir.CreateLoad(b.ir.getInt32Ty(), cursor.slot));
  advance(cursor, state.depth);
}

void KernelEmitter::freeOwn(sm::FreeOp op, ChannelState &state) {
  if (state.held == 0)
    return refuse(op, "frees a slot that was not taken");
  --state.held;
  state.isFreed = true;
  // After the last use of the channel, later buffers may reuse its memory, protected by a barrier.
  const bool isLast = op->getBlock() == &kernel.getBlock() &&
                      all_of(op.getChannel().getUsers(), [&](mlir::Operation *user) {
                        mlir::Operation *top = kernel.getBlock().findAncestorOpInBlock(*user);
                        return top == op || top->isBeforeInBlock(op);
                      });
  if (isLast && state.filled == 0 && state.held == 0) {
    shared.release(state.slots);
    mayBeRead = true;
  }
}

SmallVector<int64_t> KernelEmitter::beginOwnLoop(mlir::scf::ForOp loop) {
  SmallVector<int64_t> before;
  for (auto &[channel, state] : channels) {
    before.append({state.filled, state.held});
    // The previous iteration may have freed a slot after its last barrier.
    for (mlir::Operation *user : channel.getUsers())
      state.isFreed |= isa<sm::FreeOp>(user) && loop->isProperAncestor(user);
    for (mlir::Operation *user : channel.getUsers())
      if (isa<sm::TakeOp>(user) && user->getBlock() == loop.getBody() &&
          all_of(channel.getUsers(), [&](mlir::Operation *other) {
            return !isa<sm::FreeOp>(other) || other->getBlock() != loop.getBody() ||
                   other->isBeforeInBlock(user);
          }))
        state.isFreed = false;
  }
  return before;
}

void KernelEmitter::endOwnLoop(mlir::scf::ForOp loop, ArrayRef<int64_t> before) {
  size_t at = 0;
  for (auto &[channel, state] : channels) {
    if (state.isOwn && (state.filled != before[at] || state.held != before[at + 1]))
      refuse(loop, concat("must end with as many filled and taken slots as it begins with, got ",
                          state.filled, " and ", state.held, ", expected ", before[at], " and ",
                          before[at + 1]));
    at += 2;
  }
}

// --- Places ---

int64_t KernelEmitter::byteOf(sm::BufferType buffer, ArrayRef<int64_t> index) {
  return buffer.getLayout().getValue().apply(index)[Axis::offset] *
         lanes::storageBytes(buffer.getElementType());
}

KernelEmitter::SplitOffset KernelEmitter::offsetOfThread(ArrayRef<int64_t> bytes,
                                                         int64_t constant) {
  IRBuilder<> &ir = b.ir;
  int64_t reach = 0;
  for (int64_t part : bytes)
    reach |= part;
  // Bits of the constant that no thread's offset contains can be added; the others must be xor-ed.
  const int64_t tied = constant & reach;
  std::vector<int64_t> key(bytes.begin(), bytes.end());
  key.push_back(tied);
  auto [known, isNew] = linearOffsets.try_emplace({thread, key}, nullptr);
  if (isNew)
    known->second = once([&]() -> Value * {
      // Group the bits that are shifted by the same distance.
      std::map<int, uint32_t> masks;
      for (auto [from, part] : enumerate(bytes))
        for (int to = 0; to < 31; ++to)
          if (part >> to & 1)
            masks[to - int(from)] |= uint32_t(1) << from;
      Value *sum = i32(tied);
      for (auto [shift, mask] : masks) {
        Value *part = ir.CreateAnd(thread, i32(mask));
        part = shift >= 0 ? ir.CreateShl(part, i32(shift)) : ir.CreateLShr(part, i32(-shift));
        sum = ir.CreateXor(sum, part);
      }
      return sum;
    });
  return {known->second, constant & ~reach};
}

// --- Copies ---

void KernelEmitter::emitAsyncCopy(sm::CopyOp copy) {
  IRBuilder<> &ir = b.ir;
  auto buffer =
      copy.getTarget() ? dyn_cast<sm::BufferType>(copy.getTarget().getType()) : sm::BufferType();
  auto memoryType = dyn_cast<mlir::MemRefType>(copy.getSource().getType());
  if (!buffer || !memoryType || buffer.getShape().size() != 2)
    return refuse(copy, "must copy a matrix from global memory to a shared buffer (cp_async "
                        "supports nothing else)");
  const sm::Layout &layout = buffer.getLayout().getValue();
  const SlotBuffer target = buffers[copy.getTarget()];
  if (!sm::isLinear(layout) || layout.extent(Axis::cta) != 1)
    return refuse(
        copy, concat("must fill a buffer in a single CTA whose layout has only powers of two, got ",
                     layout.str()));
  if (target.barrier)
    return refuse(copy, "fills a slot for another role, which only tma copies can do");

  // Copy pieces of 4 to 16 bytes along the dimension that is contiguous in memory.
  const size_t in = copy.getTransposed() ? 0 : 1, out = 1 - in;
  const size_t rank = memoryType.getShape().size();
  // The two dimensions of memory that the copy spans; in all others it has a single index.
  std::array<size_t, 2> dims{rank - 2, rank - 1};
  if (std::optional<ArrayRef<int64_t>> named = copy.getDims())
    dims = {size_t((*named)[0]), size_t((*named)[1])};
  if (dims[1] != rank - 1)
    return refuse(copy, "must copy along the contiguous dimension of memory");
  const auto bytes = int64_t(memoryType.getElementTypeBitWidth() / 8);
  const int64_t rowBytes = memoryType.getShape().back() * bytes;
  int64_t outerBytes = bytes; // distance between indices of the outer dimension
  for (size_t dim = dims[0] + 1; dim < rank; ++dim)
    outerBytes *= memoryType.getShape()[dim];
  const int64_t start = sm::divisorOf(copy.getSourceOffsets()[rank - 1]) * bytes;
  int64_t piece = std::min<int64_t>(16, layout.cover(int64_t(in)) * bytes);
  auto indexOf = [&](int64_t inner, int64_t outer) {
    SmallVector<int64_t> index(2);
    index[in] = inner;
    index[out] = outer;
    return index;
  };
  auto isContiguous = [&](int64_t size) {
    for (int64_t inner = 1; inner * bytes < size; inner *= 2)
      if (byteOf(buffer, indexOf(inner, 0)) != inner * bytes)
        return false;
    return true;
  };
  while (piece >= 4 && (rowBytes % piece != 0 || start % piece != 0 || !isContiguous(piece)))
    piece /= 2;
  if (piece < 4 || bytes == 0)
    return refuse(copy,
                  concat("moves rows of ", rowBytes, " bytes from offsets that are multiples of ",
                         start, ", but cp.async copies aligned pieces of 4, 8 or 16 bytes"));
  const int64_t perRow = layout.cover(int64_t(in)) * bytes / piece;
  const int64_t pieces = perRow * layout.cover(int64_t(out));
  const int64_t threads = warpCount() * Chip::warpSize;
  if (!isPowerOf2_64(uint64_t(threads)))
    return refuse(copy,
                  concat("must be executed by a power-of-two number of threads, got ", threads));
  auto indexOfPiece = [&](int64_t number) {
    return indexOf(number % perRow * (piece / bytes), number / perRow);
  };

  // Assign consecutive pieces of memory to consecutive threads, in rounds.
  SmallVector<int64_t> ofBits;
  for (int64_t bit = 1; bit < threads; bit *= 2)
    ofBits.push_back(bit < pieces ? byteOf(buffer, indexOfPiece(bit)) : 0);
  const bool isWide = memoryType.getNumElements() * bytes > 0x7FFFFFFF;
  Type *word = isWide ? ir.getInt64Ty() : ir.getInt32Ty();
  auto number = [&](int64_t value) { return ConstantInt::get(word, uint64_t(value), true); };
  Value *innerOfThread = once([&]() -> Value * {
    return ir.CreateMul(ir.CreateAnd(thread, i32(perRow - 1)), i32(piece / bytes));
  });
  Value *outerOfThread =
      once([&]() -> Value * { return ir.CreateLShr(thread, i32(Log2_64(uint64_t(perRow)))); });
  Value *from = once([&]() -> Value * {
    Value *row = ir.CreateMul(ir.CreateZExtOrTrunc(outerOfThread, word), number(outerBytes));
    return ir.CreateAdd(row,
                        ir.CreateMul(ir.CreateZExtOrTrunc(innerOfThread, word), number(bytes)));
  });
  Value *uniform = nullptr;
  int64_t stride = bytes;
  for (size_t dim = rank; dim-- > 0;) {
    mlir::Value offset = copy.getSourceOffsets()[dim];
    if (sm::divisorOf(offset) != 0) {
      Value *part =
          ir.CreateMul(ir.CreateTrunc(scalars.lookup(offset).value, word), number(stride));
      uniform = uniform ? ir.CreateAdd(uniform, part) : part;
    }
    stride *= memoryType.getShape()[dim];
  }
  if (uniform)
    from = ir.CreateAdd(uniform, from);
  Value *source = ir.CreatePtrToInt(ir.CreateGEP(ir.getInt8Ty(), memory.lookup(copy.getSource()),
                                                 ir.CreateSExt(from, ir.getInt64Ty())),
                                    ir.getInt64Ty());

  // Find the dimensions in which the copy may be out of bounds. Offsets and sizes are multiples of
  // a piece, so each piece is entirely in or out of bounds.
  auto outside = [&](size_t dim, int64_t cover) {
    std::optional<sm::IndexRange> range = sm::rangeOf(copy.getSourceOffsets()[dim]);
    return !range || range->least < 0 || range->most + cover > memoryType.getShape()[dim];
  };
  auto isInside = [&](size_t dim, Value *index, int64_t constant) {
    Value *at = ir.CreateTrunc(scalars.lookup(copy.getSourceOffsets()[dim]).value, word);
    if (index)
      at = ir.CreateAdd(at, ir.CreateZExtOrTrunc(index, word));
    return ir.CreateICmpULT(ir.CreateAdd(at, number(constant)), number(memoryType.getShape()[dim]));
  };
  auto both = [&](Value *left, Value *right) { return left ? ir.CreateAnd(left, right) : right; };
  Value *common = nullptr;
  for (size_t dim = 0; dim < rank; ++dim)
    if (dim != dims[0] && dim != dims[1] && outside(dim, 1))
      common = both(common, isInside(dim, nullptr, 0));
  const bool checksInner = outside(dims[1], layout.cover(int64_t(in))),
             checksOuter = outside(dims[0], layout.cover(int64_t(out)));
  std::map<int64_t, Value *> innerInside;
  Value *isOn = pieces < threads ? ir.CreateICmpULT(thread, i32(pieces)) : nullptr;
  for (int64_t first = 0; first < pieces; first += threads) {
    const SmallVector<int64_t> index = indexOfPiece(first);
    Value *inside = common;
    if (checksInner) {
      Value *&known = innerInside[index[in]];
      if (!known)
        known = isInside(dims[1], innerOfThread, index[in]);
      inside = both(inside, known);
    }
    if (checksOuter)
      inside = both(inside, isInside(dims[0], outerOfThread, index[out]));
    const SplitOffset to = offsetOfThread(ofBits, byteOf(buffer, index));
    SmallVector<Value *> operands{ir.CreateAdd(target.address, to.varying), source};
    // 16-byte copies bypass L1 (.cg), because the data is not read from there.
    std::string text =
        concat(isOn ? "@$2 " : "", "cp.async.", piece == 16 ? "cg" : "ca", ".shared.global [$0+",
               to.constant, "], [$1+", index[out] * outerBytes + index[in] * bytes, "], ", piece);
    std::string constraints = "r,l";
    if (isOn) {
      operands.push_back(isOn);
      constraints += ",b";
    }
    if (inside) {
      text += concat(", $", operands.size());
      operands.push_back(ir.CreateSelect(inside, i32(piece), i32(0)));
      constraints += ",r";
    }
    assembly(ir.getVoidTy(), text + ";", constraints + ",~{memory}", operands);
  }
}

} // namespace tilewright::nvptx
