// Scatters of rows whose updates are sorted by row. The updates of one row of the table are a
// segment. A block of threads combines those of a chunk of updates in order, and writes the rows
// whose segments are inside the chunk. The sums of the chunk's head and tail, whose segments
// continue in other chunks, become the updates of the next step, until all updates are in one
// chunk. The chunks do not depend on timing, so neither do the roundings.
#include "tilewright/dialect/elements/ScalarSemantics.h"
#include "tilewright/dialect/indexing/IndexingRelation.h"
#include "tilewright/dialect/indexing/SplatTable.h"
#include "tilewright/dialect/stablehlo/StablehloOps.h"
#include "tilewright/dialect/tile/SortOps.h"
#include "tilewright/transform/TypeOf.h"
#include "tilewright/transform/tile/RowKernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <array>
#include <complex>

using namespace mlir;

namespace tilewright::tile {

namespace {

int64_t divideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// The updates of one step.
struct Updates {
  Value values; // rows
  Value keys;   // the row of the table for each
  Value order;  // null, or the row of `values` that each is in
  Value isOn;   // null, or whether each is an update at all; i1
  int64_t count = 0;
  int64_t places = 1; // along the last dimension of `keys`: one, or one for each block of columns
};

class SegmentEmitter {
public:
  SegmentEmitter(exec::FusionOp fusion, stablehlo::ScatterOp op, StringRef name,
                 const Capacities &capacities, MakeLaunch launch)
      : fusion(fusion), op(op), name(name), capacities(capacities), launch(launch) {}

  /// Reads the fusion. Returns false and sets `reason` if it is not such a scatter.
  bool plan(std::string &reason);
  SmallVector<Value> run();

private:
  /// The tiles of a chunk: the keys, for all columns; for each update, whether it is the last of
  /// its row in the chunk, whether its row begins in the chunk, and the combination of the row's
  /// updates up to it.
  struct Chunk {
    Value keys, isLast, isLastInChunk, hasBegun, isOn, sum;
  };

  bool readsGather(std::string &reason);
  Value inputOf(Value value);
  void step(const Updates &from, Updates *next);
  Value loadPlaces(RowKernel &kernel, Value memory, Value at, const Updates &from, int64_t size);
  /// Broadcasts a vector with an element for each update to all columns of a tile.
  Value spread(RowKernel &kernel, Value vector);
  /// Whether each update begins a segment, ends one, is the last of its segment in the chunk, and
  /// exists: bits 0 to 3.
  Value flagsOf(RowKernel &kernel, const Updates &from, Value at, Value keys);
  Value loadUpdates(RowKernel &kernel, const Updates &from, Value at);
  Chunk combine(RowKernel &kernel, const Updates &from, Value at);
  SmallVector<Value> join(OpBuilder &inside, ValueRange both);
  /// A value for elements that do not take part.
  Value zeroIn(RowKernel &kernel);
  void writeRows(RowKernel &kernel, const Chunk &chunk, Value table);
  void writeEnds(RowKernel &kernel, const Chunk &chunk, const Updates &from, Value at);

  Type elementOf(Value value) { return typeOf(value).getElementType(); }

  exec::FusionOp fusion;
  stablehlo::ScatterOp op;
  const std::string name;
  const Capacities &capacities;
  MakeLaunch launch;
  Value table;
  Updates updates;
  int64_t tableRows = 0, columns = 0;
  int64_t along = 0, across = 0; // updates and columns of a tile
  Type element, keyElement;      // as in StableHLO
};

} // namespace

//===- Planning -----------------------------------------------------------===//

/// The fusion's input that a value comes from, or null.
Value SegmentEmitter::inputOf(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument ? fusion.getInputs()[argument.getArgNumber()] : Value();
}

/// Whether the updates are rows of an input, selected by indices that are an input, too.
bool SegmentEmitter::readsGather(std::string &reason) {
  auto gather = op.getUpdates().front().getDefiningOp<stablehlo::GatherOp>();
  if (!gather || !indexing::isRowGather(gather)) {
    reason = "its updates are neither an input nor gathered rows of an input";
    return false;
  }
  updates.values = inputOf(gather.getOperand());
  updates.order = inputOf(gather.getStartIndices());
  if (updates.values && updates.order)
    return true;
  reason = "it gathers updates that are not inputs";
  return false;
}

bool SegmentEmitter::plan(std::string &reason) {
  if (!indexing::canTile(op, &reason))
    return false;
  Block &body = fusion.getBody().front();
  if (ValueRange(body.getTerminator()->getOperands()) != ValueRange(op.getResults())) {
    reason = "its results are not those of one scatter";
    return false;
  }
  table = inputOf(op.getInputs().front());
  updates.keys = inputOf(op.getScatterIndices());
  updates.values = inputOf(op.getUpdates().front());
  if (!table || !updates.keys) {
    reason = "it writes a table, or reads indices, that are not inputs";
    return false;
  }
  if (!updates.values && !readsGather(reason))
    return false;
  updates.count = typeOf(updates.keys).getNumElements();
  tableRows = typeOf(table).getDimSize(0);
  columns = typeOf(table).getDimSize(1);
  element = elementOf(table);
  keyElement = elementOf(updates.keys);
  // In addition to each element, a thread holds flags and indices.
  const int64_t capacity =
      capacities.tileElements ? std::max<int64_t>(capacities.tileElements / 2, 64) : 2048;
  across = std::min<int64_t>(static_cast<int64_t>(llvm::PowerOf2Ceil(uint64_t(columns))), 128);
  along = std::max<int64_t>(capacity / across, 4);
  return true;
}

//===- A step -------------------------------------------------------------===//

/// A vector of the updates' keys or flags.
Value SegmentEmitter::loadPlaces(RowKernel &kernel, Value memory, Value at, const Updates &from,
                                 int64_t size) {
  OpBuilder &builder = kernel.builder;
  Type type = cast<MemRefType>(memory.getType()).getElementType();
  SmallVector<int64_t> shape = {1, size};
  SmallVector<Value> offsets = {kernel.index(0), at};
  SmallVector<bool> inBounds = {true, false};
  if (columns != 1) {
    shape.push_back(1);
    offsets.push_back(from.places == 1 ? kernel.index(0) : kernel.columns);
    inBounds.push_back(true);
  }
  Value tile =
      LoadOp::create(builder, kernel.loc, RankedTensorType::get(shape, type), memory, offsets,
                     Value(), DenseI64ArrayAttr(), builder.getDenseBoolArrayAttr(inBounds));
  if (columns == 1)
    return tile;
  SmallVector<AffineExpr> place = {builder.getAffineDimExpr(0), builder.getAffineDimExpr(1),
                                   builder.getAffineConstantExpr(0)};
  return ViewOp::create(builder, kernel.loc, RankedTensorType::get({1, size}, type), tile,
                        AffineMap::get(2, 0, place, builder.getContext()));
}

/// Load through shared memory, so that a block reads a vector from memory once and not once for
/// each column.
Value SegmentEmitter::spread(RowKernel &kernel, Value vector) {
  if (columns == 1)
    return vector;
  Type type = cast<RankedTensorType>(vector.getType()).getElementType();
  Value place = kernel.iota(kernel.builder.getI32Type(), kernel.index(0), along);
  return TakeOp::create(kernel.builder, kernel.loc, kernel.type(along, type), vector, place);
}

Value SegmentEmitter::loadUpdates(RowKernel &kernel, const Updates &from, Value at) {
  if (!from.order)
    return kernel.load(kernel.input(0), at, along, /*isInside=*/false);
  OpBuilder &builder = kernel.builder;
  Location loc = kernel.loc;
  Type index = builder.getIndexType();
  const int64_t held = typeOf(from.values).getDimSize(0);
  auto clamped = [&](Value tile, Type type, int64_t size) {
    return kernel.map(tile, index, [&](OpBuilder &inside, ValueRange v) {
      Value place = v[0];
      if (!place.getType().isIndex())
        place = arith::IndexCastOp::create(
            inside, loc, index,
            elements::emitConversion(inside, loc, type, inside.getI64Type(), place));
      Value low = arith::MaxSIOp::create(inside, loc, place,
                                         arith::ConstantIndexOp::create(inside, loc, 0));
      return SmallVector<Value>{arith::MinSIOp::create(
          inside, loc, low, arith::ConstantIndexOp::create(inside, loc, size - 1))};
    })[0];
  };
  Value order = clamped(spread(kernel, loadPlaces(kernel, kernel.input(3), at, from, along)),
                        elementOf(from.order), held);
  auto type = cast<RankedTensorType>(order.getType());
  SmallVector<Value> indices = {IotaOp::create(builder, loc, type, kernel.index(0), 0, 1), order};
  if (columns != 1) {
    Value first = kernel.apply(kernel.d0() * across, kernel.columns);
    Value column = IotaOp::create(builder, loc, type, first, 2, 1);
    indices.push_back(columns % across == 0 ? column : clamped(column, index, columns));
  }
  return GatherOp::create(builder, loc, type.clone(elements::scalarType(element)), kernel.input(0),
                          indices);
}

Value SegmentEmitter::zeroIn(RowKernel &kernel) {
  auto type = RankedTensorType::get({}, element);
  DenseElementsAttr zero;
  if (auto complex = dyn_cast<ComplexType>(element)) {
    const APFloat part(cast<FloatType>(complex.getElementType()).getFloatSemantics());
    zero = DenseElementsAttr::get(type, std::complex<APFloat>(part, part));
  } else {
    zero = DenseElementsAttr::get(type, kernel.builder.getZeroAttr(element));
  }
  return elements::emitConstant(kernel.builder, kernel.loc, zero);
}

/// Joins two adjacent parts of a chunk: whether a segment begins in them, whether they contain
/// updates of their last segment, and the combination of these updates.
SmallVector<Value> SegmentEmitter::join(OpBuilder &inside, ValueRange both) {
  Location loc = op.getLoc();
  Value begins = both[3], hasBoth = arith::AndIOp::create(inside, loc, both[1], both[4]);
  // canTile() has checked every op of the body.
  Value sum = elements::emitRegion(inside, op.getUpdateComputation(), {both[2], both[5]})->front();
  Value either = arith::SelectOp::create(inside, loc, both[4], both[5], both[2]);
  sum = arith::SelectOp::create(inside, loc, hasBoth, sum, either);
  Value isOn = arith::OrIOp::create(inside, loc, both[1], both[4]);
  return {arith::OrIOp::create(inside, loc, both[0], both[3]),
          arith::SelectOp::create(inside, loc, begins, both[4], isOn),
          arith::SelectOp::create(inside, loc, begins, both[5], sum)};
}

Value SegmentEmitter::flagsOf(RowKernel &kernel, const Updates &from, Value at, Value keys) {
  OpBuilder &builder = kernel.builder;
  Location loc = kernel.loc;
  auto type = cast<RankedTensorType>(keys.getType());
  SmallVector<Value> tiles = {
      IotaOp::create(builder, loc, type.clone(builder.getIndexType()), at, 1, 1), keys,
      loadPlaces(kernel, kernel.input(1), kernel.apply(kernel.d0() - 1, at), from, along),
      loadPlaces(kernel, kernel.input(1), kernel.apply(kernel.d0() + 1, at), from, along)};
  if (from.isOn)
    tiles.push_back(loadPlaces(kernel, kernel.input(3), at, from, along));
  return kernel.map(tiles, builder.getI32Type(), [&](OpBuilder &inside, ValueRange v) {
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(inside, loc, value);
    };
    auto compare = [&](arith::CmpIPredicate predicate, Value a, Value b) -> Value {
      return arith::CmpIOp::create(inside, loc, predicate, a, b);
    };
    auto either = [&](Value a, Value b) -> Value {
      return arith::OrIOp::create(inside, loc, a, b);
    };
    using enum arith::CmpIPredicate;
    // Positions after the last update form a segment of their own.
    Value isEdge = either(compare(eq, v[0], constant(0)), compare(sge, v[0], constant(from.count)));
    Value begins = either(compare(ne, v[1], v[2]), isEdge);
    Value ends = either(compare(ne, v[1], v[3]), compare(sge, v[0], constant(from.count - 1)));
    Value inChunk = arith::RemUIOp::create(inside, loc, v[0], constant(along));
    Value isLastInChunk = either(ends, compare(eq, inChunk, constant(along - 1)));
    Value exists = compare(slt, v[0], constant(from.count));
    if (from.isOn)
      exists = arith::AndIOp::create(inside, loc, exists, v[4]);
    Value flags = arith::ConstantIntOp::create(inside, loc, 0, 32);
    for (auto [bit, value] :
         llvm::enumerate(ArrayRef<Value>{begins, ends, isLastInChunk, exists})) {
      Value wide = arith::ExtUIOp::create(inside, loc, inside.getI32Type(), value);
      Value place = arith::ConstantIntOp::create(inside, loc, static_cast<int64_t>(bit), 32);
      flags = either(flags, arith::ShLIOp::create(inside, loc, wide, place));
    }
    return SmallVector<Value>{flags};
  })[0];
}

SegmentEmitter::Chunk SegmentEmitter::combine(RowKernel &kernel, const Updates &from, Value at) {
  OpBuilder &builder = kernel.builder;
  Location loc = kernel.loc;
  Type flag = builder.getI1Type();
  Chunk chunk;
  Value keys = loadPlaces(kernel, kernel.input(1), at, from, along);
  chunk.keys = spread(kernel, keys);
  Value packed = spread(kernel, flagsOf(kernel, from, at, keys));
  SmallVector<Value> flags =
      kernel.map(packed, {flag, flag, flag, flag}, [&](OpBuilder &inside, ValueRange v) {
        SmallVector<Value> bits;
        for (int64_t bit = 0; bit < 4; ++bit) {
          Value place = arith::ConstantIntOp::create(inside, loc, bit, 32);
          Value low = arith::ShRUIOp::create(inside, loc, v[0], place);
          Value one = arith::ConstantIntOp::create(inside, loc, 1, 32);
          bits.push_back(arith::CmpIOp::create(inside, loc, arith::CmpIPredicate::eq,
                                               arith::AndIOp::create(inside, loc, low, one), one));
        }
        return bits;
      });
  chunk.isLast = flags[1];
  chunk.isLastInChunk = flags[2];
  SmallVector<Value> inputs = {flags[0], flags[3], loadUpdates(kernel, from, at)}, inits;
  Value no = arith::ConstantIntOp::create(builder, loc, 0, 1);
  Type scalar = elements::scalarType(element);
  inits = {no, no, zeroIn(kernel)};
  auto scan = ScanOp::create(builder, loc, ValueRange(inputs).getTypes(), inputs, inits,
                             /*dim=*/uint64_t(1), /*reverse=*/false);
  {
    OpBuilder::InsertionGuard guard(builder);
    Block *block = builder.createBlock(&scan.getCombiner());
    for (int side = 0; side < 2; ++side)
      block->addArguments({flag, flag, scalar}, {loc, loc, loc});
    YieldOp::create(builder, loc, join(builder, block->getArguments()));
  }
  chunk.hasBegun = scan.getResult(0);
  chunk.isOn = scan.getResult(1);
  chunk.sum = scan.getResult(2);
  return chunk;
}

/// Combines the rows of the table with the segments that begin and end in the chunk.
void SegmentEmitter::writeRows(RowKernel &kernel, const Chunk &chunk, Value target) {
  OpBuilder &builder = kernel.builder;
  Location loc = kernel.loc;
  Type index = builder.getIndexType();
  Value row = kernel.map(
      {chunk.keys, chunk.isLast, chunk.hasBegun, chunk.isOn}, index,
      [&](OpBuilder &inside, ValueRange v) {
        Value wide = elements::emitConversion(inside, loc, keyElement, inside.getI64Type(), v[0]);
        Value key = arith::IndexCastOp::create(inside, loc, index, wide);
        Value writes = arith::AndIOp::create(inside, loc,
                                             arith::AndIOp::create(inside, loc, v[1], v[2]), v[3]);
        Value nowhere = arith::ConstantIndexOp::create(inside, loc, -1);
        return SmallVector<Value>{arith::SelectOp::create(inside, loc, writes, key, nowhere)};
      })[0];
  auto type = cast<RankedTensorType>(row.getType());
  SmallVector<Value> indices = {IotaOp::create(builder, loc, type, kernel.index(0), 0, 1), row};
  if (columns != 1)
    indices.push_back(IotaOp::create(builder, loc, type,
                                     kernel.apply(kernel.d0() * across, kernel.columns), 2, 1));
  Type scalar = elements::scalarType(element);
  // A table with the same number everywhere need not be read.
  if (auto splat = op->getAttrOfType<DenseElementsAttr>(indexing::splatTable)) {
    Value sum = kernel.map(chunk.sum, scalar, [&](OpBuilder &inside, ValueRange v) {
      return *elements::emitRegion(inside, op.getUpdateComputation(),
                                   {elements::emitConstant(inside, loc, splat), v[0]});
    })[0];
    ScatterOp::create(builder, loc, sum, target, indices);
    return;
  }
  auto update = UpdateOp::create(builder, loc, chunk.sum, target, indices, /*atomic=*/false);
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(&update.getCombiner(), {}, {scalar, scalar}, {loc, loc});
  YieldOp::create(builder, loc,
                  *elements::emitRegion(builder, op.getUpdateComputation(),
                                        SmallVector<Value>(block->getArguments())));
}

/// Writes the chunk's contribution to segments that began before it or continue after it: two
/// updates for the next step, each of which may be disabled.
void SegmentEmitter::writeEnds(RowKernel &kernel, const Chunk &chunk, const Updates &from,
                               Value first) {
  OpBuilder &builder = kernel.builder;
  Location loc = kernel.loc;
  MLIRContext *context = builder.getContext();
  Type flag = builder.getI1Type(), scalar = elements::scalarType(element);
  auto rowOf = [&](Value tile, int64_t place) -> Value {
    SmallVector<AffineExpr> at = {builder.getAffineDimExpr(0),
                                  builder.getAffineConstantExpr(place)};
    if (columns != 1)
      at.push_back(builder.getAffineDimExpr(2));
    return ViewOp::create(builder, loc,
                          kernel.type(1, cast<RankedTensorType>(tile.getType()).getElementType()),
                          tile, AffineMap::get(static_cast<unsigned>(at.size()), 0, at, context));
  };
  // The head: the sum at the end of the segment that began before the chunk.
  Value isHead =
      kernel.map({chunk.hasBegun, chunk.isLastInChunk, chunk.isOn}, flag,
                 [&](OpBuilder &inside, ValueRange v) {
                   Value one = arith::ConstantIntOp::create(inside, loc, 1, 1);
                   Value before = arith::XOrIOp::create(inside, loc, v[0], one);
                   Value both = arith::AndIOp::create(inside, loc, before, v[1]);
                   return SmallVector<Value>{arith::AndIOp::create(inside, loc, both, v[2])};
                 })[0];
  Value no = arith::ConstantIntOp::create(builder, loc, 0, 1);
  Value zero = zeroIn(kernel);
  SmallVector<int64_t> across1 = kernel.shape(along);
  across1.erase(across1.begin() + 1);
  SmallVector<Type> types = {RankedTensorType::get(across1, flag),
                             RankedTensorType::get(across1, scalar)};
  auto head = ReduceOp::create(builder, loc, types, ValueRange{isHead, chunk.sum},
                               ValueRange{no, zero}, builder.getDenseI64ArrayAttr({1}));
  {
    OpBuilder::InsertionGuard guard(builder);
    Block *block = builder.createBlock(&head.getCombiner());
    for (int side = 0; side < 2; ++side)
      block->addArguments({flag, scalar}, {loc, loc});
    ValueRange v = block->getArguments();
    YieldOp::create(builder, loc,
                    ValueRange{arith::OrIOp::create(builder, loc, v[0], v[2]),
                               arith::SelectOp::create(builder, loc, v[0], v[1], v[3])});
  }
  auto widened = [&](Value tile) -> Value {
    SmallVector<AffineExpr> at = {builder.getAffineDimExpr(0)};
    if (columns != 1)
      at.push_back(builder.getAffineDimExpr(2));
    return ViewOp::create(builder, loc,
                          kernel.type(1, cast<RankedTensorType>(tile.getType()).getElementType()),
                          tile, AffineMap::get(columns != 1 ? 3 : 2, 0, at, context));
  };
  Value isTail =
      kernel.map({rowOf(chunk.isLast, along - 1), rowOf(chunk.hasBegun, along - 1),
                  rowOf(chunk.isOn, along - 1)},
                 flag, [&](OpBuilder &inside, ValueRange v) {
                   Value one = arith::ConstantIntOp::create(inside, loc, 1, 1);
                   Value goesOn = arith::XOrIOp::create(inside, loc, v[0], one);
                   Value both = arith::AndIOp::create(inside, loc, goesOn, v[1]);
                   return SmallVector<Value>{arith::AndIOp::create(inside, loc, both, v[2])};
                 })[0];
  // The first element of a row of flags or keys, at the block's position among the columns.
  auto storePlace = [&](Value tile, Value memory, Value at) {
    auto type = cast<RankedTensorType>(tile.getType());
    SmallVector<AffineExpr> zeros(static_cast<size_t>(type.getRank()),
                                  builder.getAffineConstantExpr(0));
    SmallVector<Value> offsets = {kernel.index(0), at};
    if (columns != 1)
      offsets.push_back(kernel.columns);
    const SmallVector<int64_t> ones(offsets.size(), 1);
    tile = ViewOp::create(builder, loc, RankedTensorType::get(ones, type.getElementType()), tile,
                          AffineMap::get(static_cast<unsigned>(ones.size()), 0, zeros, context));
    StoreOp::create(builder, loc, tile, memory, offsets, DenseI64ArrayAttr(), DenseBoolArrayAttr());
  };
  const std::array<std::array<Value, 3>, 2> ends = {
      {{widened(head.getResult(1)), widened(head.getResult(0)), first},
       {rowOf(chunk.sum, along - 1), isTail, kernel.apply(kernel.d0() + (along - 1), first)}}};
  for (auto [side, end] : llvm::enumerate(ends)) {
    Value at = kernel.apply(kernel.d0() * 2 + static_cast<int64_t>(side), kernel.chunk);
    kernel.store(end[0], kernel.output(1), at, true);
    storePlace(loadPlaces(kernel, kernel.input(1), end[2], from, 1), kernel.output(2), at);
    storePlace(end[1], kernel.output(3), at);
  }
}

void SegmentEmitter::step(const Updates &from, Updates *next) {
  const int64_t chunks = divideUp(from.count, along), blocks = divideUp(columns, across);
  const int64_t held = from.order ? typeOf(from.values).getDimSize(0) : from.count;
  Rows rows;
  rows.length = from.count;
  rows.after = columns;
  Type flag = IntegerType::get(fusion.getContext(), 1);
  SmallVector<RowTensor> inputs = {
      {element, held}, {keyElement, from.count, from.places}, {element, tableRows}};
  SmallVector<Value> operands = {from.values, from.keys, table};
  if (from.order)
    inputs.push_back({elementOf(from.order), from.count, 1});
  if (from.isOn)
    inputs.push_back({flag, from.count, from.places});
  if (Value other = from.order ? from.order : from.isOn)
    operands.push_back(other);
  SmallVector<RowTensor> outputs = {{element, tableRows}};
  SmallVector<Type> types = {table.getType()};
  if (next) {
    outputs.append(
        {{element, 2 * chunks}, {keyElement, 2 * chunks, blocks}, {flag, 2 * chunks, blocks}});
    types.append({RankedTensorType::get({2 * chunks, columns}, element),
                  RankedTensorType::get({2 * chunks, blocks}, keyElement),
                  RankedTensorType::get({2 * chunks, blocks}, flag)});
  }
  RowKernel kernel(fusion.getContext(), op.getLoc(), name, rows, {1, along, across}, chunks, inputs,
                   outputs);
  kernel.update(/*output=*/0, /*input=*/2);
  // Use only as many warps as there are columns: more warps would hold copies of the same elements.
  if (columns != 1)
    kernel.kernel->setAttr(
        "warps", kernel.builder.getI64IntegerAttr(std::max<int64_t>(1, across / capacities.lanes)));
  Value at = kernel.apply(kernel.d0() * along, kernel.chunk);
  const Chunk chunk = combine(kernel, from, at);
  writeRows(kernel, chunk, kernel.output(0));
  if (next)
    writeEnds(kernel, chunk, from, at);
  SmallVector<Value> made(launch(kernel.kernel, operands, types));
  table = made[0];
  if (next)
    *next = {.values = made[1],
             .keys = made[2],
             .order = {},
             .isOn = made[3],
             .count = 2 * chunks,
             .places = blocks};
}

SmallVector<Value> SegmentEmitter::run() {
  Updates now = updates;
  while (now.count > along) {
    Updates next;
    step(now, &next);
    now = next;
  }
  step(now, nullptr);
  return {table};
}

std::optional<SmallVector<Value>> emitSegments(exec::FusionOp fusion, stablehlo::ScatterOp op,
                                               StringRef name, const Capacities &capacities,
                                               MakeLaunch launch, std::string &reason) {
  return planAndEmit<SegmentEmitter>(fusion, op, name, capacities, launch, reason);
}

} // namespace tilewright::tile
