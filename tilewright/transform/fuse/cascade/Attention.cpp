#include "tilewright/transform/fuse/cascade/Attention.h"

#include "tilewright/dialect/elements/ScalarSemantics.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/dialect/stablehlo/ops/LinearAlgebraOps.h"
#include "tilewright/support/Concat.h"
#include "tilewright/transform/TypeOf.h"
#include "tilewright/transform/fuse/Classify.h"
#include "tilewright/transform/fuse/EraseDead.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tilewright::cascade {

namespace {

/// With fewer queries, products that read each key once are faster than packing the keys.
constexpr int64_t minQueries = 16;

/// A tensor, and for each of its dimensions that of the space; depth and width follow those.
struct Operand {
  Value value;
  View dims;

  bool has(int64_t dim) const { return llvm::is_contained(dims, dim); }

  /// Reads through ops that only repeat or reorder elements.
  void skipMovement() {
    while (Operation *op = value.getDefiningOp()) {
      View inner;
      if (auto transpose = dyn_cast<stablehlo::TransposeOp>(op)) {
        inner.resize(dims.size());
        for (auto [i, dim] : llvm::enumerate(transpose.getPermutation()))
          inner[static_cast<size_t>(dim)] = dims[i];
      } else if (auto broadcast = dyn_cast<stablehlo::BroadcastInDimOp>(op)) {
        for (auto [size, dim] : llvm::zip(typeOf(broadcast.getOperand()).getShape(),
                                          broadcast.getBroadcastDimensions()))
          inner.push_back(size == 1 ? -1 : dims[static_cast<size_t>(dim)]);
      } else {
        return;
      }
      value = op->getOperand(0);
      dims = std::move(inner);
    }
  }
};

class Matcher {
public:
  explicit Matcher(const Cascade &cascade)
      : cascade(cascade), rank(static_cast<int64_t>(cascade.space().shape.size())), depth(rank),
        width(rank + 1) {}

  std::string why;

  bool match() {
    return findReductions() && isSoftmax() && findScore() && hasTypes() && isOnlyReader() &&
           placeFirst() && placeSecond() && chooseQueries() && placeInputs();
  }
  exec::SoftmaxDotOp replace();

private:
  bool fail(std::string reason) {
    why = std::move(reason);
    return false;
  }
  const Node &node(unsigned id) const { return *cascade.nodes.node(id); }
  bool findReductions();
  bool isSoftmax();
  bool isMaximum(const Node &converted) const;
  bool isWeight(const Reduction &reduction, const Linear &score, bool isDivided);
  bool findScore();
  bool hasTypes();
  bool isOnlyReader();
  bool placeFirst();
  bool placeSecond();
  bool chooseQueries();
  bool placeInputs();
  bool mayRoundToTf32();
  bool dependsOnProduct(const Node &node) const;
  Value emit(OpBuilder &builder, const Node &node);
  const Node *maskedSide() const;
  Value emitVisible(OpBuilder &builder);
  Value orderResult();
  DenseI64ArrayAttr numbered(OpBuilder &builder, const View &dims) const;

  const Cascade &cascade;
  const int64_t rank, depth, width; // dimensions of the space, and two more
  unsigned maximum = 0, sum = 0;
  const Reduction *last = nullptr;
  const Node *score = nullptr, *product = nullptr, *subtracted = nullptr;
  SmallVector<const Node *> inputs; // leaves other than the product and the numbers of rows
  stablehlo::DotGeneralOp first, second;
  Operand queries, keys, values;
  int64_t depthSize = 1, widthSize = 1;
  View resultDims;
  std::vector<int64_t> order; // the dimensions of the space in the order of the op's
  Block *body = nullptr;
  llvm::DenseMap<unsigned, Value> emitted;
};

bool Matcher::findReductions() {
  if (cascade.reductions.size() != 3 || cascade.passes != 1)
    return fail("it is not a maximum, a sum and a product in one pass");
  int found = 0;
  for (auto [i, reduction] : llvm::enumerate(cascade.reductions)) {
    if (reduction.maps.size() != 1)
      return fail("a reduction has several results");
    if (reduction.isMatmul()) {
      last = &reduction;
      found |= 4;
    } else if (reduction.combiner == Combiner::maximum) {
      maximum = static_cast<unsigned>(i);
      found |= 1;
    } else if (reduction.combiner == Combiner::sum) {
      sum = static_cast<unsigned>(i);
      found |= 2;
    }
  }
  if (found != 7)
    return fail("it is not a maximum, a sum and a product");
  if (cascade.space().axes.size() != 1)
    return fail("rows have several dimensions");
  second = cast<stablehlo::DotGeneralOp>(last->op);
  return true;
}

/// The node whose value is converted between types of floats, if it is a conversion.
const Node &beforeConversions(const Node &value) {
  const Node *node = &value;
  while (node->isOp("convert") && isa<FloatType>(node->operands[0]->element))
    node = node->operands[0];
  return *node;
}

/// JAX may combine the maximum with -inf, and replace one that is not finite by 0.
bool Matcher::isMaximum(const Node &converted) const {
  const Node &value = beforeConversions(converted);
  auto isConstant = [](const Node &node, double number) {
    return node.kind == Node::Kind::constant && node.number == number;
  };
  if (value.kind == Node::Kind::reduced)
    return value.reduction == maximum;
  if (value.isOp("maximum"))
    for (unsigned i : {0u, 1u})
      if (isConstant(*value.operands[i], -std::numeric_limits<double>::infinity()))
        return isMaximum(*value.operands[1 - i]);
  return value.isOp("select") && isMaximum(*value.operands[1]) && isConstant(*value.operands[2], 0);
}

/// Whether a reduction sums exp(score - maximum), divided by the sum if `isDivided`.
bool Matcher::isWeight(const Reduction &reduction, const Linear &ofScore, bool isDivided) {
  const Form &form = reduction.form;
  if (form.map.size() != 1 || !form.variables.empty() || form.exponent.size() != 1)
    return false;
  const auto &[term, coefficient] = *form.map.begin();
  const auto &[parameter, sign] = *form.exponent.begin();
  if (coefficient != 1 || sign != -1 || parameter.size() != 1 || parameter[0].second != 1 ||
      !isMaximum(node(parameter[0].first)))
    return false;
  // The same number is subtracted in both, so that it cancels.
  if (subtracted && subtracted != &node(parameter[0].first))
    return false;
  subtracted = &node(parameter[0].first);
  Linear ofElements = term.exponent;
  ofElements.erase(parameter);
  if (ofElements != ofScore || term.factors != form.factor)
    return false;
  if (!isDivided)
    return form.factor.empty();
  if (form.factor.size() != 1 || form.factor[0].second != -1)
    return false;
  const Node &divisor = beforeConversions(node(form.factor[0].first));
  return divisor.kind == Node::Kind::reduced && divisor.reduction == sum;
}

/// Whether the library computes with these types: sums are f32, elements are whole bytes.
bool Matcher::hasTypes() {
  for (Value value : {first.getLhs(), first.getRhs(), first.getResult(), second.getLhs(),
                      second.getRhs(), second.getResult()}) {
    auto type = dyn_cast<FloatType>(typeOf(value).getElementType());
    if (!type || type.getWidth() > 32 || type.getWidth() < 8)
      return fail("a product has numbers other than floats of 8 to 32 bits");
  }
  // A CPU multiplies f32 in f32, whatever the algorithm.
  if (exec::targetOf(first).isGpu() && (first.getAlgorithm() || second.getAlgorithm()))
    return fail("a product names an algorithm");
  if (!isa<FloatType>(score->element) || score->element.getIntOrFloatBitWidth() > 32)
    return fail("the scores are not floats of at most 32 bits");
  return true;
}

bool Matcher::isSoftmax() {
  score = cascade.reductions[maximum].maps[0];
  const Normalizer normalizer(cascade.nodes, [](unsigned) { return true; });
  const std::optional<Linear> ofScore = normalizer.linear(*score);
  if (!ofScore || !score->reads.empty() || !isWeight(cascade.reductions[sum], *ofScore, false) ||
      !isWeight(*last, *ofScore, true))
    return fail("the product is not that of a softmax of the reduced elements");
  return true;
}

/// Finds the product in the score, and the other tensors that it reads.
bool Matcher::findScore() {
  llvm::SmallPtrSet<const Node *, 16> seen;
  SmallVector<const Node *> work = {score};
  while (!work.empty()) {
    const Node *next = work.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    work.append(next->operands.begin(), next->operands.end());
    if (next->kind == Node::Kind::op && !elements::canExpress(next->op))
      return fail(concat("a score contains ", next->op->getName().getStringRef().str()));
    if (next->kind != Node::Kind::leaf)
      continue;
    Operation *op = next->value.getDefiningOp();
    auto dot = dyn_cast_or_null<stablehlo::DotGeneralOp>(op);
    if (dot && next->onAxis && product)
      return fail("a score is computed from two products");
    if (dot && next->onAxis) {
      product = next;
      first = dot;
    } else if (!isa_and_present<stablehlo::IotaOp>(op)) {
      inputs.push_back(next);
    }
  }
  return product || fail("the scores are not those of a product");
}

/// Whether nothing but the last product depends on the first one: otherwise the scores are in
/// memory anyway, or are computed twice.
bool Matcher::isOnlyReader() {
  llvm::SmallPtrSet<Operation *, 16> seen;
  SmallVector<Operation *> work = {first};
  while (!work.empty())
    for (Operation *user : work.pop_back_val()->getUsers()) {
      // A reduction's body reads nothing from outside, so users are in the same block.
      if (user == second || !seen.insert(user).second)
        continue;
      if (user->getBlock() != first->getBlock() || user->hasTrait<OpTrait::IsTerminator>() ||
          !isMemoryEffectFree(user))
        return fail(concat("the scores, or values computed from them, are read by ",
                           user->getName().getStringRef().str()));
      work.push_back(user);
    }
  return true;
}

/// The dimensions of an operand of a product that are not free.
struct SideDims {
  ArrayRef<int64_t> batching, contracting;

  bool isFree(int64_t dim) const {
    return !llvm::is_contained(batching, dim) && !llvm::is_contained(contracting, dim);
  }
};

SideDims sideDims(stablehlo::DotGeneralOp dot, bool isLhs) {
  stablehlo::DotDimensionNumbersAttr numbers = dot.getDotDimensionNumbers();
  if (isLhs)
    return {numbers.getLhsBatchingDimensions(), numbers.getLhsContractingDimensions()};
  return {numbers.getRhsBatchingDimensions(), numbers.getRhsContractingDimensions()};
}

/// The dimensions of an operand of a product whose result has `ofResult`.
Operand operandOf(stablehlo::DotGeneralOp dot, bool isLhs, ArrayRef<int64_t> ofResult,
                  int64_t contracted) {
  const auto [batching, summed] = sideDims(dot, isLhs);
  Operand operand{isLhs ? dot.getLhs() : dot.getRhs(), {}};
  const int64_t lhsFree =
      typeOf(dot.getLhs()).getRank() - static_cast<int64_t>(batching.size() + summed.size());
  size_t next = batching.size() + (isLhs ? 0 : static_cast<size_t>(lhsFree));
  for (auto [dim, size] : llvm::enumerate(typeOf(operand.value).getShape())) {
    const auto *batch = llvm::find(batching, static_cast<int64_t>(dim));
    if (llvm::is_contained(summed, static_cast<int64_t>(dim)))
      operand.dims.push_back(size == 1 ? -1 : contracted);
    else if (batch != batching.end())
      operand.dims.push_back(ofResult[static_cast<size_t>(batch - batching.begin())]);
    else
      operand.dims.push_back(ofResult[next++]);
  }
  return operand;
}

bool Matcher::placeFirst() {
  if (first.getDotDimensionNumbers().getLhsContractingDimensions().size() != 1)
    return fail("the first product has several contracted dimensions");
  Operand lhs = operandOf(first, true, product->dims, depth);
  Operand rhs = operandOf(first, false, product->dims, depth);
  const int64_t axis = cascade.space().axes[0];
  if (lhs.has(axis) == rhs.has(axis))
    return fail("the keys are a batching dimension, or there is only one");
  queries = lhs.has(axis) ? rhs : lhs;
  keys = lhs.has(axis) ? lhs : rhs;
  depthSize = typeOf(lhs.value).getDimSize(
      static_cast<unsigned>(first.getDotDimensionNumbers().getLhsContractingDimensions()[0]));
  return true;
}

bool Matcher::placeSecond() {
  const bool isLhs = last->mappedOperand == 0;
  const SideDims side = sideDims(second, isLhs), valueSide = sideDims(second, !isLhs);
  View ofWeights, ofValues;
  for (int64_t dim : side.batching)
    resultDims.push_back(last->view[static_cast<size_t>(dim)]);
  for (size_t dim = 0; dim < last->view.size(); ++dim)
    if (side.isFree(static_cast<int64_t>(dim)))
      ofWeights.push_back(last->view[dim]);
  Value value = isLhs ? second.getRhs() : second.getLhs();
  for (auto [dim, size] : llvm::enumerate(typeOf(value).getShape()))
    if (valueSide.isFree(static_cast<int64_t>(dim))) {
      ofValues.push_back(size == 1 ? -1 : width);
      widthSize *= size;
    }
  if (llvm::count(ofValues, width) > 1)
    return fail("the values have several free dimensions");
  resultDims.append(isLhs ? ofWeights : ofValues);
  resultDims.append(isLhs ? ofValues : ofWeights);
  values = operandOf(second, !isLhs, resultDims, cascade.space().axes[0]);
  return true;
}

/// The queries are the longest dimension that neither keys nor values have; all others are heads.
bool Matcher::chooseQueries() {
  for (Operand *operand : {&queries, &keys, &values})
    operand->skipMovement();
  const Space &space = cascade.space();
  auto sizeOf = [&](int64_t dim) { return space.shape[static_cast<size_t>(dim)]; };
  int64_t query = -1;
  for (int64_t dim : space.rowDims())
    if (queries.has(dim) && !keys.has(dim) && !values.has(dim) &&
        (query < 0 || sizeOf(dim) >= sizeOf(query)))
      query = dim;
  if (query < 0 || sizeOf(query) < minQueries)
    return fail(concat("it has fewer than ", minQueries, " queries for each set of keys"));
  for (int64_t dim : space.rowDims())
    if (dim != query && sizeOf(dim) != 1)
      order.push_back(dim);
  order.insert(order.end(), {query, space.axes[0], depth, width});
  return true;
}

bool Matcher::placeInputs() {
  const int64_t query = order[order.size() - 4], key = order[order.size() - 3];
  for (const Node *input : inputs) {
    if (!elements::scalarType(input->element))
      return fail("a tensor of the score has a type that kernels do not support");
    const auto *at = llvm::find(input->dims, key);
    if (at != input->dims.end() && llvm::any_of(llvm::make_range(at + 1, input->dims.end()),
                                                [](int64_t dim) { return dim >= 0; }))
      return fail("a tensor of the score is not contiguous along the keys");
  }
  // Numbers of heads are not passed to the body.
  for (unsigned id = 0; id < cascade.nodes.size(); ++id)
    if (const Node &leaf = node(id); leaf.kind == Node::Kind::leaf)
      if (auto iota = leaf.value.getDefiningOp<stablehlo::IotaOp>()) {
        const int64_t dim = leaf.dims[static_cast<size_t>(iota.getIotaDimension())];
        if (dim >= 0 && dim != query && dim != key)
          return fail("a score depends on the number of its head");
      }
  return true;
}

bool Matcher::mayRoundToTf32() {
  const exec::MatrixAttr matrix = exec::targetOf(first).getMatrix();
  return matrix && fuse::canMultiplyAsTf32(first, matrix) &&
         fuse::canMultiplyAsTf32(second, matrix);
}

bool Matcher::dependsOnProduct(const Node &value) const {
  return &value == product || llvm::any_of(value.operands, [&](const Node *operand) {
    return dependsOnProduct(*operand);
  });
}

/// The value of a node at one element, from the arguments of the body.
Value Matcher::emit(OpBuilder &builder, const Node &value) {
  if (Value known = emitted.lookup(value.id))
    return known;
  Location loc = second.getLoc();
  Value result;
  if (value.kind == Node::Kind::constant) {
    auto constant = cast<stablehlo::ConstantOp>(value.op);
    result = elements::emitConstant(builder, loc, cast<ElementsAttr>(constant.getValue()));
  } else if (&value == product) {
    result = body->getArgument(0);
    if (!value.element.isF32())
      result = elements::emitConversion(builder, loc, builder.getF32Type(), value.element, result);
  } else if (value.kind == Node::Kind::leaf) {
    auto iota = value.value.getDefiningOp<stablehlo::IotaOp>();
    if (iota) {
      const int64_t dim = value.dims[static_cast<size_t>(iota.getIotaDimension())];
      Value number = dim < 0 ? arith::ConstantIntOp::create(builder, loc, 0, 32).getResult()
                             : Value(body->getArgument(dim == order[order.size() - 4] ? 1 : 2));
      result = elements::emitConversion(builder, loc, builder.getI32Type(), value.element, number);
    } else {
      const auto *at = llvm::find(inputs, &value);
      result = body->getArgument(3 + static_cast<unsigned>(at - inputs.begin()));
    }
  } else {
    SmallVector<Value> operands;
    for (const Node *operand : value.operands)
      operands.push_back(emit(builder, *operand));
    result = elements::emitElement(builder, value.op, operands);
  }
  return emitted[value.id] = result;
}

/// The constant side of the score, if it is a selection between one and a score; otherwise null.
const Node *Matcher::maskedSide() const {
  if (score->isOp("select") && !dependsOnProduct(*score->operands[0]))
    for (const Node *side : {score->operands[2], score->operands[1]})
      if (side->kind == Node::Kind::constant)
        return side;
  return nullptr;
}

/// Whether the element is not that of the masked side.
Value Matcher::emitVisible(OpBuilder &builder) {
  Value visible = emit(builder, *score->operands[0]);
  if (maskedSide() == score->operands[2])
    return visible;
  Value yes = arith::ConstantIntOp::create(builder, second.getLoc(), 1, 1);
  return arith::XOrIOp::create(builder, second.getLoc(), visible, yes);
}

DenseI64ArrayAttr Matcher::numbered(OpBuilder &builder, const View &dims) const {
  SmallVector<int64_t> numbers;
  for (int64_t dim : dims) {
    auto at = llvm::find(order, dim);
    numbers.push_back(at == order.end() ? -1 : at - order.begin());
  }
  return builder.getDenseI64ArrayAttr(numbers);
}

/// Takes over the transposition that JAX writes behind an einsum: another order of dimensions.
Value Matcher::orderResult() {
  Value result = second.getResult();
  while (result.hasOneUse()) {
    auto transpose = dyn_cast<stablehlo::TransposeOp>(*result.user_begin());
    if (!transpose)
      break;
    View ordered;
    for (int64_t dim : transpose.getPermutation())
      ordered.push_back(resultDims[static_cast<size_t>(dim)]);
    resultDims = std::move(ordered);
    result = transpose.getResult();
  }
  return result;
}

exec::SoftmaxDotOp Matcher::replace() {
  OpBuilder builder(second);
  Value result = orderResult();
  Location loc = second.getLoc();
  SmallVector<int64_t> sizes;
  for (int64_t dim : ArrayRef(order).drop_back(2))
    sizes.push_back(cascade.space().shape[static_cast<size_t>(dim)]);
  sizes.append({depthSize, widthSize});
  SmallVector<Value> operands = {queries.value, keys.value, values.value};
  SmallVector<Attribute> dims = {numbered(builder, queries.dims), numbered(builder, keys.dims),
                                 numbered(builder, values.dims)};
  SmallVector<Type> arguments = {builder.getF32Type(), builder.getI32Type(), builder.getI32Type()};
  for (const Node *input : inputs) {
    operands.push_back(input->value);
    dims.push_back(numbered(builder, input->dims));
    arguments.push_back(elements::scalarType(input->element));
  }
  dims.push_back(numbered(builder, resultDims));
  Type weightType = typeOf(second->getOperand(last->mappedOperand)).getElementType();
  Region region;
  body = &region.emplaceBlock();
  body->addArguments(arguments, SmallVector<Location>(arguments.size(), loc));
  OpBuilder inBody(builder.getContext());
  inBody.setInsertionPointToEnd(body);
  Value value = emit(inBody, *score);
  if (!score->element.isF32())
    value = elements::emitConversion(inBody, loc, score->element, builder.getF32Type(), value);
  FloatAttr masked;
  Value visible;
  if (const Node *side = maskedSide()) {
    visible = emitVisible(inBody);
    masked = builder.getF32FloatAttr(static_cast<float>(side->number));
  }
  exec::YieldScoreOp::create(inBody, loc, value, visible);
  auto op = exec::SoftmaxDotOp::create(
      builder, loc, result.getType(), operands, builder.getDenseI64ArrayAttr(sizes),
      builder.getArrayAttr(dims), TypeAttr::get(weightType), masked,
      mayRoundToTf32() ? builder.getUnitAttr() : UnitAttr());
  op.getBody().takeBody(region);
  result.replaceAllUsesWith(op.getResult());
  fuse::eraseDead({result});
  return op;
}

} // namespace

bool looksLikeAttention(const Cascade &cascade) {
  return cascade.reductions.size() >= 3 &&
         llvm::any_of(cascade.reductions, [](const Reduction &r) { return r.isMatmul(); });
}

exec::SoftmaxDotOp replaceByAttention(const Cascade &cascade, std::string &why) {
  Matcher matcher(cascade);
  if (matcher.match())
    return matcher.replace();
  why = matcher.why;
  return {};
}

} // namespace tilewright::cascade
