// Reductions and products.
#include "tilewright/dialect/stablehlo/StablehloOps.h"
#include "tilewright/transform/tile/KernelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
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

SmallVector<Value> KernelEmitter::emitReduce(const Node &node, const Box &box) {
  auto op = cast<stablehlo::ReduceOp>(node.op);
  const size_t count = op.getInputs().size();
  Box domain = domainBox(node, box);
  SmallVector<Value> inputs, inits;
  SmallVector<Type> types;
  SmallVector<int64_t> dims;
  if (graph.isEmpty(node.operands[0].source)) {
    // Without elements the init is the result.
    SmallVector<Value> results;
    for (size_t i = 0; i < count; ++i)
      results.push_back(view(emitValue(node.operands[count + i].source, {}), {},
                             tileType(box, node.elementTypes[i]).getShape()));
    return results;
  }
  for (size_t i = 0; i < count; ++i) {
    types.push_back(tileType(box, node.elementTypes[i]));
    const Edge &edge = node.operands[i], &init = node.operands[count + i];
    // Inputs and inits may be narrower than what the body computes in.
    Type body =
        cast<RankedTensorType>(op.getBody().front().getArgument(i).getType()).getElementType();
    Value first = scalar(init.source);
    inits.push_back(
        elements::emitConversion(builder, loc, graph.elementType(init.source), body, first));
    // As it lies in memory where kept dimensions keep their order, else rearranged.
    SmallVector<int64_t> reduced;
    unsigned kept = 0;
    bool inOrder = edge.index.size() == domain.size();
    for (auto [p, expr] : llvm::enumerate(edge.index)) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      if (dim && dim.getPosition() >= node.rank)
        reduced.push_back(static_cast<int64_t>(p));
      else
        inOrder &= dim && dim.getPosition() == kept++;
    }
    Value tile;
    if (inOrder) {
      tile = emitValue(edge.source, operandBox(edge, graph.node(edge.source), domain).box);
      dims = reduced;
    } else {
      Operand source = operand(edge, domain);
      tile = source.tile ? source.tile
                         : splat(tileType(domain, graph.elementType(edge.source)), source.constant);
      dims.clear();
      for (size_t dim = node.rank; dim < domain.size(); ++dim)
        dims.push_back(static_cast<int64_t>(dim));
    }
    inputs.push_back(convertTile(tile, graph.elementType(edge.source), body));
  }
  auto reduce = ReduceOp::create(builder, loc, types, inputs, inits, dims);
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(&reduce.getCombiner());
  for (Value init : inits)
    block->addArgument(init.getType(), loc);
  for (Value input : inputs)
    block->addArgument(cast<RankedTensorType>(input.getType()).getElementType(), loc);
  FailureOr<SmallVector<Value>> combined =
      elements::emitRegion(builder, op.getBody(), block->getArguments());
  // canTile() has looked at every op of the body.
  YieldOp::create(builder, loc, *combined);
  return SmallVector<Value>(reduce.getResults());
}

/// The index of dimension `position` of several with `sizes`, in row-major order, from `flat`.
static AffineExpr component(AffineExpr flat, ArrayRef<int64_t> sizes, size_t position) {
  int64_t stride = 1;
  for (int64_t size : sizes.drop_front(position + 1))
    stride *= size;
  AffineExpr index = flat.floorDiv(stride);
  return position == 0 ? index : index % sizes[position];
}

Value KernelEmitter::emitDot(const Node &node, const Box &box) {
  Box domain = domainBox(node, box);
  const Edge &lhs = node.operands[0], &rhs = node.operands[1];
  auto reads = [](const Edge &edge, size_t dim) {
    return llvm::any_of(edge.index, [&](AffineExpr expr) {
      return expr.isFunctionOfDim(static_cast<unsigned>(dim));
    });
  };
  // The roles of the domain's dimensions; each role but the batch becomes one dimension.
  struct Role {
    SmallVector<size_t> dims;
    SmallVector<int64_t> sizes;
    int64_t size = 1;
  } batch, rows, columns, depth;
  for (size_t dim = 0; dim < domain.size(); ++dim) {
    Role &role = dim >= node.rank                     ? depth
                 : reads(lhs, dim) && reads(rhs, dim) ? batch
                 : reads(lhs, dim)                    ? rows
                                                      : columns;
    role.dims.push_back(dim);
    role.sizes.push_back(tiling.tileSize(domain[dim]));
    role.size *= role.sizes.back();
  }

  Type result = node.elementTypes[0];
  // Reals are summed in f32 at least.
  Type sum = isa<FloatType>(result) && !result.isF64() ? Type(builder.getF32Type()) : result;
  auto side = [&](const Edge &edge, const Role &first, const Role &second) {
    OperandBox source = operandBox(edge, graph.node(edge.source), domain);
    Value tile = emitValue(edge.source, source.box);
    Type element = graph.elementType(edge.source);
    const bool isPlain = element.isF32() || element.isF64() || element.isF16() || element.isBF16();
    if (!isPlain || (element.isF64() && !sum.isF64()))
      tile = convertTile(tile, element, sum);
    SmallVector<int64_t> shape = batch.sizes;
    shape.push_back(first.size);
    shape.push_back(second.size);
    // The domain's dimensions in terms of those of the matrix.
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
    return view(tile, source.view, shape);
  };
  Value left = side(lhs, rows, depth), right = side(rhs, depth, columns);

  SmallVector<int64_t> shape = batch.sizes;
  shape.push_back(rows.size);
  shape.push_back(columns.size);
  auto sumType = RankedTensorType::get(shape, elements::scalarType(sum));
  Value zero = map(sumType, {}, [&](OpBuilder &inside, ValueRange) -> Value {
    Value none = arith::ConstantOp::create(inside, loc, inside.getI64IntegerAttr(0));
    return elements::emitConversion(inside, loc, inside.getI64Type(), sum, none);
  });
  Value product = DotOp::create(builder, loc, sumType, left, right, zero, Value(), Value());
  product = convertTile(product, sum, result);

  // Back to the dimensions of the result.
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
