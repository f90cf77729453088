#include "tilewright/transform/tile/EmitKernel.h"

#include "tilewright/dialect/elements/ScalarSemantics.h"
#include "tilewright/dialect/stablehlo/StablehloOps.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright::tile {

namespace {

/// An operand of a map: a tile, or an element that is the same everywhere.
struct Operand {
  Value tile;
  ElementsAttr constant;
};

class KernelEmitter {
public:
  KernelEmitter(OpBuilder &builder, Location loc, const FusionGraph &graph, const Tiling &tiling)
      : builder(builder), loc(loc), context(builder.getContext()), graph(graph), tiling(tiling) {}

  KernelOp emit(StringRef name, SmallVectorImpl<int> &inputs);

private:
  //===- Tiles ------------------------------------------------------------===//

  RankedTensorType tileType(const Box &box, Type element) const {
    SmallVector<int64_t> shape;
    for (const Access &access : box)
      shape.push_back(tiling.tileSize(access));
    return RankedTensorType::get(shape, elements::scalarType(element));
  }
  Value index(int64_t value) {
    Value &constant = constants[value];
    if (!constant)
      constant = arith::ConstantIndexOp::create(top, loc, value);
    return constant;
  }
  /// The first index of an access at this point.
  Value offset(const Access &access);
  /// A position that is read from memory, as an index inside its limits.
  Value position(int number);
  Value view(Value tile, ArrayRef<AffineExpr> exprs, ArrayRef<int64_t> shape);
  Value load(const Node &node, unsigned number, const Box &box, Value padding);
  void store(ValueRef value, const Box &box, Value target);

  //===- Maps -------------------------------------------------------------===//

  using Body = function_ref<Value(OpBuilder &, ValueRange)>;
  /// A map with one result; constants become ops of the region.
  Value map(RankedTensorType type, ArrayRef<Operand> operands, Body body);
  Value splat(RankedTensorType type, ElementsAttr constant) {
    return map(type, Operand{{}, constant}, [](OpBuilder &, ValueRange v) { return v[0]; });
  }

  //===- Values -----------------------------------------------------------===//

  Value emitValue(ValueRef value, const Box &box);
  SmallVector<Value> emitNode(const Node &node, unsigned number, const Box &box);
  /// An operand as a tile of the user's domain.
  Operand operand(const Edge &edge, const Box &domain);
  /// The bounds that the domain may leave, each with a tile of its index.
  SmallVector<std::pair<Value, Bound>> leaving(const Edge &edge, const Box &domain);
  Value chooseInside(const Edge &edge, const Box &domain, RankedTensorType type, Operand otherwise);
  Value scalar(ValueRef value);

  Value emitIota(const Node &node, const Box &box);
  Value emitPad(const Node &node, const Box &box);
  Value emitConcatenate(const Node &node, const Box &box);
  Value emitElementwise(const Node &node, const Box &box);
  SmallVector<Value> emitReduce(const Node &node, const Box &box);
  Value emitDot(const Node &node, const Box &box);
  Value convertTile(Value tile, Type from, Type to);

  OpBuilder &builder;
  OpBuilder top{static_cast<MLIRContext *>(nullptr)}; // where offsets are computed
  Location loc;
  MLIRContext *context;
  const FusionGraph &graph;
  const Tiling &tiling;
  SmallVector<Value> coordinates; // by dimension of the domain; null where there is one point
  llvm::DenseMap<unsigned, Value> memrefs; // by number of an input node
  std::map<int64_t, Value> constants;
  std::map<Access, Value> offsets;
  std::map<int, Value> positions;
  std::map<std::pair<unsigned, Box>, SmallVector<Value>> values;
};

} // namespace

//===- Tiles --------------------------------------------------------------===//

Value KernelEmitter::offset(const Access &access) {
  Value coordinate = access.follows() ? coordinates[static_cast<size_t>(access.main)] : Value();
  if (!coordinate && access.position < 0)
    return index(access.constant);
  Value &value = offsets[access];
  if (value)
    return value;
  AffineExpr expr = getAffineDimExpr(0, context) * tiling.pointStride(access) + access.constant;
  Value still =
      !coordinate ? index(access.constant)
      : expr == getAffineDimExpr(0, context)
          ? coordinate
          : affine::AffineApplyOp::create(top, loc, AffineMap::get(1, 0, expr), coordinate);
  if (access.position < 0)
    return value = still;
  Value moved = position(access.position);
  if (access.positionScale != 1)
    moved = arith::MulIOp::create(builder, loc, moved, index(access.positionScale));
  return value = arith::AddIOp::create(builder, loc, still, moved);
}

Value KernelEmitter::position(int number) {
  Value &value = positions[number];
  if (value)
    return value;
  const RunPosition &position = graph.positions[static_cast<size_t>(number)];
  Type element = graph.elementType(position.value);
  Type wide = builder.getI64Type();
  Value start = elements::emitConversion(builder, loc, element, wide, scalar(position.value));
  Value limit = arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(position.limit));
  if (element.isUnsignedInteger()) {
    start = arith::MinUIOp::create(builder, loc, start, limit);
  } else {
    Value zero = arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(0));
    start = arith::MaxSIOp::create(builder, loc, start, zero);
    start = arith::MinSIOp::create(builder, loc, start, limit);
  }
  return value = arith::IndexCastOp::create(builder, loc, builder.getIndexType(), start);
}

Value KernelEmitter::view(Value tile, ArrayRef<AffineExpr> exprs, ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(tile.getType());
  AffineMap map = AffineMap::get(static_cast<unsigned>(shape.size()), 0, exprs, context);
  if (map.isIdentity() && type.getShape() == shape)
    return tile;
  return ViewOp::create(builder, loc, RankedTensorType::get(shape, type.getElementType()), tile,
                        map);
}

Value KernelEmitter::load(const Node &node, unsigned number, const Box &box, Value padding) {
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
  return LoadOp::create(builder, loc, tileType(box, node.elementTypes[0]), memrefs[number], at,
                        inside ? Value() : padding,
                        plain ? DenseI64ArrayAttr() : builder.getDenseI64ArrayAttr(strides),
                        inside ? DenseBoolArrayAttr() : builder.getDenseBoolArrayAttr(inBounds));
}

void KernelEmitter::store(ValueRef value, const Box &box, Value target) {
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
  SmallVector<Value> results;
  if (ElementsAttr constant = graph.constantOf(value))
    results.push_back(splat(tileType(box, node.elementTypes[0]), constant));
  else
    results = emitNode(node, value.node, box);
  // The map may have grown meanwhile, but its nodes stay where they are.
  found->second = std::move(results);
  return found->second[value.result];
}

SmallVector<Value> KernelEmitter::emitNode(const Node &node, unsigned number, const Box &box) {
  if (!node.op)
    return {load(node, number, box, {})};
  loc = node.op->getLoc();
  return llvm::TypeSwitch<Operation *, SmallVector<Value>>(node.op)
      .Case<stablehlo::IotaOp>([&](auto) { return SmallVector<Value>{emitIota(node, box)}; })
      .Case<stablehlo::BroadcastInDimOp, stablehlo::TransposeOp, stablehlo::ReshapeOp,
            stablehlo::SliceOp, stablehlo::DynamicSliceOp, stablehlo::ReverseOp>(
          [&](auto) { return SmallVector<Value>{operand(node.operands[0], box).tile}; })
      .Case<stablehlo::PadOp>([&](auto) { return SmallVector<Value>{emitPad(node, box)}; })
      .Case<stablehlo::ConcatenateOp>(
          [&](auto) { return SmallVector<Value>{emitConcatenate(node, box)}; })
      .Case<stablehlo::ReduceOp>([&](auto) { return emitReduce(node, box); })
      .Case<stablehlo::DotGeneralOp>([&](auto) { return SmallVector<Value>{emitDot(node, box)}; })
      .Default([&](auto) { return SmallVector<Value>{emitElementwise(node, box)}; });
}

Operand KernelEmitter::operand(const Edge &edge, const Box &domain) {
  if (ElementsAttr constant = graph.constantOf(edge.source))
    return {{}, constant};
  OperandBox source = operandBox(edge, graph.node(edge.source), domain);
  Value tile = emitValue(edge.source, source.box);
  SmallVector<int64_t> shape;
  for (const Access &access : domain)
    shape.push_back(tiling.tileSize(access));
  return {view(tile, source.view, shape), {}};
}

Value KernelEmitter::scalar(ValueRef value) {
  if (ElementsAttr constant = graph.constantOf(value))
    return elements::emitConstant(builder, loc, constant);
  return tensor::ExtractOp::create(builder, loc, emitValue(value, {}), ValueRange());
}

Value KernelEmitter::emitElementwise(const Node &node, const Box &box) {
  SmallVector<Operand> operands;
  for (const Edge &edge : node.operands)
    operands.push_back(operand(edge, box));
  return map(tileType(box, node.elementTypes[0]), operands,
             [&](OpBuilder &inside, ValueRange elements) {
               return elements::emitElement(inside, node.op, elements);
             });
}

Value KernelEmitter::emitIota(const Node &node, const Box &box) {
  RankedTensorType type = tileType(box, node.elementTypes[0]);
  Type counter = builder.getI64Type();
  SmallVector<Operand> parts;
  SmallVector<int64_t> strides;
  for (auto [dim, stride] : node.iotaStrides) {
    const Access &access = box[dim];
    parts.push_back({IotaOp::create(builder, loc, type.clone(counter), offset(access), dim,
                                    tiling.tileSize(access) == 1 ? 1 : access.scale),
                     {}});
    strides.push_back(stride);
  }
  if (parts.empty())
    parts.push_back(
        {{},
         DenseElementsAttr::get(RankedTensorType::get({}, counter), builder.getI64IntegerAttr(0))});
  return map(type, parts, [&](OpBuilder &inside, ValueRange counters) {
    Value sum;
    for (auto [i, value] : llvm::enumerate(counters)) {
      Value term = value;
      if (i < strides.size() && strides[i] != 1)
        term = arith::MulIOp::create(
            inside, loc, term,
            arith::ConstantOp::create(inside, loc, inside.getI64IntegerAttr(strides[i])));
      sum = sum ? Value(arith::AddIOp::create(inside, loc, sum, term)) : term;
    }
    return elements::emitConversion(inside, loc, counter, node.elementTypes[0], sum);
  });
}

//===- Padding and pieces -------------------------------------------------===//

/// The access of an index that is simple on the domain.
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
    if (shape.empty() || (!access.follows() && access.size == 1)) {
      // One index for all.
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
      // As an unsigned number a negative index is too large as well.
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
      rest = operand(edge, box); // whatever no other piece has
    else
      rest = {chooseInside(edge, box, type, rest), {}};
  }
  return rest.tile ? rest.tile : splat(type, rest.constant);
}

//===- Reductions ---------------------------------------------------------===//

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
  const bool nothing = graph.isEmpty(node.operands[0].source);
  for (size_t i = 0; i < count; ++i) {
    types.push_back(tileType(box, node.elementTypes[i]));
    inits.push_back(scalar(node.operands[count + i].source));
    if (nothing)
      continue;
    const Edge &edge = node.operands[i];
    // As it lies in memory where kept dimensions keep their order, else rearranged.
    SmallVector<int64_t> reduced;
    unsigned kept = 0;
    bool inOrder = edge.index.size() == domain.size() && !graph.constantOf(edge.source);
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
    Type body =
        cast<RankedTensorType>(op.getBody().front().getArgument(i).getType()).getElementType();
    inputs.push_back(convertTile(tile, graph.elementType(edge.source), body));
  }
  if (nothing || dims.empty()) {
    // Without elements the init is the result; without dimensions to reduce it enters once.
    SmallVector<Value> results;
    if (nothing) {
      for (size_t i = 0; i < count; ++i) {
        Value tile = tensor::FromElementsOp::create(
            builder, loc, RankedTensorType::get({}, inits[i].getType()), inits[i]);
        results.push_back(view(tile, {}, cast<RankedTensorType>(types[i]).getShape()));
      }
      return results;
    }
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

//===- The kernel ---------------------------------------------------------===//

KernelOp KernelEmitter::emit(StringRef name, SmallVectorImpl<int> &inputs) {
  SmallVector<int64_t> grid;
  SmallVector<int> gridDims;
  for (int dim = 0; dim < static_cast<int>(tiling.sizes.size()); ++dim)
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
  for (ValueRef output : graph.outputs)
    arguments.push_back(MemRefType::get(graph.node(output).shape(),
                                        elements::scalarType(graph.elementType(output))));

  auto kernel = KernelOp::create(builder, loc, name, grid, static_cast<int64_t>(inputs.size()));
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(&kernel.getBody(), {}, arguments,
                                     SmallVector<Location>(arguments.size(), loc));
  Operation *end = YieldOp::create(builder, loc);
  coordinates.assign(tiling.sizes.size(), Value());
  for (auto [i, dim] : llvm::enumerate(gridDims))
    coordinates[static_cast<size_t>(dim)] = block->getArgument(static_cast<unsigned>(i));
  for (auto [i, number] : llvm::enumerate(inputNodes))
    memrefs[number] = block->getArgument(static_cast<unsigned>(grid.size() + i));
  // Offsets stand before everything, in front of a marker that goes away.
  builder.setInsertionPoint(end);
  Operation *marker = YieldOp::create(builder, loc);
  top = OpBuilder(marker);
  builder.setInsertionPoint(end);
  for (auto [i, output] : llvm::enumerate(graph.outputs)) {
    // A dimension in one piece is the same as one that a reduction takes whole.
    Box box = tiling.outputs[i];
    for (Access &access : box)
      if (access.follows() && tiling.points(access.main) == 1)
        access = Access{-1, tiling.sizes[static_cast<size_t>(access.main)]};
    if (!graph.isEmpty(output))
      store(output, box,
            block->getArgument(static_cast<unsigned>(grid.size() + inputNodes.size() + i)));
  }
  marker->erase();
  return kernel;
}

KernelOp emitKernel(OpBuilder &builder, Location loc, StringRef name, const FusionGraph &graph,
                    const Tiling &tiling, SmallVectorImpl<int> &inputs) {
  return KernelEmitter(builder, loc, graph, tiling).emit(name, inputs);
}

} // namespace tilewright::tile
