// Reductions and matmuls.
#include "tilewright/dialect/stablehlo/StablehloOps.h"
#include "tilewright/transform/tile/KernelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tilewright::tile {

Value KernelEmitter::convertTile(Value tile, Type from, Type to) {
  if (from == to)
    return tile;
  auto type = cast<RankedTensorType>(tile.getType()).clone(elements::scalarType(to));
  return map(type, Operand{tile, {}}, [&](OpBuilder &inside, ValueRange elements) {
    return elements::emitConversion(inside, loc, from, to, elements[0]);
  });
}

SmallVector<Value> KernelEmitter::emitReduce(const Node &node, unsigned number, const Box &box) {
  auto op = cast<stablehlo::ReduceOp>(node.op);
  const size_t count = op.getInputs().size();
  const Box domain = tiling.domainBox(node, number, box);
  SmallVector<Value> inits;
  SmallVector<Type> types, bodyTypes;
  if (graph.isEmpty(node.operands[0].source)) {
    // The reduction of an empty tensor is its initial value.
    SmallVector<Value> results;
    for (size_t i = 0; i < count; ++i)
      results.push_back(view(emitValue(node.operands[count + i].source, {}), {},
                             tileType(box, node.elementTypes[i]).getShape()));
    return results;
  }
  for (size_t i = 0; i < count; ++i) {
    types.push_back(tileType(box, node.elementTypes[i]));
    // Inputs and initial values may be narrower than the type that the body computes in.
    bodyTypes.push_back(
        cast<RankedTensorType>(op.getBody().front().getArgument(i).getType()).getElementType());
    const ValueRef init = node.operands[count + i].source;
    inits.push_back(elements::emitConversion(builder, loc, graph.elementType(init), bodyTypes[i],
                                             scalar(init)));
  }

  // If the kept dimensions are in order, reduce the operand in its memory order; otherwise
  // transpose it.
  const Edge &first = node.operands[0];
  SmallVector<int64_t> reduced, places(domain.size());
  unsigned kept = 0;
  bool inOrder = first.index.size() == domain.size();
  for (auto [p, expr] : llvm::enumerate(first.index)) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (dim && dim.getPosition() >= node.rank)
      reduced.push_back(static_cast<int64_t>(p));
    else
      inOrder &= dim && dim.getPosition() == kept++;
    if (dim)
      places[dim.getPosition()] = static_cast<int64_t>(p);
  }
  if (!inOrder) {
    reduced.clear();
    for (size_t dim = 0; dim < domain.size(); ++dim) {
      places[dim] = static_cast<int64_t>(dim);
      if (dim >= node.rank)
        reduced.push_back(static_cast<int64_t>(dim));
    }
  }
  auto iterationInputs = [&] {
    SmallVector<Value> inputs;
    for (size_t i = 0; i < count; ++i) {
      const Edge &edge = node.operands[i];
      Value tile;
      if (inOrder) {
        tile = emitValue(edge.source, operandBox(edge, graph.node(edge.source), domain).box);
      } else {
        Operand source = operand(edge, domain);
        tile = source.tile
                   ? source.tile
                   : splat(tileType(domain, graph.elementType(edge.source)), source.constant);
      }
      inputs.push_back(convertTile(tile, graph.elementType(edge.source), bodyTypes[i]));
    }
    return inputs;
  };
  auto combineElements = [&](OpBuilder &region, ValueRange elements) {
    // canTile() has checked every op of the body.
    return *elements::emitRegion(region, op.getBody(), elements);
  };

  // A tile of partial results, combined element by element. Peel the first iteration, because the
  // initial value may be combined only once, in the reduction after the loop.
  const SmallVector<int> loops = loopsOf(node, number);
  SmallVector<Value> tiles = peelFirst(loops, {}, [&](ValueRange) { return iterationInputs(); });
  tiles = loop(loops, 1, tiles, [&](ValueRange sums) {
    SmallVector<Value> operands(sums);
    llvm::append_range(operands, iterationInputs());
    const SmallVector<PartialLoop> partial = partialLoops(
        domain, loops, places, cast<RankedTensorType>(operands.front().getType()).getShape());
    for (const PartialLoop &index : partial)
      operands.push_back(index.index);
    auto map = MapOp::create(builder, loc, sums.getTypes(), operands);
    OpBuilder::InsertionGuard guard(builder);
    Block *block = builder.createBlock(&map.getBody());
    for (Value tile : operands)
      block->addArgument(cast<RankedTensorType>(tile.getType()).getElementType(), loc);
    ValueRange elements = block->getArguments();
    SmallVector<Value> combined = combineElements(builder, elements.take_front(2 * count));
    if (Value inside = allInside(builder, partial, elements.drop_front(2 * count)))
      for (size_t i = 0; i < count; ++i)
        combined[i] = arith::SelectOp::create(builder, loc, inside, combined[i], elements[i]);
    YieldOp::create(builder, loc, combined);
    return SmallVector<Value>(map.getResults());
  });

  auto reduce = ReduceOp::create(builder, loc, types, tiles, inits, reduced);
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(&reduce.getCombiner());
  for (Value init : inits)
    block->addArgument(init.getType(), loc);
  for (Value tile : tiles)
    block->addArgument(cast<RankedTensorType>(tile.getType()).getElementType(), loc);
  YieldOp::create(builder, loc, combineElements(builder, block->getArguments()));
  return SmallVector<Value>(reduce.getResults());
}

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

Value KernelEmitter::emitDot(const Node &node, unsigned number, const Box &box) {
  const Box domain = tiling.domainBox(node, number, box);
  const Edge &lhs = node.operands[0], &rhs = node.operands[1];
  const SmallVector<int> loops = loopsOf(node, number);
  // The domain dimensions by role. The rows, columns and contraction dimensions are each flattened
  // into one dimension; batch dimensions are kept.
  struct Role {
    SmallVector<size_t> dims;
    SmallVector<int64_t> sizes;
    int64_t size = 1;
  } batch, rows, columns, depth;
  for (size_t dim = 0; dim < domain.size(); ++dim) {
    const bool left = readsDim(lhs, static_cast<unsigned>(dim));
    const bool right = readsDim(rhs, static_cast<unsigned>(dim));
    Role &role = dim >= node.rank ? depth : left && right ? batch : left ? rows : columns;
    role.dims.push_back(dim);
    role.sizes.push_back(tiling.tileSize(domain[dim]));
    role.size *= role.sizes.back();
  }

  const std::optional<MatrixTypes> matrix = capacities.matrixFor(node, graph);
  Type result = node.elementTypes[0];
  // Accumulate floats in at least f32. Matrix instructions accumulate integers in 32 bits.
  Type sum = isa<FloatType>(result) && !result.isF64() ? Type(builder.getF32Type()) : result;
  if (matrix && isa<IntegerType>(result))
    sum = builder.getI32Type();
  // The last iteration may exceed the contraction dimension; the operands are zero there.
  const bool leavesDepth = llvm::any_of(loops, [&](int loop) {
    return tiling.sizes[static_cast<size_t>(loop)] % tiling.tiles[static_cast<size_t>(loop)] != 0;
  });
  auto side = [&](const Edge &edge, const Role &first, const Role &second) {
    OperandBox source = operandBox(edge, graph.node(edge.source), domain);
    const Node &from = graph.node(edge.source);
    const bool isLoad = !from.op && leavesDepth;
    Value tile = isLoad ? load(from, edge.source.node, source.box, /*zeros=*/true)
                        : emitValue(edge.source, source.box);
    Type element = graph.elementType(edge.source);
    const bool isPlain =
        element.isF16() || element.isBF16() || element.isF32() || (element.isF64() && sum.isF64());
    if (matrix)
      tile = convertTile(tile, element, &edge == &lhs ? matrix->left : matrix->right);
    else if (!isPlain)
      tile = convertTile(tile, element, sum);
    SmallVector<int64_t> shape = batch.sizes;
    shape.push_back(first.size);
    shape.push_back(second.size);
    // Express the domain's dimensions in terms of the matrix's dimensions.
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
    for (AffineExpr &expr : source.view)
      expr = simplifyAffineExpr(expr.replaceDims(local), static_cast<unsigned>(shape.size()), 0);
    tile = view(tile, source.view, shape);
    if (isLoad || !leavesDepth)
      return tile;
    const auto at = static_cast<int64_t>(batch.dims.size() + (&first == &depth ? 0 : 1));
    const SmallVector<int64_t> places(domain.size(), at);
    const SmallVector<PartialLoop> partial = partialLoops(domain, loops, places, shape);
    SmallVector<Operand> operands = {{tile, {}}};
    for (const PartialLoop &index : partial)
      operands.push_back({index.index, {}});
    auto type = cast<RankedTensorType>(tile.getType());
    return map(type, operands, [&](OpBuilder &inside, ValueRange v) -> Value {
      return arith::SelectOp::create(inside, loc, allInside(inside, partial, v.drop_front()), v[0],
                                     zero(inside, type.getElementType()));
    });
  };

  SmallVector<int64_t> shape = batch.sizes;
  shape.push_back(rows.size);
  shape.push_back(columns.size);
  auto sumType = RankedTensorType::get(shape, elements::scalarType(sum));
  Value sums = map(sumType, {}, [&](OpBuilder &inside, ValueRange) {
    return zero(inside, sumType.getElementType());
  });
  Value product = loop(loops, 0, sums, [&](ValueRange sums) {
    Value left = side(lhs, rows, depth), right = side(rhs, depth, columns);
    Value added = capacities.isGpu && !matrix
                      ? multiply(left, right, sums[0])
                      : Value(DotOp::create(builder, loc, sumType, left, right, sums[0], Value(),
                                            Value(), matrix && matrix->isTf32));
    return SmallVector<Value>{added};
  })[0];
  product = convertTile(product, sum, result);

  // View the flattened rows and columns as the dimensions of the result.
  SmallVector<AffineExpr> exprs;
  for (size_t dim : batch.dims)
    exprs.push_back(getAffineDimExpr(static_cast<unsigned>(dim), context));
  for (const Role *role : {&rows, &columns}) {
    AffineExpr flat = getAffineConstantExpr(0, context);
    for (auto [dim, size] : llvm::zip_equal(role->dims, role->sizes))
      flat = flat * size + getAffineDimExpr(static_cast<unsigned>(dim), context);
    exprs.push_back(flat);
  }
  return view(product, exprs, tileType(box, result).getShape());
}

} // namespace tilewright::tile
