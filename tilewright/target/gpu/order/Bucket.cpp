// tile.bucket: a counting sort. Each warp counts its elements by digit, in order, 32 at a time:
// lanes with the same digit find each other. The sums of all warps' counts, ordered by digit and
// then by warp, determine where each element goes. Also tile.take, which reads elements of a tile
// in shared memory.
#include "tilewright/target/gpu/order/Order.h"

#include "tilewright/support/Concat.h"
#include "tilewright/target/gpu/KernelLowering.h"
#include "tilewright/target/gpu/thread/MemoryAccess.h"
#include "tilewright/target/gpu/thread/Shuffle.h"

using namespace llvm;

namespace tilewright::gpu {

using sm::Axis;

struct OrderLowering::Buckets {
  OrderLowering &group;
  tile::BucketOp op;
  ThreadBuilder &b;
  KernelState &kernel;
  mlir::RankedTensorType type;
  const ThreadLayout &threads;
  ArrayRef<int64_t> shape;
  const int64_t length, bins, warps;
  const int64_t perWarp;   // consecutive elements of each warp
  const int64_t perThread; // consecutive bins of each thread that has any
  Value lane, warp, count;
  /// For each element: its digit and, in the upper half, the number of elements of its warp with
  /// the same digit that precede it. For each warp and bin: the number of its elements (u16). For
  /// each bin: where it begins.
  SharedMemory::Buffer elements, counters, starts;

  Buckets(OrderLowering &group, tile::BucketOp op)
      : group(group), op(op), b(group.b), kernel(group.kernel),
        type(cast<mlir::RankedTensorType>(op.getDigits().getType())),
        threads(group.kernel.threadsOf(type)), shape(type.getShape()), length(shape.back()),
        bins(cast<mlir::RankedTensorType>(op.getStarts().getType()).getShape().back()),
        warps(group.kernel.warpCount()), perWarp(length / warps),
        perThread(std::max<int64_t>(1, bins / kernel.threadCount())) {}

  bool isSupported() const {
    return length % kernel.threadCount() == 0 && length <= 65536 && bins <= 65536 &&
           bins % perThread == 0 && bins % 2 == 0;
  }

  Value at(const SharedMemory::Buffer &buffer, Value index, int64_t bytes) {
    return b.advance(kernel.shared.address(buffer), b.zext(b.mul(index, b.i32(bytes)), b.i64Type));
  }
  Value counterOf(Value warpNumber, Value bin) {
    return at(counters, b.add(b.mul(warpNumber, b.i32(bins)), bin), 2);
  }
  Value loadCount(Value address) { return b.zext(b.load(b.i16Type, address), b.i32Type); }
  void storeCount(Value value, Value address, Value isOn) {
    storeParts(b, {b.trunc(value, b.i16Type)}, address, isOn);
  }
  /// Emits a loop over the numbers 0, 1, … below `limit`.
  void loop(int64_t limit, function_ref<void(Value)> body) {
    Block *inside = b.newBlock({b.i32Type}), *after = b.newBlock();
    b.branch(inside, {b.i32(0)});
    b.moveTo(inside);
    Value number = inside->getArgument(0);
    body(number);
    Value next = b.add(number, b.i32(1));
    b.branchIf(b.less(next, b.i32(limit)), inside, after, {next}, {});
    b.moveTo(after);
  }

  void write();
  void rank();
  void sumUp();
  SmallVector<Value> places();
  void move(ArrayRef<Value> places);
  void run();
};

/// Write the digits to shared memory, and zeros to the counters.
void OrderLowering::Buckets::write() {
  elements = kernel.shared.allocate(length * 4, 16, op);
  counters = kernel.shared.allocate(warps * bins * 2, 16, op);
  starts = kernel.shared.allocate(bins * 4, 16, op);
  kernel.beginSharedWrites();
  group.all.memory.storeTile(kernel.tiles[op.getDigits()], threads,
                             {kernel.shared.address(elements), b.i32Type, rowMajor(shape)}, shape);
  const int64_t words = warps * bins / 2, threadCount = kernel.threadCount();
  loop(int64_t(divideCeil(uint64_t(words), uint64_t(threadCount))), [&](Value number) {
    Value word = b.add(b.mul(number, b.i32(threadCount)), kernel.thread);
    Value isOn = words % threadCount == 0 ? Value() : b.unsignedLess(word, b.i32(words));
    storeParts(b, {b.i32(0)}, at(counters, word, 4), isOn);
  });
  kernel.beginSharedReads();
}

void OrderLowering::Buckets::rank() {
  const Type mask = b.intType(unsigned(kernel.warpSize()));
  Value one = b.integer(mask, 1);
  Value before = b.sub(b.shl(one, b.zext(lane, mask)), one); // the lanes below
  // Elements that do not take part get an extra digit, which needs one more bit.
  const int64_t bits = Log2_64_Ceil(uint64_t(bins)) + (count ? 1 : 0);
  auto countOf = [&](Value lanes) {
    return b.trunc(b.intrinsic(mask, concat("llvm.ctpop.i", kernel.warpSize()), {lanes}),
                   b.i32Type);
  };
  loop(perWarp / kernel.warpSize(), [&](Value number) {
    Value element =
        b.add(b.mul(warp, b.i32(perWarp)), b.add(b.mul(number, b.i32(kernel.warpSize())), lane));
    Value digit = b.load(b.i32Type, at(elements, element, 4));
    Value isOn = count ? b.less(element, count) : b.truth(true);
    Value key = count ? b.select(isOn, digit, b.i32(-1)) : digit;
    Value peers = b.machine.lanesWithKey(b, key, bits);
    Value ahead = countOf(b.bitAnd(peers, before));
    Value address = counterOf(warp, count ? b.select(isOn, digit, b.i32(0)) : digit);
    Value known = loadCount(address);
    Value place = b.add(known, ahead);
    storeParts(b, {b.bitOr(b.shl(place, b.i32(16)), digit)}, at(elements, element, 4), isOn);
    // Wait until all lanes have read their counters, before the first lane of each digit changes
    // its counter.
    b.machine.warpBarrier(b);
    Value total = b.add(known, countOf(peers));
    storeCount(total, address, b.bitAnd(isOn, b.equal(ahead, b.i32(0))));
    b.machine.warpBarrier(b);
  });
}

/// Replaces each counter by the position at which the elements of its warp and bin begin.
void OrderLowering::Buckets::sumUp() {
  Value first = b.mul(kernel.thread, b.i32(perThread));
  Value isOn =
      perThread * kernel.threadCount() == bins ? Value() : b.unsignedLess(first, b.i32(bins));
  Value safe = isOn ? b.select(isOn, first, b.i32(0)) : first;
  kernel.beginSharedReads();
  SmallVector<Value> totals;
  Value sum = b.i32(0);
  for (int64_t k = 0; k < perThread; ++k) {
    Value total = b.i32(0);
    for (int64_t w = 0; w < warps; ++w)
      total = b.add(total, loadCount(counterOf(b.i32(w), b.add(safe, b.i32(k)))));
    totals.push_back(total);
    sum = b.add(sum, total);
  }
  if (isOn)
    sum = b.select(isOn, sum, b.i32(0));
  // The sum over all previous threads: by shuffles within a warp, through shared memory between
  // warps.
  Value upTo = sum;
  for (int64_t step = 1; step < kernel.warpSize(); step *= 2) {
    Value from = b.bitAnd(b.sub(lane, b.i32(step)), b.i32(kernel.warpSize() - 1));
    Value got = shuffleFrom(b, upTo, from);
    upTo = b.add(upTo, b.select(b.unsignedAtLeast(lane, b.i32(step)), got, b.i32(0)));
  }
  SharedMemory::Buffer ofWarps = kernel.shared.allocate(warps * 4, 16, op);
  storeParts(b, {upTo}, at(ofWarps, warp, 4), b.equal(lane, b.i32(kernel.warpSize() - 1)));
  kernel.beginSharedReads();
  Value base = b.sub(upTo, sum);
  for (int64_t w = 0; w + 1 < warps; ++w) {
    Value other = b.load(b.i32Type, at(ofWarps, b.i32(w), 4));
    base = b.add(base, b.select(b.unsignedMore(warp, b.i32(w)), other, b.i32(0)));
  }
  for (int64_t k = 0; k < perThread; ++k) {
    Value bin = b.add(safe, b.i32(k)), running = base;
    storeParts(b, {base}, at(starts, bin, 4), isOn);
    for (int64_t w = 0; w < warps; ++w) {
      // Threads without bins must not read the bins of the first thread, which writes them here.
      Value address = counterOf(b.i32(w), bin);
      Value own = loadParts(b, b.i16Type, 1, address, isOn, {b.zero(b.i16Type)})[0];
      storeCount(running, address, isOn);
      running = b.add(running, b.zext(own, b.i32Type));
    }
    base = b.add(base, totals[size_t(k)]);
  }
  kernel.beginSharedReads();
  kernel.shared.release(ofWarps);
}

/// For each register, where its element goes.
SmallVector<Value> OrderLowering::Buckets::places() {
  SmallVector<Value> places;
  for (unsigned reg = 0; reg < threads.registers(); ++reg) {
    Value element = group.elementOf(threads, shape, reg);
    Value packed = b.load(b.i32Type, at(elements, element, 4));
    Value digit = b.bitAnd(packed, b.i32(0xFFFF)), ahead = b.lshr(packed, b.i32(16));
    if (count)
      digit = b.select(b.less(element, count), digit, b.i32(0));
    Value begin = loadCount(counterOf(b.udiv(element, b.i32(perWarp)), digit));
    Value place = b.add(begin, ahead);
    places.push_back(count ? b.select(b.less(element, count), place, element) : place);
  }
  return places;
}

void OrderLowering::Buckets::move(ArrayRef<Value> places) {
  for (auto [input, result] : zip_equal(op.getInputs(), op.getResults())) {
    Type element = cast<mlir::RankedTensorType>(input.getType()).getElementType();
    const int64_t bytes = lanes::storageBytes(element);
    SharedMemory::Buffer buffer = kernel.shared.allocate(length * bytes, 16, op);
    kernel.beginSharedWrites();
    const Tile &tile = kernel.tiles[input];
    for (unsigned reg = 0; reg < threads.registers(); ++reg) {
      SmallVector<Value, 2> parts;
      if (tile[reg].imag)
        parts = {tile[reg].value, tile[reg].imag};
      else
        parts = {b.encode(tile[reg].value, element)};
      storeParts(b, parts, at(buffer, places[reg], bytes), threads.isFirst);
    }
    kernel.beginSharedReads();
    kernel.tiles[result] = group.all.memory.loadTile(
        threads, {kernel.shared.address(buffer), element, rowMajor(shape)}, shape, {});
    kernel.shared.release(buffer);
  }
}

void OrderLowering::Buckets::run() {
  lane = kernel.axis(Axis::lane);
  warp = kernel.axis(Axis::warp);
  if (op.getCount())
    count = b.trunc(kernel.scalars.lookup(op.getCount()).value, b.i32Type);
  write();
  rank();
  sumUp();
  auto startsType = cast<mlir::RankedTensorType>(op.getStarts().getType());
  kernel.tiles[op.getStarts()] = group.all.memory.loadTile(
      kernel.threadsOf(startsType),
      {kernel.shared.address(starts), b.i32Type, rowMajor(startsType.getShape())},
      startsType.getShape(), {});
  SmallVector<Value> to = places();
  for (const SharedMemory::Buffer &buffer : {elements, counters, starts})
    kernel.shared.release(buffer);
  move(to);
}

void OrderLowering::bucket(tile::BucketOp op) {
  Buckets buckets(*this, op);
  if (!buckets.isSupported())
    return kernel.refuse(op, "has a length that is not a multiple of its threads, or too many "
                             "elements or bins");
  buckets.run();
}

void OrderLowering::take(tile::TakeOp op) {
  auto source = cast<mlir::RankedTensorType>(op.getSource().getType());
  auto type = cast<mlir::RankedTensorType>(op.getType());
  Type element = source.getElementType(), stored = b.storageType(element);
  const int64_t bytes = lanes::storageBytes(element);
  const unsigned each = b.isComplex(element) ? 2 : 1;
  SharedMemory::Buffer buffer = kernel.shared.allocate(source.getNumElements() * bytes, 16, op);
  kernel.beginSharedWrites();
  all.memory.storeTile(kernel.tiles[op.getSource()], kernel.threadsOf(source),
                       {kernel.shared.address(buffer), element, rowMajor(source.getShape())},
                       source.getShape());
  kernel.beginSharedReads();
  const ThreadLayout &threads = kernel.threadsOf(type);
  const SmallVector<Value, 2> none(each, b.zero(stored));
  Tile result;
  for (unsigned reg = 0; reg < threads.registers(); ++reg) {
    result.push_back(b.poison(element));
    if (threads.isDead(reg, type.getShape()))
      continue;
    Value index = kernel.tiles[op.getIndices()][reg].value;
    Value address =
        b.advance(kernel.shared.address(buffer), b.zext(b.mul(index, b.i32(bytes)), b.i64Type));
    SmallVector<Value> parts = loadParts(
        b, stored, each, address, isInside(b, threads, StridedView{}, type.getShape(), reg), none);
    result.back() = each == 2 ? Lanes{parts[0], parts[1]} : Lanes{b.decode(parts[0], element)};
  }
  kernel.tiles[op.getResult()] = std::move(result);
  kernel.shared.release(buffer);
}

} // namespace tilewright::gpu
