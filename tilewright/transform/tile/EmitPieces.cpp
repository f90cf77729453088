// Padding and concatenation: the index decides which operand an element comes from.
#include "tilewright/dialect/stablehlo/StablehloOps.h"
#include "tilewright/transform/tile/KernelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tilewright::tile {

/// The access of an index expression that depends on at most one dimension.
static Access accessOf(AffineExpr expr, const Box &domain) {
  Edge edge;
  edge.index.push_back(expr);
  Node source;
  source.sizes.push_back(1);
  source.rank = 1;
  return operandBox(edge, source, domain).box.front();
}

static unsigned dimOf(AffineExpr expr) {
  unsigned found = 0;
  expr.walk([&](AffineExpr inner) {
    if (auto dim = dyn_cast<AffineDimExpr>(inner))
      found = dim.getPosition();
  });
  return found;
}

SmallVector<std::pair<Value, Bound>> KernelEmitter::leaving(const Edge &edge, const Box &domain) {
  SmallVector<std::pair<Value, Bound>> indices;
  SmallVector<int64_t> shape;
  for (const Access &access : domain)
    shape.push_back(tiling.tileSize(access));
  for (const Bound &bound : edge.bounds) {
    Access access = accessOf(bound.index, domain);
    if (bound.step == 1 && tiling.isInside(access, bound.size, /*keptOnly=*/true))
      continue;
    auto type = RankedTensorType::get(shape, builder.getIndexType());
    const bool isKnown = !access.follows() && access.position < 0;
    if (shape.empty() || (isKnown && access.size == 1)) {
      // All elements have the same index. A runtime position always belongs to a dimension, so the
      // index of a tile of rank 0 is constant.
      auto op = MapOp::create(builder, loc, TypeRange(type), ValueRange());
      OpBuilder::InsertionGuard guard(builder);
      builder.createBlock(&op.getBody());
      Value constant = arith::ConstantIndexOp::create(builder, loc, access.constant);
      YieldOp::create(builder, loc, constant);
      indices.push_back({op.getResult(0), bound});
      continue;
    }
    indices.push_back({IotaOp::create(builder, loc, type, offset(access), dimOf(bound.index),
                                      tiling.tileSize(access) == 1 ? 1 : access.scale),
                       bound});
  }
  return indices;
}

Value KernelEmitter::chooseInside(const Edge &edge, const Box &domain, RankedTensorType type,
                                  Operand otherwise) {
  SmallVector<std::pair<Value, Bound>> indices = leaving(edge, domain);
  Operand inside = operand(edge, domain);
  if (indices.empty())
    return inside.tile ? inside.tile : splat(type, inside.constant);
  SmallVector<Operand> operands = {inside, otherwise};
  for (auto [tile, bound] : indices)
    operands.push_back({tile, {}});
  return map(type, operands, [&](OpBuilder &region, ValueRange values) {
    Value all;
    for (auto [at, leaving] : llvm::zip_equal(values.drop_front(2), indices)) {
      const Bound &bound = leaving.second;
      // The unsigned comparison also rejects negative indices.
      Value size = arith::ConstantIndexOp::create(region, loc, bound.size);
      Value fits = arith::CmpIOp::create(region, loc, arith::CmpIPredicate::ult, at, size);
      if (bound.step != 1) {
        Value step = arith::ConstantIndexOp::create(region, loc, bound.step);
        Value rest = arith::RemUIOp::create(region, loc, at, step);
        Value zero = arith::ConstantIndexOp::create(region, loc, 0);
        Value hits = arith::CmpIOp::create(region, loc, arith::CmpIPredicate::eq, rest, zero);
        fits = arith::AndIOp::create(region, loc, fits, hits);
      }
      all = all ? Value(arith::AndIOp::create(region, loc, all, fits)) : fits;
    }
    return Value(arith::SelectOp::create(region, loc, all, values[0], values[1]));
  });
}

Value KernelEmitter::emitPad(const Node &node, const Box &box) {
  RankedTensorType type = tileType(box, node.elementTypes[0]);
  const Edge &edge = node.operands[0];
  Operand padding = operand(node.operands[1], box);
  if (graph.isEmpty(edge.source))
    return padding.tile ? padding.tile : splat(type, padding.constant);
  return chooseInside(edge, box, type, padding);
}

Value KernelEmitter::emitConcatenate(const Node &node, const Box &box) {
  RankedTensorType type = tileType(box, node.elementTypes[0]);
  Operand rest;
  for (const Edge &edge : llvm::reverse(node.operands)) {
    if (graph.isEmpty(edge.source))
      continue;
    if (!rest.tile && !rest.constant)
      rest = operand(edge, box); // the operand for the remaining elements
    else
      rest = {chooseInside(edge, box, type, rest), {}};
  }
  return rest.tile ? rest.tile : splat(type, rest.constant);
}

Value KernelEmitter::emitGather(const Node &node, const Box &box) {
  const Edge &table = node.operands[0];
  const Node &memory = graph.node(table.source);
  RankedTensorType type = tileType(box, node.elementTypes[0]);
  RankedTensorType indexType = type.clone(builder.getIndexType());
  // Clamps an index to [0, size), inside a map's region.
  auto inside = [&](OpBuilder &region, Value at, int64_t size, bool isUnsigned) -> Value {
    Value last =
        arith::ConstantOp::create(region, loc, region.getIntegerAttr(at.getType(), size - 1));
    if (isUnsigned)
      return arith::MinUIOp::create(region, loc, at, last);
    Value first = arith::ConstantOp::create(region, loc, region.getIntegerAttr(at.getType(), 0));
    return arith::MinSIOp::create(region, loc, arith::MaxSIOp::create(region, loc, at, first),
                                  last);
  };
  SmallVector<Value> indices;
  for (auto [expr, size] : llvm::zip_equal(table.index, memory.shape())) {
    if (isa<AffineConstantExpr>(expr)) {
      Type element = graph.elementType(node.operands[1].source);
      Operand rows = operand(node.operands[1], box);
      indices.push_back(map(indexType, rows, [&, size](OpBuilder &region, ValueRange v) -> Value {
        Type wide = region.getI64Type();
        Value at = elements::emitConversion(region, loc, element, wide, v[0]);
        at = inside(region, at, size, element.isUnsignedInteger());
        return arith::IndexCastOp::create(region, loc, region.getIndexType(), at);
      }));
      continue;
    }
    const Access access = accessOf(expr, box);
    Value at = IotaOp::create(builder, loc, indexType, offset(access), dimOf(expr),
                              tiling.tileSize(access) == 1 ? 1 : access.scale);
    if (!tiling.isInside(access, size, /*keptOnly=*/false))
      at = map(indexType, Operand{at, {}}, [&, size](OpBuilder &region, ValueRange v) {
        return inside(region, v[0], size, /*isUnsigned=*/false);
      });
    indices.push_back(at);
  }
  return GatherOp::create(builder, loc, type, memrefs[table.source.node], indices);
}

} // namespace tilewright::tile
