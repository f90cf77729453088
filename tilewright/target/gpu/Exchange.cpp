// Exchanges values between the warps of a CTA: barriers, and partial results through shared memory.
#include "tilewright/target/gpu/KernelLowering.h"

#include "tilewright/target/gpu/thread/MemoryAccess.h"

using namespace llvm;

namespace tilewright::gpu {

using sm::Axis;

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
struct ReductionsLowering::WarpExchange {
  ReductionsLowering &group;
  ThreadBuilder &b = group.b;
  SmallVector<Type> types;
  SmallVector<SharedMemory::Buffer> buffers;
  Value place = nullptr; // this lane's element of a row
  int64_t places = 1;    // elements of a row

  /// The address at which `warp` stores value `slot` of its partial result with index `item`.
  Value addressOf(size_t slot, size_t item, Value warp) {
    const auto bytes = int64_t(bitsOf(types[slot]) / 8);
    Value index = b.add(b.mul(warp, group.b.i32(places)), place);
    Value base = group.kernel.shared.address(
        buffers[slot], int64_t(item) * group.kernel.warpCount() * places * bytes);
    return b.elementOf(base, types[slot], b.zext(index, b.i64Type));
  }
  void write(Partial partial, size_t item, Value warp, Value isOwner) {
    size_t slot = 0;
    forEachValue(partial, [&](Value &value) {
      if (value.getType().isInteger())
        value = group.b.zext(value, types[slot]);
      storeParts(group.b, {value}, addressOf(slot, item, warp), isOwner);
      ++slot;
    });
  }
  /// Reads a partial with values of the same types as `like`.
  Partial read(const Partial &like, size_t item, Value warp) {
    Partial got = like;
    size_t slot = 0;
    forEachValue(got, [&](Value &value) {
      Type type = value.getType();
      value = group.b.load(types[slot], addressOf(slot, item, warp), bitsOf(types[slot]) / 8);
      if (type.isInteger())
        value = group.b.trunc(value, type);
      ++slot;
    });
    return got;
  }
};

SmallVector<SmallVector<Partial>>
ReductionsLowering::exchangeWarps(ArrayRef<Partial> mine, ArrayRef<sm::IndexTerm> warpDigits,
                                  ArrayRef<sm::IndexTerm> laneDigits, mlir::Operation *user) {
  WarpExchange exchange{.group = *this, .types = {}, .buffers = {}, .place = b.i32(0)};
  Value owner = b.i32(0); // the lane that writes this lane's element
  for (const sm::IndexTerm &term : laneDigits) {
    Value digit = kernel.digitOf(term);
    exchange.place = b.add(exchange.place, b.mul(digit, b.i32(exchange.places)));
    owner = b.add(owner, b.mul(digit, b.i32(term.stride)));
    exchange.places *= term.size;
  }
  Value isOwner =
      exchange.places == kernel.warpSize() ? nullptr : b.equal(kernel.axis(Axis::lane), owner);
  Value warp = kernel.axis(Axis::warp);
  Value others = warp; // this warp's id with `warpDigits` zeroed
  int64_t combinations = 1;
  for (const sm::IndexTerm &term : warpDigits) {
    others = b.sub(others, b.mul(kernel.digitOf(term), b.i32(term.stride)));
    combinations *= term.size;
  }

  SmallVector<Partial> own(mine);
  if (any_of(mine, [](const Partial &partial) { return partial.valid; }))
    for (Partial &partial : own)
      partial.valid = partial.valid ? partial.valid : b.truth(true);
  forEachValue(own[0],
               [&](Value &value) { exchange.types.push_back(exchangeType(value.getType())); });
  for (Type type : exchange.types)
    exchange.buffers.push_back(kernel.shared.allocate(
        int64_t(own.size()) * kernel.warpCount() * exchange.places * int64_t(bitsOf(type) / 8), 16,
        user));
  kernel.beginSharedWrites();
  for (auto [item, partial] : enumerate(own))
    exchange.write(partial, item, warp, isOwner);
  kernel.beginSharedReads();
  SmallVector<SmallVector<Partial>> result(own.size());
  for (int64_t combination = 0; combination < combinations; ++combination) {
    int64_t rest = combination, offset = 0;
    for (const sm::IndexTerm &term : warpDigits) {
      offset += rest % term.size * term.stride;
      rest /= term.size;
    }
    Value from = b.add(others, b.i32(offset));
    for (auto [item, partial] : enumerate(own))
      result[item].push_back(exchange.read(partial, item, from));
  }
  for (const SharedMemory::Buffer &buffer : exchange.buffers)
    kernel.shared.release(buffer);
  return result;
}

} // namespace tilewright::gpu
