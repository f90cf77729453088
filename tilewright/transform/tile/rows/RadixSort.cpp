#include "tilewright/transform/tile/rows/RadixSort.h"

#include "tilewright/dialect/elements/ScalarSemantics.h"
#include "tilewright/dialect/tile/SortOps.h"
#include "tilewright/transform/ElementBytes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tilewright::tile {

/// The number of threads of a block. Each of its warps has a two-byte counter for each bin.
static constexpr int64_t blockThreads = 512;

//===- Planning -----------------------------------------------------------===//

std::optional<RadixSort> RadixSort::plan(stablehlo::SortOp op, const Rows &rows, Operands operands,
                                         int64_t chunk, int64_t sharedBytes, int64_t lanes) {
  // A word of the state has 28 bits for a number of elements.
  if (rows.after != 1 || chunk < blockThreads || rows.length >= int64_t(1) << 28)
    return std::nullopt;
  std::optional<SortKey> key = SortKey::of(op);
  if (!key)
    return std::nullopt;
  RadixSort plan(std::move(*key), op, rows, std::move(operands), chunk, blockThreads / lanes);
  // Wide digits mean few passes. But a chunk should contain several elements of each digit, because
  // each digit of a chunk takes words of the state.
  int64_t most = std::min<int64_t>(11, llvm::Log2_64(static_cast<uint64_t>(chunk)) - 2);
  auto sharedFor = [&](int64_t bits) {
    return 4 * chunk + (2 * plan.warps + 4) * (int64_t(1) << bits) + 1024;
  };
  while (most > 4 && sharedFor(most) > sharedBytes)
    --most;
  if (sharedFor(most) > sharedBytes)
    return std::nullopt;
  const int64_t bits = plan.key.bits();
  plan.passes = (bits + most - 1) / most;
  plan.digitBits = (bits + plan.passes - 1) / plan.passes;
  // The state has seven epochs.
  return plan.passes <= 7 ? std::optional(std::move(plan)) : std::nullopt;
}

int64_t RadixSort::words() const { return CarryOp::header + rows.before * chunks() * bins(); }

double RadixSort::bytes() const {
  double each = 0;
  for (Type element : operands.elements)
    each += static_cast<double>(elementBytes(element));
  const auto all = static_cast<double>(rows.before) * static_cast<double>(rows.length);
  // Counts the keys that are read, the elements that each pass reads and writes, and about three
  // words of the state.
  return all * static_cast<double>(key.bits()) / 8 +
         static_cast<double>(passes) * (2 * all * each + 12 * static_cast<double>(words()));
}

//===- Parts of kernels ---------------------------------------------------===//

Value launchZeros(MLIRContext *context, Location loc, StringRef name, Type element, int64_t size,
                  MakeLaunch launch) {
  constexpr int64_t along = 1024;
  Rows rows;
  rows.length = size;
  RowKernel kernel(context, loc, name, rows, {1, along, 1}, (size + along - 1) / along, {},
                   RowTensor{element, size});
  auto zeros =
      MapOp::create(kernel.builder, loc, TypeRange(kernel.type(along, element)), ValueRange());
  {
    OpBuilder::InsertionGuard guard(kernel.builder);
    kernel.builder.createBlock(&zeros.getBody());
    Value zero =
        arith::ConstantOp::create(kernel.builder, loc, kernel.builder.getIntegerAttr(element, 0));
    YieldOp::create(kernel.builder, loc, zero);
  }
  kernel.store(zeros.getResult(0), kernel.output(0),
               kernel.apply(kernel.d0() * along, kernel.chunk), size % along == 0);
  return launch(kernel.kernel, {}, RankedTensorType::get({1, size}, element)).front();
}

std::pair<SmallVector<RowTensor>, SmallVector<Value>> RadixSort::inputs(bool keyOnly) {
  SmallVector<RowTensor> inputs;
  SmallVector<Value> from;
  for (unsigned i = 0; i < operands.values.size(); ++i)
    if (operands.values[i] && (!keyOnly || key.reads(i))) {
      inputs.push_back({operands.elements[i], rows.length});
      from.push_back(operands.values[i]);
    }
  return {inputs, from};
}

SmallVector<Value> RadixSort::load(RowKernel &kernel, Value at, bool keyOnly) {
  SmallVector<Value> tiles(operands.values.size());
  size_t next = 0;
  for (unsigned i = 0; i < operands.values.size(); ++i)
    if (!keyOnly || key.reads(i))
      tiles[i] = operands.values[i]
                     ? kernel.load(kernel.input(next++), at, chunk, rows.length % chunk == 0)
                     : kernel.iota(elements::scalarType(operands.elements[i]), at, chunk);
  return tiles;
}

Value RadixSort::digits(RowKernel &kernel, ValueRange tiles, int64_t number) {
  Location loc = kernel.loc;
  Type word = kernel.builder.getI32Type();
  SmallVector<Value> read;
  SmallVector<size_t> places; // of each operand in `read`; any for those that are not read
  for (unsigned i = 0; i < tiles.size(); ++i) {
    places.push_back(key.reads(i) ? read.size() : 0);
    if (key.reads(i))
      read.push_back(tiles[i]);
  }
  return kernel.map(read, word, [&](OpBuilder &inside, ValueRange v) {
    SmallVector<Value> elements;
    for (size_t place : places)
      elements.push_back(v[place]);
    Value value = key.emit(inside, loc, elements);
    auto type = cast<IntegerType>(value.getType());
    if (number > 0)
      value = arith::ShRUIOp::create(
          inside, loc, value,
          arith::ConstantOp::create(inside, loc, inside.getIntegerAttr(type, number * digitBits)));
    if (type.getWidth() < 32)
      value = arith::ExtUIOp::create(inside, loc, word, value);
    else if (type.getWidth() > 32)
      value = arith::TruncIOp::create(inside, loc, word, value);
    return SmallVector<Value>{arith::AndIOp::create(
        inside, loc, value, arith::ConstantIntOp::create(inside, loc, bins(number) - 1, 32))};
  })[0];
}

Value RadixSort::countsOf(RowKernel &kernel, Value starts, Value count, int64_t bins) {
  OpBuilder &builder = kernel.builder;
  Location loc = kernel.loc;
  Type word = builder.getI32Type();
  Value number = kernel.iota(word, kernel.index(0), bins);
  Value fromCount = kernel.iota(word, count, bins);
  Value next = kernel.map(number, word, [&](OpBuilder &inside, ValueRange v) {
    Value one = arith::ConstantIntOp::create(inside, loc, 1, 32);
    Value last = arith::ConstantIntOp::create(inside, loc, bins - 1, 32);
    return SmallVector<Value>{
        arith::MinSIOp::create(inside, loc, arith::AddIOp::create(inside, loc, v[0], one), last)};
  })[0];
  Value ends = TakeOp::create(builder, loc, starts.getType(), starts, next);
  return kernel.map({starts, ends, number, fromCount}, word, [&](OpBuilder &inside, ValueRange v) {
    // The elements with the last digit end at the end of the row.
    Value isLast = arith::CmpIOp::create(inside, loc, arith::CmpIPredicate::eq, v[2],
                                         arith::ConstantIntOp::create(inside, loc, bins - 1, 32));
    Value all = arith::SubIOp::create(inside, loc, v[3], v[2]);
    Value end = arith::SelectOp::create(inside, loc, isLast, all, v[1]);
    return SmallVector<Value>{arith::SubIOp::create(inside, loc, end, v[0])};
  })[0];
}

//===- Kernels ------------------------------------------------------------===//

/// For all passes, how many keys of each row have each digit.
Value RadixSort::count(StringRef name, const Capacities &capacities, MakeLaunch launch) {
  MLIRContext *context = op.getContext();
  Location loc = op.getLoc();
  Type word = IntegerType::get(context, 32);
  const int64_t size = passes * bins();
  auto [inputs, from] = this->inputs(/*keyOnly=*/true);
  inputs.push_back({word, size});
  from.push_back(
      launchZeros(context, loc, (name + "_zeros").str(), word, rows.before * size, launch));
  // Give each block several chunks, because each block adds all its counts to those in memory.
  const int64_t each =
      std::max<int64_t>(2, rows.before * chunks() / std::max<int64_t>(1, 4 * capacities.cores));
  const int64_t blocks = (chunks() + each - 1) / each;
  RowKernel kernel(context, loc, (name + "_count").str(), rows, {1, chunk, 1}, blocks, inputs,
                   RowTensor{word, size});
  kernel.update(0, static_cast<int64_t>(inputs.size()) - 1);
  kernel.kernel->setAttr("warps", kernel.builder.getI64IntegerAttr(warps));
  OpBuilder &builder = kernel.builder;
  SmallVector<Value> sums;
  for (int64_t pass = 0; pass < passes; ++pass) {
    auto zeros =
        MapOp::create(builder, loc, TypeRange(kernel.type(bins(pass), word)), ValueRange());
    OpBuilder::InsertionGuard guard(builder);
    builder.createBlock(&zeros.getBody());
    YieldOp::create(builder, loc, Value(arith::ConstantIntOp::create(builder, loc, 0, 32)));
    sums.push_back(zeros.getResult(0));
  }
  Value first = kernel.apply(kernel.d0() * each, kernel.chunk);
  Value last = arith::MinSIOp::create(builder, loc, kernel.apply(kernel.d0() + each, first),
                                      kernel.index(chunks()));
  auto loop = scf::ForOp::create(builder, loc, first, last, kernel.index(1), sums);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value at = kernel.apply(kernel.d0() * chunk, loop.getInductionVar());
    Value size = arith::MinSIOp::create(builder, loc, kernel.apply(-kernel.d0() + rows.length, at),
                                        kernel.index(chunk));
    SmallVector<Value> tiles = load(kernel, at, /*keyOnly=*/true), next;
    for (int64_t pass = 0; pass < passes; ++pass) {
      auto bucket = BucketOp::create(builder, loc, TypeRange(), kernel.type(bins(pass), word),
                                     ValueRange(), digits(kernel, tiles, pass), size);
      Value counts = countsOf(kernel, bucket.getStarts(), size, bins(pass));
      next.push_back(kernel.map({loop.getRegionIterArgs()[static_cast<size_t>(pass)], counts}, word,
                                [&](OpBuilder &inside, ValueRange v) {
                                  return SmallVector<Value>{
                                      arith::AddIOp::create(inside, loc, v[0], v[1])};
                                })[0]);
    }
    scf::YieldOp::create(builder, loc, next);
  }
  Type index = builder.getIndexType();
  for (int64_t pass = 0; pass < passes; ++pass) {
    Value place = kernel.iota(index, kernel.index(pass * bins()), bins(pass));
    auto type = cast<RankedTensorType>(place.getType());
    Value row = IotaOp::create(builder, loc, type, kernel.kernel.getCoordinates()[0], 0, 1);
    auto update = UpdateOp::create(builder, loc, loop.getResult(static_cast<unsigned>(pass)),
                                   kernel.output(0), ValueRange{row, place}, /*atomic=*/true);
    OpBuilder::InsertionGuard guard(builder);
    Block *block = builder.createBlock(&update.getCombiner(), {}, {word, word}, {loc, loc});
    YieldOp::create(
        builder, loc,
        Value(arith::AddIOp::create(builder, loc, block->getArgument(0), block->getArgument(1))));
  }
  return launch(kernel.kernel, from, RankedTensorType::get({rows.before, size}, word)).front();
}

/// For all passes, the position in the sorted rows at which the elements with each digit begin.
Value RadixSort::sumUp(StringRef name, Value counts, MakeLaunch launch) {
  Type word = IntegerType::get(op.getContext(), 32);
  const int64_t size = passes * bins();
  RowKernel kernel(op.getContext(), op.getLoc(), (name + "_starts").str(), rows, {1, bins(), 1},
                   passes, RowTensor{word, size}, RowTensor{word, size});
  OpBuilder &builder = kernel.builder;
  Location loc = kernel.loc;
  Value at = kernel.apply(kernel.d0() * bins(), kernel.chunk);
  Value tile = kernel.load(kernel.input(0), at, bins(), true);
  Value zero = arith::ConstantIntOp::create(builder, loc, 0, 32);
  auto scan = ScanOp::create(builder, loc, TypeRange(tile.getType()), ValueRange(tile),
                             ValueRange(zero), /*dim=*/uint64_t(1), /*reverse=*/false);
  {
    OpBuilder::InsertionGuard guard(builder);
    Block *block = builder.createBlock(&scan.getCombiner(), {}, {word, word}, {loc, loc});
    YieldOp::create(
        builder, loc,
        Value(arith::AddIOp::create(builder, loc, block->getArgument(0), block->getArgument(1))));
  }
  Value before = kernel.map({scan.getResult(0), tile}, word, [&](OpBuilder &inside, ValueRange v) {
    return SmallVector<Value>{arith::SubIOp::create(inside, loc, v[0], v[1])};
  })[0];
  kernel.store(before, kernel.output(0), at, true);
  return launch(kernel.kernel, counts, counts.getType()).front();
}

void RadixSort::pass(StringRef name, int64_t number, Value starts, Value &state, int64_t kept,
                     ArrayRef<unsigned> outputs, MakeLaunch launch) {
  MLIRContext *context = op.getContext();
  Type word = IntegerType::get(context, 32), index = IndexType::get(context);
  auto [inputs, from] = this->inputs(/*keyOnly=*/false);
  SmallVector<RowTensor> written;
  SmallVector<Type> types;
  inputs.push_back({word, passes * bins()});
  from.push_back(starts);
  for (unsigned output : outputs) {
    written.push_back({operands.elements[output], kept});
    types.push_back(RankedTensorType::get(rows.shape(kept), operands.elements[output]));
  }
  RowKernel kernel(context, op.getLoc(), name, rows, {1, chunk, 1}, chunks(), inputs, written);
  kernel.kernel->setAttr("warps", kernel.builder.getI64IntegerAttr(warps));
  // The state is a vector, independent of the shape of the rows.
  kernel.addState(MemRefType::get({words()}, word));
  from.push_back(state);
  types.push_back(state.getType());

  OpBuilder &builder = kernel.builder;
  Location loc = kernel.loc;
  Value at = kernel.apply(kernel.d0() * chunk, kernel.chunk);
  Value size = arith::MinSIOp::create(builder, loc, kernel.apply(-kernel.d0() + rows.length, at),
                                      kernel.index(chunk));
  SmallVector<Value> tiles = load(kernel, at, /*keyOnly=*/false);
  auto bucket = BucketOp::create(
      builder, loc, ValueRange(tiles).getTypes(), kernel.type(bins(number), word), tiles,
      digits(kernel, tiles, number), rows.length % chunk == 0 ? Value() : size);
  Value counts = countsOf(kernel, bucket.getStarts(), size, bins(number));
  // The first chunk knows where each digit begins in the row, and passes it on.
  Value isFirst =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, kernel.chunk, kernel.index(0));
  Value nowhere = kernel.index(passes * bins());
  Value place =
      arith::SelectOp::create(builder, loc, isFirst, kernel.index(number * bins()), nowhere);
  Value base =
      kernel.load(kernel.input(inputs.size() - 1), place, bins(number), /*isInside=*/false);
  auto sum = [&](Value a, Value b) {
    return kernel.map({a, b}, word, [&](OpBuilder &inside, ValueRange v) {
      return SmallVector<Value>{arith::AddIOp::create(inside, loc, v[0], v[1])};
    })[0];
  };
  Value zero = arith::ConstantIntOp::create(builder, loc, 0, 32);
  auto carry = CarryOp::create(builder, loc, counts.getType(), sum(counts, base),
                               kernel.output(outputs.size()), zero, static_cast<uint64_t>(number),
                               /*narrow=*/true);
  {
    OpBuilder::InsertionGuard guard(builder);
    Block *block = builder.createBlock(&carry.getCombiner(), {}, {word, word}, {loc, loc});
    YieldOp::create(
        builder, loc,
        Value(arith::AddIOp::create(builder, loc, block->getArgument(0), block->getArgument(1))));
  }
  // Maps positions in the sorted chunk to positions in the row.
  Value shift =
      kernel.map({sum(carry.getResult(), base), bucket.getStarts()}, word,
                 [&](OpBuilder &inside, ValueRange v) {
                   return SmallVector<Value>{arith::SubIOp::create(inside, loc, v[0], v[1])};
                 })[0];
  SmallVector<Value> moved(bucket.getResults());
  Value digit = digits(kernel, moved, number);
  Value inRow = TakeOp::create(builder, loc, digit.getType(), shift, digit);
  SmallVector<Value> parts = {inRow, kernel.iota(word, kernel.index(0), chunk),
                              kernel.iota(word, size, chunk)};
  Value to = kernel.map(parts, index, [&](OpBuilder &inside, ValueRange v) {
    // v[1] is the position in the chunk, and v[2] is `size` more than v[1].
    Value limit = arith::SubIOp::create(inside, loc, v[2], v[1]);
    Value exists = arith::CmpIOp::create(inside, loc, arith::CmpIPredicate::slt, v[1], limit);
    Value target = arith::AddIOp::create(inside, loc, v[0], v[1]);
    target = arith::SelectOp::create(inside, loc, exists, target,
                                     arith::ConstantIntOp::create(inside, loc, -1, 32));
    return SmallVector<Value>{arith::IndexCastOp::create(inside, loc, index, target)};
  })[0];
  Value row = IotaOp::create(builder, loc, cast<RankedTensorType>(to.getType()),
                             kernel.kernel.getCoordinates()[0], 0, 1);
  for (auto [i, output] : llvm::enumerate(outputs))
    ScatterOp::create(builder, loc, moved[output], kernel.output(i), ValueRange{row, to});
  SmallVector<Value> made(launch(kernel.kernel, from, types));
  for (auto [i, output] : llvm::enumerate(outputs))
    operands.values[output] = made[i];
  state = made.back();
}

SmallVector<Value> RadixSort::emit(StringRef name, const Capacities &capacities, int64_t kept,
                                   ArrayRef<unsigned> outputs, MakeLaunch launch) {
  Value starts = sumUp(name, count(name, capacities, launch), launch);
  Value state = launchZeros(op.getContext(), op.getLoc(), (name + "_state").str(),
                            IntegerType::get(op.getContext(), 32), words(), launch);
  SmallVector<unsigned> all;
  for (unsigned i = 0; i < operands.values.size(); ++i)
    all.push_back(i);
  for (int64_t number = 0; number < passes; ++number) {
    const bool isLast = number + 1 == passes;
    pass(name, number, starts, state, isLast ? kept : rows.length, isLast ? outputs : ArrayRef(all),
         launch);
  }
  SmallVector<Value> made;
  for (unsigned output : outputs)
    made.push_back(operands.values[output]);
  return made;
}

} // namespace tilewright::tile
