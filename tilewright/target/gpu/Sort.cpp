// A bitonic sorting network in shared memory. The inputs that the comparator reads (the keys) move
// through the network, each with its index before the sort, which decides between equal keys. The
// other inputs are read at that index afterwards.
//
// All stages put the smaller element at the lower index: the first stage of each level compares
// element i of a block with the block's element i from the end, where the usual network would sort
// every second block in reverse. So elements behind the last one would never move, and lengths need
// not be powers of two.
#include "tilewright/target/gpu/Sort.h"

#include "tilewright/target/gpu/KernelLowering.h"
#include "tilewright/target/gpu/thread/MemoryAccess.h"

#include "mlir/IR/TypeUtilities.h"

using namespace llvm;

namespace tilewright::gpu {

struct SortLowering::Network {
  SortLowering &group;
  tile::SortOp op;
  mlir::RankedTensorType type;
  const ThreadLayout &threads;
  ThreadBuilder &b;
  KernelState &kernel;
  ArrayRef<int64_t> shape;
  size_t dim;
  int64_t length;                     // along the dimension
  int64_t stride;                     // between its elements, in elements of the tile
  int64_t rows;                       // that are sorted independently
  unsigned levels;                    // the network has blocks of up to 2^levels elements
  Value count, middle;                // i32, or null
  SmallVector<unsigned> keys, others; // numbers of the inputs
  /// In shared memory, in the tile's order: the keys, then the index of each element before the
  /// sort.
  struct Column {
    Type element, stored;
    unsigned parts; // 2 for complex numbers
    SharedMemory::Buffer buffer;
  };
  SmallVector<Column> columns;

  Network(SortLowering &group, tile::SortOp op)
      : group(group), op(op), type(cast<mlir::RankedTensorType>(op.getInputs().front().getType())),
        threads(group.kernel.threadsOf(type)), b(group.b), kernel(group.kernel),
        shape(type.getShape()), dim(size_t(op.getDim())), length(shape[dim]), stride(1) {
    for (int64_t size : shape.drop_front(dim + 1))
      stride *= size;
    rows = length == 0 ? 0 : type.getNumElements() / length;
    levels = Log2_64_Ceil(uint64_t(std::max<int64_t>(length, 1)));
    auto scalar = [&](Value value) -> Value {
      return value ? b.trunc(kernel.scalars.lookup(value).value, b.i32Type) : Value();
    };
    count = scalar(op.getCount());
    middle = scalar(op.getMerge());
    Block &comparator = op.getComparator().front();
    for (unsigned i = 0; i < op.getInputs().size(); ++i) {
      const bool isKey = !comparator.getArgument(2 * i).use_empty() ||
                         !comparator.getArgument(2 * i + 1).use_empty();
      (isKey ? keys : others).push_back(i);
    }
  }

  Column allocate(Type element) {
    return {element, b.storageType(element), b.isComplex(element) ? 2u : 1u,
            kernel.shared.allocate(type.getNumElements() * lanes::storageBytes(element), 16, op)};
  }
  StridedView viewOf(const Column &column) {
    return {kernel.shared.address(column.buffer), column.element, rowMajor(shape)};
  }
  Value addressOf(const Column &column, Value element) {
    const int64_t bytes = lanes::storageBytes(column.element);
    return b.advance(kernel.shared.address(column.buffer),
                     b.zext(b.mul(element, b.i32(bytes)), b.i64Type));
  }
  Lanes decode(const Column &column, ArrayRef<Value> stored) {
    return column.parts == 2 ? Lanes{stored[0], stored[1]}
                             : Lanes{b.decode(stored[0], column.element)};
  }

  /// The index of a register's element along a dimension (i32).
  Value indexOf(size_t along, unsigned reg) {
    Value constant = b.i32(threads.constant(along, reg));
    return threads.base[along] ? b.add(threads.base[along], constant) : constant;
  }
  /// The element of the tile at `index` along the sorted dimension, in the row of a register.
  Value elementOf(unsigned reg, Value index) {
    Value element = b.mul(index, b.i32(stride));
    const SmallVector<int64_t> strides = rowMajor(shape);
    for (size_t each = 0; each < shape.size(); ++each)
      if (each != dim)
        element = b.add(element, b.mul(indexOf(each, reg), b.i32(strides[each])));
    return element;
  }
  Value isOn(unsigned reg) { return isInside(b, threads, StridedView{}, shape, reg); }

  void write();
  void writeForMerge(const Column &column, const Tile &tile);
  void run();
  void runStage(Value distance, Value mask);
  struct Pair;
  Pair load(Value number, Value distance, Value mask);
  void exchange(MutableArrayRef<Pair> pairs);
  void read();
  Tile readAt(const Column &column, const Tile &indices);
};

/// Two elements that a stage compares: their numbers in the tile, and their stored values by
/// column.
struct SortLowering::Network::Pair {
  Value isOn; // null if always
  Value low, high;
  SmallVector<SmallVector<Value, 2>> lowValues, highValues;
};

/// Writes a tile such that its two sorted parts are a bitonic sequence: the first part, the
/// elements that are not sorted, and the second part in reverse.
void SortLowering::Network::writeForMerge(const Column &column, const Tile &tile) {
  for (unsigned reg = 0; reg < threads.registers(); ++reg) {
    if (threads.isDead(reg, shape))
      continue;
    Value index = indexOf(dim, reg);
    Value place = b.sub(b.i32(length - 1), b.sub(index, middle));
    if (count)
      place = b.select(b.less(index, count), place, b.add(middle, b.sub(index, count)));
    place = b.select(b.less(index, middle), index, place);
    Value writes = isOn(reg);
    if (threads.isFirst)
      writes = writes ? b.bitAnd(writes, threads.isFirst) : threads.isFirst;
    SmallVector<Value, 2> parts;
    if (tile[reg].imag)
      parts = {tile[reg].value, tile[reg].imag};
    else
      parts = {b.encode(tile[reg].value, column.element)};
    storeParts(b, parts, addressOf(column, elementOf(reg, place)), writes);
  }
}

void SortLowering::Network::write() {
  for (unsigned key : keys)
    columns.push_back(allocate(mlir::getElementTypeOrSelf(op.getInputs()[key])));
  columns.push_back(allocate(b.i16Type));
  Tile indices;
  for (unsigned reg = 0; reg < threads.registers(); ++reg)
    indices.push_back({b.trunc(indexOf(dim, reg), b.i16Type)});
  kernel.beginSharedWrites();
  for (auto [i, column] : enumerate(columns)) {
    const Tile &tile = i < keys.size() ? kernel.tiles[op.getInputs()[keys[i]]] : indices;
    if (middle)
      writeForMerge(column, tile);
    else
      group.all.memory.storeTile(tile, threads, viewOf(column), shape);
  }
  kernel.beginSharedReads();
}

/// Loads pair `number` of a stage. Pairs of one row are consecutive.
SortLowering::Network::Pair SortLowering::Network::load(Value number, Value distance, Value mask) {
  Pair pair;
  const int64_t perRow = int64_t(1) << (levels - 1), all = rows * perRow;
  const int64_t threadCount = kernel.threadCount();
  Value row = rows == 1 ? b.i32(0) : b.lshr(number, b.i32(levels - 1));
  Value inRow = rows == 1 ? number : b.bitAnd(number, b.i32(perRow - 1));
  Value offset = b.bitAnd(inRow, b.sub(distance, b.i32(1)));
  Value low = b.sub(b.add(inRow, inRow), offset), high = b.bitXor(low, mask);
  if (all % (threadCount * std::min<int64_t>(4, divideCeil(all, threadCount))) != 0)
    pair.isOn = b.less(number, b.i32(all));
  if (!middle && (count || length != perRow * 2)) {
    Value fits = b.less(high, count ? count : b.i32(length));
    pair.isOn = pair.isOn ? b.bitAnd(pair.isOn, fits) : fits;
  }
  // The number of rows is the product of the dimensions before the sorted one and those after it.
  Value outer = stride == 1 ? row : b.udiv(row, b.i32(stride));
  Value base = b.mul(outer, b.i32(length * stride));
  if (stride != 1)
    base = b.add(base, b.urem(row, b.i32(stride)));
  pair.low = b.add(base, b.mul(low, b.i32(stride)));
  pair.high = b.add(base, b.mul(high, b.i32(stride)));
  for (const Column &column : columns) {
    const SmallVector<Value, 2> none(column.parts, b.zero(column.stored));
    auto get = [&](Value element) -> SmallVector<Value, 2> {
      return SmallVector<Value, 2>(
          loadParts(b, column.stored, column.parts, addressOf(column, element), pair.isOn, none));
    };
    pair.lowValues.push_back(get(pair.low));
    pair.highValues.push_back(get(pair.high));
  }
  return pair;
}

/// Compares pairs and stores those that are in the wrong order.
void SortLowering::Network::exchange(MutableArrayRef<Pair> pairs) {
  SmallVector<SmallVector<Lanes>> applications;
  for (const Pair &pair : pairs)
    for (const bool highFirst : {true, false}) {
      SmallVector<Lanes> arguments;
      for (Value input : op.getInputs())
        arguments.append(2, b.poison(mlir::getElementTypeOrSelf(input)));
      for (auto [i, key] : enumerate(keys)) {
        Lanes low = decode(columns[i], pair.lowValues[i]),
              high = decode(columns[i], pair.highValues[i]);
        arguments[2 * key] = highFirst ? high : low;
        arguments[2 * key + 1] = highFirst ? low : high;
      }
      applications.push_back(std::move(arguments));
    }
  const auto less = b.applyEach(op.getComparator().front(), applications);
  for (auto [i, pair] : enumerate(pairs)) {
    Value highIsLess = less[2 * i][0].value, lowIsLess = less[2 * i + 1][0].value;
    Value lowIndex = pair.lowValues.back()[0], highIndex = pair.highValues.back()[0];
    Value wasBefore = b.unsignedLess(highIndex, lowIndex);
    Value swaps = b.select(lowIsLess, b.truth(false), wasBefore);
    swaps = b.bitOr(highIsLess, swaps);
    if (middle && count) {
      // Elements that are not sorted come after all others, in their order.
      Value lowIsOut = b.unsignedAtLeast(b.zext(lowIndex, b.i32Type), count);
      Value highIsOut = b.unsignedAtLeast(b.zext(highIndex, b.i32Type), count);
      swaps = b.select(highIsOut, b.bitAnd(lowIsOut, wasBefore), b.bitOr(lowIsOut, swaps));
    }
    if (pair.isOn)
      swaps = b.bitAnd(swaps, pair.isOn);
    for (auto [column, low, high] : zip_equal(columns, pair.lowValues, pair.highValues)) {
      storeParts(b, high, addressOf(column, pair.low), swaps);
      storeParts(b, low, addressOf(column, pair.high), swaps);
    }
  }
}

/// Compares each element with the one at `low ^ mask`, where `low` runs over the lower halves of
/// blocks of twice the distance.
void SortLowering::Network::runStage(Value distance, Value mask) {
  const int64_t threadCount = kernel.threadCount();
  const int64_t all = rows * (int64_t(1) << (levels - 1));
  // Up to four pairs at once, so that their loads overlap.
  const int64_t each = divideCeil(all, threadCount), together = std::min<int64_t>(4, each);
  const int64_t step = together * threadCount;
  auto emit = [&](Value first) {
    SmallVector<Pair> pairs;
    for (int64_t i = 0; i < together; ++i)
      pairs.push_back(load(b.add(first, b.i32(i * threadCount)), distance, mask));
    exchange(pairs);
  };
  if (all <= step)
    return emit(kernel.thread);
  Block *body = b.newBlock({b.i32Type}), *after = b.newBlock();
  b.branch(body, {kernel.thread});
  b.moveTo(body);
  Value first = body->getArgument(0);
  emit(first);
  // The bound is the same for all threads of a CTA, because it counts from the first thread's pair.
  Value next = b.add(first, b.i32(step));
  b.branchIf(b.less(b.sub(next, kernel.thread), b.i32(all)), body, after, {next}, {});
  b.moveTo(after);
}

void SortLowering::Network::run() {
  if (levels == 0 || rows == 0)
    return;
  Block *stage = b.newBlock({b.i32Type, b.i32Type}), *after = b.newBlock();
  const int64_t first = middle ? levels : 1;
  b.branch(stage, {b.i32(first), b.i32(first - 1)});
  b.moveTo(stage);
  Value level = stage->getArgument(0), bit = stage->getArgument(1);
  Value distance = b.shl(b.i32(1), bit), mask = distance;
  if (!middle) {
    Value isFirst = b.equal(b.add(bit, b.i32(1)), level);
    mask = b.select(isFirst, b.sub(b.add(distance, distance), b.i32(1)), distance);
  }
  runStage(distance, mask);
  kernel.barrier();
  Value isLast = b.equal(bit, b.i32(0));
  Value nextLevel = b.select(isLast, b.add(level, b.i32(1)), level);
  Value nextBit = b.select(isLast, level, b.sub(bit, b.i32(1)));
  b.branchIf(b.less(b.i32(levels), nextLevel), after, stage, {}, {nextLevel, nextBit});
  b.moveTo(after);
}

/// The elements of a column at the given indices, in the rows of the registers.
Tile SortLowering::Network::readAt(const Column &column, const Tile &indices) {
  const SmallVector<Value, 2> none(column.parts, b.zero(column.stored));
  Tile tile;
  for (unsigned reg = 0; reg < threads.registers(); ++reg) {
    tile.push_back(b.poison(column.element));
    if (threads.isDead(reg, shape))
      continue;
    Value index = b.zext(indices[reg].value, b.i32Type);
    tile.back() =
        decode(column, loadParts(b, column.stored, column.parts,
                                 addressOf(column, elementOf(reg, index)), isOn(reg), none));
  }
  return tile;
}

void SortLowering::Network::read() {
  for (auto [column, key] : zip(columns, keys))
    kernel.tiles[op.getResult(key)] = group.all.memory.loadTile(threads, viewOf(column), shape, {});
  Tile indices;
  if (!others.empty())
    indices = group.all.memory.loadTile(threads, viewOf(columns.back()), shape, {});
  for (const Column &column : columns)
    kernel.shared.release(column.buffer);
  for (unsigned other : others) {
    Value input = op.getInputs()[other];
    Column column = allocate(mlir::getElementTypeOrSelf(input));
    kernel.beginSharedWrites();
    group.all.memory.storeTile(kernel.tiles[input], threads, viewOf(column), shape);
    kernel.beginSharedReads();
    kernel.tiles[op.getResult(other)] = readAt(column, indices);
    kernel.shared.release(column.buffer);
  }
}

void SortLowering::sort(tile::SortOp op) {
  Network network(*this, op);
  if (network.length > 65536)
    return kernel.refuse(op, "sorts more elements than indices of 16 bits can number");
  network.write();
  network.run();
  network.read();
}

} // namespace tilewright::gpu
