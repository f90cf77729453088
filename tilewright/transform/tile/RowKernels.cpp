#include "tilewright/transform/tile/RowKernels.h"

#include "tilewright/dialect/elements/ScalarSemantics.h"
#include "tilewright/dialect/indexing/IndexingRelation.h"
#include "tilewright/dialect/stablehlo/StablehloOps.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tilewright::tile {

Rows::Rows(ArrayRef<int64_t> shape, int64_t dim) {
  for (auto [each, size] : llvm::enumerate(shape))
    (static_cast<int64_t>(each) < dim    ? before
     : static_cast<int64_t>(each) == dim ? length
                                         : after) *= size;
}

SmallVector<int64_t> Rows::shape(int64_t along) const {
  SmallVector<int64_t> shape = {before, along};
  if (after != 1)
    shape.push_back(after);
  return shape;
}

int64_t takeRows(int64_t &budget, int64_t size, int64_t least) {
  int64_t tile = 1;
  while (tile < size && tile * 2 <= std::max(budget, least))
    tile *= 2;
  budget = std::max<int64_t>(1, budget / tile);
  return std::min(tile, size);
}

RowKernel::RowKernel(MLIRContext *context, Location loc, StringRef name, const Rows &rows,
                     std::array<int64_t, 3> tile, int64_t chunks, ArrayRef<RowTensor> inputs,
                     ArrayRef<RowTensor> outputs)
    : builder(context), loc(loc), rows(rows), tile(tile) {
  auto points = [](int64_t size, int64_t each) {
    return static_cast<int64_t>(
        llvm::divideCeil(static_cast<uint64_t>(size), static_cast<uint64_t>(each)));
  };
  SmallVector<int64_t> grid = {points(rows.before, tile[0]), chunks};
  if (rows.after != 1)
    grid.push_back(points(rows.after, tile[2]));
  SmallVector<Type> arguments(grid.size(), builder.getIndexType());
  for (ArrayRef<RowTensor> tensors : {inputs, outputs})
    for (const RowTensor &tensor : tensors) {
      SmallVector<int64_t> shape = rows.shape(tensor.length);
      if (tensor.after >= 0 && rows.after != 1)
        shape.back() = tensor.after;
      arguments.push_back(MemRefType::get(shape, elements::scalarType(tensor.element)));
    }
  kernel = KernelOp::create(builder, loc, name, grid, static_cast<int64_t>(inputs.size()),
                            /*updates=*/DenseI64ArrayAttr());
  Block *block = builder.createBlock(&kernel.getBody(), {}, arguments,
                                     SmallVector<Location>(arguments.size(), loc));
  builder.setInsertionPoint(YieldOp::create(builder, loc));
  chunk = block->getArgument(1);
  firstRow.push_back(apply(d0() * tile[0], block->getArgument(0)));
  if (rows.after != 1) {
    columns = block->getArgument(2);
    firstRow.push_back(apply(d0() * tile[2], columns));
  }
}

void RowKernel::update(int64_t output, int64_t input) {
  SmallVector<int64_t> updates(kernel.getUpdates().value_or(ArrayRef<int64_t>()));
  updates.append({output, input});
  kernel.setUpdates(updates);
}

void RowKernel::addState(MemRefType type) {
  const auto inputs = static_cast<int64_t>(kernel.getNumInputs());
  const auto outputs = static_cast<int64_t>(kernel.getOutputs().size());
  kernel.getBlock().insertArgument(
      static_cast<unsigned>(static_cast<int64_t>(kernel.getGrid().size()) + inputs), type, loc);
  kernel.getBlock().addArgument(type, loc);
  kernel.setNumInputs(static_cast<uint64_t>(inputs + 1));
  update(outputs, inputs);
}

Value RowKernel::index(int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

Value RowKernel::apply(AffineExpr expr, Value operand) {
  if (expr == d0())
    return operand;
  return affine::AffineApplyOp::create(builder, loc, AffineMap::get(1, 0, expr), operand);
}

SmallVector<int64_t> RowKernel::shape(int64_t along) const {
  SmallVector<int64_t> shape = {tile[0], along};
  if (rows.after != 1)
    shape.push_back(tile[2]);
  return shape;
}

SmallVector<Value> RowKernel::offsets(Value at) {
  SmallVector<Value> offsets = {firstRow[0], at};
  if (rows.after != 1)
    offsets.push_back(firstRow[1]);
  return offsets;
}

SmallVector<bool> RowKernel::inBounds(bool isInside) const {
  SmallVector<bool> inBounds = {rows.before % tile[0] == 0, isInside};
  if (rows.after != 1)
    inBounds.push_back(rows.after % tile[2] == 0);
  return inBounds;
}

Value RowKernel::load(Value memory, Value at, int64_t along, bool isInside) {
  Type element = cast<MemRefType>(memory.getType()).getElementType();
  return LoadOp::create(builder, loc, type(along, element), memory, offsets(at), Value(),
                        DenseI64ArrayAttr(), builder.getDenseBoolArrayAttr(inBounds(isInside)));
}

void RowKernel::store(Value value, Value memory, Value at, bool isInside) {
  StoreOp::create(builder, loc, value, memory, offsets(at), DenseI64ArrayAttr(),
                  builder.getDenseBoolArrayAttr(inBounds(isInside)));
}

Value RowKernel::gather(Value memory, Value indices) {
  auto type = cast<RankedTensorType>(indices.getType());
  // A tile of one row has the same index everywhere in the other dimensions.
  SmallVector<Value> all = {IotaOp::create(builder, loc, type, firstRow[0], 0, 1), indices};
  if (rows.after != 1)
    all.push_back(IotaOp::create(builder, loc, type, firstRow[1], 2, 1));
  return GatherOp::create(
      builder, loc, type.clone(cast<MemRefType>(memory.getType()).getElementType()), memory, all);
}

Value RowKernel::iota(Type element, Value offset, int64_t along) {
  return IotaOp::create(builder, loc, type(along, element), offset, 1, 1);
}

Value RowKernel::loadScalar(Value memory, Value at) {
  return extract(load(memory, at, 1, /*isInside=*/true), 0);
}

Value RowKernel::extract(Value value, int64_t position) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<AffineExpr> at(static_cast<size_t>(type.getRank()), builder.getAffineConstantExpr(0));
  at[1] = builder.getAffineConstantExpr(position);
  Value single = ViewOp::create(builder, loc, RankedTensorType::get({}, type.getElementType()),
                                value, AffineMap::get(0, 0, at, builder.getContext()));
  return tensor::ExtractOp::create(builder, loc, single, ValueRange());
}

SmallVector<Value> RowKernel::map(ValueRange tiles, ArrayRef<Type> elements, Body body) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(tiles.front().getType()).getShape();
  SmallVector<Type> types;
  for (Type element : elements)
    types.push_back(RankedTensorType::get(shape, element));
  auto op = MapOp::create(builder, loc, types, tiles);
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(&op.getBody());
  for (Value tile : tiles)
    block->addArgument(cast<RankedTensorType>(tile.getType()).getElementType(), loc);
  YieldOp::create(builder, loc, body(builder, block->getArguments()));
  return SmallVector<Value>(op.getResults());
}

//===- Fusions ------------------------------------------------------------===//

/// The sort, scan or scatter of sorted rows of a fusion; null if it has none.
static Operation *rowOpOf(exec::FusionOp fusion) {
  for (Operation &op : fusion.getBody().front())
    if (indexing::isRowOp(&op))
      return &op;
  return nullptr;
}

bool hasRowOp(exec::FusionOp fusion) { return rowOpOf(fusion) != nullptr; }

Value operandOutside(exec::FusionOp fusion, Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return fusion.getInputs()[argument.getArgNumber()];
  if (auto constant = value.getDefiningOp<stablehlo::ConstantOp>())
    return OpBuilder(fusion).clone(*constant)->getResult(0);
  return {};
}

std::optional<SmallVector<Value>> emitRowKernels(exec::FusionOp fusion, StringRef name,
                                                 const Capacities &capacities, MakeLaunch launch,
                                                 std::string &reason) {
  Operation *op = rowOpOf(fusion);
  if (auto sort = dyn_cast<stablehlo::SortOp>(op))
    return emitSort(fusion, sort, name, capacities, launch, reason);
  if (auto scatter = dyn_cast<stablehlo::ScatterOp>(op))
    return emitSegments(fusion, scatter, name, capacities, launch, reason);
  return emitScan(fusion, cast<stablehlo::ReduceWindowOp>(op), name, capacities, launch, reason);
}

} // namespace tilewright::tile
