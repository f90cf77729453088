// Sorts. Rows that a block of threads can hold are sorted by one kernel. Longer rows are sorted in
// chunks, which are then merged in pairs: a first kernel finds where each chunk of a result begins
// in the two parts that are merged (merge path), a second one reads these elements and merges them.
// If only the first elements of the rows are wanted, each chunk keeps only as many, until one chunk
// is left. Long rows of numbers are sorted digit by digit instead (RadixSort), where that moves
// fewer bytes.
#include "tilewright/dialect/elements/ScalarSemantics.h"
#include "tilewright/dialect/indexing/IndexingRelation.h"
#include "tilewright/dialect/stablehlo/StablehloOps.h"
#include "tilewright/dialect/tile/SortOps.h"
#include "tilewright/transform/tile/RowKernels.h"
#include "tilewright/transform/tile/rows/RadixSort.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tilewright::tile {

namespace {

int64_t bitsOf(Type type) {
  if (auto complex = dyn_cast<ComplexType>(type))
    return 2 * bitsOf(complex.getElementType());
  return std::max<int64_t>(8, type.getIntOrFloatBitWidth());
}

class SortEmitter {
public:
  SortEmitter(exec::FusionOp fusion, stablehlo::SortOp op, StringRef name,
              const Capacities &capacities, MakeLaunch launch);

  /// Reads the fusion. Returns false and sets `reason` if it is not a sort that can be emitted.
  bool plan(std::string &reason);
  SmallVector<Value> run();

private:
  bool planOperands(std::string &reason);
  bool planResults(std::string &reason);
  void chooseCapacity(const Capacities &capacities);
  std::array<int64_t, 3> chooseTile(int64_t length) const;

  SmallVector<RowTensor> tensors(ArrayRef<unsigned> numbers, int64_t length) const;
  SmallVector<Value> launchKernel(RowKernel &kernel, ArrayRef<Value> operands,
                                  ArrayRef<unsigned> outputs, int64_t length);
  /// Sorts chunks of the values' rows, and keeps the first `kept` elements of each.
  void sortChunks(int64_t length, int64_t kept, ArrayRef<unsigned> outputs);
  /// Merges pairs of sorted parts of `run` elements; only the first `kept` elements of each result
  /// are wanted.
  void mergeRuns(int64_t run, int64_t kept, ArrayRef<unsigned> outputs);
  Value findSplits(int64_t run, int64_t chunks);
  /// The plan of a radix sort, if it costs less than merges.
  std::optional<RadixSort> planRadix() const;
  SortOp emitSort(RowKernel &kernel, ValueRange tiles, Value count, Value middle);
  Value less(OpBuilder &inside, ArrayRef<Value> first, ArrayRef<Value> second,
             ArrayRef<unsigned> numbers);

  exec::FusionOp fusion;
  stablehlo::SortOp op;
  const std::string name;
  const Capacities &capacities;
  MakeLaunch launch;
  int64_t dim;
  Rows rows;
  SmallVector<Type> elements;    // of the operands
  SmallVector<Value> values;     // by operand; null for an iota that no kernel has made yet
  SmallVector<unsigned> all;     // the numbers of the operands
  SmallVector<unsigned> keys;    // those that the comparator reads
  SmallVector<unsigned> results; // for each result of the fusion, the number of the operand
  int64_t kept = 0;              // the first elements of each row that the results have
  int64_t capacity = 0;          // the elements that a block can sort
};

} // namespace

SortEmitter::SortEmitter(exec::FusionOp fusion, stablehlo::SortOp op, StringRef name,
                         const Capacities &capacities, MakeLaunch launch)
    : fusion(fusion), op(op), name(name), capacities(capacities), launch(launch) {
  auto type = cast<RankedTensorType>(op.getInputs().front().getType());
  dim = static_cast<int64_t>(op.getDimension());
  if (dim < 0)
    dim += type.getRank();
  rows = Rows(type.getShape(), dim);
}

//===- Planning -----------------------------------------------------------===//

bool SortEmitter::plan(std::string &reason) {
  if (!indexing::canTile(op, &reason))
    return false;
  if (!planOperands(reason) || !planResults(reason))
    return false;
  chooseCapacity(capacities);
  return true;
}

bool SortEmitter::planOperands(std::string &reason) {
  Block &comparator = op.getComparator().front();
  for (auto [number, operand] : llvm::enumerate(op.getInputs())) {
    all.push_back(static_cast<unsigned>(number));
    elements.push_back(cast<RankedTensorType>(operand.getType()).getElementType());
    values.push_back(operandOutside(fusion, operand));
    if (!values.back()) {
      auto iota = operand.getDefiningOp<stablehlo::IotaOp>();
      if (!iota || !elements.back().isInteger() ||
          static_cast<int64_t>(iota.getIotaDimension()) != dim) {
        reason = "it sorts a value that is neither an input, nor a constant, nor the indices along "
                 "the dimension";
        return false;
      }
    }
    const auto at = static_cast<unsigned>(2 * number);
    if (!comparator.getArgument(at).use_empty() || !comparator.getArgument(at + 1).use_empty())
      keys.push_back(static_cast<unsigned>(number));
  }
  // A comparator that reads nothing finds all elements equal, whichever operand is its key.
  if (keys.empty())
    keys.push_back(0);
  return true;
}

bool SortEmitter::planResults(std::string &reason) {
  kept = -1;
  for (Value value : fusion.getBody().front().getTerminator()->getOperands()) {
    int64_t size = rows.length;
    if (auto slice = value.getDefiningOp<stablehlo::SliceOp>()) {
      value = slice.getOperand();
      size = slice.getLimitIndices()[static_cast<size_t>(dim)];
      // All other elements must be whole rows from their beginning.
      if (cast<RankedTensorType>(slice.getType()).getNumElements() !=
              rows.before * rows.after * size ||
          llvm::any_of(slice.getStartIndices(), [](int64_t start) { return start != 0; })) {
        reason = "it slices a sort elsewhere than at its first elements";
        return false;
      }
    }
    if (value.getDefiningOp() != op || (kept >= 0 && kept != size)) {
      reason = "its results are not those of one sort, with equally many elements";
      return false;
    }
    kept = size;
    results.push_back(cast<OpResult>(value).getResultNumber());
  }
  if (kept <= 0) {
    reason = "its results are empty";
    return false;
  }
  return true;
}

/// The threads of a block that sorts many elements.
static constexpr int64_t blockThreads = 512;

/// The elements that such a block can sort: in registers, a thread has its elements of all operands
/// and their order; shared memory has the keys and two bytes for the order, or one other operand.
void SortEmitter::chooseCapacity(const Capacities &capacities) {
  int64_t words = 1, keyBits = 16, widest = 0;
  for (unsigned number : all) {
    words += llvm::divideCeilSigned(bitsOf(elements[number]), 32);
    widest = std::max(widest, bitsOf(elements[number]));
    if (llvm::is_contained(keys, number))
      keyBits += bitsOf(elements[number]);
  }
  constexpr int64_t registers = 64;
  const exec::GpuAttr gpu = exec::targetOf(fusion).getGpu();
  const int64_t shared = gpu ? gpu.getSharedBytes() : int64_t(48) << 10;
  capacity = capacities.tileElements ? capacities.tileElements : 8192;
  while (capacity > 64 && (capacity * words > blockThreads * registers ||
                           capacity * std::max(keyBits, widest) / 8 > shared))
    capacity /= 2;
}

/// A tile of rows of `length`. It has several rows if they are short, as long as all
/// multiprocessors get some tiles; the rows are adjacent in memory where possible.
std::array<int64_t, 3> SortEmitter::chooseTile(int64_t length) const {
  const auto held = static_cast<int64_t>(llvm::PowerOf2Ceil(static_cast<uint64_t>(length)));
  int64_t budget = std::max<int64_t>(1, std::min<int64_t>(capacity, 2048) / held);
  // Use whole sectors of 32 bytes, if they fit.
  const int64_t after = takeRows(budget, rows.after, std::min<int64_t>(8, capacity / held));
  const int64_t blocks = rows.before * llvm::divideCeilSigned(rows.after, after);
  while (budget > 1 && blocks / budget < 2 * capacities.cores)
    budget /= 2;
  return {takeRows(budget, rows.before, 1), length, after};
}

//===- Kernels ------------------------------------------------------------===//

SmallVector<RowTensor> SortEmitter::tensors(ArrayRef<unsigned> numbers, int64_t length) const {
  SmallVector<RowTensor> tensors;
  for (unsigned number : numbers)
    tensors.push_back({elements[number], length});
  return tensors;
}

SmallVector<Value> SortEmitter::launchKernel(RowKernel &kernel, ArrayRef<Value> operands,
                                             ArrayRef<unsigned> outputs, int64_t length) {
  SmallVector<Type> types;
  for (unsigned number : outputs)
    types.push_back(RankedTensorType::get(rows.shape(length), elements[number]));
  return SmallVector<Value>(launch(kernel.kernel, operands, types));
}

/// Applies the comparator to the elements of the operands with these numbers. Elements that the
/// comparator does not use are not read.
Value SortEmitter::less(OpBuilder &inside, ArrayRef<Value> first, ArrayRef<Value> second,
                        ArrayRef<unsigned> numbers) {
  // Any value stands for arguments without uses.
  SmallVector<Value> arguments(2 * all.size(), first[0]);
  for (auto [number, left, right] : llvm::zip_equal(numbers, first, second)) {
    arguments[2 * number] = left;
    arguments[2 * number + 1] = right;
  }
  // canTile() has checked every op of the comparator.
  return elements::emitRegion(inside, op.getComparator(), arguments)->front();
}

SortOp SortEmitter::emitSort(RowKernel &kernel, ValueRange tiles, Value count, Value middle) {
  OpBuilder &builder = kernel.builder;
  auto sort = SortOp::create(builder, kernel.loc, tiles.getTypes(), tiles, count, middle,
                             /*dim=*/1);
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(&sort.getComparator());
  SmallVector<Value> first, second;
  for (Value tile : tiles)
    for (SmallVector<Value> *side : {&first, &second})
      side->push_back(
          block->addArgument(cast<RankedTensorType>(tile.getType()).getElementType(), kernel.loc));
  Value isLess = less(builder, first, second, all);
  YieldOp::create(builder, kernel.loc, isLess);
  if (cast<RankedTensorType>(tiles.front().getType()).getNumElements() > 4096)
    kernel.kernel->setAttr("warps", builder.getI64IntegerAttr(blockThreads / capacities.lanes));
  return sort;
}

void SortEmitter::sortChunks(int64_t length, int64_t keptOfChunk, ArrayRef<unsigned> outputs) {
  const int64_t chunks = llvm::divideCeilSigned(length, capacity);
  const int64_t along = chunks == 1 ? length : capacity;
  const std::array<int64_t, 3> tile =
      chunks == 1 ? chooseTile(length) : std::array<int64_t, 3>{1, capacity, 1};
  const int64_t stored = std::min(keptOfChunk, along);
  const int64_t total = (chunks - 1) * stored + std::min(stored, length - (chunks - 1) * capacity);
  SmallVector<unsigned> inputs;
  SmallVector<Value> operands;
  for (unsigned number : all)
    if (values[number]) {
      inputs.push_back(number);
      operands.push_back(values[number]);
    }
  RowKernel kernel(fusion.getContext(), op.getLoc(), name, rows, tile, chunks,
                   tensors(inputs, length), tensors(outputs, total));
  Value at = kernel.apply(kernel.d0() * along, kernel.chunk);
  const bool isInside = length % along == 0;
  SmallVector<Value> tiles;
  size_t next = 0;
  for (unsigned number : all)
    tiles.push_back(values[number]
                        ? kernel.load(kernel.input(next++), at, along, isInside)
                        : kernel.iota(elements::scalarType(elements[number]), at, along));
  Value count;
  if (!isInside) {
    Value rest = kernel.apply(-kernel.d0() + length, at);
    count = arith::MinSIOp::create(kernel.builder, kernel.loc, rest, kernel.index(along));
  }
  SortOp sort = emitSort(kernel, tiles, count, {});
  for (auto [i, number] : llvm::enumerate(outputs)) {
    Value sorted = sort.getResult(number);
    if (stored != along && chunks != 1)
      sorted = ViewOp::create(
          kernel.builder, kernel.loc,
          kernel.type(stored, cast<RankedTensorType>(sorted.getType()).getElementType()), sorted,
          AffineMap::getMultiDimIdentityMap(
              static_cast<unsigned>(cast<RankedTensorType>(sorted.getType()).getRank()),
              fusion.getContext()));
    kernel.store(sorted, kernel.output(i), kernel.apply(kernel.d0() * stored, kernel.chunk),
                 chunks * stored == total && (chunks != 1 || stored == along));
  }
  SmallVector<Value> made = launchKernel(kernel, operands, outputs, total);
  for (auto [number, value] : llvm::zip_equal(outputs, made))
    values[number] = value;
}

/// For each chunk of the merged rows, how many of its predecessors come from the first of the two
/// parts that are merged: a binary search along the chunk's diagonal.
Value SortEmitter::findSplits(int64_t run, int64_t chunks) {
  const int64_t length = rows.length;
  const int64_t along =
      std::min<int64_t>(1024, static_cast<int64_t>(llvm::PowerOf2Ceil(uint64_t(chunks))));
  Type wide = IntegerType::get(fusion.getContext(), 64);
  SmallVector<Value> operands;
  for (unsigned key : keys)
    operands.push_back(values[key]);
  RowKernel kernel(fusion.getContext(), op.getLoc(), name + "_splits", rows, {1, along, 1},
                   llvm::divideCeilSigned(chunks, along), tensors(keys, length),
                   RowTensor{wide, chunks});
  Location loc = kernel.loc;
  OpBuilder &builder = kernel.builder;
  Type index = builder.getIndexType();
  auto constant = [&](OpBuilder &inside, int64_t value) -> Value {
    return arith::ConstantIndexOp::create(inside, loc, value);
  };
  Value at = kernel.apply(kernel.d0() * along, kernel.chunk);
  Value number = kernel.iota(index, at, along);
  // The first element of both parts, the diagonal, and the range in which to search.
  SmallVector<Value> found =
      kernel.map(number, {index, index, index, index}, [&](OpBuilder &inside, ValueRange v) {
        Value last = arith::MinSIOp::create(inside, loc, v[0], constant(inside, chunks - 1));
        Value from = arith::MulIOp::create(inside, loc, last, constant(inside, capacity));
        Value diagonal = arith::RemUIOp::create(inside, loc, from, constant(inside, 2 * run));
        Value start = arith::SubIOp::create(inside, loc, from, diagonal);
        Value rest = arith::SubIOp::create(inside, loc, constant(inside, length), start);
        Value left = arith::MinSIOp::create(inside, loc, rest, constant(inside, run));
        Value right = arith::MinSIOp::create(
            inside, loc, arith::SubIOp::create(inside, loc, rest, left), constant(inside, run));
        Value low = arith::MaxSIOp::create(
            inside, loc, arith::SubIOp::create(inside, loc, diagonal, right), constant(inside, 0));
        Value high = arith::MinSIOp::create(inside, loc, diagonal, left);
        return SmallVector<Value>{start, diagonal, low, high};
      });
  Value start = found[0], diagonal = found[1];
  const auto steps = static_cast<int64_t>(llvm::Log2_64_Ceil(uint64_t(run)) + 1);
  auto loop = scf::ForOp::create(builder, loc, kernel.index(0), kernel.index(steps),
                                 kernel.index(1), ValueRange{found[2], found[3]});
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value low = loop.getRegionIterArgs()[0], high = loop.getRegionIterArgs()[1];
    // Elements that are compared; their indices are clamped where the search has ended.
    SmallVector<Value> indices = kernel.map(
        {start, diagonal, low, high}, {index, index, index}, [&](OpBuilder &inside, ValueRange v) {
          Value sum = arith::AddIOp::create(inside, loc, v[2], v[3]);
          Value middle = arith::DivUIOp::create(inside, loc, sum, constant(inside, 2));
          Value left = arith::AddIOp::create(inside, loc, v[0], middle);
          Value right = arith::AddIOp::create(inside, loc, v[0],
                                              arith::SubIOp::create(inside, loc, v[1], middle));
          right = arith::AddIOp::create(inside, loc, right, constant(inside, run - 1));
          SmallVector<Value> both{middle};
          for (Value side : {left, right}) {
            side = arith::MaxSIOp::create(inside, loc, side, constant(inside, 0));
            both.push_back(arith::MinSIOp::create(inside, loc, side, constant(inside, length - 1)));
          }
          return both;
        });
    SmallVector<Value> tiles = {low, high, indices[0]};
    for (Value side : {indices[1], indices[2]})
      for (size_t i = 0; i < keys.size(); ++i)
        tiles.push_back(kernel.gather(kernel.input(i), side));
    SmallVector<Value> next =
        kernel.map(tiles, {index, index}, [&](OpBuilder &inside, ValueRange v) {
          const SmallVector<Value> left(v.slice(3, keys.size())),
              right(v.drop_front(3 + keys.size()));
          Value rightFirst = less(inside, right, left, keys);
          Value isOpen = arith::CmpIOp::create(inside, loc, arith::CmpIPredicate::slt, v[0], v[1]);
          Value above = arith::AddIOp::create(inside, loc, v[2], constant(inside, 1));
          Value low = arith::SelectOp::create(inside, loc, rightFirst, v[0], above);
          Value high = arith::SelectOp::create(inside, loc, rightFirst, v[2], v[1]);
          return SmallVector<Value>{arith::SelectOp::create(inside, loc, isOpen, low, v[0]),
                                    arith::SelectOp::create(inside, loc, isOpen, high, v[1])};
        });
    scf::YieldOp::create(builder, loc, next);
  }
  Value splits = kernel.map(loop.getResult(0), wide, [&](OpBuilder &inside, ValueRange v) {
    return SmallVector<Value>{arith::IndexCastOp::create(inside, loc, wide, v[0])};
  })[0];
  kernel.store(splits, kernel.output(0), at, chunks % along == 0);
  Type type = RankedTensorType::get(rows.shape(chunks), wide);
  return launch(kernel.kernel, operands, type).front();
}

void SortEmitter::mergeRuns(int64_t run, int64_t keptOfRow, ArrayRef<unsigned> outputs) {
  const int64_t length = rows.length, chunks = llvm::divideCeilSigned(length, capacity);
  SmallVector<Value> operands = values;
  operands.push_back(findSplits(run, chunks));
  SmallVector<RowTensor> inputs = tensors(all, length);
  inputs.push_back({IntegerType::get(fusion.getContext(), 64), chunks});
  RowKernel kernel(fusion.getContext(), op.getLoc(), name + "_merge", rows, {1, capacity, 1},
                   llvm::divideCeilSigned(keptOfRow, capacity), inputs,
                   tensors(outputs, keptOfRow));
  Location loc = kernel.loc;
  OpBuilder &builder = kernel.builder;
  Type index = builder.getIndexType();
  auto add = [&](Value a, Value b) -> Value { return arith::AddIOp::create(builder, loc, a, b); };
  auto subtract = [&](Value a, Value b) -> Value {
    return arith::SubIOp::create(builder, loc, a, b);
  };
  auto least = [&](Value a, Value b) -> Value {
    return arith::MinSIOp::create(builder, loc, a, b);
  };
  auto most = [&](Value a, Value b) -> Value { return arith::MaxSIOp::create(builder, loc, a, b); };
  auto split = [&](Value number) -> Value {
    Value read = kernel.loadScalar(kernel.input(all.size()), number);
    return arith::IndexCastOp::create(builder, loc, index, read);
  };
  Value zero = kernel.index(0), size = kernel.index(capacity);
  Value at = kernel.apply(kernel.d0() * capacity, kernel.chunk);
  Value start = kernel.apply(kernel.d0().floorDiv(2 * run) * (2 * run), at);
  Value rest = kernel.apply(-kernel.d0() + length, start);
  Value left = least(rest, kernel.index(run));
  Value total = least(rest, kernel.index(2 * run));
  Value from = subtract(at, start), to = least(add(from, size), total);
  Value count = subtract(to, from);
  // The number of elements of the first part before this chunk and in it.
  Value before = split(kernel.chunk);
  Value next = split(least(kernel.apply(kernel.d0() + 1, kernel.chunk), kernel.index(chunks - 1)));
  Value isLast = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, to, total);
  Value until = arith::SelectOp::create(builder, loc, isLast, left, next);
  // With a comparator that is not a strict weak order, the splits may not be in order.
  Value middle = least(most(subtract(until, before), zero), count);
  Value first = add(start, before);
  Value second = subtract(add(add(start, left), subtract(from, before)), middle);
  SmallVector<Value> candidates = {kernel.iota(index, subtract(zero, middle), capacity),
                                   kernel.iota(index, first, capacity),
                                   kernel.iota(index, second, capacity)};
  Value source = kernel.map(candidates, index, [&](OpBuilder &inside, ValueRange v) {
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(inside, loc, value);
    };
    Value isFirst =
        arith::CmpIOp::create(inside, loc, arith::CmpIPredicate::slt, v[0], constant(0));
    Value place = arith::SelectOp::create(inside, loc, isFirst, v[1], v[2]);
    place = arith::MaxSIOp::create(inside, loc, place, constant(0));
    return SmallVector<Value>{arith::MinSIOp::create(inside, loc, place, constant(length - 1))};
  })[0];
  SmallVector<Value> tiles;
  for (unsigned number : all)
    tiles.push_back(kernel.gather(kernel.input(number), source));
  SortOp sort = emitSort(kernel, tiles, count, middle);
  for (auto [i, number] : llvm::enumerate(outputs))
    kernel.store(sort.getResult(number), kernel.output(i), at, keptOfRow % capacity == 0);
  SmallVector<Value> made = launchKernel(kernel, operands, outputs, keptOfRow);
  for (auto [number, value] : llvm::zip_equal(outputs, made))
    values[number] = value;
}

std::optional<RadixSort> SortEmitter::planRadix() const {
  const exec::GpuAttr gpu = exec::targetOf(fusion).getGpu();
  const int64_t shared = gpu ? gpu.getSharedBytes() : int64_t(48) << 10;
  std::optional<RadixSort> radix =
      RadixSort::plan(op, rows, {values, elements}, capacity, shared, capacities.lanes);
  if (!radix)
    return std::nullopt;
  double bits = 0;
  for (Type element : elements)
    bits += static_cast<double>(bitsOf(element));
  // Bytes for sorting the chunks once, and for each level of merges, whose reads may begin
  // anywhere.
  const auto levels = static_cast<double>(
      llvm::Log2_64_Ceil(static_cast<uint64_t>(llvm::divideCeilSigned(rows.length, capacity))));
  const double merges = (2 + 2.35 * levels) * bits / 8 * static_cast<double>(rows.before) *
                        static_cast<double>(rows.length);
  return radix->bytes() < merges ? std::move(radix) : std::nullopt;
}

SmallVector<Value> SortEmitter::run() {
  // If the fusion returns a result twice, write it only once.
  llvm::SmallSetVector<unsigned, 4> wanted(results.begin(), results.end());
  const int64_t whole = rows.length;
  while (rows.length > capacity && kept <= capacity / 2) {
    const int64_t chunks = llvm::divideCeilSigned(rows.length, capacity);
    const int64_t last = rows.length - (chunks - 1) * capacity;
    sortChunks(rows.length, kept, all);
    rows.length = (chunks - 1) * kept + std::min(kept, last);
  }
  if (rows.length <= capacity) {
    sortChunks(rows.length, kept, wanted.getArrayRef());
  } else if (std::optional<RadixSort> radix = planRadix()) {
    SmallVector<Value> made = radix->emit(name, capacities, kept, wanted.getArrayRef(), launch);
    for (auto [number, value] : llvm::zip_equal(wanted, made))
      values[number] = value;
  } else {
    sortChunks(rows.length, capacity, all);
    for (int64_t run = capacity; run < rows.length; run *= 2) {
      const bool isLast = 2 * run >= rows.length;
      mergeRuns(run, isLast ? kept : rows.length, isLast ? wanted.getArrayRef() : ArrayRef(all));
    }
  }
  rows.length = whole;
  SmallVector<Value> made;
  for (unsigned number : results)
    made.push_back(values[number]);
  return made;
}

std::optional<SmallVector<Value>> emitSort(exec::FusionOp fusion, stablehlo::SortOp op,
                                           StringRef name, const Capacities &capacities,
                                           MakeLaunch launch, std::string &reason) {
  return planAndEmit<SortEmitter>(fusion, op, name, capacities, launch, reason);
}

} // namespace tilewright::tile
