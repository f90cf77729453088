// Expands scatters into the forms that kernels can compute, on rows of a table [R, C]: rows that
// are overwritten at unique indices, integers that are combined in any order, and updates that are
// sorted by row. All are deterministic. For a small table, each row instead searches for its
// updates. If the body is not associative, the updates are written one after the other.
#include "tilewright/numerics/Dims.h"
#include "tilewright/transform/simplify/expand/Expand.h"
#include "tilewright/transform/simplify/expand/ScatterBody.h"

#include "tilewright/dialect/indexing/IndexingRelation.h"
#include "tilewright/dialect/stablehlo/ops/IndexingOps.h"
#include "tilewright/dialect/stablehlo/ops/ReductionOps.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace tilewright::simplify {
namespace {

using enum stablehlo::ComparisonDirection;

/// The number of comparisons of a row with an update, over all columns, below which searching for
/// updates costs less than the kernels of a sort.
constexpr int64_t maxLookups = int64_t(1) << 24;

int64_t position(ArrayRef<int64_t> list, int64_t value) {
  auto found = llvm::find(list, value);
  return found == list.end() ? -1 : found - list.begin();
}

class Expansion {
public:
  Expansion(stablehlo::ScatterOp op, RewriterBase &rewriter)
      : op(op), numbers(op.getScatterDimensionNumbers()), b(rewriter, op.getLoc()),
        shape(typeOf(op.getInputs().front()).getShape()) {
    chooseRows();
  }

  SmallVector<Value> run();

private:
  void chooseRows();
  /// The operand's window in each dimension.
  SmallVector<int64_t> windowSizes();
  /// The first index of each window along an operand dimension, as i64; null for zeros.
  Value startsAlong(int64_t dim, ArrayRef<int64_t> batch);
  /// The row of the table that each row of the updates belongs to, negative for none: [N] of i64.
  Value rowIndices();
  Value updateRows(Value updates);

  SmallVector<Value> combine(ValueRange tables, Value rows, ValueRange updates);
  SmallVector<Value> lookUp(ValueRange tables, Value rows, ValueRange updates);
  SmallVector<Value> lookUpLast(ValueRange tables, Value rows, ValueRange updates);
  SmallVector<Value> sortFirst(ValueRange tables, Value rows, ValueRange updates);
  SmallVector<Value> writeInOrder(ValueRange tables, Value rows, ValueRange updates);
  /// The updates sorted by row; updates of the same row keep their order.
  struct Sorted {
    Value keys; // the rows; the number of rows for updates that have none
    SmallVector<Value> updates;
  };
  Sorted sortByRow(Value rows, ValueRange updates);
  /// Combines updates, where each row has at most one.
  SmallVector<Value> writeUnique(ValueRange tables, Value rows, ValueRange updates);

  SmallVector<Value> sortSegments(Value table, Value rows, Value updates);

  /// The ways to write rows of the table: each row is overwritten at most once; the scatter's own
  /// body is applied any number of times, in any order; or it is applied to updates sorted by row.
  enum class Form { unique, anyOrder, sorted };
  Value scatterRows(Value table, Value rows, Value updates, Form form);
  /// Shifts rows down by `distance`. The first rows then have undefined values.
  Value shifted(Value value, int64_t distance);

  bool overwrites() { return body && body->replacesAll(); }
  /// Combines elements of the table, or earlier updates, with later ones.
  SmallVector<Value> join(ValueRange earlier, ValueRange later) {
    if (body)
      return body->join(b, earlier, later);
    SmallVector<Value> arguments(earlier);
    llvm::append_range(arguments, later);
    return b.apply(op.getUpdateComputation(), arguments);
  }
  RankedTensorType vectorOf(int64_t size, Type element) {
    return RankedTensorType::get({size}, element);
  }
  Type i64() { return b.builder.getI64Type(); }

  stablehlo::ScatterOp op;
  stablehlo::ScatterDimensionNumbersAttr numbers;
  TensorBuilder b;
  /// The form of the body, if it is associative and combines the updates themselves.
  std::optional<ScatterBody> body;
  ArrayRef<int64_t> shape; // of an operand
  SmallVector<int64_t> window;
  size_t leading = 0;             // the dimensions before this one are the rows of the table
  int64_t rows = 1, columns = 1;  // of the table
  int64_t windows = 1, count = 1; // of the updates: windows, and rows
};

SmallVector<int64_t> Expansion::windowSizes() {
  SmallVector<int64_t> sizes(shape.size(), 1);
  ArrayRef<int64_t> update = typeOf(op.getUpdates().front()).getShape();
  size_t next = 0;
  for (int64_t dim = 0; dim < static_cast<int64_t>(shape.size()); ++dim)
    if (!llvm::is_contained(numbers.getInsertedWindowDims(), dim) &&
        !llvm::is_contained(numbers.getInputBatchingDims(), dim))
      sizes[static_cast<size_t>(dim)] =
          update[static_cast<size_t>(numbers.getUpdateWindowDims()[next++])];
  return sizes;
}

/// The trailing dimensions that every window covers completely are the columns.
void Expansion::chooseRows() {
  window = windowSizes();
  leading = shape.size();
  while (leading > 0 && window[leading - 1] == shape[leading - 1])
    --leading;
  auto product = [](ArrayRef<int64_t> sizes) {
    int64_t result = 1;
    for (int64_t size : sizes)
      result *= size;
    return result;
  };
  // The kernel needs at least two rows.
  if (product(shape.take_front(leading)) < 2)
    leading = shape.size();
  rows = product(shape.take_front(leading));
  columns = product(shape.drop_front(leading));
  ArrayRef<int64_t> update = typeOf(op.getUpdates().front()).getShape();
  for (int64_t dim :
       numerics::remaining(static_cast<int64_t>(update.size()), numbers.getUpdateWindowDims()))
    windows *= update[static_cast<size_t>(dim)];
  count = windows * product(ArrayRef(window).take_front(leading));
}

Value Expansion::startsAlong(int64_t dim, ArrayRef<int64_t> batch) {
  const int64_t vector = numbers.getIndexVectorDim();
  if (int64_t k = position(numbers.getScatterDimsToOperandDims(), dim); k >= 0) {
    Value starts = op.getScatterIndices();
    if (vector < typeOf(starts).getRank())
      starts = b.sliceAlong(starts, vector, k, 1);
    return b.convert(b.reshape(starts, batch), i64());
  }
  if (int64_t k = position(numbers.getInputBatchingDims(), dim); k >= 0) {
    int64_t along = numbers.getScatterIndicesBatchingDims()[static_cast<size_t>(k)];
    along -= along > vector ? 1 : 0;
    return b.iota(RankedTensorType::get(batch, i64()), along);
  }
  return {};
}

Value Expansion::rowIndices() {
  SmallVector<int64_t> batch(typeOf(op.getScatterIndices()).getShape());
  if (numbers.getIndexVectorDim() < static_cast<int64_t>(batch.size()))
    batch.erase(batch.begin() + numbers.getIndexVectorDim());
  auto batchType = RankedTensorType::get(batch, i64());
  Value row = b.integer(batchType, 0), inside;
  SmallVector<int64_t> strides(leading, 1);
  for (size_t dim = leading; dim-- > 1;)
    strides[dim - 1] = strides[dim] * shape[dim];
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    Value starts = startsAlong(static_cast<int64_t>(dim), batch);
    if (!starts)
      continue;
    // A window that is not completely inside the operand is dropped.
    inside = b.both(
        inside, b.both(b.compare(starts, GE, 0), b.compare(starts, LE, shape[dim] - window[dim])));
    if (dim < leading)
      row =
          b.add(row, b.multiply(starts, b.integer(batchType, static_cast<uint64_t>(strides[dim]))));
  }
  if (inside) // far enough below zero that no row of the window is in the table
    row = b.select(inside, row, b.integer(batchType, static_cast<uint64_t>(-2 * rows)));
  SmallVector<int64_t> all(batch), places;
  for (size_t dim = 0; dim < batch.size(); ++dim)
    places.push_back(static_cast<int64_t>(dim));
  llvm::append_range(all, ArrayRef(window).take_front(leading));
  auto allType = RankedTensorType::get(all, i64());
  row = b.broadcast(row, all, places);
  for (size_t dim = 0; dim < leading; ++dim)
    if (window[dim] != 1)
      row = b.add(row, b.multiply(b.iota(allType, static_cast<int64_t>(batch.size() + dim)),
                                  b.integer(allType, static_cast<uint64_t>(strides[dim]))));
  return b.reshape(row, {count});
}

/// The updates with the dimensions of the windows last, as rows.
Value Expansion::updateRows(Value updates) {
  numerics::Dims order =
      numerics::remaining(typeOf(updates).getRank(), numbers.getUpdateWindowDims());
  llvm::append_range(order, numbers.getUpdateWindowDims());
  return b.reshape(b.transpose(updates, order), {count, columns});
}

Value Expansion::scatterRows(Value table, Value at, Value updates, Form form) {
  auto dims = stablehlo::ScatterDimensionNumbersAttr::get(
      b.builder.getContext(), /*update_window_dims=*/{1}, /*inserted_window_dims=*/{0},
      /*input_batching_dims=*/{}, /*scatter_indices_batching_dims=*/{},
      /*scatter_dims_to_operand_dims=*/{0}, /*index_vector_dim=*/1);
  auto scatter = stablehlo::ScatterOp::create(b.builder, b.location, TypeRange(table.getType()),
                                              ValueRange(table), at, ValueRange(updates), dims,
                                              /*indices_are_sorted=*/form == Form::sorted,
                                              /*unique_indices=*/form == Form::unique);
  if (form == Form::anyOrder) {
    IRMapping mapping;
    op.getUpdateComputation().cloneInto(&scatter.getUpdateComputation(), mapping);
    return scatter.getResult(0);
  }
  OpBuilder::InsertionGuard guard(b.builder);
  Block *block = b.builder.createBlock(&scatter.getUpdateComputation());
  auto scalar = RankedTensorType::get({}, typeOf(table).getElementType());
  block->addArguments({scalar, scalar}, {b.location, b.location});
  Value old = block->getArgument(0), update = block->getArgument(1);
  stablehlo::ReturnOp::create(
      b.builder, b.location, form == Form::sorted ? join(old, update) : SmallVector<Value>{update});
  return scatter.getResult(0);
}

SmallVector<Value> Expansion::writeUnique(ValueRange tables, Value at, ValueRange updates) {
  SmallVector<Value> fresh(updates);
  if (!overwrites()) {
    SmallVector<Value> old;
    for (Value table : tables)
      old.push_back(b.gatherRows(table, at));
    fresh = join(old, updates);
  }
  SmallVector<Value> results;
  for (auto [table, update] : llvm::zip_equal(tables, fresh))
    results.push_back(scatterRows(table, at, update, Form::unique));
  return results;
}

/// For each row, the number of the last update that belongs to it. This is a maximum, so the order
/// does not matter.
SmallVector<Value> Expansion::lookUpLast(ValueRange tables, Value at, ValueRange updates) {
  auto pairs = RankedTensorType::get({rows, count}, i64());
  Value own = b.iota(pairs, 0), number = b.iota(pairs, 1);
  Value none = b.integer(pairs, static_cast<uint64_t>(-1));
  Value found = b.select(b.compare(b.broadcast(at, {rows, count}, {1}), EQ, own), number, none);
  auto scalar = RankedTensorType::get({}, i64());
  Value init = b.integer(scalar, static_cast<uint64_t>(-1));
  Value last = b.reduce(ValueRange(found), ValueRange(init), {1}, [&](ValueRange v) {
                  return SmallVector<Value>{b.binary<stablehlo::MaximumOp>(v[0], v[1])};
                }).front();
  Value isWritten = b.broadcast(b.compare(last, GE, 0), {rows, columns}, {0});
  SmallVector<Value> results;
  for (auto [table, update] : llvm::zip_equal(tables, updates))
    results.push_back(b.select(isWritten, b.gatherRows(update, last), table));
  return results;
}

/// Each row of the table combines its updates by a reduction over all updates, in which updates of
/// other rows have no effect.
SmallVector<Value> Expansion::lookUp(ValueRange tables, Value at, ValueRange updates) {
  if (overwrites())
    return lookUpLast(tables, at, updates);
  const SmallVector<int64_t> all{rows, count, columns};
  auto allType = RankedTensorType::get(all, i64());
  Value isOwn = b.compare(b.broadcast(at, all, {1}), EQ, b.iota(allType, 0));
  auto flag = RankedTensorType::get({}, b.builder.getI1Type());
  SmallVector<Value> inputs{isOwn}, inits{b.integer(flag, 0)};
  for (Value update : updates) {
    inputs.push_back(b.broadcast(update, all, {1, 2}));
    inits.push_back(b.number(RankedTensorType::get({}, typeOf(update).getElementType()), 0));
  }
  const size_t width = inputs.size();
  SmallVector<Value> found = b.reduce(inputs, inits, {1}, [&](ValueRange v) {
    ValueRange left = v.take_front(width), right = v.drop_front(width);
    SmallVector<Value> joined = join(left.drop_front(), right.drop_front());
    Value hasBoth = b.both(left[0], right[0]);
    SmallVector<Value> results{b.binary<stablehlo::OrOp>(left[0], right[0])};
    // Zero where there is none, so that the order matters only if it does for the body.
    for (size_t i = 1; i < width; ++i) {
      Value zero = b.number(typeOf(right[i]), 0);
      Value one = b.select(left[0], left[i], b.select(right[0], right[i], zero));
      results.push_back(b.select(hasBoth, joined[i - 1], one));
    }
    return results;
  });
  SmallVector<Value> joined = join(tables, ArrayRef(found).drop_front()), results;
  for (auto [table, fresh] : llvm::zip_equal(tables, joined))
    results.push_back(b.select(found.front(), fresh, table));
  return results;
}

Value Expansion::shifted(Value value, int64_t distance) {
  RankedTensorType type = typeOf(value);
  Value zero = b.number(RankedTensorType::get({}, type.getElementType()), 0);
  SmallVector<int64_t> low(static_cast<size_t>(type.getRank()), 0), none = low, high = low;
  low[0] = distance;
  high[0] = -distance;
  return b.pad(value, zero, low, high, none);
}

Expansion::Sorted Expansion::sortByRow(Value at, ValueRange updates) {
  auto keyType = vectorOf(count, i64());
  Value none = b.integer(keyType, static_cast<uint64_t>(rows));
  Value isInside = b.both(b.compare(at, GE, 0), b.compare(at, LT, rows));
  SmallVector<Value> sorted =
      b.sort({b.select(isInside, at, none), b.iota(keyType, 0)}, 0,
             [&](ValueRange v) { return SmallVector<Value>{b.compare(v[0], LT, v[1])}; });
  Sorted result{sorted[0], {}};
  for (Value update : updates)
    result.updates.push_back(b.gatherRows(update, sorted[1]));
  return result;
}

/// Sorts the updates by row and combines those of each row in steps of doubling distance. The last
/// update of each row then contains all of them and is written.
SmallVector<Value> Expansion::sortFirst(ValueRange tables, Value at, ValueRange updates) {
  auto [keys, values] = sortByRow(at, updates);
  auto keyType = vectorOf(count, i64());
  Value number = b.iota(keyType, 0), none = b.integer(keyType, static_cast<uint64_t>(rows));
  if (!overwrites())
    for (int64_t distance = 1; distance < count; distance *= 2) {
      Value isSame =
          b.both(b.compare(keys, EQ, shifted(keys, distance)), b.compare(number, GE, distance));
      SmallVector<Value> earlier;
      for (Value value : values)
        earlier.push_back(shifted(value, distance));
      for (auto [value, fresh] : llvm::zip_equal(values, join(earlier, values)))
        value = b.select(b.broadcast(isSame, {count, columns}, {0}), fresh, value);
    }
  Value isLast = b.compare(number, EQ, count - 1);
  isLast = b.binary<stablehlo::OrOp>(isLast, b.compare(keys, NE, shifted(keys, -1)));
  return writeUnique(tables, b.select(isLast, keys, none), values);
}

/// Applies the first update of each row, then the second update of each row that has two, and so
/// on, in as many steps as the row with the most updates has. For bodies such as (a, b) ->
/// negate(a), as in JAX's `at[].apply`.
SmallVector<Value> Expansion::writeInOrder(ValueRange tables, Value at, ValueRange updates) {
  auto [keys, values] = sortByRow(at, updates);
  auto keyType = vectorOf(count, i64());
  Value number = b.iota(keyType, 0), none = b.integer(keyType, static_cast<uint64_t>(rows));
  // The number of an update among the updates of its row: its distance from the first of them.
  Value isFirst =
      b.binary<stablehlo::OrOp>(b.compare(number, EQ, 0), b.compare(keys, NE, shifted(keys, 1)));
  Value first = b.select(isFirst, number, b.integer(keyType, 0));
  for (int64_t distance = 1; distance < count; distance *= 2)
    first = b.binary<stablehlo::MaximumOp>(first, shifted(first, distance));
  Value turn = b.select(b.compare(keys, LT, rows), b.subtract(number, first),
                        b.integer(keyType, static_cast<uint64_t>(-1)));
  auto scalar = RankedTensorType::get({}, i64());
  Value last = b.reduce(ValueRange(turn), b.integer(scalar, static_cast<uint64_t>(-1)), {0},
                        [&](ValueRange v) {
                          return SmallVector<Value>{b.binary<stablehlo::MaximumOp>(v[0], v[1])};
                        })
                   .front();
  Value steps = b.convert(b.add(last, b.integer(scalar, 1)), b.builder.getI32Type());
  return b.loop(steps, tables, [&](Value step, ValueRange state) {
    Value isNow = b.compare(turn, EQ, b.broadcast(b.convert(step, i64()), {count}));
    return writeUnique(state, b.select(isNow, keys, none), values);
  });
}

/// Sorts the updates by row. The kernels of a scatter of sorted rows combine those of each row.
SmallVector<Value> Expansion::sortSegments(Value table, Value at, Value updates) {
  const bool isNarrow = std::max(rows + 1, count) <= INT32_MAX;
  auto keyType = vectorOf(count, isNarrow ? b.builder.getI32Type() : i64());
  Value isInside = b.both(b.compare(at, GE, 0), b.compare(at, LT, rows));
  Value none = b.integer(vectorOf(count, i64()), static_cast<uint64_t>(rows));
  Value keys = b.convert(b.select(isInside, at, none), keyType.getElementType());
  SmallVector<Value> sorted = b.sort({keys, b.iota(keyType, 0)}, 0, [&](ValueRange v) {
    return SmallVector<Value>{b.compare(v[0], LT, v[1])};
  });
  return {scatterRows(table, sorted[0], b.gatherRows(updates, sorted[1]), Form::sorted)};
}

SmallVector<Value> Expansion::combine(ValueRange tables, Value at, ValueRange updates) {
  if (indexing::combinesAnyOrder(op))
    return {scatterRows(tables[0], at, updates[0], Form::anyOrder)};
  if (op.getUniqueIndices() || windows == 1)
    return writeUnique(tables, at, updates);
  body = ScatterBody::of(op.getUpdateComputation(), tables.size());
  if (!body)
    return writeInOrder(tables, at, updates);
  const SmallVector<Value> numbers = body->numbersFrom(b, updates);
  // A reduction has no order, and the order matters if some operands are replaced and others are
  // not.
  if (body->replacesSome() && !body->replacesAll())
    return sortFirst(tables, at, numbers);
  // Saturates, because sizes are below 2^63 each.
  const auto lookups = double(rows) * double(count) * double(columns);
  if (lookups <= double(maxLookups))
    return lookUp(tables, at, numbers);
  return tables.size() == 1 ? sortSegments(tables[0], at, numbers[0])
                            : sortFirst(tables, at, numbers);
}

SmallVector<Value> Expansion::run() {
  SmallVector<Value> tables, updates;
  for (auto [input, update, result] :
       llvm::zip_equal(op.getInputs(), op.getUpdates(), op.getResults())) {
    Type element = typeOf(result).getElementType();
    tables.push_back(b.reshape(b.convert(input, element), {rows, columns}));
    updates.push_back(updateRows(b.convert(update, element)));
  }
  // A table of one element gets a second row, to which nothing is written.
  const bool isSingle = rows == 1;
  if (isSingle)
    for (Value &table : tables)
      table = b.pad(table, b.number(RankedTensorType::get({}, typeOf(table).getElementType()), 0),
                    {0, 0}, {1, 0}, {0, 0});
  Value at = rowIndices();
  rows += isSingle ? 1 : 0;
  SmallVector<Value> results = combine(tables, at, updates);
  for (auto [value, result] : llvm::zip_equal(results, op.getResults())) {
    if (isSingle)
      value = b.sliceAlong(value, 0, 0, 1);
    value = b.reshape(value, typeOf(result).getShape());
  }
  return results;
}

} // namespace

LogicalResult expandScatter(stablehlo::ScatterOp op, RewriterBase &rewriter) {
  if (std::string why = whyNotElementwise(op.getUpdateComputation()); !why.empty())
    return rewriter.notifyMatchFailure(op, why);
  if (typeOf(op.getInputs().front()).getNumElements() == 0 ||
      typeOf(op.getUpdates().front()).getNumElements() == 0) {
    TensorBuilder b(rewriter, op.getLoc());
    SmallVector<Value> unchanged;
    for (auto [input, result] : llvm::zip_equal(op.getInputs(), op.getResults()))
      unchanged.push_back(b.convert(input, typeOf(result).getElementType()));
    rewriter.replaceOp(op, unchanged);
    return success();
  }
  rewriter.replaceOp(op, Expansion(op, rewriter).run());
  return success();
}

} // namespace tilewright::simplify
