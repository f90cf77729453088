// Reads at computed indices: gathers, and operands for which no box contains the elements that a
// tile needs.
#include "tilewright/dialect/stablehlo/StablehloOps.h"
#include "tilewright/transform/tile/KernelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;

namespace tilewright::tile {

/// Evaluates an index expression in the region of a map. Only in-bounds indices need the right
/// result, and these divide no negative numbers.
static Value evaluate(OpBuilder &region, Location loc, AffineExpr expr,
                      llvm::function_ref<Value(AffineExpr)> leaf) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return arith::ConstantIndexOp::create(region, loc, constant.getValue());
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return leaf(expr);
  Value left = evaluate(region, loc, binary.getLHS(), leaf);
  Value right = evaluate(region, loc, binary.getRHS(), leaf);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return arith::AddIOp::create(region, loc, left, right);
  case AffineExprKind::Mul:
    return arith::MulIOp::create(region, loc, left, right);
  case AffineExprKind::FloorDiv:
    return arith::DivSIOp::create(region, loc, left, right);
  case AffineExprKind::Mod:
    return arith::RemSIOp::create(region, loc, left, right);
  default:
    llvm_unreachable("indexing relations have no other operators");
  }
}

static Value clampIndex(OpBuilder &region, Location loc, Value at, int64_t size) {
  Value first = arith::ConstantIndexOp::create(region, loc, 0);
  Value last = arith::ConstantIndexOp::create(region, loc, size - 1);
  return arith::MinSIOp::create(region, loc, arith::MaxSIOp::create(region, loc, at, first), last);
}

/// Emits single elements of values. `indices` of a value are one tile for each of its dimensions,
/// with indices that are in bounds, and the result has the shape of these tiles.
class KernelEmitter::Computed {
public:
  Computed(KernelEmitter &emitter, ArrayRef<int64_t> shape)
      : emitter(emitter), builder(emitter.builder), shape(shape) {}

  /// The index of each element of a node's tile along the dimensions of the node's domain that the
  /// operand depends on; null for other dimensions. Elements of the tile outside of the domain,
  /// which are not stored, have indices of other elements.
  SmallVector<Value> coordinates(const Node &node, const Edge &edge, const Box &domain);
  /// The element of a value at each index.
  Operand at(ValueRef value, ArrayRef<Value> indices);
  /// The element of a node's operand that each index of the node reads.
  Operand operand(const Node &node, const Edge &edge, ArrayRef<Value> indices);
  /// An index expression of a node; with a `size`, clamped to [0, size).
  Value index(AffineExpr expr, ArrayRef<Value> indices, int64_t size = 0);
  Leaving leaving(const Edge &edge, ArrayRef<Value> indices);

private:
  RankedTensorType typeOf(Type element) const { return RankedTensorType::get(shape, element); }
  Operand emit(const Node &node, unsigned number, ArrayRef<Value> indices);

  KernelEmitter &emitter;
  OpBuilder &builder;
  const SmallVector<int64_t> shape;
  /// The values that are emitted already, so that one with several readers is emitted once.
  std::map<std::pair<unsigned, std::vector<const void *>>, Operand> known;
};

SmallVector<Value> KernelEmitter::Computed::coordinates(const Node &node, const Edge &edge,
                                                        const Box &domain) {
  SmallVector<Value> indices(domain.size());
  for (auto [dim, access, size] : llvm::enumerate(domain, node.sizes)) {
    if (!readsDim(edge, static_cast<unsigned>(dim)))
      continue;
    RankedTensorType type = typeOf(builder.getIndexType());
    Value tile = emitter.indices(access, type, static_cast<unsigned>(dim));
    if (!emitter.tiling.isInside(access, size, /*keptOnly=*/false))
      tile =
          emitter.map(type, Operand{tile, {}}, [&, size = size](OpBuilder &region, ValueRange v) {
            return clampIndex(region, emitter.loc, v[0], size);
          });
    indices[dim] = tile;
  }
  return indices;
}

Value KernelEmitter::Computed::index(AffineExpr expr, ArrayRef<Value> indices, int64_t size) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr); dim && size == 0)
    return indices[dim.getPosition()];
  // Tiles of the dimensions and runtime positions that the expression uses.
  SmallVector<AffineExpr> leaves;
  SmallVector<Operand> operands;
  expr.walk([&](AffineExpr part) {
    if (llvm::is_contained(leaves, part))
      return;
    if (auto dim = dyn_cast<AffineDimExpr>(part)) {
      leaves.push_back(part);
      operands.push_back({indices[dim.getPosition()], {}});
    } else if (auto symbol = dyn_cast<AffineSymbolExpr>(part)) {
      leaves.push_back(part);
      operands.push_back(at(emitter.graph.positions[symbol.getPosition()].value, {}));
    }
  });
  return emitter.map(
      typeOf(builder.getIndexType()), operands, [&](OpBuilder &region, ValueRange values) {
        Value result = evaluate(region, emitter.loc, expr, [&](AffineExpr leaf) {
          Value value = values[static_cast<size_t>(llvm::find(leaves, leaf) - leaves.begin())];
          auto symbol = dyn_cast<AffineSymbolExpr>(leaf);
          if (!symbol)
            return value;
          const RunPosition &position = emitter.graph.positions[symbol.getPosition()];
          return emitter.clamped(region, emitter.graph.elementType(position.value), value,
                                 position.limit);
        });
        return size ? clampIndex(region, emitter.loc, result, size) : result;
      });
}

Leaving KernelEmitter::Computed::leaving(const Edge &edge, ArrayRef<Value> indices) {
  Leaving found;
  for (const Bound &bound : edge.bounds)
    found.push_back({index(bound.index, indices), bound});
  return found;
}

Operand KernelEmitter::Computed::operand(const Node &node, const Edge &edge,
                                         ArrayRef<Value> indices) {
  if (ElementsAttr constant = emitter.graph.constantOf(edge.source))
    return {{}, constant};
  SmallVector<Value> source;
  for (auto [expr, size] : llvm::zip_equal(edge.index, emitter.graph.node(edge.source).shape())) {
    // Even if an index is out of bounds and the element is ignored, the kernel must read some
    // element.
    auto dim = dyn_cast<AffineDimExpr>(expr);
    const bool isInside = edge.bounds.empty() || (dim && node.sizes[dim.getPosition()] <= size);
    source.push_back(index(expr, indices, isInside ? 0 : size));
  }
  return at(edge.source, source);
}

Operand KernelEmitter::Computed::at(ValueRef value, ArrayRef<Value> indices) {
  if (ElementsAttr constant = emitter.graph.constantOf(value))
    return {{}, constant};
  if (indices.empty())
    return {emitter.view(emitter.emitValue(value, {}), {}, shape), {}};
  std::vector<const void *> key;
  for (Value tile : indices)
    key.push_back(tile.getAsOpaquePointer());
  auto [found, isNew] = known.try_emplace({value.node, key});
  if (isNew)
    found->second = emit(emitter.graph.nodes[value.node], value.node, indices);
  return found->second;
}

Operand KernelEmitter::Computed::emit(const Node &node, unsigned number, ArrayRef<Value> indices) {
  RankedTensorType type = typeOf(elements::scalarType(node.elementTypes[0]));
  if (!node.op)
    return {GatherOp::create(builder, emitter.loc, type, emitter.memrefs[number], indices), {}};
  llvm::SaveAndRestore here(emitter.loc, node.op->getLoc());
  const Reader reader{[&](const Edge &edge) { return operand(node, edge, indices); },
                      [&](const Edge &edge) { return leaving(edge, indices); },
                      [&](AffineExpr expr) { return index(expr, indices); }};
  return llvm::TypeSwitch<Operation *, Operand>(node.op)
      .Case<stablehlo::IotaOp>([&](auto) {
        SmallVector<Operand> counters;
        for (auto [dim, stride] : node.iotaStrides)
          counters.push_back({indices[dim], {}});
        return Operand{emitter.emitIota(node, type, counters), {}};
      })
      .Case<stablehlo::BroadcastInDimOp, stablehlo::TransposeOp, stablehlo::ReshapeOp,
            stablehlo::SliceOp, stablehlo::DynamicSliceOp, stablehlo::ReverseOp>(
          [&](auto) { return reader.operand(node.operands[0]); })
      .Case<stablehlo::PadOp>([&](auto) { return emitter.emitPad(node, type, reader); })
      .Case<stablehlo::ConcatenateOp>(
          [&](auto) { return emitter.emitConcatenate(node, type, reader); })
      .Case<stablehlo::GatherOp>([&](auto) {
        return at(node.operands[0].source, emitter.gatherIndices(node, type, reader));
      })
      .Default([&](auto) { return Operand{emitter.emitElementwise(node, type, reader), {}}; });
}

Operand KernelEmitter::operand(const Node &user, const Edge &edge, const Box &domain) {
  if (ElementsAttr constant = graph.constantOf(edge.source))
    return {{}, constant};
  SmallVector<int64_t> shape;
  for (const Access &access : domain)
    shape.push_back(tiling.tileSize(access));
  if (tiling.computed.contains(&edge)) {
    Computed computed(*this, shape);
    return computed.operand(user, edge, computed.coordinates(user, edge, domain));
  }
  OperandBox source = operandBox(edge, graph.node(edge.source), domain);
  return {view(emitValue(edge.source, source.box), source.view, shape), {}};
}

Reader KernelEmitter::readerOf(const Node &node, const Box &domain) {
  return {[&](const Edge &edge) { return operand(node, edge, domain); },
          [&](const Edge &edge) { return leaving(edge, domain); },
          {}};
}

SmallVector<Value> KernelEmitter::gatherIndices(const Node &node, RankedTensorType type,
                                                const Reader &reader) {
  RankedTensorType indexType = type.clone(builder.getIndexType());
  SmallVector<Value> indices;
  for (auto [dim, expr] : llvm::enumerate(node.operands[0].index)) {
    const auto *start =
        llvm::find_if(node.starts, [dim = dim](const Start &start) { return start.dim == dim; });
    if (start == node.starts.end()) {
      indices.push_back(reader.index(expr));
      continue;
    }
    const Edge &edge = node.operands[start->operand];
    SmallVector<Operand> operands = {reader.operand(edge)};
    // The coordinate in the slice.
    if (expr != getAffineConstantExpr(0, context))
      operands.push_back({reader.index(expr), {}});
    indices.push_back(map(indexType, operands, [&](OpBuilder &region, ValueRange v) -> Value {
      Value first = clamped(region, graph.elementType(edge.source), v[0], start->limit);
      return v.size() == 1 ? first : arith::AddIOp::create(region, loc, first, v[1]);
    }));
  }
  return indices;
}

Value KernelEmitter::emitGather(const Node &node, const Box &box) {
  RankedTensorType type = tileType(box, node.elementTypes[0]);
  Computed computed(*this, type.getShape());
  const SmallVector<Value> coordinates = computed.coordinates(node, node.operands[0], box);
  Reader reader = readerOf(node, box);
  reader.index = [&](AffineExpr expr) { return computed.index(expr, coordinates); };
  return tileOf(type, computed.at(node.operands[0].source, gatherIndices(node, type, reader)));
}

} // namespace tilewright::tile
