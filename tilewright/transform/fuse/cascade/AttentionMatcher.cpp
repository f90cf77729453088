#include "tilewright/transform/fuse/cascade/AttentionMatcher.h"

#include "tilewright/dialect/elements/ScalarSemantics.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/dialect/stablehlo/ops/UnaryOps.h"
#include "tilewright/support/Concat.h"
#include "tilewright/transform/TypeOf.h"
#include "tilewright/transform/fuse/Classify.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tilewright::cascade {

/// For fewer queries, products that read each key once are faster, because packing the keys takes
/// longer.
static constexpr int64_t minQueries = 16;

void Operand::skipMovement(ArrayRef<int64_t> kept) {
  while (Operation *op = value.getDefiningOp()) {
    View inner;
    if (auto transpose = dyn_cast<stablehlo::TransposeOp>(op)) {
      inner.resize(dims.size());
      for (auto [i, dim] : llvm::enumerate(transpose.getPermutation()))
        inner[static_cast<size_t>(dim)] = dims[i];
    } else if (auto broadcast = dyn_cast<stablehlo::BroadcastInDimOp>(op)) {
      for (auto [size, dim] :
           llvm::zip(typeOf(broadcast.getOperand()).getShape(), broadcast.getBroadcastDimensions()))
        inner.push_back(size == 1 ? -1 : dims[static_cast<size_t>(dim)]);
    } else {
      return;
    }
    if (llvm::any_of(kept,
                     [&](int64_t dim) { return has(dim) && !llvm::is_contained(inner, dim); }))
      return;
    value = op->getOperand(0);
    dims = std::move(inner);
  }
}

void Operand::followMovement(bool isGpu) {
  while (value.hasOneUse()) {
    Operation *op = *value.user_begin();
    View outer;
    if (auto transpose = dyn_cast<stablehlo::TransposeOp>(op)) {
      for (int64_t dim : transpose.getPermutation())
        outer.push_back(dims[static_cast<size_t>(dim)]);
    } else if (isGpu) {
      return;
    } else if (auto convert = dyn_cast<stablehlo::ConvertOp>(op)) {
      auto to = dyn_cast<FloatType>(typeOf(convert.getResult()).getElementType());
      if (!to || to.getWidth() > 32 || to.getWidth() < 8)
        return;
      outer = dims;
    } else if (auto reshape = dyn_cast<stablehlo::ReshapeOp>(op)) {
      std::optional<View> view =
          throughReshape(typeOf(reshape.getResult()).getShape(), typeOf(value).getShape(), dims);
      if (!view)
        return;
      outer = std::move(*view);
    } else {
      return;
    }
    value = op->getResult(0);
    dims = std::move(outer);
  }
}

bool AttentionMatcher::findReductions() {
  int maxima = 0;
  for (auto [i, reduction] : llvm::enumerate(cascade.reductions)) {
    if (reduction.maps.size() != 1)
      return fail("a reduction has several results");
    if (reduction.combiner == Combiner::maximum && !reduction.isMatmul()) {
      maximum = static_cast<unsigned>(i);
      ++maxima;
    }
  }
  if (maxima != 1)
    return fail("it is not a maximum, a sum and a product");
  if (cascade.space().axes.size() != 1)
    return fail("rows have several dimensions");
  return true;
}

const Node &beforeConversions(const Node &value) {
  const Node *node = &value;
  while (node->isOp("convert") && isa<FloatType>(node->operands[0]->element))
    node = node->operands[0];
  return *node;
}

/// JAX may combine the maximum with -inf, and may replace an infinite maximum by 0.
bool AttentionMatcher::isMaximum(const Node &converted) const {
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

bool AttentionMatcher::isExponent(Linear exponent, const Node &base) const {
  auto found = exponent.find(Factors{{base.id, 1}});
  if (found == exponent.end() || found->second != -1)
    return false;
  exponent.erase(found);
  return exponent == ofScore;
}

/// Whether a reduction sums exp(score - maximum). If `isDivided`, it is divided by the sum, and may
/// have further factors.
bool AttentionMatcher::isWeight(const Reduction &reduction, bool isDivided) {
  const Form &form = reduction.form;
  if (form.map.size() != 1 || !form.variables.empty() || form.exponent.size() != 1)
    return false;
  const auto &[term, coefficient] = *form.map.begin();
  const Factors &parameter = form.exponent.begin()->first;
  if (parameter.size() != 1 || !isMaximum(node(parameter[0].first)))
    return false;
  const Node &base = node(parameter[0].first);
  if (!isExponent(term.exponent, base))
    return false;
  if (!isDivided) {
    subtracted = &base;
    return coefficient == 1 && term.factors.empty() && form.factor.empty();
  }
  // Both subtract the same number, so it cancels.
  if (&base != subtracted)
    return false;
  if (form.factor.size() != 1 || form.factor[0].second != -1)
    return false;
  const Node &divisor = beforeConversions(node(form.factor[0].first));
  if (divisor.kind != Node::Kind::reduced || divisor.reduction != sum)
    return false;
  weightScale = coefficient;
  weightFactors.clear();
  for (const auto &factor : term.factors)
    if (!llvm::is_contained(form.factor, factor)) {
      if (factor.second < 0 || !node(factor.first).reads.empty())
        return false;
      weightFactors.push_back(factor);
    }
  return true;
}

/// Whether the library supports these types: sums are f32, and elements are whole bytes.
bool AttentionMatcher::hasTypes() {
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

bool AttentionMatcher::findWeights() {
  if (!findReductions())
    return false;
  score = cascade.reductions[maximum].maps[0];
  const Normalizer normalizer(cascade.nodes, [](unsigned) { return true; });
  const std::optional<Linear> linear = normalizer.linear(*score);
  if (!linear || !score->reads.empty())
    return fail("the maximum is not that of scores");
  ofScore = *linear;
  bool hasSum = false;
  for (auto [i, reduction] : llvm::enumerate(cascade.reductions))
    if (!hasSum && !reduction.isMatmul() && reduction.combiner == Combiner::sum &&
        isWeight(reduction, /*isDivided=*/false)) {
      sum = static_cast<unsigned>(i);
      hasSum = true;
    }
  return hasSum || fail("the elements that are reduced are not those of a softmax");
}

bool AttentionMatcher::hasProduct() {
  for (const Reduction &reduction : cascade.reductions)
    if (!last && reduction.isMatmul() && isWeight(reduction, /*isDivided=*/true))
      last = &reduction;
  return last != nullptr;
}

bool AttentionMatcher::isSoftmax() {
  if (!hasProduct())
    return fail("the product is not that of a softmax of the reduced elements");
  second = cast<stablehlo::DotGeneralOp>(last->op);
  return true;
}

bool AttentionMatcher::findLeaves(const Node &root, SmallVectorImpl<const Node *> &tensors,
                                  SmallVectorImpl<const Node *> &products) {
  llvm::SmallPtrSet<const Node *, 16> seen;
  SmallVector<const Node *> work = {&root};
  while (!work.empty()) {
    const Node *next = work.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    work.append(next->operands.begin(), next->operands.end());
    if (next->kind == Node::Kind::op && !elements::canExpress(next->op))
      return fail(concat("a score contains ", next->op->getName().getStringRef().str()));
    if (next->kind != Node::Kind::leaf)
      continue;
    if (next->value.getDefiningOp<stablehlo::DotGeneralOp>() && next->onAxis)
      products.push_back(next);
    else if (!llvm::is_contained(tensors, next))
      tensors.push_back(next);
  }
  return true;
}

/// Finds the product in the score, and all other tensors that the score reads.
bool AttentionMatcher::findScore() {
  SmallVector<const Node *> products;
  if (!findLeaves(*score, inputs, products))
    return false;
  if (products.size() != 1)
    return fail(products.empty() ? "the scores are not those of a product"
                                 : "a score is computed from two products");
  SmallVector<const Node *> ofFactors;
  for (auto [id, power] : weightFactors)
    if (!findLeaves(node(id), inputs, ofFactors))
      return false;
  if (!ofFactors.empty())
    return fail("a factor of the weights is computed from a product");
  product = products[0];
  first = product->value.getDefiningOp<stablehlo::DotGeneralOp>();
  return true;
}

bool AttentionMatcher::follow(Operation *from) {
  SmallVector<Operation *> work = {from};
  while (!work.empty())
    for (Operation *user : work.pop_back_val()->getUsers()) {
      // A reduction's body reads nothing from outside, so users are in the same block.
      if (user == second)
        continue;
      if (user->getBlock() != first->getBlock() || user->hasTrait<OpTrait::IsTerminator>() ||
          !isMemoryEffectFree(user))
        return fail(concat("the scores, or values computed from them, are read by ",
                           user->getName().getStringRef().str()));
      if (isa<stablehlo::DotGeneralOp>(user))
        otherProducts.insert(user);
      else if (readers.insert(user))
        work.push_back(user);
    }
  return true;
}

SideDims sideDims(stablehlo::DotGeneralOp dot, bool isLhs) {
  stablehlo::DotDimensionNumbersAttr numbers = dot.getDotDimensionNumbers();
  if (isLhs)
    return {numbers.getLhsBatchingDimensions(), numbers.getLhsContractingDimensions()};
  return {numbers.getRhsBatchingDimensions(), numbers.getRhsContractingDimensions()};
}

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

bool AttentionMatcher::placeFirst() {
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

bool AttentionMatcher::placeSecond() {
  const bool isLhs = last->mappedOperand == 0;
  const SideDims side = sideDims(second, isLhs), valueSide = sideDims(second, !isLhs);
  View ofWeights, ofValues;
  for (int64_t dim : side.batching)
    result.dims.push_back(last->view[static_cast<size_t>(dim)]);
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
  result.dims.append(isLhs ? ofWeights : ofValues);
  result.dims.append(isLhs ? ofValues : ofWeights);
  result.value = second.getResult();
  values = operandOf(second, !isLhs, result.dims, cascade.space().axes[0]);
  return true;
}

/// The dimension along which a leaf counts, -1 if that has size 1; nullopt if the leaf is not an
/// iota.
static std::optional<int64_t> numberedDim(const Node &leaf) {
  auto iota = leaf.value.getDefiningOp<stablehlo::IotaOp>();
  return iota ? std::optional(leaf.dims[static_cast<size_t>(iota.getIotaDimension())])
              : std::nullopt;
}

/// Whether the score depends on the index along a dimension, as most masks do on that of the query.
bool AttentionMatcher::isNumbered(int64_t dim) const {
  return llvm::any_of(inputs, [&](const Node *input) { return numberedDim(*input) == dim; });
}

/// Why few queries keep separate kernels; empty if they do not. A GPU reads keys and values at the
/// rate of its memory if enough of its multiprocessors take part.
std::string AttentionMatcher::whyNotFew(const fuse::AttentionSizes &sizes) const {
  constexpr int64_t fewKeys = 1024;
  const exec::TargetAttr target = exec::targetOf(first);
  if (!target.isGpu() || !otherProducts.empty())
    return concat("it has fewer than ", minQueries, " queries for each set of keys");
  if (sizes.keys <= fewKeys || fuse::queryBlocks(sizes) * 2 >= target.getUnits() ||
      fuse::partsOfKeys(sizes, target.getUnits()) > 1)
    return "";
  return concat("it would occupy ", fuse::queryBlocks(sizes), " of ", target.getUnits(),
                " multiprocessors, and its ", sizes.keys,
                " keys cannot be divided into enough multiples of ", fuse::keyGranule);
}

/// The queries are a dimension that neither keys nor values have: the one that a mask counts along,
/// because the body reads the other indices from memory, or else the longest. All others are heads.
bool AttentionMatcher::chooseQueries() {
  for (Operand *operand : {&queries, &keys, &values})
    operand->skipMovement();
  const Space &space = cascade.space();
  auto sizeOf = [&](int64_t dim) { return space.shape[static_cast<size_t>(dim)]; };
  auto rankOf = [&](int64_t dim) { return std::pair(isNumbered(dim), sizeOf(dim)); };
  int64_t query = -1;
  for (int64_t dim : space.rowDims())
    if (queries.has(dim) && !keys.has(dim) && !values.has(dim) &&
        (query < 0 || rankOf(dim) >= rankOf(query)))
      query = dim;
  if (query < 0)
    query = absentQuery;
  fuse::AttentionSizes sizes{.queries = query == absentQuery ? 1 : sizeOf(query),
                             .keys = sizeOf(keyDim())};
  for (int64_t dim : space.rowDims())
    if (dim != query && sizeOf(dim) != 1) {
      order.push_back(dim);
      sizes.heads *= sizeOf(dim);
    }
  if (sizes.queries < minQueries)
    if (std::string reason = whyNotFew(sizes); !reason.empty())
      return fail(std::move(reason));
  order.insert(order.end(), {query, keyDim(), depth, width});
  return true;
}

bool AttentionMatcher::placeInputs(SmallVectorImpl<const Node *> &tensors) {
  const int64_t query = queryDim(), key = keyDim();
  llvm::erase_if(tensors, [&](const Node *input) {
    const std::optional<int64_t> dim = numberedDim(*input);
    return dim && (*dim < 0 || *dim == query || *dim == key);
  });
  for (const Node *input : tensors) {
    if (numberedDim(*input) && isa<IntegerType, FloatType>(input->element))
      continue;
    if (!elements::scalarType(input->element))
      return fail("a tensor of the score has a type that kernels do not support");
    const auto *at = llvm::find(input->dims, key);
    if (at != input->dims.end() && llvm::any_of(llvm::make_range(at + 1, input->dims.end()),
                                                [](int64_t dim) { return dim >= 0; }))
      return fail("a tensor of the score is not contiguous along the keys");
  }
  return true;
}

Operand AttentionMatcher::inputOf(OpBuilder &builder, const Node &input) {
  const std::optional<int64_t> dim = numberedDim(input);
  if (!dim)
    return {input.value, input.dims};
  auto iota = input.value.getDefiningOp<stablehlo::IotaOp>();
  const int64_t size =
      typeOf(input.value).getDimSize(static_cast<unsigned>(iota.getIotaDimension()));
  // A constant, because an iota would be a kernel of its own.
  SmallVector<Attribute> numbers;
  for (int64_t i = 0; i < size; ++i)
    numbers.push_back(isa<FloatType>(input.element)
                          ? Attribute(FloatAttr::get(input.element, static_cast<double>(i)))
                          : IntegerAttr::get(input.element, i));
  auto constant = stablehlo::ConstantOp::create(
      builder, iota.getLoc(),
      DenseElementsAttr::get(RankedTensorType::get({size}, input.element), numbers));
  return {constant, {*dim}};
}

bool AttentionMatcher::dependsOn(const Node &value, const Node *leaf) const {
  // Nodes are shared, so there may be exponentially many paths to one.
  llvm::SmallPtrSet<const Node *, 16> seen;
  SmallVector<const Node *> work = {&value};
  while (!work.empty()) {
    const Node *next = work.pop_back_val();
    if (next == leaf)
      return true;
    if (seen.insert(next).second)
      work.append(next->operands.begin(), next->operands.end());
  }
  return false;
}

Polynomial AttentionMatcher::termsOf(const Reduction &reduction) const {
  const Normalizer normalizer(
      cascade.nodes, [](unsigned) { return true; }, Normalizer::Expands::allOnAxis);
  return normalizer.of(*reduction.maps[0]);
}

const Node *AttentionMatcher::maskedSide() const {
  if (score->isOp("select") && !dependsOn(*score->operands[0], product))
    for (const Node *side : {score->operands[2], score->operands[1]})
      if (side->kind == Node::Kind::constant)
        return side;
  return nullptr;
}

BodyEmitter::BodyEmitter(const AttentionMatcher &match, Block *body, unsigned numbers,
                         ArrayRef<const Node *> inputs)
    : match(match), body(body), builder(match.second->getContext()), loc(match.second->getLoc()),
      numbers(numbers), inputs(inputs) {
  builder.setInsertionPointToEnd(body);
}

Value BodyEmitter::emit(const Node &value) {
  if (Value known = emitted.lookup(value.id))
    return known;
  Value result;
  if (value.kind == Node::Kind::constant) {
    auto constant = cast<stablehlo::ConstantOp>(value.op);
    result = elements::emitConstant(builder, loc, cast<ElementsAttr>(constant.getValue()));
  } else if (&value == match.product) {
    result = body->getArgument(0);
    if (!value.element.isF32())
      result = elements::emitConversion(builder, loc, builder.getF32Type(), value.element, result);
  } else if (value.kind == Node::Kind::leaf) {
    const auto *at = llvm::find(inputs, &value);
    if (at != inputs.end()) {
      result = body->getArgument(numbers + 2 + static_cast<unsigned>(at - inputs.begin()));
    } else {
      const int64_t dim = *numberedDim(value);
      Value number = dim < 0 ? arith::ConstantIntOp::create(builder, loc, 0, 32).getResult()
                             : Value(body->getArgument(numbers + (dim != match.queryDim())));
      result = elements::emitConversion(builder, loc, builder.getI32Type(), value.element, number);
    }
  } else {
    SmallVector<Value> operands;
    for (const Node *operand : value.operands)
      operands.push_back(emit(*operand));
    result = elements::emitElement(builder, value.op, operands);
  }
  return emitted[value.id] = result;
}

Value BodyEmitter::emitVisible() {
  const Node &score = *match.score;
  Value visible = emit(*score.operands[0]);
  if (match.maskedSide() == score.operands[2])
    return visible;
  Value yes = arith::ConstantIntOp::create(builder, loc, 1, 1);
  return arith::XOrIOp::create(builder, loc, visible, yes);
}

Value BodyEmitter::emitFactor() {
  if (match.weightFactors.empty() && match.weightScale == 1)
    return {};
  auto number = [&](double value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getF32FloatAttr(static_cast<float>(value)));
  };
  Value result = number(match.weightScale);
  for (auto [id, power] : match.weightFactors) {
    const Node &factor = match.node(id);
    Value value = emit(factor);
    // A condition counts as 0 or 1.
    if (factor.element.isInteger(1)) {
      result = arith::SelectOp::create(builder, loc, value, result, number(0));
      continue;
    }
    if (!factor.element.isF32())
      value = elements::emitConversion(builder, loc, factor.element, builder.getF32Type(), value);
    for (int i = 0; i < power; ++i)
      result = arith::MulFOp::create(builder, loc, result, value);
  }
  return result;
}

DenseI64ArrayAttr AttentionMatcher::numbered(OpBuilder &builder, const View &dims) const {
  SmallVector<int64_t> numbers;
  for (int64_t dim : dims) {
    auto at = llvm::find(order, dim);
    numbers.push_back(at == order.end() ? -1 : at - order.begin());
  }
  return builder.getDenseI64ArrayAttr(numbers);
}

SmallVector<int64_t> AttentionMatcher::sizes() const {
  SmallVector<int64_t> sizes;
  for (int64_t dim : ArrayRef(order).drop_back(2))
    sizes.push_back(dim == absentQuery ? 1 : cascade.space().shape[static_cast<size_t>(dim)]);
  sizes.append({depthSize, widthSize});
  return sizes;
}

bool AttentionMatcher::mayRoundToTf32() {
  const exec::MatrixAttr matrix = exec::targetOf(first).getMatrix();
  return matrix && fuse::canMultiplyAsTf32(first, matrix) &&
         fuse::canMultiplyAsTf32(second, matrix);
}

exec::SoftmaxDotOp AttentionMatcher::create(bool hasRowValues) {
  OpBuilder builder(second);
  Location loc = second.getLoc();
  SmallVector<Value> operands = {queries.value, keys.value, values.value};
  SmallVector<Attribute> dims = {numbered(builder, queries.dims), numbered(builder, keys.dims),
                                 numbered(builder, values.dims)};
  SmallVector<Type> arguments = {builder.getF32Type(), builder.getI32Type(), builder.getI32Type()};
  for (const Node *input : inputs) {
    const Operand operand = inputOf(builder, *input);
    operands.push_back(operand.value);
    dims.push_back(numbered(builder, operand.dims));
    arguments.push_back(elements::scalarType(input->element));
  }
  // A result without a dimension for the query gets one of size 1.
  View ofResult = result.dims;
  SmallVector<int64_t> shape(typeOf(result.value).getShape());
  if (queryDim() == absentQuery) {
    ofResult.insert(ofResult.begin(), absentQuery);
    shape.insert(shape.begin(), 1);
  }
  dims.push_back(numbered(builder, ofResult));
  const SmallVector<int64_t> all = sizes();
  SmallVector<Type> results = {RankedTensorType::get(shape, typeOf(result.value).getElementType())};
  if (hasRowValues)
    results.append(2, RankedTensorType::get(ArrayRef(all).drop_back(3), builder.getF32Type()));
  Type weightType = typeOf(second->getOperand(last->mappedOperand)).getElementType();
  Region region;
  Block *body = &region.emplaceBlock();
  body->addArguments(arguments, SmallVector<Location>(arguments.size(), loc));
  BodyEmitter emitter(*this, body, /*numbers=*/1, inputs);
  Value value = emitter.emit(*score);
  OpBuilder inBody(builder.getContext());
  inBody.setInsertionPointToEnd(body);
  if (!score->element.isF32())
    value = elements::emitConversion(inBody, loc, score->element, builder.getF32Type(), value);
  FloatAttr masked;
  Value visible;
  if (const Node *side = maskedSide()) {
    visible = emitter.emitVisible();
    masked = builder.getF32FloatAttr(static_cast<float>(side->number));
  }
  exec::YieldScoreOp::create(inBody, loc, value, visible, emitter.emitFactor());
  auto op =
      exec::SoftmaxDotOp::create(builder, loc, results, operands, builder.getDenseI64ArrayAttr(all),
                                 builder.getArrayAttr(dims), TypeAttr::get(weightType), masked,
                                 mayRoundToTf32() ? builder.getUnitAttr() : UnitAttr());
  op.getBody().takeBody(region);
  return op;
}

} // namespace tilewright::cascade
