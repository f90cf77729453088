// Attention as a loop over blocks of keys, with scores, weights and sums in registers.
#include "tilewright/transform/tile/attention/EmitAttention.h"

#include "tilewright/dialect/elements/ScalarSemantics.h"
#include "tilewright/transform/tile/TileBuilder.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/Support/MathExtras.h"

#include <array>

using namespace mlir;

namespace tilewright::tile {

exec::SoftmaxDotOp attentionOf(exec::FusionOp fusion) {
  auto found = fusion.getBody().front().getOps<exec::SoftmaxDotOp>();
  return found.empty() ? exec::SoftmaxDotOp() : *found.begin();
}

namespace {

/// The rows of a matrix instruction, which are those of a warp, and a multiple of its columns and
/// depth for every type.
constexpr int64_t matrixRows = 16;

int64_t roundUp(int64_t size) { return int64_t(llvm::alignTo(uint64_t(size), matrixRows)); }

class AttentionEmitter : TileBuilder {
public:
  AttentionEmitter(OpBuilder &builder, exec::FusionOp fusion, exec::SoftmaxDotOp op,
                   const Capacities &capacities)
      : TileBuilder(builder, op.getLoc()), fusion(fusion), op(op), capacities(capacities),
        sizes(op.getSizes()), query(sizes.size() - 4), key(query + 1), depth(query + 2),
        width(query + 3), tile(sizes.size(), 1), at(sizes.size()) {
    chooseTiles();
  }

  KernelOp emit(StringRef name);

private:
  void chooseTiles();
  int64_t blocks(size_t dim) const {
    return int64_t(llvm::divideCeil(uint64_t(sizes[dim]), uint64_t(tile[dim])));
  }
  ArrayRef<int64_t> dimsOf(unsigned tensor) {
    return cast<DenseI64ArrayAttr>(op.getDims()[tensor]).asArrayRef();
  }
  Type elementOf(unsigned operand) { return typeOf(op.getOperand(operand)).getElementType(); }

  /// The tile of an operand at the current offsets, with these two dimensions.
  Value operandTile(unsigned operand, size_t row, size_t column);
  /// The offsets, sizes and dimensions of the part of a tensor that has a tile's elements.
  struct Part {
    SmallVector<Value> offsets;
    SmallVector<int64_t> shape;
    SmallVector<AffineExpr> exprs;
  };
  Part partOf(unsigned tensor, size_t row, size_t column);
  Value rounded(Value tile, Type from, Type to);
  /// Adds the product of two tiles to `sums`.
  Value multiply(Value left, Type leftType, Value right, Type rightType, Value sums);
  std::array<Value, 3> partsOf(Value tile);
  Value products();
  Value scores(Value products);
  Value reduce(Value tile, bool isSum);
  /// A value for each row, repeated along the columns.
  Value spread(Value rows, int64_t columns) {
    return view(rows, dim(0), {typeOf(rows).getDimSize(0), columns});
  }
  /// Sums of values, maxima and sums of weights, after a block of keys.
  SmallVector<Value> iteration(Value block, ValueRange carried);

  exec::FusionOp fusion;
  exec::SoftmaxDotOp op;
  const Capacities &capacities;
  ArrayRef<int64_t> sizes;
  const size_t query, key, depth, width; // dimensions of the op; those before are heads
  SmallVector<int64_t> tile;
  SmallVector<Value> at; // the first index of the current tile along each dimension
  SmallVector<Value> memory;
  Value heldQueries; // if a point reads them once
};

/// The tiles of a thread must fit into its registers: for each row of a warp, the sums, scores and
/// weights, the queries (unless they are read again for each block of keys) and parts of the keys.
void AttentionEmitter::chooseTiles() {
  constexpr int64_t maxRows = 64, maxWidth = 256, wideWidth = 128, heldBytes = 256;
  tile[query] =
      std::clamp<int64_t>(int64_t(llvm::PowerOf2Ceil(uint64_t(sizes[query]))), matrixRows, maxRows);
  tile[width] = std::min(roundUp(sizes[width]), maxWidth);
  tile[key] = std::min<int64_t>(roundUp(sizes[key]), tile[width] > wideWidth ? 32 : 64);
  const auto bytes = int64_t(elementOf(0).getIntOrFloatBitWidth() / 8);
  tile[depth] = std::min(roundUp(sizes[depth]), heldBytes / std::max<int64_t>(bytes, 2));
}

AttentionEmitter::Part AttentionEmitter::partOf(unsigned tensor, size_t row, size_t column) {
  Part part;
  for (int64_t number : dimsOf(tensor)) {
    const auto at = static_cast<size_t>(number);
    const bool isOne = number < 0;
    part.offsets.push_back(isOne ? index(0) : this->at[at]);
    part.shape.push_back(isOne ? 1 : tile[at]);
    const bool isRow = !isOne && at == row, isColumn = !isOne && at == column;
    part.exprs.push_back(isRow ? dim(0) : isColumn ? dim(1) : builder.getAffineConstantExpr(0));
  }
  return part;
}

Value AttentionEmitter::operandTile(unsigned operand, size_t row, size_t column) {
  const Part part = partOf(operand, row, column);
  const SmallVector<int64_t> shape = {tile[row], tile[column]};
  Value loaded = view(load(memory[operand], part.offsets, part.shape), part.exprs, shape);
  // Outside of memory, a load is zero. An operand that is the same along a dimension has no end
  // there.
  for (auto [position, place] : llvm::enumerate(std::array{row, column})) {
    const bool ends = llvm::is_contained(dimsOf(operand), int64_t(place));
    if (operand > 2 || ends || sizes[place] % tile[place] == 0)
      continue;
    Value number = IotaOp::create(builder, loc, RankedTensorType::get(shape, builder.getI32Type()),
                                  at[place], int64_t(position), 1);
    const int64_t size = sizes[place];
    Type element = typeOf(loaded).getElementType();
    loaded = map({loaded, number}, element, shape, [&](OpBuilder &inside, ValueRange v) -> Value {
      Value end = arith::ConstantIntOp::create(inside, loc, size, 32);
      Value isInside = arith::CmpIOp::create(inside, loc, arith::CmpIPredicate::slt, v[1], end);
      Value zero = arith::ConstantOp::create(inside, loc, inside.getZeroAttr(element));
      return arith::SelectOp::create(inside, loc, isInside, v[0], zero);
    });
  }
  return loaded;
}

Value AttentionEmitter::rounded(Value tile, Type from, Type to) {
  if (from == to)
    return tile;
  return map(tile, to, typeOf(tile).getShape(), [&](OpBuilder &inside, ValueRange v) {
    return elements::emitConversion(inside, loc, from, to, v[0]);
  });
}

/// Three numbers of 8 bits whose sum is an f32. Only the first is not finite if the number is not
/// (docs/design/split-products.md).
std::array<Value, 3> AttentionEmitter::partsOf(Value tile) {
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
      Value infinite = arith::ConstantOp::create(
          inside, loc, inside.getF32FloatAttr(std::numeric_limits<float>::infinity()));
      Value isFinite =
          arith::CmpFOp::create(inside, loc, arith::CmpFPredicate::OLT, size, infinite);
      Value zero = arith::ConstantOp::create(inside, loc, inside.getF32FloatAttr(0));
      return arith::SelectOp::create(inside, loc, isFinite, left, zero);
    });
  }
  return parts;
}

Value AttentionEmitter::multiply(Value left, Type leftType, Value right, Type rightType,
                                 Value sums) {
  const Type single = builder.getF32Type();
  const int64_t terms = typeOf(left).getDimSize(1);
  auto dot = [&](Value a, Value b, Value to, bool isTf32) -> Value {
    return DotOp::create(builder, loc, to.getType(), a, b, to, Value(), Value(), isTf32);
  };
  if (std::optional<MatrixTypes> types =
          capacities.matrixFor(leftType, rightType, single, terms, op.getTf32()))
    return dot(rounded(left, leftType, types->left), rounded(right, rightType, types->right), sums,
               types->isTf32);
  // All products but the three smallest, which are less than the rounding of one product.
  const std::array<Value, 3> a = partsOf(rounded(left, leftType, single)),
                             b = partsOf(rounded(right, rightType, single));
  for (auto [i, j] : {std::pair(2, 0), {1, 1}, {0, 2}, {1, 0}, {0, 1}, {0, 0}})
    sums = dot(a[size_t(i)], b[size_t(j)], sums, /*isTf32=*/false);
  return sums;
}

/// The products of the queries with a block of keys.
Value AttentionEmitter::products() {
  Value none = splat(0, {tile[query], tile[key]});
  auto add = [&](Value sums, Value queries) {
    return multiply(queries, elementOf(0), operandTile(1, depth, key), elementOf(1), sums);
  };
  if (heldQueries)
    return add(none, heldQueries);
  auto loop = scf::ForOp::create(builder, loc, index(0), index(blocks(depth)), index(1), none);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  at[depth] = times(loop.getInductionVar(), tile[depth]);
  scf::YieldOp::create(builder, loc, add(loop.getRegionIterArg(0), operandTile(0, query, depth)));
  return loop.getResult(0);
}

/// The score of each product, and -inf beyond the last key.
Value AttentionEmitter::scores(Value products) {
  const SmallVector<int64_t> shape = {tile[query], tile[key]};
  auto numbers = RankedTensorType::get(shape, builder.getI32Type());
  SmallVector<Value> tiles = {products, IotaOp::create(builder, loc, numbers, at[query], 0, 1),
                              IotaOp::create(builder, loc, numbers, at[key], 1, 1)};
  for (unsigned input = 3; input < op.getOperands().size(); ++input)
    tiles.push_back(operandTile(input, query, key));
  return map(tiles, builder.getF32Type(), shape, [&](OpBuilder &inside, ValueRange v) -> Value {
    IRMapping mapping;
    Block &body = op.getBody().front();
    mapping.map(body.getArguments(), v);
    for (Operation &inner : body.without_terminator())
      inside.clone(inner, mapping);
    Value score = mapping.lookup(cast<exec::YieldScoreOp>(body.getTerminator()).getScore());
    if (sizes[key] % tile[key] == 0)
      return score;
    Value end = arith::ConstantIntOp::create(inside, loc, sizes[key], 32);
    Value isKey = arith::CmpIOp::create(inside, loc, arith::CmpIPredicate::slt, v[2], end);
    Value none = arith::ConstantOp::create(
        inside, loc, inside.getF32FloatAttr(-std::numeric_limits<float>::infinity()));
    return arith::SelectOp::create(inside, loc, isKey, score, none);
  });
}

/// The sum or the maximum of each row.
Value AttentionEmitter::reduce(Value tile, bool isSum) {
  const Type single = builder.getF32Type();
  Value init = arith::ConstantOp::create(
      builder, loc, builder.getF32FloatAttr(isSum ? 0 : -std::numeric_limits<float>::infinity()));
  auto op = ReduceOp::create(builder, loc,
                             TypeRange(RankedTensorType::get(typeOf(tile).getDimSize(0), single)),
                             tile, init, ArrayRef<int64_t>{1});
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(&op.getCombiner());
  Value a = block->addArgument(single, loc), b = block->addArgument(single, loc);
  YieldOp::create(builder, loc,
                  isSum ? Value(arith::AddFOp::create(builder, loc, a, b))
                        : Value(arith::MaximumFOp::create(builder, loc, a, b)));
  return op.getResult(0);
}

SmallVector<Value> AttentionEmitter::iteration(Value block, ValueRange carried) {
  const Type single = builder.getF32Type();
  const SmallVector<int64_t> rows = {tile[query]};
  at[key] = times(block, tile[key]);
  Value score = scores(products());
  Value maximum = map({carried[1], reduce(score, /*isSum=*/false)}, single, rows,
                      [&](OpBuilder &inside, ValueRange v) -> Value {
                        return arith::MaximumFOp::create(inside, loc, v[0], v[1]);
                      });
  // If all scores so far are -inf, the weights are 0 and not NaN: a later block may have others.
  Value shift = map(maximum, single, rows, [&](OpBuilder &inside, ValueRange v) -> Value {
    Value least = arith::ConstantOp::create(
        inside, loc, inside.getF32FloatAttr(-std::numeric_limits<float>::infinity()));
    Value zero = arith::ConstantOp::create(inside, loc, inside.getF32FloatAttr(0));
    Value isLeast = arith::CmpFOp::create(inside, loc, arith::CmpFPredicate::OEQ, v[0], least);
    return arith::SelectOp::create(inside, loc, isLeast, zero, v[0]);
  });
  auto exponential = [&](OpBuilder &inside, ValueRange v) -> Value {
    return math::ExpOp::create(inside, loc, arith::SubFOp::create(inside, loc, v[0], v[1]));
  };
  Value weights =
      map({score, spread(shift, tile[key])}, single, {tile[query], tile[key]}, exponential);
  Value factor = map({carried[1], shift}, single, rows, exponential);
  Value total = map({carried[2], factor, reduce(weights, /*isSum=*/true)}, single, rows,
                    [&](OpBuilder &inside, ValueRange v) -> Value {
                      Value old = arith::MulFOp::create(inside, loc, v[0], v[1]);
                      return arith::AddFOp::create(inside, loc, old, v[2]);
                    });
  Value sums = map({carried[0], spread(factor, tile[width])}, single, {tile[query], tile[width]},
                   [&](OpBuilder &inside, ValueRange v) -> Value {
                     return arith::MulFOp::create(inside, loc, v[0], v[1]);
                   });
  const Type weight = op.getWeightType();
  sums = multiply(rounded(weights, single, weight), weight, operandTile(2, key, width),
                  elementOf(2), sums);
  return {sums, maximum, total};
}

KernelOp AttentionEmitter::emit(StringRef name) {
  SmallVector<int64_t> grid;
  SmallVector<size_t> gridDims;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (i != key && i != depth && (blocks(i) > 1 || i == query)) {
      grid.push_back(blocks(i));
      gridDims.push_back(i);
    }
  auto kernel =
      KernelOp::create(builder, loc, name, grid, static_cast<int64_t>(fusion.getInputs().size()),
                       DenseI64ArrayAttr());
  kernel->setAttr("warps", builder.getI64IntegerAttr(tile[query] / matrixRows));
  OpBuilder::InsertionGuard guard(builder);
  openKernel(kernel, fusion.getInputs(), fusion.getResults());
  for (Value operand : op.getOperands())
    memory.push_back(kernel.getInputs()[cast<BlockArgument>(operand).getArgNumber()]);
  llvm::fill(at, index(0));
  for (auto [coordinate, i] : llvm::zip_equal(kernel.getCoordinates(), gridDims))
    at[i] = tile[i] == 1 ? coordinate : times(coordinate, tile[i]);

  if (blocks(depth) == 1)
    heldQueries = operandTile(0, query, depth);
  const float least = -std::numeric_limits<float>::infinity();
  const SmallVector<Value> inits = {splat(0, {tile[query], tile[width]}), splat(least, tile[query]),
                                    splat(0, tile[query])};
  auto loop = scf::ForOp::create(builder, loc, index(0), index(blocks(key)), index(1), inits);
  {
    OpBuilder::InsertionGuard inLoop(builder);
    builder.setInsertionPointToStart(loop.getBody());
    scf::YieldOp::create(builder, loc, iteration(loop.getInductionVar(), loop.getRegionIterArgs()));
  }
  const auto result = static_cast<unsigned>(op.getOperands().size());
  const Type element = typeOf(op.getResult()).getElementType();
  Value quotient =
      map({loop.getResult(0), spread(loop.getResult(2), tile[width])}, element,
          {tile[query], tile[width]}, [&](OpBuilder &inside, ValueRange v) {
            Value divided = arith::DivFOp::create(inside, loc, v[0], v[1]);
            return elements::emitConversion(inside, loc, inside.getF32Type(), element, divided);
          });
  const Part part = partOf(result, query, width);
  // The inverse of an operand's view: which index of the result's tile is the row or the column.
  SmallVector<AffineExpr> exprs(2, builder.getAffineConstantExpr(0));
  for (auto [position, number] : llvm::enumerate(dimsOf(result)))
    for (auto [i, place] : llvm::enumerate(std::array{query, width}))
      if (number == int64_t(place))
        exprs[i] = dim(static_cast<unsigned>(position));
  store(view(quotient, exprs, part.shape), kernel.getOutputs()[0], part.offsets);
  return kernel;
}

} // namespace

KernelOp emitAttentionKernel(OpBuilder &builder, exec::FusionOp fusion, StringRef name,
                             const Capacities &capacities) {
  return AttentionEmitter(builder, fusion, attentionOf(fusion), capacities).emit(name);
}

} // namespace tilewright::tile
