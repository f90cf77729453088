// Emits the kernel op, its tiles and its maps.
#include "tilewright/transform/tile/EmitKernel.h"

#include "tilewright/dialect/indexing/IndexingRelation.h"
#include "tilewright/dialect/stablehlo/StablehloOps.h"
#include "tilewright/transform/tile/KernelEmitter.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;

namespace tilewright::tile {

//===- Tiles --------------------------------------------------------------===//

Value KernelEmitter::offset(const Access &access) {
  auto coordinateOf = [&](int dim) {
    return dim >= 0 ? coordinates[static_cast<size_t>(dim)] : Value();
  };
  Value coordinate = coordinateOf(access.main), unit = coordinateOf(access.unit);
  if (!coordinate && !unit && access.position < 0)
    return index(access.constant);
  Value &value = offsets[access];
  if (value)
    return value;
  // Emit an offset that depends on a loop at the top of the innermost such loop's body, where the
  // induction variables are available.
  OpBuilder top = this->top;
  for (Scope &scope : scopes)
    if (scope.top && llvm::any_of(scope.loops, [&](int loop) { return access.dependsOn(loop); }))
      top.setInsertionPoint(scope.top);
  AffineExpr expr = getAffineConstantExpr(access.constant, context);
  SmallVector<Value> terms;
  for (auto [term, stride] :
       {std::pair(coordinate, tiling.pointStride(access)), std::pair(unit, access.unitScale)})
    if (term) {
      expr = expr + getAffineDimExpr(static_cast<unsigned>(terms.size()), context) * stride;
      terms.push_back(term);
    }
  Value still =
      terms.empty() ? index(access.constant)
      : expr == getAffineDimExpr(0, context)
          ? terms.front()
          : affine::AffineApplyOp::create(
                top, loc, AffineMap::get(static_cast<unsigned>(terms.size()), 0, expr), terms);
  if (access.position < 0)
    return value = still;
  OpBuilder::InsertionGuard guard(builder);
  hoist(depthOf({access}));
  Value moved = position(access.position);
  if (access.positionScale != 1)
    moved = arith::MulIOp::create(builder, loc, moved, index(access.positionScale));
  return value = arith::AddIOp::create(builder, loc, still, moved);
}

Value KernelEmitter::position(int number) {
  Value &value = positions[number];
  if (value)
    return value;
  OpBuilder::InsertionGuard guard(builder);
  hoist(0);
  const RunPosition &position = graph.positions[static_cast<size_t>(number)];
  return value = clamped(builder, graph.elementType(position.value), scalar(position.value),
                         position.limit);
}

Value KernelEmitter::clamped(OpBuilder &at, Type element, Value value, int64_t limit) {
  Value start = elements::emitConversion(at, loc, element, at.getI64Type(), value);
  Value last = arith::ConstantOp::create(at, loc, at.getI64IntegerAttr(limit));
  if (element.isUnsignedInteger()) {
    start = arith::MinUIOp::create(at, loc, start, last);
  } else {
    Value zero = arith::ConstantOp::create(at, loc, at.getI64IntegerAttr(0));
    start = arith::MaxSIOp::create(at, loc, start, zero);
    start = arith::MinSIOp::create(at, loc, start, last);
  }
  return arith::IndexCastOp::create(at, loc, at.getIndexType(), start);
}

Value KernelEmitter::view(Value tile, ArrayRef<AffineExpr> exprs, ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(tile.getType());
  AffineMap map = AffineMap::get(static_cast<unsigned>(shape.size()), 0, exprs, context);
  if (map.isIdentity() && type.getShape() == shape)
    return tile;
  return ViewOp::create(builder, loc, RankedTensorType::get(shape, type.getElementType()), tile,
                        map);
}

Value KernelEmitter::load(const Node &node, unsigned number, const Box &box, bool zeros) {
  SmallVector<Value> at;
  SmallVector<int64_t> strides;
  SmallVector<bool> inBounds;
  for (auto [access, size] : llvm::zip_equal(box, node.shape())) {
    at.push_back(offset(access));
    strides.push_back(tiling.tileSize(access) == 1 ? 1 : access.scale);
    inBounds.push_back(tiling.isInside(access, size, /*keptOnly=*/false));
  }
  const bool plain = llvm::all_of(strides, [](int64_t stride) { return stride == 1; });
  const bool inside = llvm::all_of(inBounds, [](bool value) { return value; });
  RankedTensorType type = tileType(box, node.elementTypes[0]);
  Value padding;
  if (zeros && !inside)
    padding = zero(top, type.getElementType());
  return LoadOp::create(builder, loc, type, memrefs[number], at, padding,
                        plain ? DenseI64ArrayAttr() : builder.getDenseI64ArrayAttr(strides),
                        inside ? DenseBoolArrayAttr() : builder.getDenseBoolArrayAttr(inBounds));
}

void KernelEmitter::store(ValueRef value, const Box &box, Value target) {
  const Node &node = graph.node(value);
  llvm::SaveAndRestore here(loc, node.op ? node.op->getLoc() : loc);
  if (isa_and_nonnull<stablehlo::DynamicUpdateSliceOp>(node.op))
    return storeWindow(node, box, target);
  if (isa_and_nonnull<stablehlo::ScatterOp>(node.op))
    return storeRows(node, box, target);
  Value tile = emitValue(value, box);
  SmallVector<Value> at;
  SmallVector<bool> inBounds;
  for (auto [access, size] : llvm::zip_equal(box, graph.node(value).shape())) {
    at.push_back(offset(access));
    inBounds.push_back(tiling.isInside(access, size, /*keptOnly=*/false));
  }
  const bool inside = llvm::all_of(inBounds, [](bool value) { return value; });
  StoreOp::create(builder, loc, tile, target, at, DenseI64ArrayAttr(),
                  inside ? DenseBoolArrayAttr() : builder.getDenseBoolArrayAttr(inBounds));
}

//===- Maps ---------------------------------------------------------------===//

Value KernelEmitter::zero(OpBuilder &at, Type type) {
  if (!isa<ComplexType>(type))
    return arith::ConstantOp::create(at, loc, at.getZeroAttr(type));
  Value none = arith::ConstantOp::create(at, loc, at.getI64IntegerAttr(0));
  return elements::emitConversion(at, loc, at.getI64Type(), type, none);
}

Value KernelEmitter::map(RankedTensorType type, ArrayRef<Operand> operands, Body body) {
  SmallVector<Value> tiles;
  for (const Operand &operand : operands)
    if (operand.tile && !llvm::is_contained(tiles, operand.tile))
      tiles.push_back(operand.tile);
  auto op = MapOp::create(builder, loc, TypeRange(type), tiles);
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(&op.getBody());
  for (Value tile : tiles)
    block->addArgument(cast<RankedTensorType>(tile.getType()).getElementType(), loc);
  SmallVector<Value> elements;
  for (const Operand &operand : operands)
    elements.push_back(operand.tile ? block->getArgument(static_cast<unsigned>(
                                          llvm::find(tiles, operand.tile) - tiles.begin()))
                                    : elements::emitConstant(builder, loc, operand.constant));
  Value result = body(builder, elements);
  YieldOp::create(builder, loc, result);
  return op.getResult(0);
}

//===- Values -------------------------------------------------------------===//

Value KernelEmitter::emitValue(ValueRef value, const Box &box) {
  auto [found, isNew] = values.try_emplace({value.node, box});
  if (!isNew)
    return found->second[value.result];
  const Node &node = graph.nodes[value.node];
  OpBuilder::InsertionGuard guard(builder);
  hoist(depthOf(box));
  SmallVector<Value> results;
  if (ElementsAttr constant = graph.constantOf(value))
    results.push_back(splat(tileType(box, node.elementTypes[0]), constant));
  else
    results = emitNode(node, value.node, box);
  // emitNode() may have inserted into the map, but std::map keeps references valid.
  found->second = std::move(results);
  return found->second[value.result];
}

SmallVector<Value> KernelEmitter::emitEmptySum(const Node &node, const Box &box) {
  SmallVector<Value> results;
  auto reduce = dyn_cast<stablehlo::ReduceOp>(node.op);
  for (auto [i, element] : llvm::enumerate(node.elementTypes)) {
    RankedTensorType type = tileType(box, element);
    if (!reduce) {
      results.push_back(map(type, {}, [&](OpBuilder &inside, ValueRange) {
        return zero(inside, type.getElementType());
      }));
      continue;
    }
    Operand init = operand(node, node.operands[reduce.getInputs().size() + i], box);
    results.push_back(init.tile ? init.tile : splat(type, init.constant));
  }
  return results;
}

SmallVector<Value> KernelEmitter::emitNode(const Node &node, unsigned number, const Box &box) {
  if (!node.op)
    return {load(node, number, box)};
  // Emitting the operands changes `loc`, and restores it.
  llvm::SaveAndRestore here(loc, node.op->getLoc());
  if (llvm::is_contained(llvm::drop_begin(node.sizes, node.rank), 0))
    return emitEmptySum(node, box);
  RankedTensorType type = tileType(box, node.elementTypes[0]);
  const Reader reader = readerOf(node, box);
  return llvm::TypeSwitch<Operation *, SmallVector<Value>>(node.op)
      .Case<stablehlo::IotaOp>([&](auto) { return SmallVector<Value>{emitIota(node, box)}; })
      .Case<stablehlo::BroadcastInDimOp, stablehlo::TransposeOp, stablehlo::ReshapeOp,
            stablehlo::SliceOp, stablehlo::DynamicSliceOp, stablehlo::ReverseOp>(
          [&](auto) { return SmallVector<Value>{reader.operand(node.operands[0]).tile}; })
      .Case<stablehlo::PadOp>(
          [&](auto) { return SmallVector<Value>{tileOf(type, emitPad(node, type, reader))}; })
      .Case<stablehlo::ConcatenateOp>([&](auto) {
        return SmallVector<Value>{tileOf(type, emitConcatenate(node, type, reader))};
      })
      .Case<stablehlo::GatherOp>([&](auto) { return SmallVector<Value>{emitGather(node, box)}; })
      .Case<stablehlo::ReduceOp>([&](auto) { return emitReduce(node, number, box); })
      .Case<stablehlo::DotGeneralOp, stablehlo::ConvolutionOp>(
          [&](auto) { return SmallVector<Value>{emitDot(node, number, box)}; })
      .Default([&](auto) { return SmallVector<Value>{emitElementwise(node, type, reader)}; });
}

Value KernelEmitter::scalar(ValueRef value) {
  if (ElementsAttr constant = graph.constantOf(value))
    return elements::emitConstant(builder, loc, constant);
  return tensor::ExtractOp::create(builder, loc, emitValue(value, {}), ValueRange());
}

Value KernelEmitter::emitElementwise(const Node &node, RankedTensorType type,
                                     const Reader &reader) {
  SmallVector<Operand> operands;
  for (const Edge &edge : node.operands)
    operands.push_back(reader.operand(edge));
  return map(type, operands, [&](OpBuilder &inside, ValueRange elements) {
    return elements::emitElement(inside, node.op, elements);
  });
}

Value KernelEmitter::indices(const Access &access, RankedTensorType type, unsigned dim) {
  return IotaOp::create(builder, loc, type, offset(access), dim,
                        tiling.tileSize(access) == 1 ? 1 : access.scale);
}

Value KernelEmitter::emitIota(const Node &node, const Box &box) {
  RankedTensorType type = tileType(box, node.elementTypes[0]);
  SmallVector<Operand> counters;
  for (auto [dim, stride] : node.iotaStrides)
    counters.push_back({indices(box[dim], type.clone(builder.getI64Type()), dim), {}});
  return emitIota(node, type, counters);
}

Value KernelEmitter::emitIota(const Node &node, RankedTensorType type, ArrayRef<Operand> counters) {
  Type counter = builder.getI64Type();
  return map(type, counters, [&](OpBuilder &inside, ValueRange values) {
    Value sum;
    for (auto [value, part] : llvm::zip_equal(values, node.iotaStrides)) {
      Value term = value;
      if (term.getType().isIndex())
        term = arith::IndexCastOp::create(inside, loc, counter, term);
      if (part.second != 1)
        term = arith::MulIOp::create(
            inside, loc, term,
            arith::ConstantOp::create(inside, loc, inside.getI64IntegerAttr(part.second)));
      sum = sum ? Value(arith::AddIOp::create(inside, loc, sum, term)) : term;
    }
    if (!sum)
      sum = arith::ConstantOp::create(inside, loc, inside.getI64IntegerAttr(0));
    return elements::emitConversion(inside, loc, counter, node.elementTypes[0], sum);
  });
}

//===- The kernel ---------------------------------------------------------===//

KernelOp KernelEmitter::emit(StringRef name, SmallVectorImpl<int> &inputs) {
  SmallVector<int64_t> grid;
  SmallVector<int> gridDims;
  for (int dim = 0; dim < tiling.gridRank; ++dim)
    if (tiling.points(dim) != 1) {
      grid.push_back(tiling.points(dim));
      gridDims.push_back(dim);
    }
  if (grid.empty())
    grid.push_back(1);

  SmallVector<Type> arguments(grid.size(), builder.getIndexType());
  SmallVector<unsigned> inputNodes;
  for (auto [number, node] : llvm::enumerate(graph.nodes))
    if (!node.op)
      inputNodes.push_back(static_cast<unsigned>(number));
  llvm::sort(inputNodes, [&](unsigned a, unsigned b) {
    return std::make_pair(graph.nodes[a].input, a) < std::make_pair(graph.nodes[b].input, b);
  });
  for (unsigned number : inputNodes) {
    const Node &node = graph.nodes[number];
    inputs.push_back(node.input);
    arguments.push_back(MemRefType::get(node.shape(), elements::scalarType(node.elementTypes[0])));
  }
  SmallVector<int64_t> updates;
  for (auto [i, output] : llvm::enumerate(graph.outputs)) {
    const Node *memory = &graph.node(output);
    if (memory->op && indexing::updateOf(memory->op)) {
      const unsigned target = memory->operands[0].source.node;
      updates.push_back(static_cast<int64_t>(i));
      updates.push_back(llvm::find(inputNodes, target) - inputNodes.begin());
      memory = &graph.nodes[target];
    }
    arguments.push_back(
        MemRefType::get(memory->shape(), elements::scalarType(graph.elementType(output))));
  }

  auto kernel = KernelOp::create(builder, loc, name, grid, static_cast<int64_t>(inputs.size()),
                                 updates.empty() ? DenseI64ArrayAttr()
                                                 : builder.getDenseI64ArrayAttr(updates));
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(&kernel.getBody(), {}, arguments,
                                     SmallVector<Location>(arguments.size(), loc));
  Operation *end = YieldOp::create(builder, loc);
  coordinates.assign(tiling.sizes.size(), Value());
  for (auto [i, dim] : llvm::enumerate(gridDims))
    coordinates[static_cast<size_t>(dim)] = block->getArgument(static_cast<unsigned>(i));
  for (auto [i, number] : llvm::enumerate(inputNodes))
    memrefs[number] = block->getArgument(static_cast<unsigned>(grid.size() + i));
  // Emit offsets before everything else, in front of a marker op that is erased at the end.
  builder.setInsertionPoint(end);
  Operation *marker = YieldOp::create(builder, loc);
  top = OpBuilder(marker);
  builder.setInsertionPoint(end);
  // Group the outputs by the loops that store them; outputs without a loop come first.
  std::map<SmallVector<int>, SmallVector<std::pair<unsigned, Box>>> stores;
  for (auto [i, output] : llvm::enumerate(graph.outputs)) {
    Box box = tiling.outputs[i];
    SmallVector<int> loops;
    for (Access &access : box) {
      if (!access.follows())
        continue;
      const auto main = static_cast<size_t>(access.main);
      if (auto loop = tiling.storeLoops.find(access.main); loop != tiling.storeLoops.end())
        loops.push_back(access.main = loop->second);
      else if (tiling.tiles[main] == tiling.sizes[main])
        // If the dimension has a single tile, use the same form of access as for a dimension that a
        // reduction reads entirely.
        access = Access{-1, tiling.sizes[main]};
    }
    llvm::sort(loops);
    if (!graph.isEmpty(output))
      stores[loops].emplace_back(static_cast<unsigned>(i), box);
  }
  for (const auto &[loops, outputs] : stores)
    loop(loops, 0, {}, [&](ValueRange) {
      for (const auto &[i, box] : outputs)
        store(graph.outputs[i], box,
              block->getArgument(static_cast<unsigned>(grid.size() + inputNodes.size()) + i));
      return SmallVector<Value>();
    });
  marker->erase();
  return kernel;
}

KernelOp emitKernel(OpBuilder &builder, Location loc, StringRef name, const FusionGraph &graph,
                    const Tiling &tiling, const Capacities &capacities,
                    SmallVectorImpl<int> &inputs) {
  return KernelEmitter(builder, loc, graph, tiling, capacities).emit(name, inputs);
}

} // namespace tilewright::tile
