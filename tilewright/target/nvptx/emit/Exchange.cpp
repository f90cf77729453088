// Exchanges values between threads: by shuffles within a warp, through shared memory within a CTA.
#include "tilewright/target/nvptx/emit/KernelEmitter.h"

#include "llvm/IR/IntrinsicsNVPTX.h"

using namespace llvm;

namespace tilewright::nvptx {

using sm::Axis;

Value *KernelEmitter::shuffle(Intrinsic::ID id, Value *value, Value *operand) {
  IRBuilder<> &ir = b.ir;
  Type *type = value->getType(), *word = ir.getInt32Ty();
  const unsigned bits = type->getPrimitiveSizeInBits();
  auto move = [&](Value *part) -> Value * {
    return ir.CreateIntrinsic(word, id, {i32(-1), part, operand, i32(31)});
  };
  Value *raw = type->isIntegerTy() ? value : ir.CreateBitCast(value, ir.getIntNTy(bits));
  if (bits <= 32) {
    raw = ir.CreateTrunc(move(ir.CreateZExt(raw, word)), ir.getIntNTy(bits));
  } else {
    raw = ir.CreateZExt(raw, ir.getInt64Ty());
    Value *low = ir.CreateZExt(move(ir.CreateTrunc(raw, word)), ir.getInt64Ty());
    Value *high =
        ir.CreateZExt(move(ir.CreateTrunc(ir.CreateLShr(raw, 32), word)), ir.getInt64Ty());
    raw = ir.CreateTrunc(ir.CreateOr(low, ir.CreateShl(high, 32)), ir.getIntNTy(bits));
  }
  return type->isIntegerTy() ? raw : ir.CreateBitCast(raw, type);
}

Value *KernelEmitter::shuffleXor(Value *value, int64_t mask) {
  return shuffle(Intrinsic::nvvm_shfl_sync_bfly_i32, value, i32(mask));
}
Value *KernelEmitter::shuffleFrom(Value *value, Value *from) {
  return shuffle(Intrinsic::nvvm_shfl_sync_idx_i32, value, from);
}
Lanes KernelEmitter::shuffleXor(Lanes value, int64_t mask) {
  return {shuffleXor(value.value, mask), value.imag ? shuffleXor(value.imag, mask) : nullptr};
}
Lanes KernelEmitter::shuffleFrom(Lanes value, Value *from) {
  return {shuffleFrom(value.value, from), value.imag ? shuffleFrom(value.imag, from) : nullptr};
}

KernelEmitter::Partial KernelEmitter::shuffled(const Partial &partial,
                                               function_ref<Lanes(Lanes)> exchange) {
  Partial result;
  for (Lanes value : partial.values)
    result.values.push_back(exchange(value));
  if (partial.valid)
    result.valid = exchange({partial.valid}).value;
  return result;
}

// --- Shared memory ---

void KernelEmitter::barrier() {
  IRBuilder<> &ir = b.ir;
  // Barrier 0 belongs to the whole CTA; each role has its own.
  if (currentRole)
    ir.CreateIntrinsic(ir.getVoidTy(), Intrinsic::nvvm_barrier_cta_sync_aligned_count,
                       {i32(1 + firstWarp / 4), i32(warpCount() * Chip::warpSize)});
  else
    ir.CreateIntrinsic(ir.getVoidTy(), Intrinsic::nvvm_barrier_cta_sync_aligned_all,
                       {ir.getInt32(0)});
}

void KernelEmitter::beginSharedWrites() {
  if (mayBeRead)
    barrier();
  mayBeRead = false;
}

void KernelEmitter::beginSharedReads() {
  barrier();
  mayBeRead = true;
}

Type *KernelEmitter::exchangeType(Type *type) {
  // Round the width of integers up to a power of two of at least 8 bits.
  return type->isIntegerTy() ? b.ir.getIntNTy(unsigned(
                                   PowerOf2Ceil(std::max<uint64_t>(type->getIntegerBitWidth(), 8))))
                             : type;
}

SmallVector<SmallVector<KernelEmitter::Partial>>
KernelEmitter::exchangeWarps(ArrayRef<Partial> mine, const ThreadLayout &threads,
                             ArrayRef<sm::IndexTerm> warpDigits, ArrayRef<sm::IndexTerm> laneDigits,
                             mlir::Operation *user) {
  IRBuilder<> &ir = b.ir;
  // The buffer has one row per warp, with one element per lane that holds a distinct value.
  const int64_t warps = warpCount();
  int64_t places = 1;
  Value *place = i32(0), *owner = i32(0);
  for (const sm::IndexTerm &term : laneDigits) {
    Value *digit = digitOf(term);
    place = ir.CreateAdd(place, ir.CreateMul(digit, i32(places)));
    owner = ir.CreateAdd(owner, ir.CreateMul(digit, i32(term.stride)));
    places *= term.size;
  }
  Value *isOwner = places == Chip::warpSize ? nullptr : ir.CreateICmpEQ(axis(Axis::lane), owner);
  Value *warp = axis(Axis::warp);
  Value *others = warp; // this warp's id with `warpDigits` zeroed
  int64_t combinations = 1;
  for (const sm::IndexTerm &term : warpDigits) {
    others = ir.CreateSub(others, ir.CreateMul(digitOf(term), i32(term.stride)));
    combinations *= term.size;
  }

  // Each value of a partial has its own buffer, because their types differ.
  SmallVector<Type *> types;
  auto each = [](const Partial &partial, auto visit) {
    size_t slot = 0;
    for (Lanes value : partial.values) {
      visit(slot++, value.value);
      if (value.imag)
        visit(slot++, value.imag);
    }
    if (partial.valid)
      visit(slot++, partial.valid);
  };
  bool hasValid = any_of(mine, [](const Partial &partial) { return partial.valid; });
  SmallVector<Partial> own(mine);
  if (hasValid)
    for (Partial &partial : own)
      partial.valid = partial.valid ? partial.valid : ir.getTrue();
  each(own[0], [&](size_t, Value *value) { types.push_back(exchangeType(value->getType())); });
  SmallVector<SharedMemory::Buffer> buffers;
  for (Type *type : types)
    buffers.push_back(shared.allocate(int64_t(own.size()) * warps * places *
                                          int64_t(type->getPrimitiveSizeInBits() / 8),
                                      16, user));
  auto addressOf = [&](size_t slot, size_t item, Value *ofWarp) {
    const auto bytes = int64_t(types[slot]->getPrimitiveSizeInBits() / 8);
    Value *index = ir.CreateAdd(ir.CreateMul(ofWarp, i32(places)), place);
    Value *base = shared.address(buffers[slot], int64_t(item) * warps * places * bytes);
    return ir.CreateGEP(types[slot], base, ir.CreateZExt(index, ir.getInt64Ty()));
  };
  beginSharedWrites();
  for (auto [item, partial] : enumerate(own))
    each(partial, [&, item = item](size_t slot, Value *value) {
      if (value->getType()->isIntegerTy())
        value = ir.CreateZExt(value, types[slot]);
      store({value}, addressOf(slot, item, warp), isOwner);
    });
  beginSharedReads();
  SmallVector<SmallVector<Partial>> result(own.size());
  for (int64_t combination = 0; combination < combinations; ++combination) {
    int64_t rest = combination, offset = 0;
    for (const sm::IndexTerm &term : warpDigits) {
      offset += rest % term.size * term.stride;
      rest /= term.size;
    }
    Value *from = ir.CreateAdd(others, i32(offset));
    for (auto [item, partial] : enumerate(own)) {
      Partial got = partial;
      size_t slot = 0;
      auto read = [&, item = item](Value *like) {
        Value *value = ir.CreateAlignedLoad(types[slot], addressOf(slot, item, from),
                                            Align(types[slot]->getPrimitiveSizeInBits() / 8));
        ++slot;
        return like->getType()->isIntegerTy() ? ir.CreateTrunc(value, like->getType()) : value;
      };
      for (Lanes &value : got.values) {
        value.value = read(value.value);
        if (value.imag)
          value.imag = read(value.imag);
      }
      if (got.valid)
        got.valid = read(got.valid);
      result[item].push_back(std::move(got));
    }
  }
  for (const SharedMemory::Buffer &buffer : buffers)
    shared.release(buffer);
  return result;
}

} // namespace tilewright::nvptx
