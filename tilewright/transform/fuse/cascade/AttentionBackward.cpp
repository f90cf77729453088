#include "tilewright/transform/fuse/cascade/AttentionBackward.h"

#include "tilewright/dialect/elements/ScalarSemantics.h"
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/dialect/stablehlo/ops/ReductionOps.h"
#include "tilewright/support/Concat.h"
#include "tilewright/transform/SortBlock.h"
#include "tilewright/transform/TypeOf.h"
#include "tilewright/transform/fuse/Classify.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <limits>

using namespace mlir;

namespace tilewright::cascade {

/// A column of an operand that may still turn out to be a depth or a width.
static int64_t columnOf(const AttentionMatcher &forward) { return forward.rank + 2; }

static View renamed(View dims, int64_t from, int64_t to) {
  llvm::replace(dims, from, to);
  return dims;
}

/// The dimensions of a value that is computed elementwise from the first product.
std::optional<View> BackwardMatcher::viewOf(Value value) {
  if (value == forward.first.getResult())
    return forward.product->dims;
  Operation *op = value.getDefiningOp();
  if (!op || !forward.readers.contains(op))
    return std::nullopt;
  auto [known, isNew] = views.try_emplace(value);
  if (!isNew)
    return known->second;
  std::optional<View> view;
  if (auto transpose = dyn_cast<stablehlo::TransposeOp>(op)) {
    if (std::optional<View> inner = viewOf(transpose.getOperand())) {
      view.emplace();
      for (int64_t dim : transpose.getPermutation())
        view->push_back((*inner)[static_cast<size_t>(dim)]);
    }
  } else if (auto reshape = dyn_cast<stablehlo::ReshapeOp>(op)) {
    if (std::optional<View> inner = viewOf(reshape.getOperand()))
      view =
          throughReshape(typeOf(value).getShape(), typeOf(reshape.getOperand()).getShape(), *inner);
  } else if (fuse::classify(op) == fuse::OpClass::elementwise) {
    for (Value operand : op->getOperands())
      if (!view)
        view = viewOf(operand);
  }
  return views[value] = view;
}

/// Finds the dimensions of a product, its other operand and its result.
bool BackwardMatcher::place(stablehlo::DotGeneralOp dot, Product &product, View &summed) {
  std::optional<View> ofLhs = viewOf(dot.getLhs()), ofRhs = viewOf(dot.getRhs());
  if (ofLhs.has_value() == ofRhs.has_value())
    return forward.fail("not one operand of a product has an element for each query and key");
  const bool isLhs = ofLhs.has_value();
  const View &view = isLhs ? *ofLhs : *ofRhs;
  Value mapped = isLhs ? dot.getLhs() : dot.getRhs();
  const SideDims side = sideDims(dot, isLhs), otherSide = sideDims(dot, !isLhs);
  product.dot = dot;
  product.map = &beforeConversions(*forward.cascade.nodes.of(mapped, view));
  product.rounded = typeOf(mapped).getElementType();
  product.other.value = isLhs ? dot.getRhs() : dot.getLhs();
  product.result.value = dot.getResult();
  auto placeOf = [&](int64_t dim) { return view[static_cast<size_t>(dim)]; };
  View ofMapped, ofOther;
  for (int64_t dim : side.batching)
    product.result.dims.push_back(placeOf(dim));
  for (auto [dim, place] : llvm::enumerate(view))
    if (side.isFree(static_cast<int64_t>(dim)))
      ofMapped.push_back(place);
  for (auto [dim, size] : llvm::enumerate(typeOf(product.other.value).getShape())) {
    const auto number = static_cast<int64_t>(dim);
    const auto *batch = llvm::find(otherSide.batching, number);
    const auto *contracted = llvm::find(otherSide.contracting, number);
    int64_t place = size == 1 ? -1 : columnOf(forward);
    if (batch != otherSide.batching.end())
      place = placeOf(side.batching[static_cast<size_t>(batch - otherSide.batching.begin())]);
    else if (contracted != otherSide.contracting.end())
      place = placeOf(
          side.contracting[static_cast<size_t>(contracted - otherSide.contracting.begin())]);
    else
      ofOther.push_back(place);
    product.other.dims.push_back(place);
  }
  if (llvm::count(ofOther, columnOf(forward)) > 1)
    return forward.fail("an operand of a gradient has several free dimensions");
  product.result.dims.append(isLhs ? ofMapped : ofOther);
  product.result.dims.append(isLhs ? ofOther : ofMapped);
  product.asRead = product.other;
  product.other.skipMovement();
  for (int64_t dim : side.contracting)
    if (placeOf(dim) >= 0)
      summed.push_back(placeOf(dim));
  return true;
}

/// Finds the product of cotangent and values, from which the gradient of a weight is computed.
bool BackwardMatcher::findCotangents() {
  SmallVector<const Node *> found;
  for (const Product &product : products)
    if (product.map && !forward.findLeaves(*product.map, inputs, found))
      return false;
  // A sum over keys may read the value, too.
  for (const Reduction &reduction : forward.cascade.reductions)
    if (!reduction.isMatmul() && !forward.findLeaves(*reduction.maps[0], inputs, found))
      return false;
  for (const Node *leaf : found)
    if (leaf != forward.product) {
      if (cotangents && cotangents != leaf)
        return forward.fail("a gradient is computed from three products");
      cotangents = leaf;
    }
  if (!cotangents)
    return true;
  auto dot = cotangents->value.getDefiningOp<stablehlo::DotGeneralOp>();
  if (sideDims(dot, true).contracting.size() != 1)
    return forward.fail("the product with the cotangent has several contracted dimensions");
  Operand lhs = operandOf(dot, true, cotangents->dims, forward.width);
  Operand rhs = operandOf(dot, false, cotangents->dims, forward.width);
  Operand moved = lhs;
  moved.skipMovement();
  if (moved == forward.values)
    std::swap(lhs, rhs);
  lhs.skipMovement({forward.queryDim(), forward.width});
  rhs.skipMovement();
  cotangent = lhs;
  if (rhs != forward.values || cotangent.has(forward.keyDim()))
    return forward.fail("a gradient multiplies the cotangent by other values");
  const size_t known = forward.otherProducts.size();
  if (!forward.follow(dot))
    return false;
  return forward.otherProducts.size() == known ||
         forward.fail("another product reads the product of cotangent and values");
}

bool BackwardMatcher::classify(const Product &product, const View &summed) {
  const int64_t query = forward.queryDim(), key = forward.keyDim(), column = columnOf(forward);
  const bool overKeys = llvm::is_contained(summed, key);
  if (overKeys && summed.size() != 1)
    return forward.fail("a gradient is summed over keys and queries");
  if (!overKeys && !llvm::is_contained(summed, query))
    return forward.fail("a product with weights is summed over neither queries nor keys");
  auto isOther = [&](const Operand &operand, int64_t of) {
    return Operand{product.other.value, renamed(product.other.dims, column, of)} == operand;
  };
  unsigned number = 2;
  if (overKeys && isOther(forward.keys, forward.depth))
    number = 0;
  else if (!overKeys && isOther(forward.queries, forward.depth))
    number = 1;
  else if (overKeys)
    return forward.fail("a gradient is summed over keys with a tensor that is not the keys");
  if (products[number].dot)
    return forward.fail("two products are the same gradient");
  products[number] = product;
  Product &placed = products[number];
  if (number == 2) {
    // Kernels read a cotangent with all rows and columns, also if it is the gradient of a sum.
    placed.other = placed.asRead;
    placed.other.skipMovement({query, column});
  }
  placed.result.dims =
      renamed(placed.result.dims, column, number == 2 ? forward.width : forward.depth);
  placed.other.dims =
      renamed(placed.other.dims, column, number == 2 ? forward.width : forward.depth);
  for (int64_t dim : summed)
    if (number != 0 && dim != query && (forward.keys.has(dim) || forward.values.has(dim)))
      return forward.fail("a gradient of keys is summed over heads that have their own keys");
  return true;
}

/// Whether a reduction sums weights, with their factors in the second product, times the product of
/// cotangent and values, times a number for each row.
bool BackwardMatcher::isRowDot(const Reduction &reduction) const {
  if (reduction.isMatmul() || reduction.combiner != Combiner::sum || reduction.maps.size() != 1 ||
      !cotangents)
    return false;
  const Polynomial map = forward.termsOf(reduction);
  if (map.size() != 1 || !forward.isExponent(map.begin()->first.exponent, *forward.subtracted))
    return false;
  int products = 0;
  size_t ofWeights = 0;
  for (auto [id, power] : map.begin()->first.factors) {
    const Node &factor = forward.node(id);
    if (&beforeConversions(factor) == cotangents && power == 1)
      ++products;
    else if (llvm::is_contained(forward.weightFactors, std::pair(id, power)))
      ++ofWeights;
    else if (factor.onAxis || llvm::any_of(factor.reads, [&](unsigned read) {
               return read != forward.maximum && read != forward.sum;
             }))
      return false;
  }
  return products == 1 && ofWeights == forward.weightFactors.size();
}

/// Whether the reductions that a value reads are those of the softmax, or products of rows.
bool BackwardMatcher::checkNumbers(const Node &root) {
  for (unsigned read : root.reads)
    if (read != forward.maximum && read != forward.sum &&
        !isRowDot(forward.cascade.reductions[read]))
      return forward.fail(concat("a gradient reads a reduction that is not that of a softmax: ",
                                 toString(*forward.cascade.reductions[read].maps[0])));
  return true;
}

/// Whether the cotangent has a row for each query and the width of the result, and is the same for
/// all keys. A product of cotangent and values implies that; without it, any tensor may be summed
/// with weights over the queries.
bool BackwardMatcher::isLikeResult() const {
  if (cotangent.has(forward.keyDim()) || cotangent.has(forward.depth))
    return false;
  int64_t width = 1;
  for (auto [dim, size] : llvm::zip(cotangent.dims, typeOf(cotangent.value).getShape()))
    if (dim == forward.width)
      width *= size;
  return width == forward.sizes().back();
}

/// Whether only reductions over keys read the values that are computed from the scores in this
/// block, and nothing that the op reads depends on these values, or on the products that it
/// replaces.
bool BackwardMatcher::isOnlyReader() {
  for (Operation *op : forward.readers)
    if (isa<stablehlo::ReduceOp>(op) &&
        forward.cascade.indexOf(op) == forward.cascade.reductions.size())
      return forward.fail("a reduction other than over keys reads the scores");
  SmallVector<Value> work = {cotangent.value};
  for (const Node *input : inputs)
    work.push_back(input->value);
  llvm::SmallPtrSet<Operation *, 32> seen;
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    // The result of the forward pass is read from its op.
    if (!op || op->getBlock() != forward.second->getBlock() || op == forward.second ||
        !seen.insert(op).second)
      continue;
    if (forward.readers.contains(op) || forward.otherProducts.contains(op))
      return forward.fail("a gradient reads a tensor that is computed from the scores");
    op->walk([&](Operation *inner) { llvm::append_range(work, inner->getOperands()); });
  }
  return true;
}

bool BackwardMatcher::match() {
  unmoved = forward.result;
  for (Operation *op : forward.otherProducts) {
    Product product;
    View summed;
    if (!place(cast<stablehlo::DotGeneralOp>(op), product, summed) || !classify(product, summed))
      return false;
  }
  if (!findCotangents())
    return false;
  const Product &ofQueries = products[0], &ofKeys = products[1], &ofValues = products[2];
  if (ofQueries.dot && ofKeys.dot &&
      (ofQueries.map != ofKeys.map || ofQueries.rounded != ofKeys.rounded))
    return forward.fail("the gradients of queries and keys are computed from different values");
  if (ofValues.dot && forward.dependsOn(*ofValues.map, cotangents))
    return forward.fail("a gradient of keys reads other queries");
  if (ofValues.dot && !cotangents)
    cotangent = ofValues.other;
  if (ofValues.dot && ofValues.other != cotangent)
    return forward.fail("the gradient of the values reads another cotangent");
  if (!cotangent.value || !cotangent.has(forward.queryDim()))
    return forward.fail("a gradient does not read the cotangent of the result");
  if (!cotangents && !isLikeResult())
    return forward.fail("a tensor other than the cotangent of the result is summed with weights");
  auto summedOf = [&](const Product &product) {
    SmallVector<int64_t> dims;
    for (int64_t dim : ArrayRef(forward.order).drop_back(4))
      if (!product.result.has(dim))
        dims.push_back(dim);
    return dims;
  };
  if (ofKeys.dot && ofValues.dot && summedOf(ofKeys) != summedOf(ofValues))
    return forward.fail("the gradients of keys and values are summed over different heads");
  Type gradientType = ofQueries.dot ? ofQueries.rounded : ofKeys.rounded;
  if (gradientType && ofValues.dot && gradientType != ofValues.rounded)
    return forward.fail("weights and gradients are rounded to different types");
  for (Product &product : products) {
    if (!product.dot)
      continue;
    for (Type type : {product.rounded, typeOf(product.result.value).getElementType(),
                      typeOf(cotangent.value).getElementType()})
      if (auto real = dyn_cast<FloatType>(type);
          !real || real.getWidth() > 32 || real.getWidth() < 8)
        return forward.fail("a gradient has numbers other than floats of 8 to 32 bits");
    if (!checkNumbers(*product.map))
      return false;
    if (isGpu() && product.dot.getAlgorithm())
      return forward.fail("a product names an algorithm");
  }
  if (isGpu() && productOfCotangents() && productOfCotangents().getAlgorithm())
    return forward.fail("a product names an algorithm");
  return isOnlyReader() && forward.placeInputs(inputs);
}

namespace {

/// Emits weights and gradients. Whatever is computed from row values is f32, without the rounding
/// of each op to a narrower type; the score is computed as in the forward pass.
class GradientEmitter : public BodyEmitter {
public:
  GradientEmitter(const AttentionMatcher &forward, Block *body, ArrayRef<const Node *> inputs,
                  const Node *cotangents)
      : BodyEmitter(forward, body, /*numbers=*/3, inputs), cotangents(cotangents),
        rowValues(body->getNumArguments() - 2) {}

  Value emitWide(const Node &value) {
    if (Value known = wide.lookup(value.id))
      return known;
    Value result;
    if (value.kind == Node::Kind::reduced)
      result = emitReduced(value.reduction);
    else if (&value == cotangents)
      result = body->getArgument(1);
    else if (value.reads.empty() && !match.dependsOn(value, cotangents))
      result = widened(emit(value), value.element);
    else
      result = emitOp(value);
    return wide[value.id] = result;
  }

  Value zero() { return number(0); }

  /// Whether the element is visible, or its weight is not 0 next to the row's maximum.
  Value emitCounts() {
    Value distance = arith::SubFOp::create(builder, loc, emitWide(*match.subtracted),
                                           number(match.maskedSide()->number));
    Value hasWeight =
        arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::ULE, distance, number(104));
    return arith::OrIOp::create(builder, loc, emitVisible(), hasWeight);
  }

private:
  Value number(double value) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getF32FloatAttr(static_cast<float>(value)));
  }
  Value widened(Value value, Type element) {
    return isa<FloatType>(element)
               ? elements::emitConversion(builder, loc, element, builder.getF32Type(), value)
               : value;
  }
  Value multiply(Value a, Value b) { return arith::MulFOp::create(builder, loc, a, b); }
  Value inverse(Value value) { return arith::DivFOp::create(builder, loc, number(1), value); }

  /// A reduction of the softmax, read from the row values; or the product of two rows.
  Value emitReduced(unsigned reduction) {
    if (reduction == match.maximum)
      return body->getArgument(rowValues);
    if (reduction == match.sum) {
      // If the maximum of a row is infinite, the program's sum of that row is NaN.
      Value size = math::AbsFOp::create(builder, loc, emitWide(*match.subtracted));
      constexpr double infinity = std::numeric_limits<double>::infinity();
      Value isFinite =
          arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OLT, size, number(infinity));
      return arith::SelectOp::create(builder, loc, isFinite, body->getArgument(rowValues + 1),
                                     number(std::numeric_limits<double>::quiet_NaN()));
    }
    // The weights of the result are divided by the sum.
    const Polynomial map = match.termsOf(match.cascade.reductions[reduction]);
    Value result = multiply(body->getArgument(2), emitReduced(match.sum));
    for (auto [id, power] : map.begin()->first.factors) {
      const Node &factor = match.node(id);
      if (&beforeConversions(factor) == cotangents ||
          llvm::is_contained(match.weightFactors, std::pair(id, power)))
        continue;
      Value one = emitWide(factor);
      if (power < 0)
        one = inverse(one);
      for (int i = 0; i < std::abs(power); ++i)
        result = multiply(result, one);
    }
    return multiply(result, number(map.begin()->second / match.weightScale));
  }

  Value emitOp(const Node &value) {
    if (value.isOp("convert") && isa<FloatType>(value.element) &&
        isa<FloatType>(value.operands[0]->element))
      return emitWide(*value.operands[0]);
    SmallVector<Value> operands;
    for (const Node *operand : value.operands)
      operands.push_back(emitWide(*operand));
    // Divide once per row instead of once per element.
    if (value.isOp("divide") && value.onAxis && !value.operands[1]->onAxis)
      return multiply(operands[0], inverse(operands[1]));
    Value isSmall;
    if (value.isOp("exponential")) {
      // Replace an exponential that would be subnormal, because subnormal numbers make instructions
      // slow.
      isSmall =
          arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OLT, operands[0], number(-87));
      operands[0] = arith::SelectOp::create(builder, loc, isSmall, zero(), operands[0]);
    }
    Value result = elements::emitElement(builder, value.op, operands);
    if (auto rounding = result.getDefiningOp<arith::TruncFOp>();
        rounding && rounding.getIn().getType().isF32())
      result = rounding.getIn();
    if (isSmall)
      result = arith::SelectOp::create(builder, loc, isSmall, zero(), result);
    return widened(result, result.getType());
  }

  const Node *cotangents;
  unsigned rowValues;
  llvm::DenseMap<unsigned, Value> wide;
};

} // namespace

/// Whether a value is 0 where the weight exp(score - maximum) is.
bool BackwardMatcher::vanishes(const Node &value) {
  // Nodes are shared, so there may be exponentially many paths to one.
  if (auto known = vanishing.find(&value); known != vanishing.end())
    return known->second;
  const bool result = findVanishing(value);
  return vanishing[&value] = result;
}

bool BackwardMatcher::findVanishing(const Node &value) {
  if (value.kind == Node::Kind::constant)
    return value.number == 0;
  if (value.kind != Node::Kind::op)
    return false;
  auto does = [&](unsigned i) { return vanishes(*value.operands[i]); };
  if (value.isOp("exponential")) {
    const Normalizer normalizer(forward.cascade.nodes, [](unsigned) { return true; });
    const std::optional<Linear> exponent = normalizer.linear(*value.operands[0]);
    return exponent && forward.isExponent(*exponent, *forward.subtracted);
  }
  if (value.isOp("multiply"))
    return does(0) || does(1);
  if (value.isOp("add") || value.isOp("subtract"))
    return does(0) && does(1);
  if (value.isOp("select"))
    return does(1) && does(2);
  return (value.isOp("divide") || value.isOp("negate") || value.isOp("convert")) && does(0);
}

/// The type and the dimensions of a gradient; those of a dense tensor if the gradient is not
/// wanted.
std::pair<RankedTensorType, View> BackwardMatcher::resultOf(unsigned number) const {
  if (products[number].dot)
    return {typeOf(products[number].result.value), products[number].result.dims};
  const Product &other = products[number == 1 ? 2 : 1]; // with the same heads
  const SmallVector<int64_t> sizes = forward.sizes();
  const size_t row = sizes.size() - (number == 0 ? 4 : 3),
               column = sizes.size() - (number == 2 ? 1 : 2);
  SmallVector<int64_t> shape;
  View view;
  for (auto [i, dim] : llvm::enumerate(forward.order)) {
    const bool isHead = i + 4 < sizes.size();
    if (isHead ? number == 0 || !other.dot || other.result.has(dim) : i == row || i == column) {
      shape.push_back(sizes[i]);
      view.push_back(sizes[i] == 1 ? -1 : dim);
    }
  }
  Value like = number == 0   ? forward.queries.value
               : number == 1 ? forward.keys.value
                             : forward.values.value;
  return {RankedTensorType::get(shape, typeOf(like).getElementType()), view};
}

exec::SoftmaxDotBackwardOp BackwardMatcher::create(OpBuilder &builder, exec::SoftmaxDotOp op,
                                                   ArrayRef<int64_t> gradients, Value rowDot) {
  Location loc = builder.getInsertionPoint()->getLoc();
  Operand result = forward.result;
  result.value = op.getResult();
  SmallVector<Value> operands;
  SmallVector<Attribute> dims;
  auto add = [&](Value value, const View &view) {
    operands.push_back(value);
    dims.push_back(forward.numbered(builder, view));
  };
  const View rows(ArrayRef(forward.order).drop_back(3));
  for (const Operand &operand : {forward.queries, forward.keys, forward.values, cotangent})
    add(operand.value, operand.dims);
  if (rowDot)
    add(rowDot, rows);
  else
    add(result.value, result.dims);
  SmallVector<Type> arguments(3, builder.getF32Type());
  arguments.append(2, builder.getI32Type());
  for (const Node *input : inputs) {
    const Operand operand = AttentionMatcher::inputOf(builder, *input);
    add(operand.value, operand.dims);
    arguments.push_back(elements::scalarType(input->element));
  }
  for (Value values : op.getRowValues()) {
    add(values, rows);
    arguments.push_back(builder.getF32Type());
  }

  Region region;
  Block *body = &region.emplaceBlock();
  body->addArguments(arguments, SmallVector<Location>(arguments.size(), loc));
  GradientEmitter emitter(forward, body, inputs, cotangents);
  auto isListed = [&](int64_t number) { return llvm::is_contained(gradients, number); };
  const Product &weight = products[2];
  const Product &gradient = products[0].dot && isListed(0) ? products[0] : products[1];
  const bool hasWeight = weight.dot && isListed(2),
             hasGradient = gradient.dot && (isListed(0) || isListed(1));
  Value ofWeight = hasWeight ? emitter.emitWide(*weight.map) : emitter.zero();
  Value ofScore = hasGradient ? emitter.emitWide(*gradient.map) : emitter.zero();
  Value visible;
  if (forward.maskedSide() && (!hasWeight || vanishes(*weight.map)) &&
      (!hasGradient || vanishes(*gradient.map)))
    visible = emitter.emitCounts();
  OpBuilder inBody(builder.getContext());
  inBody.setInsertionPointToEnd(body);
  exec::YieldGradientOp::create(inBody, loc, ofWeight, ofScore, visible);

  SmallVector<int64_t> numbers(gradients);
  SmallVector<Type> types;
  for (int64_t number : gradients) {
    const auto [type, view] = resultOf(static_cast<unsigned>(number));
    types.push_back(type);
    dims.push_back(forward.numbered(builder, view));
  }
  // Other ops read the number from the row, too, unless no gradient does.
  if (isGpu() && isListed(0) && products[1].dot && !body->getArgument(2).use_empty()) {
    numbers.push_back(3);
    types.push_back(op.getRowValues()[0].getType());
    dims.push_back(forward.numbered(builder, rows));
  }
  Type rounded = (weight.dot ? weight : gradient).rounded;
  auto backward = exec::SoftmaxDotBackwardOp::create(
      builder, loc, types, operands, forward.sizes(), builder.getArrayAttr(dims), rounded, rounded,
      numbers, /*reads_row_dot=*/rowDot != Value(), /*tf32=*/isGpu() && mayRoundToTf32());
  backward.getBody().takeBody(region);
  return backward;
}

bool BackwardMatcher::isGpu() const { return exec::targetOf(forward.first).isGpu(); }

bool BackwardMatcher::mayRoundToTf32() {
  const exec::MatrixAttr matrix = exec::targetOf(forward.first).getMatrix();
  auto may = [&](stablehlo::DotGeneralOp dot) {
    return !dot || fuse::canMultiplyAsTf32(dot, matrix);
  };
  return forward.mayRoundToTf32() && may(products[0].dot) && may(products[1].dot) &&
         may(products[2].dot) && may(productOfCotangents());
}

stablehlo::DotGeneralOp BackwardMatcher::productOfCotangents() const {
  return cotangents ? cotangents->value.getDefiningOp<stablehlo::DotGeneralOp>()
                    : stablehlo::DotGeneralOp();
}

SmallVector<Value> BackwardMatcher::replace(exec::SoftmaxDotOp op) {
  // Insert before the first product whose result is replaced.
  Operation *position = nullptr;
  for (Product &product : products)
    if (product.dot) {
      if (!position || product.dot->isBeforeInBlock(position))
        position = product.dot;
      product.result.followMovement(/*isGpu=*/false);
    }
  OpBuilder builder(position);
  // Whether a cotangent is the result itself, possibly before a transpose.
  if (cotangent == forward.result || cotangent == unmoved) {
    cotangent = forward.result;
    cotangent.value = op.getResult();
  }
  // A GPU's kernel sums over keys or over queries.
  SmallVector<SmallVector<int64_t, 3>, 2> lists(isGpu() ? 2 : 1);
  for (int64_t number : {0, 1, 2})
    if (!isGpu() || products[number].dot)
      lists[isGpu() && number > 0 ? 1 : 0].push_back(number);
  SmallVector<exec::SoftmaxDotBackwardOp> made;
  Value rowDot;
  for (ArrayRef<int64_t> gradients : lists) {
    if (gradients.empty())
      continue;
    exec::SoftmaxDotBackwardOp backward = create(builder, op, gradients, rowDot);
    made.push_back(backward);
    if (backward.getGradients().back() == 3)
      rowDot = backward.getResults().back();
  }
  SmallVector<Value> old;
  for (exec::SoftmaxDotBackwardOp backward : made)
    for (auto [number, result] : llvm::zip(backward.getGradients(), backward.getResults()))
      if (number < 3 && products[number].dot) {
        old.push_back(products[number].result.value);
        old.back().replaceAllUsesWith(result);
      }
  const bool isLate = llvm::any_of(made, [](exec::SoftmaxDotBackwardOp backward) {
    return llvm::any_of(backward->getOperands(), [&](Value operand) {
      Operation *source = operand.getDefiningOp();
      return source && source->getBlock() == backward->getBlock() &&
             backward->isBeforeInBlock(source);
    });
  });
  if (isLate)
    transform::sortBlock(*op->getBlock(), [](Operation *one) { return !isMemoryEffectFree(one); });
  return old;
}

} // namespace tilewright::cascade
