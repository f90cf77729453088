// Results of which a kernel writes only a part: windows at runtime positions, or rows at computed
// indices.
#include "tilewright/dialect/elements/ScalarSemantics.h"
#include "tilewright/dialect/indexing/IndexingRelation.h"
#include "tilewright/dialect/stablehlo/StablehloOps.h"
#include "tilewright/dialect/tile/SortOps.h"
#include "tilewright/transform/tile/KernelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"

#include <array>

using namespace mlir;

namespace tilewright::tile {

void KernelEmitter::storeWindow(const Node &node, const Box &box, Value target) {
  const Edge &edge = node.operands[0];
  const Node &memory = graph.node(edge.source);
  OperandBox whole = operandBox(edge, memory, box);
  // The window may have fewer dimensions than memory, because sizes of 1 are dropped.
  SmallVector<AffineExpr> domain(box.size());
  SmallVector<int64_t> window, shape;
  SmallVector<Value> offsets, origin;
  SmallVector<bool> inBounds;
  for (auto [dim, access] : llvm::enumerate(whole.box)) {
    int64_t size = 1;
    for (unsigned d = 0; d < box.size(); ++d)
      if (edge.index[dim].isFunctionOfDim(d)) {
        domain[d] = getAffineDimExpr(static_cast<unsigned>(dim), context);
        size = node.sizes[d];
      }
    origin.push_back(access.position >= 0 ? position(access.position) : index(0));
    access.position = -1;
    access.positionScale = 0;
    offsets.push_back(offset(access));
    window.push_back(size);
    shape.push_back(tiling.tileSize(access));
    inBounds.push_back(tiling.isInside(access, size, /*keptOnly=*/false));
  }
  Operand update = operand(node, node.operands[1], box);
  Value tile =
      update.tile ? update.tile : splat(tileType(box, node.elementTypes[0]), update.constant);
  tile = view(tile, domain, shape);
  StoreOp::create(builder, loc, tile, target, offsets, origin, builder.getDenseI64ArrayAttr(window),
                  DenseI64ArrayAttr(),
                  llvm::all_of(inBounds, [](bool value) { return value; })
                      ? DenseBoolArrayAttr()
                      : builder.getDenseBoolArrayAttr(inBounds));
}

void KernelEmitter::storeRows(const Node &node, const Box &box, Value target) {
  const Edge &edge = node.operands[0];
  Operand update = operand(node, node.operands[2], box);
  RankedTensorType type = tileType(box, node.elementTypes[0]);
  Value tile = update.tile ? update.tile : splat(type, update.constant);
  RankedTensorType indexType = type.clone(builder.getIndexType());
  SmallVector<Value> at;
  for (AffineExpr expr : edge.index) {
    if (auto column = dyn_cast<AffineDimExpr>(expr)) {
      at.push_back(indices(box[column.getPosition()], indexType, column.getPosition()));
      continue;
    }
    Type element = graph.elementType(node.operands[1].source);
    at.push_back(map(indexType, operand(node, node.operands[1], box),
                     [&](OpBuilder &region, ValueRange v) -> Value {
                       Value wide = elements::emitConversion(region, loc, element,
                                                             region.getI64Type(), v[0]);
                       return arith::IndexCastOp::create(region, loc, region.getIndexType(), wide);
                     }));
  }
  // A tile may exceed the update: give these elements an index outside of the target.
  for (auto [dim, access] : llvm::enumerate(box)) {
    const int64_t size = node.sizes[dim];
    if (tiling.isInside(access, size, /*keptOnly=*/false))
      continue;
    const std::array<Operand, 2> both{
        Operand{at.front(), {}},
        Operand{indices(access, indexType, static_cast<unsigned>(dim)), {}}};
    at.front() = map(indexType, both, [&](OpBuilder &region, ValueRange v) -> Value {
      Value fits = arith::CmpIOp::create(region, loc, arith::CmpIPredicate::ult, v[1],
                                         arith::ConstantIndexOp::create(region, loc, size));
      Value nowhere = arith::ConstantIndexOp::create(region, loc, -1);
      return arith::SelectOp::create(region, loc, fits, v[0], nowhere);
    });
  }
  auto scatter = cast<stablehlo::ScatterOp>(node.op);
  if (!indexing::combinesAnyOrder(scatter)) {
    ScatterOp::create(builder, loc, tile, target, at);
    return;
  }
  auto combined = UpdateOp::create(builder, loc, tile, target, at, /*atomic=*/true);
  OpBuilder::InsertionGuard guard(builder);
  Type element = type.getElementType();
  Block *block = builder.createBlock(&combined.getCombiner(), {}, {element, element}, {loc, loc});
  YieldOp::create(builder, loc,
                  *elements::emitRegion(builder, scatter.getUpdateComputation(),
                                        SmallVector<Value>(block->getArguments())));
}

} // namespace tilewright::tile
