#include "tilewright/transform/tile/attention/AttentionBuilder.h"

#include "tilewright/dialect/elements/ScalarSemantics.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <utility>

using namespace mlir;

namespace tilewright::tile {

Value cloneValue(OpBuilder &inside, Value value, IRMapping &mapping, CloneOp cloneOp) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    cloneValue(inside, operand, mapping, cloneOp);
  if (Value made = cloneOp ? cloneOp(inside, op, mapping) : Value())
    mapping.map(value, made);
  else
    inside.clone(*op, mapping);
  return mapping.lookup(value);
}

KernelOp AttentionBuilder::openGrid(StringRef name, ArrayRef<size_t> dims, int64_t warps) {
  SmallVector<int64_t> grid;
  for (size_t dim : dims)
    grid.push_back(blocks(dim));
  auto kernel =
      KernelOp::create(builder, loc, name, grid, static_cast<int64_t>(fusion.getInputs().size()),
                       DenseI64ArrayAttr());
  kernel->setAttr("warps", builder.getI64IntegerAttr(warps));
  // The solver's costs do not count the instructions that exchange weights between waves.
  if (capacities.lanes == waveLanes)
    kernel->setAttr("rows_in_warps", builder.getUnitAttr());
  openKernel(kernel, fusion.getInputs(), fusion.getResults());
  inputs = kernel.getInputs();
  memory.clear();
  for (Value operand : operands)
    memory.push_back(inputs[cast<BlockArgument>(operand).getArgNumber()]);
  llvm::fill(at, index(0));
  for (auto [coordinate, dim] : llvm::zip_equal(kernel.getCoordinates(), dims))
    at[dim] = tile[dim] == 1 ? Value(coordinate) : times(coordinate, tile[dim]);
  return kernel;
}

AttentionBuilder::Part AttentionBuilder::partOf(ArrayRef<int64_t> dims, ArrayRef<size_t> ofTile) {
  Part part;
  for (int64_t number : dims) {
    const auto at = static_cast<size_t>(number);
    const bool isOne = number < 0;
    part.offsets.push_back(isOne ? index(0) : this->at[at]);
    part.shape.push_back(isOne ? 1 : tile[at]);
    const auto *place = isOne ? ofTile.end() : llvm::find(ofTile, at);
    part.exprs.push_back(place == ofTile.end()
                             ? builder.getAffineConstantExpr(0)
                             : dim(static_cast<unsigned>(place - ofTile.begin())));
  }
  return part;
}

Value AttentionBuilder::loadPart(unsigned operand, ArrayRef<size_t> ofTile) {
  const Part part = partOf(dimsOf(operand), ofTile);
  return load(memory[operand], part.offsets, part.shape);
}

Value AttentionBuilder::operandTile(unsigned operand, ArrayRef<size_t> ofTile, Value loaded) {
  SmallVector<int64_t> shape;
  for (size_t dim : ofTile)
    shape.push_back(tile[dim]);
  if (!loaded)
    loaded = loadPart(operand, ofTile);
  Value result = view(loaded, partOf(dimsOf(operand), ofTile).exprs, shape);
  // Outside of memory, a load is zero. An operand that is the same along a dimension has no end
  // there.
  for (auto [position, place] : llvm::enumerate(ofTile)) {
    if (operand >= multiplied || has(operand, place) || !isRagged(place))
      continue;
    const int64_t size = sizes[place];
    Type element = typeOf(result).getElementType();
    result = map({result, numbers(shape, static_cast<unsigned>(position), place)}, element, shape,
                 [&](OpBuilder &inside, ValueRange v) -> Value {
                   Value end = arith::ConstantIntOp::create(inside, loc, size, 32);
                   Value isInside =
                       arith::CmpIOp::create(inside, loc, arith::CmpIPredicate::slt, v[1], end);
                   Value zero = arith::ConstantOp::create(inside, loc, inside.getZeroAttr(element));
                   return arith::SelectOp::create(inside, loc, isInside, v[0], zero);
                 });
  }
  return result;
}

/// The view of a tile as the part of a tensor. This is the inverse of an operand's view.
static SmallVector<AffineExpr> exprsOfPart(OpBuilder &builder, ArrayRef<int64_t> dims,
                                           ArrayRef<size_t> ofTile) {
  SmallVector<AffineExpr> exprs(ofTile.size(), builder.getAffineConstantExpr(0));
  for (auto [position, number] : llvm::enumerate(dims))
    for (auto [i, place] : llvm::enumerate(ofTile))
      if (number == int64_t(place))
        exprs[i] = builder.getAffineDimExpr(static_cast<unsigned>(position));
  return exprs;
}

void AttentionBuilder::storeTile(Value tile, Value target, ArrayRef<int64_t> dims,
                                 ArrayRef<size_t> ofTile) {
  const Part part = partOf(dims, ofTile);
  store(view(tile, exprsOfPart(builder, dims, ofTile), part.shape), target, part.offsets);
}

void AttentionBuilder::storeIf(Value condition, Value tile, Value target, ArrayRef<int64_t> dims,
                               ArrayRef<size_t> ofTile) {
  Part part = partOf(dims, ofTile);
  SmallVector<bool> inside;
  for (auto [number, size, shape] :
       llvm::zip_equal(dims, cast<MemRefType>(target.getType()).getShape(), part.shape))
    inside.push_back(size % shape == 0 && number != int64_t(ofTile.front()));
  // If the condition is false, all rows are beyond the last one, where elements are dropped.
  const size_t row = ofTile.front();
  for (auto [number, offset] : llvm::zip_equal(dims, part.offsets))
    if (number == int64_t(row))
      offset = choose(condition, offset, index(blocks(row) * this->tile[row]));
  StoreOp::create(builder, loc, view(tile, exprsOfPart(builder, dims, ofTile), part.shape), target,
                  part.offsets, DenseI64ArrayAttr(), builder.getDenseBoolArrayAttr(inside));
}

Value AttentionBuilder::rounded(Value tile, Type from, Type to) {
  if (from == to)
    return tile;
  return map(tile, elements::scalarType(to), typeOf(tile).getShape(),
             [&](OpBuilder &inside, ValueRange v) {
               return elements::emitConversion(inside, loc, from, to, v[0]);
             });
}

/// Splits an f32 into three bf16 numbers whose sum it is. If the f32 is infinite or NaN, only the
/// first part is (docs/design/split-products.md).
std::array<Value, 3> AttentionBuilder::partsOf(Value tile) {
  const Type small = builder.getBF16Type(), single = builder.getF32Type();
  ArrayRef<int64_t> shape = typeOf(tile).getShape();
  std::array<Value, 3> parts;
  Value rest = tile;
  for (Value &part : parts) {
    part = map(rest, small, shape, [&](OpBuilder &inside, ValueRange v) -> Value {
      return arith::TruncFOp::create(inside, loc, small, v[0]);
    });
    if (&part == &parts.back())
      break;
    rest = map({rest, part}, single, shape, [&](OpBuilder &inside, ValueRange v) -> Value {
      Value high = arith::ExtFOp::create(inside, loc, single, v[1]);
      Value left = arith::SubFOp::create(inside, loc, v[0], high);
      // Infinite and NaN become NaN, or infinite if only the part is.
      Value size = math::AbsFOp::create(inside, loc, left);
      Value infinite = arith::ConstantOp::create(inside, loc, inside.getF32FloatAttr(infinity));
      Value isFinite =
          arith::CmpFOp::create(inside, loc, arith::CmpFPredicate::OLT, size, infinite);
      Value zero = arith::ConstantOp::create(inside, loc, inside.getF32FloatAttr(0));
      return arith::SelectOp::create(inside, loc, isFinite, left, zero);
    });
  }
  return parts;
}

Value AttentionBuilder::multiply(Value left, Type leftType, Value right, Type rightType,
                                 Value sums) {
  const Type single = builder.getF32Type();
  auto dot = [&](Value a, Value b, Value to, bool isTf32) -> Value {
    return DotOp::create(builder, loc, to.getType(), a, b, to, Value(), Value(), isTf32);
  };
  if (std::optional<MatrixTypes> types = matrixFor(leftType, rightType, typeOf(left).getDimSize(1)))
    return dot(rounded(left, leftType, types->left), rounded(right, rightType, types->right), sums,
               types->isTf32);
  // All products but the three smallest, which are less than the rounding of one product.
  const std::array<Value, 3> a = partsOf(rounded(left, leftType, single)),
                             b = partsOf(rounded(right, rightType, single));
  for (auto [i, j] : {std::pair(2, 0), {1, 1}, {0, 2}, {1, 0}, {0, 1}, {0, 0}})
    sums = dot(a[size_t(i)], b[size_t(j)], sums, /*isTf32=*/false);
  return sums;
}

SmallVector<Value>
AttentionBuilder::mapAll(ValueRange tiles, ArrayRef<Type> types,
                         llvm::function_ref<SmallVector<Value>(OpBuilder &, ValueRange)> body) {
  auto op = MapOp::create(builder, loc, TypeRange(types), tiles);
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(&op.getBody());
  for (Value tile : tiles)
    block->addArgument(typeOf(tile).getElementType(), loc);
  YieldOp::create(builder, loc, body(builder, block->getArguments()));
  return SmallVector<Value>(op.getResults());
}

Value AttentionBuilder::reduce(Value tile, ArrayRef<int64_t> dims, float init,
                               llvm::function_ref<Value(OpBuilder &, ValueRange)> combine) {
  const Type single = builder.getF32Type();
  SmallVector<int64_t> shape;
  for (auto [dim, size] : llvm::enumerate(typeOf(tile).getShape()))
    if (!llvm::is_contained(dims, int64_t(dim)))
      shape.push_back(size);
  Value start = arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(init));
  auto op = ReduceOp::create(builder, loc, TypeRange(RankedTensorType::get(shape, single)), tile,
                             start, dims);
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(&op.getCombiner());
  block->addArguments({single, single}, {loc, loc});
  YieldOp::create(builder, loc, combine(builder, block->getArguments()));
  return op.getResult(0);
}

SmallVector<Value> AttentionBuilder::loop(Value count, ValueRange inits, Iteration iteration) {
  auto op = scf::ForOp::create(builder, loc, index(0), count, index(1), inits);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(op.getBody());
  scf::YieldOp::create(builder, loc, iteration(op.getInductionVar(), op.getRegionIterArgs()));
  return SmallVector<Value>(op.getResults());
}

Value AttentionBuilder::uniform(unsigned operand) {
  if (llvm::any_of(dimsOf(operand), [&](int64_t dim) { return dim >= int64_t(query); }))
    return {};
  Value tile = operandTile(operand, {});
  Value scalar = tensor::ExtractOp::create(builder, loc, tile, ValueRange());
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(), scalar);
}

Value AttentionBuilder::choose(Value condition, Value yes, Value no) {
  return arith::SelectOp::create(builder, loc, condition, yes, no);
}

} // namespace tilewright::tile
