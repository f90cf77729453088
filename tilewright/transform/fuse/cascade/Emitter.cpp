#include "tilewright/transform/fuse/cascade/Emitter.h"

#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/dialect/stablehlo/ops/UnaryOps.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace tilewright::cascade {

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

SmallVector<int64_t, 4> Emitter::rowShape() const {
  SmallVector<int64_t, 4> shape;
  for (int64_t dim : cascade.space().rowDims())
    shape.push_back(cascade.space().shape[static_cast<size_t>(dim)]);
  return shape;
}

SmallVector<int64_t, 4> Emitter::sliceShape() const {
  SmallVector<int64_t, 4> shape = cascade.space().shape;
  shape[static_cast<size_t>(cascade.space().axes[0])] = slice.size;
  return shape;
}

bool Emitter::isLive(const Node &node) const {
  return llvm::any_of(
      node.reads, [&](unsigned reduction) { return cascade.reductions[reduction].pass == pass; });
}

Value Emitter::number(double value, Type element) {
  return b.constant(DenseElementsAttr::get(RankedTensorType::get({}, element),
                                           b.builder.getFloatAttr(element, value)));
}

Value Emitter::atElements(Value value) {
  if (shapeOf(value) == ArrayRef<int64_t>(sliceShape()))
    return value;
  if (shapeOf(value).empty())
    return b.broadcast(value, sliceShape());
  return b.broadcast(value, sliceShape(), cascade.space().rowDims());
}

Value Emitter::sliceOfMatmul(stablehlo::DotGeneralOp dot, int64_t dim) {
  stablehlo::DotDimensionNumbersAttr numbers = dot.getDotDimensionNumbers();
  const auto batching = static_cast<int64_t>(numbers.getLhsBatchingDimensions().size());
  // The result has the batching dimensions, then the free ones of lhs, then those of rhs.
  int64_t next = batching;
  SmallVector<Value, 2> operands(dot->getOperands());
  for (const bool isLhs : {true, false}) {
    Value &operand = operands[isLhs ? 0 : 1];
    ArrayRef<int64_t> batch =
        isLhs ? numbers.getLhsBatchingDimensions() : numbers.getRhsBatchingDimensions();
    ArrayRef<int64_t> summed =
        isLhs ? numbers.getLhsContractingDimensions() : numbers.getRhsContractingDimensions();
    if (dim < batching)
      operand = sliceOf(operand, batch[static_cast<size_t>(dim)]);
    const auto rank = static_cast<int64_t>(shapeOf(operand).size());
    for (int64_t own = 0; own < rank; ++own)
      if (!llvm::is_contained(batch, own) && !llvm::is_contained(summed, own) && next++ == dim)
        operand = sliceOf(operand, own);
  }
  SmallVector<int64_t, 4> shape(shapeOf(dot));
  shape[static_cast<size_t>(dim)] = slice.size;
  Operation *copy = b.builder.clone(*dot);
  copy->setOperands(operands);
  copy->getResult(0).setType(
      RankedTensorType::get(shape, cast<RankedTensorType>(dot.getType()).getElementType()));
  return copy->getResult(0);
}

Value Emitter::sliceOf(Value value, int64_t dim) {
  // Compute the product only for the slice. The product of all elements would be the tensor that is
  // to be avoided.
  if (auto dot = value.getDefiningOp<stablehlo::DotGeneralOp>())
    return sliceOfMatmul(dot, dim);
  if (!slice.at)
    return b.sliceAlong(value, dim, slice.start, slice.size);
  SmallVector<int64_t, 4> sizes(shapeOf(value));
  Value zero = b.constant(DenseElementsAttr::get(cast<RankedTensorType>(slice.at.getType()),
                                                 b.builder.getI32IntegerAttr(0)));
  SmallVector<Value, 4> starts(sizes.size(), zero);
  starts[static_cast<size_t>(dim)] = slice.at;
  sizes[static_cast<size_t>(dim)] = slice.size;
  return b.dynamicSlice(value, starts, sizes);
}

/// The indices along a dimension, from `start` on.
static Value indicesFrom(stablehlo::ShapedBuilder &b, RankedTensorType type, int64_t dim,
                         const Slice &slice) {
  Value indices = b.iota(type, dim);
  Type element = type.getElementType();
  Value start =
      slice.at
          ? b.convert(slice.at, element)
          : b.constant(DenseElementsAttr::get(
                RankedTensorType::get({}, element),
                isa<FloatType>(element)
                    ? Attribute(b.builder.getFloatAttr(element, static_cast<double>(slice.start)))
                    : Attribute(b.builder.getIntegerAttr(element, slice.start))));
  return b.add(indices, b.broadcast(start, type.getShape()));
}

Value Emitter::emitLeaf(const Node &node) {
  Value value = node.value;
  SmallVector<int64_t, 4> dims, kept;
  const int64_t axis = cascade.space().axes[0];
  for (auto [dim, place] : llvm::enumerate(node.dims))
    if (place == axis) {
      auto iota = value.getDefiningOp<stablehlo::IotaOp>();
      SmallVector<int64_t, 4> sizes(shapeOf(value));
      sizes[dim] = slice.size;
      auto type = RankedTensorType::get(sizes, node.element);
      // Recompute indices: slicing them would need the indices of all elements in memory.
      if (iota && !isa<ComplexType>(node.element))
        value = static_cast<int64_t>(iota.getIotaDimension()) == static_cast<int64_t>(dim)
                    ? indicesFrom(b, type, static_cast<int64_t>(dim), slice)
                    : b.iota(type, static_cast<int64_t>(iota.getIotaDimension()));
      else
        value = sliceOf(value, static_cast<int64_t>(dim));
    }
  for (auto [place, size] : llvm::zip(node.dims, shapeOf(value)))
    if (place >= 0) {
      dims.push_back(place);
      kept.push_back(size);
    }
  value = b.reshape(value, kept);
  if (node.onAxis)
    return b.broadcast(value, sliceShape(), dims);
  const SmallVector<int64_t, 4> rows = cascade.space().rowDims();
  for (int64_t &dim : dims)
    dim = llvm::find(rows, dim) - rows.begin();
  return b.broadcast(value, rowShape(), dims);
}

Value Emitter::emitOp(const Node &node, ArrayRef<Value> operands) {
  SmallVector<Value, 3> inputs;
  for (Value operand : operands)
    inputs.push_back(node.onAxis ? atElements(operand) : operand);
  const SmallVector<int64_t, 4> shape = node.onAxis ? sliceShape() : rowShape();
  Operation *copy = b.builder.clone(*node.op);
  copy->setOperands(inputs);
  copy->getResult(0).setType(RankedTensorType::get(shape, node.element));
  copy->setLoc(b.location);
  return copy->getResult(0);
}

Value Emitter::emit(const Node &node) {
  if (auto found = emitted.find(node.id); found != emitted.end())
    return found->second;
  Value value;
  switch (node.kind) {
  case Node::Kind::constant: {
    auto splat = cast<DenseElementsAttr>(cast<stablehlo::ConstantOp>(node.op).getValue());
    value = b.constant(DenseElementsAttr::get(RankedTensorType::get(rowShape(), node.element),
                                              splat.getSplatValue<Attribute>()));
    break;
  }
  case Node::Kind::leaf:
    value = emitLeaf(node);
    break;
  case Node::Kind::reduced:
    value = parameters[node.reduction][node.result];
    break;
  case Node::Kind::op: {
    SmallVector<Value, 3> operands;
    for (const Node *operand : node.operands)
      operands.push_back(emit(*operand));
    value = emitOp(node, operands);
    break;
  }
  }
  return emitted[node.id] = value;
}

Value Emitter::emitParameter(const Node &node) {
  Value value = emit(node);
  if (stage == Stage::final || !isLive(node))
    return value;
  Value isFinite = stablehlo::IsFiniteOp::create(
      b.builder, b.location, RankedTensorType::get(shapeOf(value), b.builder.getI1Type()), value);
  return b.select(isFinite, value, b.broadcast(number(0, node.element), shapeOf(value)));
}

Value Emitter::emitVariable(const Form &form, const Node &node) {
  const auto at = llvm::find(form.variables, node.id) - form.variables.begin();
  return stage == Stage::final || form.isSteady[static_cast<size_t>(at)]
             ? emitParameter(node)
             : b.broadcast(number(0, node.element), rowShape());
}

Value Emitter::emitIn(Place place, const Form &form, const Node &node) {
  if (!isLive(node))
    return emit(node);
  if (place == Place::map && !node.onAxis)
    return llvm::is_contained(form.variables, node.id)
               ? emitVariable(form, node)
               : b.broadcast(number(form.offset.empty() ? 1 : 0, node.element), rowShape());
  if (place == Place::exponent) {
    // The logarithm has become a factor; see NormalForm.
    if (node.isOp("log"))
      return b.broadcast(number(0, node.element), rowShape());
    if (!node.isOp("add") && !node.isOp("subtract") && !node.isOp("negate") &&
        !node.isOp("multiply") && !node.isOp("divide") && !node.isOp("convert"))
      return emitParameter(node);
  }
  const Place inner = node.isOp("exponential") ? Place::exponent : place;
  SmallVector<Value, 3> operands;
  for (const Node *operand : node.operands)
    operands.push_back(emitIn(inner, form, *operand));
  return emitOp(node, operands);
}

Value Emitter::emitMap(const Form &form, const Node &map) {
  return atElements(emitIn(Place::map, form, map));
}

/// Repeats the smaller of two values to the shape of the other one.
Value Emitter::binary(StringRef name, Value a, Value c) {
  if (shapeOf(a) != shapeOf(c)) {
    const bool isScalar = shapeOf(a).empty() || shapeOf(c).empty();
    Value &smaller = shapeOf(a).size() < shapeOf(c).size() ? a : c;
    Value larger = shapeOf(a).size() < shapeOf(c).size() ? c : a;
    smaller = isScalar ? b.broadcast(smaller, shapeOf(larger)) : atElements(smaller);
  }
  OperationState state(b.location, ("stablehlo." + name).str());
  state.addOperands({a, c});
  state.addTypes(a.getType());
  return b.builder.create(state)->getResult(0);
}

Value Emitter::emitProduct(double coefficient, const Factors &factors, Type element,
                           const Form *form) {
  Value product = number(coefficient, element);
  for (auto [id, power] : factors) {
    const Node &node = *cascade.nodes.node(id);
    Value factor =
        b.convert(form && llvm::is_contained(form->variables, id) ? emitVariable(*form, node)
                                                                  : emitParameter(node),
                  element);
    for (int i = 0; i < std::abs(power); ++i)
      product = binary(power > 0 ? "multiply" : "divide", product, factor);
  }
  return product;
}

Value Emitter::emitLinear(const Linear &sum, Type element) {
  Value total;
  for (const auto &[factors, coefficient] : sum) {
    Value term = emitProduct(coefficient, factors, element, nullptr);
    total = total ? binary("add", total, term) : term;
  }
  return total;
}

Value Emitter::emitDerivative(const Form &form, const std::vector<int> &order, Type element) {
  Value total;
  for (const auto &[term, coefficient] : form.map) {
    double scale = coefficient;
    Factors factors;
    for (auto [id, power] : term.factors) {
      if (llvm::any_of(form.factor, [id = id](auto &hoisted) { return hoisted.first == id; }))
        continue;
      auto variable = llvm::find(form.variables, id);
      const int by = variable == form.variables.end()
                         ? 0
                         : order[static_cast<size_t>(variable - form.variables.begin())];
      // power * (power - 1) * … / by! for each variable
      for (int i = 0; i < by; ++i)
        scale *= static_cast<double>(power - i) / (i + 1);
      if (power != by)
        factors.push_back({id, power - by});
    }
    for (auto [i, variable] : llvm::enumerate(form.variables))
      if (order[i] > 0 &&
          llvm::none_of(term.factors, [v = variable](auto &factor) { return factor.first == v; }))
        scale = 0;
    if (scale == 0)
      continue;
    // A mask chooses: as a factor, it would make NaN of an infinite element that it hides.
    Value mask;
    llvm::erase_if(factors, [&](auto &factor) {
      const Node &condition = *cascade.nodes.node(factor.first);
      if (!condition.element.isInteger(1) || factor.second < 0)
        return false;
      mask = b.both(mask, atElements(emit(condition)));
      return true;
    });
    Value value = emitProduct(scale, factors, element, &form);
    if (Value exponent = emitLinear(term.exponent, element))
      value = binary(
          "multiply", value,
          stablehlo::ExponentialOp::create(b.builder, b.location, exponent.getType(), exponent));
    if (mask)
      value = b.select(mask, atElements(value), atElements(number(0, element)));
    total = total ? binary("add", total, value) : value;
  }
  return atElements(total);
}

Value Emitter::emitReaders(const Form &form) {
  Value any;
  for (const Conjunction &reader : form.readers) {
    Value all;
    for (auto [id, isTrue] : reader) {
      Value mask = atElements(emit(*cascade.nodes.node(id)));
      if (!isTrue)
        mask = stablehlo::NotOp::create(b.builder, b.location, mask.getType(), mask);
      all = b.both(all, mask);
    }
    any = any ? b.binary<stablehlo::OrOp>(any, all) : all;
  }
  return any;
}

} // namespace tilewright::cascade
