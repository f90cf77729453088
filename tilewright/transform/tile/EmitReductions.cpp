// Reductions.
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

/// One reduction: its inputs, and how it combines them.
class KernelEmitter::Reduction {
public:
  Reduction(KernelEmitter &emitter, const Node &node, const Box &domain)
      : emitter(emitter), builder(emitter.builder), loc(emitter.loc), node(node),
        op(cast<stablehlo::ReduceOp>(node.op)), domain(domain), places(domain.size()) {
    for (BlockArgument argument : op.getBody().getArguments().take_front(count()))
      bodyTypes.push_back(cast<RankedTensorType>(argument.getType()).getElementType());
    chooseOrder();
  }

  /// The initial values, in the types that the body computes in; they may be stored narrower.
  SmallVector<Value> initialValues() {
    SmallVector<Value> inits;
    for (size_t i = 0; i < count(); ++i) {
      const ValueRef init = node.operands[count() + i].source;
      inits.push_back(elements::emitConversion(builder, loc, emitter.graph.elementType(init),
                                               bodyTypes[i], emitter.scalar(init)));
    }
    return inits;
  }
  SmallVector<Value> inputs();
  SmallVector<Value> accumulate(ValueRange sums, ArrayRef<int> loops);
  SmallVector<Value> reduce(const Box &box, ValueRange tiles, ValueRange inits);

private:
  size_t count() { return op.getInputs().size(); }
  void chooseOrder();
  SmallVector<Value> combine(ValueRange values) {
    // canTile() has checked every op of the body.
    return *elements::emitRegion(builder, op.getBody(), values);
  }

  KernelEmitter &emitter;
  OpBuilder &builder;
  Location loc;
  const Node &node;
  stablehlo::ReduceOp op;
  const Box &domain;
  SmallVector<Type> bodyTypes;  // of the inputs
  bool inOrder = false;         // the tiles are in the operand's memory order
  SmallVector<int64_t> reduced; // the dimensions of the tiles that are reduced
  SmallVector<int64_t> places;  // by dimension of the domain: the dimension of the tiles
};

/// If the kept dimensions are in order, reduces the operand in its memory order; otherwise
/// transposes it.
void KernelEmitter::Reduction::chooseOrder() {
  const Edge &first = node.operands[0];
  unsigned kept = 0;
  inOrder = first.index.size() == domain.size();
  for (auto [p, expr] : llvm::enumerate(first.index)) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (dim && dim.getPosition() >= node.rank)
      reduced.push_back(static_cast<int64_t>(p));
    else
      inOrder &= dim && dim.getPosition() == kept++;
    if (dim)
      places[dim.getPosition()] = static_cast<int64_t>(p);
  }
  if (inOrder)
    return;
  reduced.clear();
  for (size_t dim = 0; dim < domain.size(); ++dim) {
    places[dim] = static_cast<int64_t>(dim);
    if (dim >= node.rank)
      reduced.push_back(static_cast<int64_t>(dim));
  }
}

/// The tiles of one iteration.
SmallVector<Value> KernelEmitter::Reduction::inputs() {
  SmallVector<Value> tiles;
  for (size_t i = 0; i < count(); ++i) {
    const Edge &edge = node.operands[i];
    Type element = emitter.graph.elementType(edge.source);
    Value tile;
    if (inOrder) {
      // Such an operand is never read at computed indices.
      tile = emitter.emitValue(edge.source,
                               operandBox(edge, emitter.graph.node(edge.source), domain).box);
    } else {
      tile = emitter.tileOf(emitter.tileType(domain, element), emitter.operand(node, edge, domain));
    }
    tiles.push_back(emitter.convertTile(tile, element, bodyTypes[i]));
  }
  return tiles;
}

/// Combines the tiles of an iteration with those of earlier iterations, element by element.
SmallVector<Value> KernelEmitter::Reduction::accumulate(ValueRange sums, ArrayRef<int> loops) {
  SmallVector<Value> operands(sums);
  llvm::append_range(operands, inputs());
  const SmallVector<PartialLoop> partial = emitter.partialLoops(
      domain, loops, places, cast<RankedTensorType>(operands.front().getType()).getShape());
  for (const PartialLoop &index : partial)
    operands.push_back(index.index);
  auto map = MapOp::create(builder, loc, sums.getTypes(), operands);
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(&map.getBody());
  for (Value tile : operands)
    block->addArgument(cast<RankedTensorType>(tile.getType()).getElementType(), loc);
  ValueRange values = block->getArguments();
  SmallVector<Value> combined = combine(values.take_front(2 * count()));
  if (Value inside = emitter.allInside(builder, partial, values.drop_front(2 * count())))
    for (size_t i = 0; i < count(); ++i)
      combined[i] = arith::SelectOp::create(builder, loc, inside, combined[i], values[i]);
  YieldOp::create(builder, loc, combined);
  return SmallVector<Value>(map.getResults());
}

/// Reduces the accumulated tiles to the tiles of the results.
SmallVector<Value> KernelEmitter::Reduction::reduce(const Box &box, ValueRange tiles,
                                                    ValueRange inits) {
  SmallVector<Type> types;
  for (Type element : ArrayRef(node.elementTypes).take_front(count()))
    types.push_back(emitter.tileType(box, element));
  auto reduce = ReduceOp::create(builder, loc, types, tiles, inits, reduced);
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(&reduce.getCombiner());
  for (Value init : inits)
    block->addArgument(init.getType(), loc);
  for (Value tile : tiles)
    block->addArgument(cast<RankedTensorType>(tile.getType()).getElementType(), loc);
  YieldOp::create(builder, loc, combine(block->getArguments()));
  return SmallVector<Value>(reduce.getResults());
}

SmallVector<Value> KernelEmitter::emitReduce(const Node &node, unsigned number, const Box &box) {
  const Box domain = tiling.domainBox(node, number, box);
  if (graph.isEmpty(node.operands[0].source)) {
    // The reduction of an empty tensor is its initial value.
    const size_t count = cast<stablehlo::ReduceOp>(node.op).getInputs().size();
    SmallVector<Value> results;
    for (size_t i = 0; i < count; ++i)
      results.push_back(view(emitValue(node.operands[count + i].source, {}), {},
                             tileType(box, node.elementTypes[i]).getShape()));
    return results;
  }
  Reduction reduction(*this, node, domain);
  const SmallVector<Value> inits = reduction.initialValues();
  // Peel the first iteration, because the initial value may be combined only once, in the reduction
  // after the loop.
  const SmallVector<int> loops = loopsOf(node, number);
  SmallVector<Value> tiles = peelFirst(loops, {}, [&](ValueRange) { return reduction.inputs(); });
  tiles = loop(loops, 1, tiles, [&](ValueRange sums) { return reduction.accumulate(sums, loops); });
  return reduction.reduce(box, tiles, inits);
}

} // namespace tilewright::tile
