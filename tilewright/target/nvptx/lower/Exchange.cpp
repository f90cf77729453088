// Exchanges values between the warps of a CTA: barriers, and partial results through shared memory.
#include "tilewright/target/nvptx/lower/KernelEmitter.h"

#include "tilewright/target/nvptx/lower/MemoryAccess.h"

using namespace llvm;

namespace tilewright::nvptx {

using sm::Axis;

void KernelEmitter::barrier() {
  // Barrier 0 belongs to the whole CTA; each role has its own.
  if (currentRole)
    b.intrinsic({}, "llvm.nvvm.barrier.cta.sync.aligned.count",
                {i32(1 + firstWarp / 4), i32(warpCount() * Chip::warpSize)});
  else
    b.intrinsic({}, "llvm.nvvm.barrier.cta.sync.aligned.all", {b.i32(0)});
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
static Type exchangeType(Type type) {
  // Round the width of integers up to a power of two of at least 8 bits.
  return type.isInteger()
             ? mlir::IntegerType::get(type.getContext(),
                                      unsigned(PowerOf2Ceil(std::max<uint64_t>(bitsOf(type), 8))))
             : type;
}

/// Calls `visit` for each value of a partial: real and imaginary parts, then the flag.
static void forEachValue(Partial &partial, function_ref<void(Value &)> visit) {
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
  ThreadBuilder &b = emitter.b;
  SmallVector<Type> types;
  SmallVector<SharedMemory::Buffer> buffers;
  Value place = nullptr; // this lane's element of a row
  int64_t places = 1;    // elements of a row

  /// The address at which `warp` stores value `slot` of its partial result with index `item`.
  Value addressOf(size_t slot, size_t item, Value warp) {
    const auto bytes = int64_t(bitsOf(types[slot]) / 8);
    Value index = b.add(b.mul(warp, emitter.i32(places)), place);
    Value base =
        emitter.shared.address(buffers[slot], int64_t(item) * emitter.warpCount() * places * bytes);
    return b.elementOf(base, types[slot], b.zext(index, b.i64Type));
  }
  void write(Partial partial, size_t item, Value warp, Value isOwner) {
    size_t slot = 0;
    forEachValue(partial, [&](Value &value) {
      if (value.getType().isInteger())
        value = emitter.b.zext(value, types[slot]);
      storeParts(emitter.b, {value}, addressOf(slot, item, warp), isOwner);
      ++slot;
    });
  }
  /// Reads a partial with values of the same types as `like`.
  Partial read(const Partial &like, size_t item, Value warp) {
    Partial got = like;
    size_t slot = 0;
    forEachValue(got, [&](Value &value) {
      Type type = value.getType();
      value = emitter.b.load(types[slot], addressOf(slot, item, warp), bitsOf(types[slot]) / 8);
      if (type.isInteger())
        value = emitter.b.trunc(value, type);
      ++slot;
    });
    return got;
  }
};

SmallVector<SmallVector<Partial>> KernelEmitter::exchangeWarps(ArrayRef<Partial> mine,
                                                               ArrayRef<sm::IndexTerm> warpDigits,
                                                               ArrayRef<sm::IndexTerm> laneDigits,
                                                               mlir::Operation *user) {
  WarpExchange exchange{.emitter = *this, .types = {}, .buffers = {}, .place = i32(0)};
  Value owner = i32(0); // the lane that writes this lane's element
  for (const sm::IndexTerm &term : laneDigits) {
    Value digit = digitOf(term);
    exchange.place = b.add(exchange.place, b.mul(digit, i32(exchange.places)));
    owner = b.add(owner, b.mul(digit, i32(term.stride)));
    exchange.places *= term.size;
  }
  Value isOwner = exchange.places == Chip::warpSize ? nullptr : b.equal(axis(Axis::lane), owner);
  Value warp = axis(Axis::warp);
  Value others = warp; // this warp's id with `warpDigits` zeroed
  int64_t combinations = 1;
  for (const sm::IndexTerm &term : warpDigits) {
    others = b.sub(others, b.mul(digitOf(term), i32(term.stride)));
    combinations *= term.size;
  }

  SmallVector<Partial> own(mine);
  if (any_of(mine, [](const Partial &partial) { return partial.valid; }))
    for (Partial &partial : own)
      partial.valid = partial.valid ? partial.valid : b.truth(true);
  forEachValue(own[0],
               [&](Value &value) { exchange.types.push_back(exchangeType(value.getType())); });
  for (Type type : exchange.types)
    exchange.buffers.push_back(shared.allocate(
        int64_t(own.size()) * warpCount() * exchange.places * int64_t(bitsOf(type) / 8), 16, user));
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
    Value from = b.add(others, i32(offset));
    for (auto [item, partial] : enumerate(own))
      result[item].push_back(exchange.read(partial, item, from));
  }
  for (const SharedMemory::Buffer &buffer : exchange.buffers)
    shared.release(buffer);
  return result;
}

} // namespace tilewright::nvptx
