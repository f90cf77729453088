#include "tilewright/transform/distribute/local/Masked.h"

#include "tilewright/transform/distribute/local/Local.h"
#include "tilewright/transform/distribute/local/LocalBuilder.h"
#include "tilewright/transform/distribute/rules/Rules.h"

#include <algorithm>
#include <limits>

using namespace mlir;

namespace tilewright::distribute {
namespace {

/// A sharded dimension that an op indexes.
struct IndexedDim {
  size_t dim;
  int64_t global, local; // sizes
  Value offset;          // of the shard, an i32 scalar
};

/// The sharded dimensions of a value that satisfy `isIndexed`. `local` is the shape of its shard.
std::vector<IndexedDim> indexedDims(LocalBuilder &b, ShardBuilder &shards, const Sharding &sharding,
                                    ArrayRef<int64_t> local,
                                    llvm::function_ref<bool(size_t)> isIndexed) {
  std::vector<IndexedDim> dims;
  for (size_t dim = 0; dim < local.size(); ++dim)
    if (!sharding.along(dim).empty() && isIndexed(dim))
      dims.push_back({dim, local[dim] * sharding.count(dim), local[dim],
                      shards.shardOffset(b.builder, b.location, sharding, dim, local[dim])});
  return dims;
}

/// Indices limited to [0, bound], as i32. Compares in the type of the indices, which may be
/// narrower than the bound or wider than i32.
Value clampIndex(LocalBuilder &b, Value index, int64_t bound) {
  auto type = cast<IntegerType>(getElementTypeOrSelf(index));
  const unsigned bits = type.getWidth() - (type.isUnsigned() ? 0 : 1);
  const int64_t highest =
      bits >= 63 ? std::numeric_limits<int64_t>::max() : (int64_t{1} << bits) - 1;
  return b.convert(b.clamp(0, index, std::min(bound, highest)), b.builder.getI32Type());
}

/// The part of a shard that a slice or an update touches, enlarged or moved so that it lies in the
/// shard and has the same size on every device.
struct Part {
  SmallVector<Value> starts; // in the shard, i32 scalars
  SmallVector<int64_t> sizes;
  SmallVector<Value> shifts; // for each indexed dimension: row j of the part is row j + shift of
                             // the slice or update
};

/// `wanted` is the shape of the slice or update. Its dimensions that are not indexed are sharded
/// like those of the shard.
Part partOf(LocalBuilder &b, ArrayRef<IndexedDim> dims, ValueRange starts, ArrayRef<int64_t> shard,
            ArrayRef<int64_t> wanted) {
  Part part;
  part.sizes.assign(wanted.begin(), wanted.end());
  for (auto [dim, start] : llvm::enumerate(starts)) {
    const auto *indexed =
        llvm::find_if(dims, [&](const IndexedDim &other) { return other.dim == dim; });
    if (indexed == dims.end()) {
      part.starts.push_back(clampIndex(b, start, shard[dim] - wanted[dim]));
      continue;
    }
    part.sizes[dim] = std::min(wanted[dim], indexed->local);
    Value begin = b.subtract(clampIndex(b, start, indexed->global - wanted[dim]), indexed->offset);
    Value inside = b.clamp(0, begin, indexed->local - part.sizes[dim]);
    part.starts.push_back(inside);
    part.shifts.push_back(b.subtract(inside, begin));
  }
  return part;
}

/// A scalar that does not change a sum.
Value nothingOf(LocalBuilder &b, Type element) {
  return b.splat(RankedTensorType::get({}, element), neutralElement(element, masksBy(element)));
}

} // namespace

Status computeDynamicSlice(stablehlo::DynamicSliceOp op, const OpPlan &plan, ShardBuilder &shards) {
  OpBuilder builder(op);
  LocalBuilder b(builder, op.getLoc());
  const std::vector<IndexedDim> dims =
      indexedDims(b, shards, plan.shardingOf(plan.rule.operands[0]), shapeOf(op.getOperand()),
                  [&](size_t dim) { return plan.rule.results[0][dim].empty(); });
  if (dims.empty()) {
    fitAttributes(op);
    return Status();
  }
  auto type = cast<RankedTensorType>(op.getType());
  const Part part =
      partOf(b, dims, op.getStartIndices(), shapeOf(op.getOperand()), type.getShape());
  Value result = stablehlo::DynamicSliceOp::create(builder, op.getLoc(), type.clone(part.sizes),
                                                   op.getOperand(), part.starts,
                                                   builder.getDenseI64ArrayAttr(part.sizes));
  Value nothing = nothingOf(b, type.getElementType());
  for (auto [dim, shift] : llvm::zip_equal(dims, part.shifts))
    result = b.window(result, static_cast<int64_t>(dim.dim), b.subtract(b.position(0), shift),
                      type.getShape()[dim.dim], nothing);
  op->replaceAllUsesWith(ValueRange(result));
  op.erase();
  return Status();
}

Status computeDynamicUpdate(stablehlo::DynamicUpdateSliceOp op, const OpPlan &plan,
                            ShardBuilder &shards) {
  OpBuilder builder(op);
  LocalBuilder b(builder, op.getLoc());
  const std::vector<IndexedDim> dims =
      indexedDims(b, shards, plan.shardingOf(plan.rule.operands[0]), shapeOf(op.getOperand()),
                  [&](size_t dim) { return plan.rule.operands[1][dim].empty(); });
  if (dims.empty())
    return Status();
  auto type = cast<RankedTensorType>(op.getType());
  ArrayRef<int64_t> given = shapeOf(op.getUpdate());
  const Part part = partOf(b, dims, op.getStartIndices(), type.getShape(), given);
  Value update = op.getUpdate(), isUpdated;
  Value nothing = b.zero(type.getElementType()); // any number: it is not selected
  for (auto [dim, shift] : llvm::zip_equal(dims, part.shifts)) {
    const auto at = static_cast<int64_t>(dim.dim);
    const int64_t size = part.sizes[dim.dim];
    update = b.window(update, at, shift, size, nothing);
    Value rows = b.add(b.iota({size}, 0), b.broadcast(shift, {size}));
    Value hasRow = b.broadcast(b.isWithin(rows, given[dim.dim]), part.sizes, {at});
    isUpdated = isUpdated ? b.both(isUpdated, hasRow) : hasRow;
  }
  Value before = stablehlo::DynamicSliceOp::create(builder, op.getLoc(), type.clone(part.sizes),
                                                   op.getOperand(), part.starts,
                                                   builder.getDenseI64ArrayAttr(part.sizes));
  Value result =
      stablehlo::DynamicUpdateSliceOp::create(builder, op.getLoc(), type, op.getOperand(),
                                              b.select(isUpdated, update, before), part.starts);
  op->replaceAllUsesWith(ValueRange(result));
  op.erase();
  return Status();
}

/// The columns of an index tensor: one for each component of an index vector, with a dimension of
/// size 1 in place of the vectors.
static SmallVector<Value> columnsOf(LocalBuilder &b, Value indices, int64_t vectorDim) {
  if (vectorDim == static_cast<int64_t>(shapeOf(indices).size()))
    return {indices};
  SmallVector<Value> columns;
  for (int64_t column = 0; column < shapeOf(indices)[static_cast<size_t>(vectorDim)]; ++column)
    columns.push_back(b.slice(indices, vectorDim, column, column + 1));
  return columns;
}

Status computeGather(stablehlo::GatherOp op, const OpPlan &plan, ShardBuilder &shards) {
  OpBuilder builder(op);
  LocalBuilder b(builder, op.getLoc());
  stablehlo::GatherDimensionNumbersAttr numbers = op.getDimensionNumbers();
  ArrayRef<int64_t> indexed = numbers.getStartIndexMap();
  const std::vector<IndexedDim> dims = indexedDims(
      b, shards, plan.shardingOf(plan.rule.operands[0]), shapeOf(op.getOperand()),
      [&](size_t dim) { return llvm::is_contained(indexed, static_cast<int64_t>(dim)); });
  fitAttributes(op);
  if (dims.empty())
    return Status();
  SmallVector<Value> columns = columnsOf(b, op.getStartIndices(), numbers.getIndexVectorDim());
  Value isHere;
  for (auto [column, number] : llvm::zip_equal(columns, indexed)) {
    const auto at = static_cast<size_t>(number);
    const auto dim = llvm::find_if(dims, [&](const IndexedDim &dim) { return dim.dim == at; });
    if (dim == dims.end()) {
      column = clampIndex(b, column, shapeOf(op.getOperand())[at] - op.getSliceSizes()[at]);
      continue;
    }
    // An index outside of the whole operand is clamped. An index outside of this shard belongs to
    // another device.
    column = clampIndex(b, column, dim->global - 1);
    column = b.subtract(column, b.broadcast(dim->offset, shapeOf(column)));
    Value isInShard = b.isWithin(column, dim->local);
    isHere = isHere ? b.both(isHere, isInShard) : isInShard;
  }
  op.getStartIndicesMutable().assign(b.concatenate(columns, numbers.getIndexVectorDim()));

  auto type = cast<RankedTensorType>(op.getType());
  SmallVector<int64_t> batchDims, batch;
  for (auto [dim, size] : llvm::enumerate(type.getShape()))
    if (!llvm::is_contained(numbers.getOffsetDims(), static_cast<int64_t>(dim))) {
      batchDims.push_back(static_cast<int64_t>(dim));
      batch.push_back(size);
    }
  isHere = b.broadcast(b.reshape(isHere, batch), type.getShape(), batchDims);
  Value nothing = b.broadcast(nothingOf(b, type.getElementType()), type.getShape());
  builder.setInsertionPointAfter(op);
  Value masked = b.select(isHere, op.getResult(), nothing);
  op.getResult().replaceAllUsesExcept(masked, masked.getDefiningOp());
  return Status();
}

Status computeScatter(stablehlo::ScatterOp op, const OpPlan &plan, ShardBuilder &shards) {
  OpBuilder builder(op);
  LocalBuilder b(builder, op.getLoc());
  stablehlo::ScatterDimensionNumbersAttr numbers = op.getScatterDimensionNumbers();
  ArrayRef<int64_t> indexed = numbers.getScatterDimsToOperandDims();
  const std::vector<IndexedDim> dims = indexedDims(
      b, shards, plan.shardingOf(plan.rule.operands[0]), shapeOf(op.getInputs()[0]),
      [&](size_t dim) { return llvm::is_contained(indexed, static_cast<int64_t>(dim)); });
  if (dims.empty())
    return Status();
  // Skip updates outside of the shard, as updates outside of the whole operand are skipped. The
  // index type must also represent positions before the shard. Unsigned 64-bit numbers wrap around
  // there, and the result is outside, too.
  auto type = cast<IntegerType>(getElementTypeOrSelf(op.getScatterIndices()));
  if (type.getWidth() < 32)
    type = builder.getI32Type();
  else if (type.isUnsigned() && type.getWidth() == 32)
    type = builder.getI64Type();
  if (type.isUnsigned())
    op.setIndicesAreSorted(false);
  SmallVector<Value> columns = columnsOf(b, op.getScatterIndices(), numbers.getIndexVectorDim());
  for (auto [column, number] : llvm::zip_equal(columns, indexed)) {
    column = b.convert(column, type);
    for (const IndexedDim &dim : dims)
      if (dim.dim == static_cast<size_t>(number))
        column = b.subtract(column, b.broadcast(b.convert(dim.offset, type), shapeOf(column)));
  }
  op.getScatterIndicesMutable().assign(b.concatenate(columns, numbers.getIndexVectorDim()));
  return Status();
}

} // namespace tilewright::distribute
