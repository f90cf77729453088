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

Leaving KernelEmitter::leaving(const Edge &edge, const Box &domain) {
  Leaving found;
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
      found.push_back({op.getResult(0), bound});
      continue;
    }
    found.push_back({indices(access, type, dimOf(bound.index)), bound});
  }
  return found;
}

Value KernelEmitter::choose(RankedTensorType type, const Leaving &indices, Operand inside,
                            Operand otherwise) {
  if (indices.empty())
    return tileOf(type, inside);
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

Operand KernelEmitter::emitPad(const Node &node, RankedTensorType type, const Reader &reader) {
  const Edge &edge = node.operands[0];
  Operand padding = reader.operand(node.operands[1]);
  if (graph.isEmpty(edge.source))
    return padding;
  const Leaving indices = reader.leaving(edge);
  return {choose(type, indices, reader.operand(edge), padding), {}};
}

Operand KernelEmitter::emitConcatenate(const Node &node, RankedTensorType type,
                                       const Reader &reader) {
  Operand rest;
  for (const Edge &edge : llvm::reverse(node.operands)) {
    if (graph.isEmpty(edge.source))
      continue;
    if (!rest.tile && !rest.constant) {
      rest = reader.operand(edge); // the operand for the remaining elements
      continue;
    }
    const Leaving indices = reader.leaving(edge);
    rest = {choose(type, indices, reader.operand(edge), rest), {}};
  }
  return rest;
}

} // namespace tilewright::tile
