// Scans: a reduce_window whose window reaches back to the first element of its row. A block reads
// its rows once and writes them once, chunk by chunk, with the prefix of the previous chunks. If
// there are few long rows, the chunks run on all multiprocessors instead: a first kernel reduces
// them, a second one scans these totals, and a third one scans the chunks. For integers, a single
// kernel does all of this: a chunk waits for the total of the chunks before it (tile.carry). The
// order of combination is fixed, except in this last case, where it does not matter.
#include "tilewright/dialect/elements/ScalarSemantics.h"
#include "tilewright/dialect/indexing/IndexingRelation.h"
#include "tilewright/dialect/stablehlo/StablehloOps.h"
#include "tilewright/dialect/tile/SortOps.h"
#include "tilewright/transform/tile/RowKernels.h"
#include "tilewright/transform/tile/rows/RadixSort.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tilewright::tile {

namespace {

class ScanEmitter {
public:
  ScanEmitter(exec::FusionOp fusion, stablehlo::ReduceWindowOp op, StringRef name,
              const Capacities &capacities, MakeLaunch launch)
      : fusion(fusion), op(op), name(name), capacities(capacities), launch(launch),
        capacity(capacities.tileElements ? std::max<int64_t>(capacities.tileElements / 2, 1)
                                         : 4096) {}

  /// Reads the fusion. Returns false and sets `reason` if it is not a scan that can be emitted.
  bool plan(std::string &reason);
  SmallVector<Value> run();

private:
  /// The operands of the scan: tensors of the given element types, as rows.
  struct Operands {
    SmallVector<Value> values;
    SmallVector<Type> types;
    int64_t length;
    bool isReverse;
  };

  bool canRepeatInitial();
  std::array<int64_t, 3> chooseTile() const;
  SmallVector<RowTensor> tensors(ArrayRef<Type> elements, int64_t length) const;
  SmallVector<Value> initialValues(RowKernel &kernel);
  SmallVector<Value> load(RowKernel &kernel, const Operands &from, Value at, int64_t along,
                          bool isInside);
  ScanOp scan(RowKernel &kernel, ValueRange tiles, ValueRange inits, bool isReverse);
  template <typename Op> void fillCombiner(RowKernel &kernel, Op op);
  SmallVector<Value> combine(OpBuilder &inside, ValueRange both);
  /// Where a chunk begins; chunks are numbered in the order of the scan.
  Value startOf(RowKernel &kernel, const Operands &from, Value number, int64_t along);

  SmallVector<Value> scanWhole(const Operands &from);
  SmallVector<Value> scanInLoop(const Operands &from);
  SmallVector<Value> scanColumns(const Operands &from);
  SmallVector<Value> scanByTotals(const Operands &from);
  SmallVector<Value> scanByCarry(const Operands &from);
  SmallVector<Value> launchKernel(RowKernel &kernel, ArrayRef<Value> operands, int64_t length);

  exec::FusionOp fusion;
  stablehlo::ReduceWindowOp op;
  const std::string name;
  const Capacities &capacities;
  MakeLaunch launch;
  const int64_t capacity; // elements of a tile: half of what a block can hold, for the totals
  Rows rows;
  Operands operands;
  SmallVector<Type> results; // the elements that the body computes with
  SmallVector<ElementsAttr> initials;
};

} // namespace

bool ScanEmitter::plan(std::string &reason) {
  if (!indexing::canTile(op, &reason))
    return false;
  Block &body = fusion.getBody().front();
  if (ValueRange(body.getTerminator()->getOperands()) != ValueRange(op.getResults())) {
    reason = "its results are not those of one scan";
    return false;
  }
  for (Value input : op.getInputs()) {
    operands.values.push_back(operandOutside(fusion, input));
    if (!operands.values.back()) {
      reason = "it scans a value that is neither an input nor a constant";
      return false;
    }
    operands.types.push_back(cast<RankedTensorType>(input.getType()).getElementType());
  }
  for (Value init : op.getInitValues())
    initials.push_back(init.getDefiningOp<stablehlo::ConstantOp>().getValue());
  for (Value result : op.getResults())
    results.push_back(cast<RankedTensorType>(result.getType()).getElementType());
  const indexing::ScanDimension scanned = *indexing::scannedDimension(op);
  rows = Rows(cast<RankedTensorType>(op.getInputs().front().getType()).getShape(), scanned.dim);
  operands.length = rows.length;
  operands.isReverse = scanned.isReverse;
  return true;
}

/// Whether combining the initial value more than once changes nothing: it is neutral, or the body
/// is idempotent.
bool ScanEmitter::canRepeatInitial() {
  Block &body = op.getBody().front();
  Operation &inner = body.front();
  if (body.getNumArguments() != 2 || !llvm::hasNItems(body, 2) || inner.getNumOperands() != 2 ||
      inner.getOperand(0) == inner.getOperand(1) || !isa<BlockArgument>(inner.getOperand(0)) ||
      !isa<BlockArgument>(inner.getOperand(1)))
    return false;
  if (isa<stablehlo::MaximumOp, stablehlo::MinimumOp, stablehlo::AndOp, stablehlo::OrOp>(inner))
    return true;
  auto dense = dyn_cast<DenseElementsAttr>(initials.front());
  if (!dense || !isa<stablehlo::AddOp, stablehlo::MultiplyOp>(inner))
    return false;
  const bool wantsZero = isa<stablehlo::AddOp>(inner);
  if (isa<FloatType>(dense.getElementType()))
    return dense.getSplatValue<APFloat>().isExactlyValue(wantsZero ? 0.0 : 1.0);
  return isa<IntegerType>(dense.getElementType()) &&
         (wantsZero ? dense.getSplatValue<APInt>().isZero() : dense.getSplatValue<APInt>().isOne());
}

//===- Parts of kernels ---------------------------------------------------===//

SmallVector<RowTensor> ScanEmitter::tensors(ArrayRef<Type> elements, int64_t length) const {
  SmallVector<RowTensor> tensors;
  for (Type element : elements)
    tensors.push_back({element, length});
  return tensors;
}

/// The initial values, in the types that the body computes in.
SmallVector<Value> ScanEmitter::initialValues(RowKernel &kernel) {
  SmallVector<Value> values;
  for (auto [constant, result] : llvm::zip_equal(initials, results)) {
    Value value = elements::emitConstant(kernel.builder, kernel.loc, constant);
    values.push_back(elements::emitConversion(kernel.builder, kernel.loc, constant.getElementType(),
                                              result, value));
  }
  return values;
}

SmallVector<Value> ScanEmitter::load(RowKernel &kernel, const Operands &from, Value at,
                                     int64_t along, bool isInside) {
  SmallVector<Value> tiles;
  for (auto [i, type, result] : llvm::enumerate(from.types, results)) {
    Value tile = kernel.load(kernel.input(i), at, along, isInside);
    if (type != result)
      tile = kernel.map(tile, elements::scalarType(result),
                        [&, type = type, result = result](OpBuilder &inside, ValueRange v) {
                          return SmallVector<Value>{
                              elements::emitConversion(inside, kernel.loc, type, result, v[0])};
                        })[0];
    tiles.push_back(tile);
  }
  return tiles;
}

SmallVector<Value> ScanEmitter::combine(OpBuilder &inside, ValueRange both) {
  // canTile() has checked every op of the body.
  return *elements::emitRegion(inside, op.getBody(), both);
}

template <typename Op> void ScanEmitter::fillCombiner(RowKernel &kernel, Op combining) {
  OpBuilder &builder = kernel.builder;
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(&combining.getCombiner());
  for (int side = 0; side < 2; ++side)
    for (Type result : results)
      block->addArgument(elements::scalarType(result), kernel.loc);
  YieldOp::create(builder, kernel.loc, combine(builder, block->getArguments()));
}

ScanOp ScanEmitter::scan(RowKernel &kernel, ValueRange tiles, ValueRange inits, bool isReverse) {
  auto scan = ScanOp::create(kernel.builder, kernel.loc, tiles.getTypes(), tiles, inits,
                             /*dim=*/uint64_t(1), isReverse);
  fillCombiner(kernel, scan);
  return scan;
}

Value ScanEmitter::startOf(RowKernel &kernel, const Operands &from, Value number, int64_t along) {
  AffineExpr step = kernel.d0() * along;
  return kernel.apply(from.isReverse ? -step + (from.length - along) : step, number);
}

SmallVector<Value> ScanEmitter::launchKernel(RowKernel &kernel, ArrayRef<Value> from,
                                             int64_t length) {
  SmallVector<Type> types;
  for (Type result : results)
    types.push_back(RankedTensorType::get(rows.shape(length), result));
  return SmallVector<Value>(launch(kernel.kernel, from, types));
}

//===- Kernels ------------------------------------------------------------===//

/// Rows before and after that a block scans at once, for rows that fit into a tile.
std::array<int64_t, 3> ScanEmitter::chooseTile() const {
  const auto held = static_cast<int64_t>(llvm::PowerOf2Ceil(uint64_t(operands.length)));
  int64_t budget = std::max<int64_t>(1, capacity / held);
  while (budget > 1 && rows.before * rows.after / budget < 2 * capacities.cores)
    budget /= 2;
  // Use whole sectors of 32 bytes, if they fit.
  const int64_t after = takeRows(budget, rows.after, std::min<int64_t>(8, capacity / held));
  return {takeRows(budget, rows.before, 1), operands.length, after};
}

/// Rows that fit into a tile.
SmallVector<Value> ScanEmitter::scanWhole(const Operands &from) {
  RowKernel kernel(fusion.getContext(), op.getLoc(), name, rows, chooseTile(), 1,
                   tensors(from.types, from.length), tensors(results, from.length));
  Value zero = kernel.index(0);
  SmallVector<Value> tiles = load(kernel, from, zero, from.length, true);
  ScanOp scanned = scan(kernel, tiles, initialValues(kernel), from.isReverse);
  for (auto [i, result] : llvm::enumerate(scanned.getResults()))
    kernel.store(result, kernel.output(i), zero, true);
  return launchKernel(kernel, from.values, from.length);
}

/// One row per block, chunk by chunk, with the last element of a chunk as the initial value of the
/// next.
SmallVector<Value> ScanEmitter::scanInLoop(const Operands &from) {
  RowKernel kernel(fusion.getContext(), op.getLoc(), name, rows, {1, capacity, 1}, 1,
                   tensors(from.types, from.length), tensors(results, from.length));
  OpBuilder &builder = kernel.builder;
  const bool isInside = from.length % capacity == 0;
  Value chunks = kernel.index(llvm::divideCeilSigned(from.length, capacity));
  SmallVector<Value> inits = initialValues(kernel);
  auto loop =
      scf::ForOp::create(builder, kernel.loc, kernel.index(0), chunks, kernel.index(1), inits);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value at = startOf(kernel, from, loop.getInductionVar(), capacity);
  SmallVector<Value> tiles = load(kernel, from, at, capacity, isInside);
  ScanOp scanned = scan(kernel, tiles, loop.getRegionIterArgs(), from.isReverse);
  SmallVector<Value> next;
  for (auto [i, result] : llvm::enumerate(scanned.getResults())) {
    kernel.store(result, kernel.output(i), at, isInside);
    next.push_back(kernel.extract(result, from.isReverse ? 0 : capacity - 1));
  }
  scf::YieldOp::create(builder, kernel.loc, next);
  return launchKernel(kernel, from.values, from.length);
}

/// Neighbouring rows that are interleaved in memory, chunk by chunk. Requires that the initial
/// value can be combined in each chunk.
SmallVector<Value> ScanEmitter::scanColumns(const Operands &from) {
  const int64_t columns = std::min<int64_t>(rows.after, 32);
  const int64_t along = std::max<int64_t>(1, capacity / 32);
  RowKernel kernel(fusion.getContext(), op.getLoc(), name, rows, {1, along, columns}, 1,
                   tensors(from.types, from.length), tensors(results, from.length));
  OpBuilder &builder = kernel.builder;
  MLIRContext *context = fusion.getContext();
  Location loc = kernel.loc;
  const bool isInside = from.length % along == 0;
  Value chunks = kernel.index(llvm::divideCeilSigned(from.length, along));
  SmallVector<Value> inits = initialValues(kernel), first;
  SmallVector<Type> types;
  for (auto [result, initial] : llvm::zip_equal(results, initials)) {
    types.push_back(elements::scalarType(result));
    auto splat = MapOp::create(builder, loc, TypeRange(kernel.type(1, types.back())), ValueRange());
    OpBuilder::InsertionGuard guard(builder);
    builder.createBlock(&splat.getBody());
    Value value = elements::emitConstant(builder, loc, initial);
    YieldOp::create(
        builder, loc,
        elements::emitConversion(builder, loc, initial.getElementType(), result, value));
    first.push_back(splat.getResult(0));
  }
  auto loop = scf::ForOp::create(builder, loc, kernel.index(0), chunks, kernel.index(1), first);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value at = startOf(kernel, from, loop.getInductionVar(), along);
  SmallVector<Value> tiles = load(kernel, from, at, along, isInside);
  ScanOp scanned = scan(kernel, tiles, inits, from.isReverse);
  auto inRow = [&](Value tile, int64_t size, AffineExpr place) -> Value {
    AffineMap map = AffineMap::get(
        3, 0, {getAffineDimExpr(0, context), place, getAffineDimExpr(2, context)}, context);
    Type element = cast<RankedTensorType>(tile.getType()).getElementType();
    return ViewOp::create(builder, loc, kernel.type(size, element), tile, map);
  };
  SmallVector<Value> both;
  for (Value carried : loop.getRegionIterArgs())
    both.push_back(inRow(carried, along, getAffineConstantExpr(0, context)));
  llvm::append_range(both, scanned.getResults());
  SmallVector<Value> combined =
      kernel.map(both, types, [&](OpBuilder &inside, ValueRange v) { return combine(inside, v); });
  SmallVector<Value> next;
  for (auto [i, tile] : llvm::enumerate(combined)) {
    kernel.store(tile, kernel.output(i), at, isInside);
    next.push_back(inRow(tile, 1, getAffineConstantExpr(from.isReverse ? 0 : along - 1, context)));
  }
  scf::YieldOp::create(builder, loc, next);
  return launchKernel(kernel, from.values, from.length);
}

/// Computes the totals of all chunks except the last, scans the totals, and scans each chunk from
/// its total. Requires that the initial value can be combined in each chunk.
SmallVector<Value> ScanEmitter::scanByTotals(const Operands &from) {
  const int64_t chunks = llvm::divideCeilSigned(from.length, capacity);
  SmallVector<Value> totals;
  {
    RowKernel kernel(fusion.getContext(), op.getLoc(), name + "_totals", rows, {1, capacity, 1},
                     chunks - 1, tensors(from.types, from.length), tensors(results, chunks - 1));
    Value at = startOf(kernel, from, kernel.chunk, capacity);
    SmallVector<Value> tiles = load(kernel, from, at, capacity, true);
    SmallVector<Type> types;
    for (Type result : results)
      types.push_back(RankedTensorType::get({1}, elements::scalarType(result)));
    auto reduce = ReduceOp::create(kernel.builder, kernel.loc, types, tiles, initialValues(kernel),
                                   kernel.builder.getDenseI64ArrayAttr({1}));
    fillCombiner(kernel, reduce);
    AffineMap map = AffineMap::get(2, 0, getAffineDimExpr(0, fusion.getContext()));
    for (auto [i, total] : llvm::enumerate(reduce.getResults())) {
      Type element = cast<RankedTensorType>(total.getType()).getElementType();
      Value tile = ViewOp::create(kernel.builder, kernel.loc, kernel.type(1, element), total, map);
      kernel.store(tile, kernel.output(i), kernel.chunk, true);
    }
    totals = launchKernel(kernel, from.values, chunks - 1);
  }
  const Operands sums{totals, results, chunks - 1, false};
  SmallVector<Value> values = from.values;
  llvm::append_range(values, scanInLoop(sums));
  SmallVector<RowTensor> inputs = tensors(from.types, from.length);
  llvm::append_range(inputs, tensors(results, chunks - 1));
  RowKernel kernel(fusion.getContext(), op.getLoc(), name, rows, {1, capacity, 1}, chunks, inputs,
                   tensors(results, from.length));
  OpBuilder &builder = kernel.builder;
  const bool isInside = from.length % capacity == 0;
  Value zero = kernel.index(0), at = startOf(kernel, from, kernel.chunk, capacity);
  Value isFirst =
      arith::CmpIOp::create(builder, kernel.loc, arith::CmpIPredicate::eq, kernel.chunk, zero);
  Value before = arith::MaxSIOp::create(builder, kernel.loc,
                                        kernel.apply(kernel.d0() - 1, kernel.chunk), zero);
  SmallVector<Value> inits = initialValues(kernel);
  for (auto [i, init] : llvm::enumerate(inits)) {
    Value sum = kernel.loadScalar(kernel.input(from.types.size() + i), before);
    init = arith::SelectOp::create(builder, kernel.loc, isFirst, init, sum);
  }
  SmallVector<Value> tiles = load(kernel, from, at, capacity, isInside);
  ScanOp scanned = scan(kernel, tiles, inits, from.isReverse);
  for (auto [i, result] : llvm::enumerate(scanned.getResults()))
    kernel.store(result, kernel.output(i), at, isInside);
  return launchKernel(kernel, values, from.length);
}

/// Each chunk has its own block, which gets the total of the chunks before. Requires one operand of
/// integers, and that the initial value can be combined in each chunk.
SmallVector<Value> ScanEmitter::scanByCarry(const Operands &from) {
  MLIRContext *context = fusion.getContext();
  const int64_t chunks = llvm::divideCeilSigned(from.length, capacity);
  Type element = elements::scalarType(results.front()), wide = IntegerType::get(context, 64);
  const int64_t words =
      CarryOp::header + rows.before * chunks * CarryOp::wordsOf(element.getIntOrFloatBitWidth());
  Value state = launchZeros(context, op.getLoc(), name + "_state", wide, words, launch);
  RowKernel kernel(context, op.getLoc(), name, rows, {1, capacity, 1}, chunks,
                   tensors(from.types, from.length), tensors(results, from.length));
  auto memory = MemRefType::get({words}, wide);
  kernel.addState(memory);
  const bool isInside = from.length % capacity == 0;
  Value at = startOf(kernel, from, kernel.chunk, capacity);
  SmallVector<Value> tiles = load(kernel, from, at, capacity, isInside);
  SmallVector<Value> inits = initialValues(kernel);
  Value scanned = scan(kernel, tiles, inits, from.isReverse).getResult(0);
  Value last =
      kernel.iota(kernel.builder.getI32Type(), kernel.index(from.isReverse ? 0 : capacity - 1), 1);
  Value total = TakeOp::create(kernel.builder, kernel.loc, kernel.type(1, element), scanned, last);
  auto carry = CarryOp::create(kernel.builder, kernel.loc, total.getType(), total, kernel.output(1),
                               inits.front(), /*epoch=*/0, /*narrow=*/false);
  fillCombiner(kernel, carry);
  AffineMap first = AffineMap::get(
      2, 0, {kernel.builder.getAffineDimExpr(0), kernel.builder.getAffineConstantExpr(0)}, context);
  Value before = ViewOp::create(kernel.builder, kernel.loc, kernel.type(capacity, element),
                                carry.getResult(), first);
  Value sums = kernel.map({before, scanned}, element,
                          [&](OpBuilder &inside, ValueRange v) { return combine(inside, v); })[0];
  kernel.store(sums, kernel.output(0), at, isInside);
  SmallVector<Value> values = from.values;
  values.push_back(state);
  const SmallVector<Type> types = {RankedTensorType::get(rows.shape(from.length), results.front()),
                                   state.getType()};
  return {launch(kernel.kernel, values, types).front()};
}

SmallVector<Value> ScanEmitter::run() {
  if (operands.length <= capacity)
    return scanWhole(operands);
  const bool canRepeat = canRepeatInitial();
  if (rows.after > 1 && canRepeat)
    return scanColumns(operands);
  // Below 32 chunks, one pass with few blocks costs less than three kernels that move half as many
  // bytes again.
  if (rows.after == 1 && canRepeat && rows.before * 16 <= capacities.cores &&
      operands.length > 32 * capacity)
    return results.size() == 1 && results.front().isInteger() ? scanByCarry(operands)
                                                              : scanByTotals(operands);
  return scanInLoop(operands);
}

std::optional<SmallVector<Value>> emitScan(exec::FusionOp fusion, stablehlo::ReduceWindowOp op,
                                           StringRef name, const Capacities &capacities,
                                           MakeLaunch launch, std::string &reason) {
  return planAndEmit<ScanEmitter>(fusion, op, name, capacities, launch, reason);
}

} // namespace tilewright::tile
