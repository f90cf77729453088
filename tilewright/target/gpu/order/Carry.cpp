// tile.carry by decoupled look-back. Each point tells the later ones its tile, then reads what
// earlier points have told, back to one that already knows the combination of all before it, and
// tells its own combination. If the point just before is that far, it does only the last. A word
// has a value and how far it is complete, so a point that sees the one sees the other, without
// fences. A thread looks back for each of its elements; for a single element, each
// lane of a warp looks at another point.
#include "tilewright/target/gpu/order/Order.h"

#include "tilewright/target/gpu/KernelLowering.h"
#include "tilewright/target/gpu/thread/MemoryAccess.h"
#include "tilewright/target/gpu/thread/Shuffle.h"

#include <set>

using namespace llvm;

namespace tilewright::gpu {

Value OrderLowering::elementOf(const ThreadLayout &threads, ArrayRef<int64_t> shape, unsigned reg) {
  Value element = b.i32(0);
  for (auto [dim, stride] : enumerate(rowMajor(shape))) {
    Value index = b.i32(threads.constant(dim, reg));
    if (threads.base[dim])
      index = b.add(threads.base[dim], index);
    element = b.add(element, b.mul(index, b.i32(stride)));
  }
  return element;
}

Value OrderLowering::isOwner(const ThreadLayout &threads, ArrayRef<int64_t> shape, unsigned reg) {
  Value isOn = isInside(b, threads, StridedView{}, shape, reg);
  if (threads.isFirst)
    isOn = isOn ? b.bitAnd(isOn, threads.isFirst) : threads.isFirst;
  return isOn;
}

Value OrderLowering::ticket(tile::CarryOp op) {
  SharedMemory::Buffer buffer = kernel.shared.allocate(4, 16, op);
  Block *first = b.newBlock(), *all = b.newBlock();
  b.branchIf(b.equal(kernel.thread, b.i32(0)), first, all);
  b.moveTo(first);
  Value counter = b.ptrToInt(kernel.memory.lookup(op.getState()), b.i64Type);
  const int64_t offset = int64_t(op.getEpoch()) * (op.getNarrow() ? 4 : 8);
  Value number = b.machine.fetchAdd(b, counter, offset, 1);
  b.store(number, kernel.shared.address(buffer));
  b.branch(all);
  b.moveTo(all);
  kernel.beginSharedReads();
  Value mine = b.load(b.i32Type, kernel.shared.address(buffer));
  kernel.shared.release(buffer);
  return mine;
}

/// The words of one carry.
struct OrderLowering::LookBack {
  OrderLowering &group;
  tile::CarryOp op;
  ThreadBuilder &b;
  KernelState &kernel;
  mlir::RankedTensorType type;
  Type element;
  const bool isNarrow, isDouble; // words of 32 bits; two words for an element
  /// How complete a value is: it includes only the point itself, or also all points before it.
  /// Smaller numbers are from an earlier epoch.
  const int64_t own, complete;
  Value place;      // the last coordinate
  Value first;      // the number of the point's first word, i64
  int64_t distance; // from a point's words to those of the next, in bytes

  LookBack(OrderLowering &group, tile::CarryOp op)
      : group(group), op(op), b(group.b), kernel(group.kernel),
        type(cast<mlir::RankedTensorType>(op.getInput().getType())), element(type.getElementType()),
        isNarrow(op.getNarrow()), isDouble(bitsOf(element) == 64),
        own(2 * int64_t(op.getEpoch()) + 1), complete(own + 1) {
    Value point = b.i64(0);
    for (auto [coordinate, size] : zip_equal(kernel.op.getCoordinates(), kernel.op.getGrid()))
      point = b.add(b.mul(point, b.i64(size)), kernel.scalars.lookup(coordinate).value);
    place = kernel.scalars.lookup(kernel.op.getCoordinates().back()).value;
    const int64_t words = type.getNumElements() * (isDouble ? 2 : 1);
    first = b.add(b.mul(point, b.i64(words)), b.i64(tile::CarryOp::header));
    distance = words * bytes();
  }

  int64_t bytes() const { return isNarrow ? 4 : 8; }
  /// The address of this point's word for an element.
  Value addressOf(Value elementNumber) {
    Value word = b.zext(elementNumber, b.i64Type);
    if (isDouble)
      word = b.add(word, word);
    Value base = b.ptrToInt(kernel.memory.lookup(op.getState()), b.i64Type);
    return b.add(base, b.mul(b.add(first, word), b.i64(bytes())));
  }

  void tell(Value address, Value value, int64_t state, Value isOn) {
    if (isNarrow) {
      Value word = b.bitOr(value, b.i32(int32_t(uint32_t(state) << 28)));
      b.machine.storeRelaxedIf(b, isOn, word, address, 0);
      return;
    }
    Value wide = b.zextOrTrunc(value, b.i64Type), flag = b.i64(state << 32);
    Value low = isDouble ? b.bitAnd(wide, b.i64(0xFFFFFFFF)) : wide;
    b.machine.storeRelaxedIf(b, isOn, b.bitOr(low, flag), address, 0);
    if (isDouble)
      b.machine.storeRelaxedIf(b, isOn, b.bitOr(b.lshr(wide, b.i64(32)), flag), address, 8);
  }

  /// The value at an address, and how complete it is (i32; less than `own` if there is none).
  std::pair<Value, Value> hear(Value address) {
    if (isNarrow) {
      Value word = b.machine.loadRelaxed(b, b.i32Type, address, 0);
      return {b.bitAnd(word, b.i32(0x0FFFFFFF)), b.lshr(word, b.i32(28))};
    }
    auto word = [&](int64_t offset) {
      return b.machine.loadRelaxed(b, b.i64Type, address, offset);
    };
    auto stateOf = [&](Value word) { return b.trunc(b.lshr(word, b.i64(32)), b.i32Type); };
    Value low = word(0);
    if (!isDouble)
      return {b.zextOrTrunc(low, element), stateOf(low)};
    Value high = word(8), same = b.equal(stateOf(low), stateOf(high));
    return {b.bitOr(b.bitAnd(low, b.i64(0xFFFFFFFF)), b.shl(high, b.i64(32))),
            b.select(same, stateOf(low), b.i32(0))};
  }

  Value combine(Value before, Value after) {
    return b.apply(op.getCombiner().front(), {Lanes{before}, Lanes{after}}).front().value;
  }

  /// Publishes the value of an element whose word is at `address`. If the previous point is
  /// complete already, this one is complete at once. Returns the combination of all previous
  /// points.
  Value lookBack(Value address, Value mine, Value isOn, Value init) {
    Block *glance = b.newBlock(), *talk = b.newBlock();
    Block *look = b.newBlock({b.i64Type, element, b.i1Type}), *after = b.newBlock({element});
    Value before = b.sub(address, b.i64(distance));
    b.branchIf(isOn, glance, after, {}, {init});
    b.moveTo(glance);
    auto [known, how] = hear(before);
    b.branchIf(b.equal(how, b.i32(complete)), after, talk, {known}, {});
    b.moveTo(talk);
    tell(address, mine, own, b.truth(true));
    b.branch(look, {before, b.zero(element), b.truth(false)});
    b.moveTo(look);
    Value from = look->getArgument(0), sum = look->getArgument(1), hasSum = look->getArgument(2);
    auto [value, state] = hear(from);
    Value isThere = b.unsignedAtLeast(state, b.i32(own));
    Value next = b.select(hasSum, combine(value, sum), value);
    b.branchIf(b.equal(state, b.i32(complete)), after, look, {next},
               {b.select(isThere, b.sub(from, b.i64(distance)), from), b.select(isThere, next, sum),
                b.bitOr(hasSum, isThere)});
    b.moveTo(after);
    return after->getArgument(0);
  }

  Tile run();
  Value lookBackByWarp(Value address, Value mine, Value init);
  Tile runByWarp();
};

/// The same for one element, by the lanes of a warp, each of which reads another earlier point. All
/// lanes return the combination of all previous points.
Value OrderLowering::LookBack::lookBackByWarp(Value address, Value mine, Value init) {
  Value lane = kernel.axis(sm::Axis::lane), isFirstLane = b.equal(lane, b.i32(0));
  const Type mask = b.intType(unsigned(kernel.warpSize()));
  Value none = b.integer(mask, 0), one = b.integer(mask, 1);
  tell(address, mine, own, isFirstLane);
  Block *look = b.newBlock({b.i64Type, element, b.i1Type}), *after = b.newBlock({element});
  b.branch(look, {b.i64(1), b.zero(element), b.truth(false)});
  b.moveTo(look);
  Value nearest = look->getArgument(0), sum = look->getArgument(1), hasSum = look->getArgument(2);
  // The distance of the point that the lane reads. `init` comes before the first point.
  Value back = b.add(nearest, b.zext(lane, b.i64Type));
  Value exists = b.unsignedAtLeast(place, back);
  Value from = b.sub(address, b.mul(back, b.i64(distance)));
  auto [heard, how] = hear(b.select(exists, from, address));
  Value state = b.select(exists, how, b.i32(complete)), value = b.select(exists, heard, init);
  Value ended = b.machine.ballot(b, b.equal(state, b.i32(complete)));
  Value missing = b.machine.ballot(b, b.unsignedLess(state, b.i32(own)));
  // The lanes up to the first that is complete.
  Value lowest = b.bitAnd(ended, b.sub(none, ended)), hasEnd = b.notEqual(ended, none);
  Value needed = b.select(hasEnd, b.bitOr(lowest, b.sub(lowest, one)), b.integer(mask, -1));
  Value isReady = b.equal(b.bitAnd(missing, needed), none);
  for (int64_t step = 1; step < kernel.warpSize(); step *= 2) {
    Value other = b.add(lane, b.i32(step));
    Value inWarp = b.bitAnd(other, b.i32(kernel.warpSize() - 1));
    Value got = shuffleFrom(b, value, inWarp);
    Value takes = b.bitAnd(b.unsignedLess(other, b.i32(kernel.warpSize())),
                           b.notEqual(b.bitAnd(needed, b.shl(one, b.zext(inWarp, mask))), none));
    value = b.select(takes, combine(got, value), value); // higher lanes are earlier points
  }
  value = shuffleFrom(b, value, b.i32(0));
  Value next = b.select(hasSum, combine(value, sum), value);
  b.branchIf(b.bitAnd(isReady, hasEnd), after, look, {next},
             {b.select(isReady, b.add(nearest, b.i64(kernel.warpSize())), nearest),
              b.select(isReady, next, sum), b.bitOr(hasSum, isReady)});
  b.moveTo(after);
  tell(address, combine(after->getArgument(0), mine), complete, isFirstLane);
  return after->getArgument(0);
}

Tile OrderLowering::LookBack::runByWarp() {
  const ThreadLayout &threads = kernel.threadsOf(type);
  ArrayRef<int64_t> shape = type.getShape();
  Value init = kernel.scalars.lookup(op.getInit()).value;
  SharedMemory::Buffer buffer = kernel.shared.allocate(lanes::storageBytes(element), 16, op);
  kernel.beginSharedWrites();
  Block *first = b.newBlock(), *all = b.newBlock();
  b.branchIf(b.equal(kernel.axis(sm::Axis::warp), b.i32(0)), first, all);
  b.moveTo(first);
  // Every thread has the element.
  Value before = lookBackByWarp(addressOf(b.i32(0)), kernel.tiles[op.getInput()][0].value, init);
  storeParts(b, {b.encode(before, element)}, kernel.shared.address(buffer),
             b.equal(kernel.thread, b.i32(0)));
  b.branch(all);
  b.moveTo(all);
  kernel.beginSharedReads();
  Tile result = group.all.memory.loadTile(
      threads, {kernel.shared.address(buffer), element, rowMajor(shape)}, shape, {});
  kernel.shared.release(buffer);
  return result;
}

Tile OrderLowering::LookBack::run() {
  const ThreadLayout &threads = kernel.threadsOf(type);
  ArrayRef<int64_t> shape = type.getShape();
  const Tile &input = kernel.tiles[op.getInput()];
  Value init = kernel.scalars.lookup(op.getInit()).value;
  Value isFirstPoint = b.equal(place, b.i64(0));
  struct Mine {
    unsigned reg;
    Value address, isOn;
  };
  SmallVector<Mine> mine;
  std::set<std::vector<int64_t>> done;
  for (unsigned reg = 0; reg < threads.registers(); ++reg) {
    if (threads.isDead(reg, shape) || !done.insert(threads.constants(reg)).second)
      continue;
    Value isOn = group.isOwner(threads, shape, reg);
    mine.push_back(
        {reg, addressOf(group.elementOf(threads, shape, reg)), isOn ? isOn : b.truth(true)});
  }
  SharedMemory::Buffer buffer =
      kernel.shared.allocate(type.getNumElements() * lanes::storageBytes(element), 16, op);
  kernel.beginSharedWrites();
  for (const Mine &each : mine) {
    Value waits = b.bitAnd(each.isOn, b.bitXor(isFirstPoint, b.truth(true)));
    Value own = input[each.reg].value, before = lookBack(each.address, own, waits, init);
    tell(each.address, combine(before, own), complete, each.isOn);
    Value bytes =
        b.mul(group.elementOf(threads, shape, each.reg), b.i32(lanes::storageBytes(element)));
    storeParts(b, {b.encode(before, element)},
               b.advance(kernel.shared.address(buffer), b.zext(bytes, b.i64Type)), each.isOn);
  }
  kernel.beginSharedReads();
  Tile result = group.all.memory.loadTile(
      threads, {kernel.shared.address(buffer), element, rowMajor(shape)}, shape, {});
  kernel.shared.release(buffer);
  return result;
}

void OrderLowering::carry(tile::CarryOp op) {
  if (op->getParentOp() != kernel.op)
    return kernel.refuse(op, "is in a loop, a branch or a role");
  LookBack words(*this, op);
  kernel.tiles[op.getResult()] = words.type.getNumElements() == 1 ? words.runByWarp() : words.run();
}

} // namespace tilewright::gpu
