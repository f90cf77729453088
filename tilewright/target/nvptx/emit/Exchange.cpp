// Exchanges values between the warps of a CTA: barriers, and partial results through shared memory.
#include "tilewright/target/nvptx/emit/KernelEmitter.h"

#include "tilewright/target/nvptx/emit/MemoryAccess.h"

#include "llvm/IR/IntrinsicsNVPTX.h"

using namespace llvm;

namespace tilewright::nvptx {

using sm::Axis;

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

/// The type in which a value is exchanged through shared memory.
static Type *exchangeType(Type *type) {
  // Round the width of integers up to a power of two of at least 8 bits.
  return type->isIntegerTy()
             ? IntegerType::get(
                   type->getContext(),
                   unsigned(PowerOf2Ceil(std::max<uint64_t>(type->getIntegerBitWidth(), 8))))
             : type;
}

/// Calls `visit` for each value of a partial: real and imaginary parts, then the flag.
static void forEachValue(Partial &partial, function_ref<void(Value *&)> visit) {
  for (Lanes &value : partial.values) {
    visit(value.value);
    if (value.imag)
      visit(value.imag);
  }
  if (partial.valid)
    visit(partial.valid);
}

/// The buffers of an exchange: one for each value of a partial, because their types differ. For
/// each partial, a buffer has one row per warp, with one element per lane that holds a distinct
/// value.
struct KernelEmitter::WarpExchange {
  KernelEmitter &emitter;
  SmallVector<Type *> types;
  SmallVector<SharedMemory::Buffer> buffers;
  Value *place = nullptr; // this lane's element of a row
  int64_t places = 1;     // elements of a row

  /// The address at which `warp` stores value `slot` of its partial result with index `item`.
  Value *addressOf(size_t slot, size_t item, Value *warp) {
    IRBuilder<> &ir = emitter.b.ir;
    const auto bytes = int64_t(types[slot]->getPrimitiveSizeInBits() / 8);
    Value *index = ir.CreateAdd(ir.CreateMul(warp, emitter.i32(places)), place);
    Value *base =
        emitter.shared.address(buffers[slot], int64_t(item) * emitter.warpCount() * places * bytes);
    return ir.CreateGEP(types[slot], base, ir.CreateZExt(index, ir.getInt64Ty()));
  }
  void write(Partial partial, size_t item, Value *warp, Value *isOwner) {
    size_t slot = 0;
    forEachValue(partial, [&](Value *&value) {
      if (value->getType()->isIntegerTy())
        value = emitter.b.ir.CreateZExt(value, types[slot]);
      storeParts(emitter.b.ir, {value}, addressOf(slot, item, warp), isOwner);
      ++slot;
    });
  }
  /// Reads a partial with values of the same types as `like`.
  Partial read(const Partial &like, size_t item, Value *warp) {
    Partial got = like;
    size_t slot = 0;
    forEachValue(got, [&](Value *&value) {
      Type *type = value->getType();
      value = emitter.b.ir.CreateAlignedLoad(types[slot], addressOf(slot, item, warp),
                                             Align(types[slot]->getPrimitiveSizeInBits() / 8));
      if (type->isIntegerTy())
        value = emitter.b.ir.CreateTrunc(value, type);
      ++slot;
    });
    return got;
  }
};

SmallVector<SmallVector<Partial>> KernelEmitter::exchangeWarps(ArrayRef<Partial> mine,
                                                               ArrayRef<sm::IndexTerm> warpDigits,
                                                               ArrayRef<sm::IndexTerm> laneDigits,
                                                               mlir::Operation *user) {
  IRBuilder<> &ir = b.ir;
  WarpExchange exchange{.emitter = *this, .types = {}, .buffers = {}, .place = i32(0)};
  Value *owner = i32(0); // the lane that writes this lane's element
  for (const sm::IndexTerm &term : laneDigits) {
    Value *digit = digitOf(term);
    exchange.place = ir.CreateAdd(exchange.place, ir.CreateMul(digit, i32(exchange.places)));
    owner = ir.CreateAdd(owner, ir.CreateMul(digit, i32(term.stride)));
    exchange.places *= term.size;
  }
  Value *isOwner =
      exchange.places == Chip::warpSize ? nullptr : ir.CreateICmpEQ(axis(Axis::lane), owner);
  Value *warp = axis(Axis::warp);
  Value *others = warp; // this warp's id with `warpDigits` zeroed
  int64_t combinations = 1;
  for (const sm::IndexTerm &term : warpDigits) {
    others = ir.CreateSub(others, ir.CreateMul(digitOf(term), i32(term.stride)));
    combinations *= term.size;
  }

  SmallVector<Partial> own(mine);
  if (any_of(mine, [](const Partial &partial) { return partial.valid; }))
    for (Partial &partial : own)
      partial.valid = partial.valid ? partial.valid : ir.getTrue();
  forEachValue(own[0],
               [&](Value *&value) { exchange.types.push_back(exchangeType(value->getType())); });
  for (Type *type : exchange.types)
    exchange.buffers.push_back(shared.allocate(int64_t(own.size()) * warpCount() * exchange.places *
                                                   int64_t(type->getPrimitiveSizeInBits() / 8),
                                               16, user));
  beginSharedWrites();
  for (auto [item, partial] : enumerate(own))
    exchange.write(partial, item, warp, isOwner);
  beginSharedReads();
  SmallVector<SmallVector<Partial>> result(own.size());
  for (int64_t combination = 0; combination < combinations; ++combination) {
    int64_t rest = combination, offset = 0;
    for (const sm::IndexTerm &term : warpDigits) {
      offset += rest % term.size * term.stride;
      rest /= term.size;
    }
    Value *from = ir.CreateAdd(others, i32(offset));
    for (auto [item, partial] : enumerate(own))
      result[item].push_back(exchange.read(partial, item, from));
  }
  for (const SharedMemory::Buffer &buffer : exchange.buffers)
    shared.release(buffer);
  return result;
}

} // namespace tilewright::nvptx
