// Matmuls and convolutions.
#include "tilewright/transform/tile/KernelEmitter.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tilewright::tile {

/// The index along dimension `position` of the row-major index `flat` into a shape of `sizes`.
static AffineExpr component(AffineExpr flat, ArrayRef<int64_t> sizes, size_t position) {
  int64_t stride = 1;
  for (int64_t size : sizes.drop_front(position + 1))
    stride *= size;
  AffineExpr index = flat.floorDiv(stride);
  return position == 0 ? index : index % sizes[position];
}

/// a + b or a * b of two values of the same element type.
static Value combine(OpBuilder &builder, Location loc, bool isSum, Value a, Value b) {
  Type type = a.getType();
  if (isa<FloatType>(type))
    return isSum ? Value(arith::AddFOp::create(builder, loc, a, b))
                 : Value(arith::MulFOp::create(builder, loc, a, b));
  if (isa<ComplexType>(type))
    return isSum ? Value(complex::AddOp::create(builder, loc, a, b))
                 : Value(complex::MulOp::create(builder, loc, a, b));
  return isSum ? Value(arith::AddIOp::create(builder, loc, a, b))
               : Value(arith::MulIOp::create(builder, loc, a, b));
}

/// Multiplies without a matrix instruction: a map computes all products as a tile (batch…, rows,
/// columns, depth), and a reduction sums along the depth.
Value KernelEmitter::multiply(Value left, Value right, Value sums) {
  auto sumType = cast<RankedTensorType>(sums.getType());
  Type sum = sumType.getElementType();
  ArrayRef<int64_t> leftShape = cast<RankedTensorType>(left.getType()).getShape();
  const auto rank = static_cast<unsigned>(sumType.getRank());
  // [batch…, rows, columns, depth]
  SmallVector<int64_t> shape(sumType.getShape());
  shape.push_back(leftShape.back());
  SmallVector<AffineExpr> leftIndex, rightIndex;
  for (unsigned dim = 0; dim + 2 < rank; ++dim) {
    leftIndex.push_back(getAffineDimExpr(dim, context));
    rightIndex.push_back(getAffineDimExpr(dim, context));
  }
  leftIndex.push_back(getAffineDimExpr(rank - 2, context));
  leftIndex.push_back(getAffineDimExpr(rank, context));
  rightIndex.push_back(getAffineDimExpr(rank, context));
  rightIndex.push_back(getAffineDimExpr(rank - 1, context));
  auto wide = [&](Value tile) {
    return convertTile(tile, cast<RankedTensorType>(tile.getType()).getElementType(), sum);
  };
  auto binary = [&](Value a, Value b, bool isSum) {
    return map(
        cast<RankedTensorType>(a.getType()), {Operand{a, {}}, Operand{b, {}}},
        [&](OpBuilder &inside, ValueRange v) { return combine(inside, loc, isSum, v[0], v[1]); });
  };
  Value products = binary(view(wide(left), leftIndex, shape), view(wide(right), rightIndex, shape),
                          /*isSum=*/false);
  auto reduce =
      ReduceOp::create(builder, loc, TypeRange(sumType), products, zero(builder, sum), rank);
  {
    OpBuilder::InsertionGuard guard(builder);
    Block *block = builder.createBlock(&reduce.getCombiner());
    Value a = block->addArgument(sum, loc), b = block->addArgument(sum, loc);
    YieldOp::create(builder, loc, combine(builder, loc, /*isSum=*/true, a, b));
  }
  return binary(sums, reduce.getResult(0), /*isSum=*/true);
}

Value KernelEmitter::zeroOutside(Value tile, const Node &node, const Box &box) {
  auto type = cast<RankedTensorType>(tile.getType());
  SmallVector<PartialLoop> partial;
  for (auto [dim, access, size] : llvm::enumerate(box, node.shape()))
    if (!tiling.isInside(access, size, /*keptOnly=*/false))
      partial.push_back(
          {indices(access, type.clone(builder.getIndexType()), static_cast<unsigned>(dim)), size});
  if (partial.empty())
    return tile;
  SmallVector<Operand> operands = {{tile, {}}};
  for (const PartialLoop &index : partial)
    operands.push_back({index.index, {}});
  return map(type, operands, [&](OpBuilder &inside, ValueRange v) -> Value {
    return arith::SelectOp::create(inside, loc, allInside(inside, partial, v.drop_front()), v[0],
                                   zero(inside, type.getElementType()));
  });
}

/// One matmul. The rows, columns and contraction dimensions of its domain are each flattened into
/// one dimension; batch dimensions are kept.
class KernelEmitter::Matmul {
public:
  Matmul(KernelEmitter &emitter, const Node &node, unsigned number, const Box &box);

  const SmallVector<int> &loopsOverDepth() const { return loops; }
  Value zeros();
  Value accumulate(Value sums);
  Value toResult(Value sums, const Box &box);

private:
  /// The dimensions of the domain with the same role.
  struct Role {
    SmallVector<size_t> dims;
    SmallVector<int64_t> sizes;
    int64_t size = 1;
  };
  SmallVector<int64_t> shapeOf(const Role &first, const Role &second) const {
    SmallVector<int64_t> shape = batch.sizes;
    shape.push_back(first.size);
    shape.push_back(second.size);
    return shape;
  }
  Value side(const Edge &edge, const Role &first, const Role &second);
  Value convert(Value tile, Type element, bool isLeft);
  SmallVector<AffineExpr> domainIndices(const Role &first, const Role &second) const;
  Value zeroBeyondDepth(Value tile, size_t depthDim);
  bool endsWithMemory(const Edge &edge) const;

  KernelEmitter &emitter;
  MLIRContext *context;
  const Edge &lhs, &rhs;
  const Box domain;
  const SmallVector<int> loops;
  Role batch, rows, columns, depth;
  const std::optional<MatrixTypes> matrix;
  Type result, sum; // element types
  bool leavesDepth; // the last iteration may exceed the contraction dimension
  /// The contraction dimensions that the tile may exceed, with their sizes.
  SmallVector<std::pair<AffineExpr, int64_t>> partialDims;
};

KernelEmitter::Matmul::Matmul(KernelEmitter &emitter, const Node &node, unsigned number,
                              const Box &box)
    : emitter(emitter), context(emitter.context), lhs(node.operands[0]), rhs(node.operands[1]),
      domain(emitter.tiling.domainBox(node, number, box)), loops(emitter.loopsOf(node, number)),
      matrix(emitter.capacities.matrixFor(node, emitter.graph)), result(node.elementTypes[0]) {
  const Tiling &tiling = emitter.tiling;
  for (size_t dim = 0; dim < domain.size(); ++dim) {
    const bool left = readsDim(lhs, static_cast<unsigned>(dim));
    const bool right = readsDim(rhs, static_cast<unsigned>(dim));
    Role &role = dim >= node.rank ? depth : left && right ? batch : left ? rows : columns;
    role.dims.push_back(dim);
    role.sizes.push_back(tiling.tileSize(domain[dim]));
    role.size *= role.sizes.back();
  }
  sum = sumTypeOf(emitter.graph.elementType(lhs.source), emitter.graph.elementType(rhs.source),
                  result);
  // Matrix instructions accumulate integers in 32 bits.
  if (matrix && isa<IntegerType>(result))
    sum = IntegerType::get(context, 32);
  for (size_t dim : depth.dims)
    if (llvm::is_contained(loops, domain[dim].main) &&
        node.sizes[dim] % tiling.tiles[static_cast<size_t>(domain[dim].main)] != 0)
      partialDims.push_back(
          {getAffineDimExpr(static_cast<unsigned>(dim), context), node.sizes[dim]});
  leavesDepth = !partialDims.empty();
}

/// Whether elements beyond the contraction dimension of an operand in memory are also outside of
/// its memory. This does not hold for the input of a convolution, which a window may leave earlier
/// or later.
bool KernelEmitter::Matmul::endsWithMemory(const Edge &edge) const {
  return llvm::all_of(partialDims, [&](const auto &partial) {
    return llvm::any_of(
        llvm::zip_equal(edge.index, emitter.graph.node(edge.source).shape()),
        [&](auto index) { return index == std::tuple(partial.first, partial.second); });
  });
}

/// Converts an operand to a type that can be multiplied.
Value KernelEmitter::Matmul::convert(Value tile, Type element, bool isLeft) {
  if (matrix)
    return emitter.convertTile(tile, element, isLeft ? matrix->left : matrix->right);
  const bool isPlain =
      element.isF16() || element.isBF16() || element.isF32() || (element.isF64() && sum.isF64());
  return isPlain ? tile : emitter.convertTile(tile, element, sum);
}

/// The domain's dimensions in terms of the dimensions of an operand, (batch…, first, second).
SmallVector<AffineExpr> KernelEmitter::Matmul::domainIndices(const Role &first,
                                                             const Role &second) const {
  SmallVector<AffineExpr> local(domain.size(), getAffineConstantExpr(0, context));
  for (auto [i, dim] : llvm::enumerate(batch.dims))
    local[dim] = getAffineDimExpr(static_cast<unsigned>(i), context);
  auto place = [&](const Role &role, size_t at) {
    AffineExpr flat = getAffineDimExpr(static_cast<unsigned>(batch.dims.size() + at), context);
    for (auto [i, dim] : llvm::enumerate(role.dims))
      local[dim] = component(flat, role.sizes, i);
  };
  place(first, 0);
  place(second, 1);
  return local;
}

/// Replaces the elements of an operand that exceed the contraction dimension by zero.
Value KernelEmitter::Matmul::zeroBeyondDepth(Value tile, size_t depthDim) {
  auto type = cast<RankedTensorType>(tile.getType());
  SmallVector<PartialLoop> partial;
  // The depth of a tile is a part of one dimension and all of the dimensions after it, so positions
  // are consecutive.
  int64_t stride = 1;
  for (auto [dim, size] : llvm::reverse(llvm::zip_equal(depth.dims, depth.sizes))) {
    const Access &access = domain[dim];
    const auto main = static_cast<size_t>(access.main);
    const Tiling &tiling = emitter.tiling;
    if (llvm::is_contained(loops, access.main) && tiling.sizes[main] % tiling.tiles[main] != 0) {
      Value first = affine::makeComposedAffineApply(emitter.builder, emitter.loc,
                                                    getAffineDimExpr(0, context) * stride,
                                                    {emitter.offset(access)});
      Value index =
          IotaOp::create(emitter.builder, emitter.loc, type.clone(emitter.builder.getIndexType()),
                         first, static_cast<int64_t>(depthDim), 1);
      partial.push_back({index, tiling.sizes[main] * stride});
    }
    stride *= size;
  }
  SmallVector<Operand> operands = {{tile, {}}};
  for (const PartialLoop &index : partial)
    operands.push_back({index.index, {}});
  return emitter.map(type, operands, [&](OpBuilder &inside, ValueRange v) -> Value {
    return arith::SelectOp::create(inside, emitter.loc,
                                   emitter.allInside(inside, partial, v.drop_front()), v[0],
                                   emitter.zero(inside, type.getElementType()));
  });
}

/// An operand as a tile (batch…, first, second).
Value KernelEmitter::Matmul::side(const Edge &edge, const Role &first, const Role &second) {
  const Node &from = emitter.graph.node(edge.source);
  OperandBox source = operandBox(edge, from, domain);
  const bool isPadded = !edge.bounds.empty();
  const bool isLoad = !from.op && (leavesDepth || isPadded);
  Value tile = isLoad ? emitter.load(from, edge.source.node, source.box, /*zeros=*/true)
                      : emitter.emitValue(edge.source, source.box);
  if (!isLoad && isPadded)
    tile = emitter.zeroOutside(tile, from, source.box);
  tile = convert(tile, emitter.graph.elementType(edge.source), &edge == &lhs);
  const SmallVector<int64_t> shape = shapeOf(first, second);
  const SmallVector<AffineExpr> local = domainIndices(first, second);
  for (AffineExpr &expr : source.view)
    expr = simplifyAffineExpr(expr.replaceDims(local), static_cast<unsigned>(shape.size()), 0);
  tile = emitter.view(tile, source.view, shape);
  if (!leavesDepth || (isLoad && endsWithMemory(edge)))
    return tile;
  return zeroBeyondDepth(tile, batch.dims.size() + (&first == &depth ? 0 : 1));
}

/// The sums before the first iteration.
Value KernelEmitter::Matmul::zeros() {
  auto type = RankedTensorType::get(shapeOf(rows, columns), elements::scalarType(sum));
  return emitter.map(type, {}, [&](OpBuilder &inside, ValueRange) {
    return emitter.zero(inside, type.getElementType());
  });
}

/// Adds the products of one iteration.
Value KernelEmitter::Matmul::accumulate(Value sums) {
  Value left = side(lhs, rows, depth), right = side(rhs, depth, columns);
  if (emitter.capacities.isGpu && !matrix)
    return emitter.multiply(left, right, sums);
  return DotOp::create(emitter.builder, emitter.loc, sums.getType(), left, right, sums, Value(),
                       Value(), matrix && matrix->isTf32);
}

/// Converts the sums, and views the flattened rows and columns as the dimensions of the result.
Value KernelEmitter::Matmul::toResult(Value sums, const Box &box) {
  Value product = emitter.convertTile(sums, sum, result);
  SmallVector<AffineExpr> exprs;
  for (size_t dim : batch.dims)
    exprs.push_back(getAffineDimExpr(static_cast<unsigned>(dim), context));
  for (const Role *role : {&rows, &columns}) {
    AffineExpr flat = getAffineConstantExpr(0, context);
    for (auto [dim, size] : llvm::zip_equal(role->dims, role->sizes))
      flat = flat * size + getAffineDimExpr(static_cast<unsigned>(dim), context);
    exprs.push_back(flat);
  }
  return emitter.view(product, exprs, emitter.tileType(box, result).getShape());
}

Value KernelEmitter::emitDot(const Node &node, unsigned number, const Box &box) {
  Matmul matmul(*this, node, number, box);
  Value sums = loop(
      matmul.loopsOverDepth(), 0, matmul.zeros(),
      [&](ValueRange carried) { return SmallVector<Value>{matmul.accumulate(carried[0])}; },
      tiling.isPipelined)[0];
  return matmul.toResult(sums, box);
}

} // namespace tilewright::tile
