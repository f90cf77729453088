// Simplifies trivial and nested reductions and reductions of moved data, and makes argmax
// independent of the order of elements.
#include "tilewright/dialect/elements/Commutative.h"
#include "tilewright/dialect/stablehlo/ops/BinaryOps.h"
#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/dialect/stablehlo/ops/ReductionOps.h"
#include "tilewright/transform/simplify/Constants.h"
#include "tilewright/transform/simplify/Patterns.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace tilewright::simplify {

Operation *commutativeCombiner(Region &region) {
  if (region.getNumArguments() != 2)
    return nullptr;
  Block &body = region.front();
  Operation *inner = body.getTerminator()->getOperand(0).getDefiningOp();
  if (!inner || inner->getBlock() != &body || !llvm::hasNItems(body, 2) ||
      inner->getNumOperands() != 2)
    return nullptr;
  Value a = body.getArgument(0), b = body.getArgument(1);
  Value x = inner->getOperand(0), y = inner->getOperand(1);
  if (!((x == a && y == b) || (x == b && y == a)))
    return nullptr;
  return isa<stablehlo::AddOp, stablehlo::MultiplyOp, stablehlo::MaximumOp, stablehlo::MinimumOp,
             stablehlo::AndOp, stablehlo::OrOp, stablehlo::XorOp>(inner)
             ? inner
             : nullptr;
}

bool isIdentityOf(Operation *combiner, Value init) {
  if (isa<stablehlo::AddOp, stablehlo::OrOp, stablehlo::XorOp>(combiner))
    return isPositiveZero(init) || isNegativeZero(init);
  if (isa<stablehlo::MultiplyOp>(combiner))
    return isOne(init);
  if (isa<stablehlo::AndOp>(combiner))
    return isAllOnes(init);
  const bool isMaximum = isa<stablehlo::MaximumOp>(combiner);
  Attribute splat = splatOf(init);
  if (auto number = dyn_cast_if_present<FloatAttr>(splat))
    return number.getValue().isInfinity() && number.getValue().isNegative() == isMaximum;
  auto number = dyn_cast_if_present<IntegerAttr>(splat);
  if (!number)
    return false;
  const bool isUnsigned =
      number.getType().isUnsignedInteger() || number.getValue().getBitWidth() == 1;
  const APInt value = number.getValue();
  if (isMaximum)
    return isUnsigned ? value.isMinValue() : value.isMinSignedValue();
  return isUnsigned ? value.isMaxValue() : value.isMaxSignedValue();
}

namespace {

bool keepsElementTypes(stablehlo::ReduceOp op) {
  for (auto [input, result] : llvm::zip_equal(op.getInputs(), op.getResults()))
    if (!isStatic(input) || !isStatic(result) ||
        typeOf(input).getElementType() != typeOf(result).getElementType())
      return false;
  return true;
}

/// Creates a reduction with other inputs and dimensions, but the same body and initial values.
stablehlo::ReduceOp makeLike(stablehlo::ReduceOp op, ValueRange inputs, ArrayRef<int64_t> dims,
                             PatternRewriter &rewriter) {
  auto made = stablehlo::ReduceOp::create(rewriter, op.getLoc(), op.getResultTypes(), inputs,
                                          op.getInitValues(), dims);
  rewriter.cloneRegionBefore(op.getBody(), made.getBody(), made.getBody().begin());
  return made;
}

/// Whether the initial value is the identity of the combiner. Assumed for commutative bodies other
/// than a single op, such as argmax.
bool startsFromIdentity(stablehlo::ReduceOp op) {
  Operation *combiner = commutativeCombiner(op.getBody());
  return combiner ? isIdentityOf(combiner, op.getInitValues()[0])
                  : elements::isCommutative(op.getBody());
}

/// Removes reduced dimensions of size 1. The last one can be removed only if the initial value is
/// the identity: the specification of `reduce` leaves open how often the initial value is combined,
/// but a user who writes a sum from 3 expects exactly once, as in the reference interpreter.
LogicalResult dropUnitDimensions(stablehlo::ReduceOp op, PatternRewriter &rewriter) {
  if (!keepsElementTypes(op))
    return rewriter.notifyMatchFailure(op, "an element type changes, or a shape is dynamic");
  RankedTensorType type = typeOf(op.getInputs()[0]);
  if (type.getNumElements() == 0)
    return rewriter.notifyMatchFailure(op, "the input is empty");
  SmallVector<int64_t> shape, dims;
  bool changed = op.getDimensions().empty();
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    const int64_t size = type.getDimSize(static_cast<unsigned>(dim));
    const bool reduced = llvm::is_contained(op.getDimensions(), dim);
    if (reduced && size == 1) {
      changed = true;
      continue;
    }
    if (reduced)
      dims.push_back(static_cast<int64_t>(shape.size()));
    shape.push_back(size);
  }
  if (!changed)
    return rewriter.notifyMatchFailure(op, "no reduced dimension has size 1");
  if (dims.empty() && !op.getDimensions().empty() && !startsFromIdentity(op))
    return rewriter.notifyMatchFailure(op, "the initial value is not the identity of the body");
  SmallVector<Value> inputs;
  for (Value input : op.getInputs())
    inputs.push_back(reshapeTo(rewriter, op.getLoc(), input,
                               RankedTensorType::get(shape, typeOf(input).getElementType())));
  if (dims.empty()) {
    rewriter.replaceOp(op, inputs);
    return success();
  }
  rewriter.replaceOp(op, makeLike(op, inputs, dims, rewriter));
  return success();
}

/// Replaces a reduction of an empty tensor by the initial value.
LogicalResult reduceNothing(stablehlo::ReduceOp op, PatternRewriter &rewriter) {
  if (!keepsElementTypes(op) || typeOf(op.getInputs()[0]).getNumElements() != 0)
    return rewriter.notifyMatchFailure(
        op, "the input has elements, an element type changes, or a shape is dynamic");
  SmallVector<Value> results;
  for (auto [init, result] : llvm::zip_equal(op.getInitValues(), op.getResults()))
    results.push_back(stablehlo::BroadcastInDimOp::create(rewriter, op.getLoc(), typeOf(result),
                                                          init, ArrayRef<int64_t>{}));
  rewriter.replaceOp(op, results);
  return success();
}

/// Whether combining a value with itself returns the value, so that it may be combined any number
/// of times.
bool isIdempotent(Operation *body) {
  return isa<stablehlo::MaximumOp, stablehlo::MinimumOp, stablehlo::AndOp, stablehlo::OrOp>(body);
}

/// Merges nested reductions with the same combiner, if the inner one starts from the identity or
/// combining its initial value again has no effect.
LogicalResult reduceOfReduce(stablehlo::ReduceOp op, PatternRewriter &rewriter) {
  Operation *body = commutativeCombiner(op.getBody());
  if (!body || !keepsElementTypes(op))
    return rewriter.notifyMatchFailure(
        op,
        "the body is not a single commutative op, an element type changes, or a shape is dynamic");
  auto inner = op.getInputs()[0].getDefiningOp<stablehlo::ReduceOp>();
  if (!inner || !inner->hasOneUse() || !keepsElementTypes(inner))
    return rewriter.notifyMatchFailure(op, "the input is not a static reduction with a single use");
  Operation *innerBody = commutativeCombiner(inner.getBody());
  if (!innerBody || innerBody->getName() != body->getName())
    return rewriter.notifyMatchFailure(op, "the inner reduction combines elements by another op");
  Attribute start = splatOf(op.getInitValues()[0]);
  const bool startsAlike = start && splatOf(inner.getInitValues()[0]) == start;
  if (!startsFromIdentity(inner) && !(startsAlike && isIdempotent(body)))
    return rewriter.notifyMatchFailure(op, "the inner reduction does not start from the identity");
  SmallVector<int64_t> dims(inner.getDimensions());
  int64_t outer = 0;
  for (int64_t dim = 0; dim < typeOf(inner.getInputs()[0]).getRank(); ++dim) {
    if (llvm::is_contained(inner.getDimensions(), dim))
      continue;
    if (llvm::is_contained(op.getDimensions(), outer++))
      dims.push_back(dim);
  }
  llvm::sort(dims);
  rewriter.replaceOp(op, makeLike(op, inner.getInputs(), dims, rewriter));
  return success();
}

/// Drops a transpose before a reduction if the kept dimensions stay in order.
LogicalResult reduceOfTranspose(stablehlo::ReduceOp op, PatternRewriter &rewriter) {
  if (!commutativeCombiner(op.getBody()) || !keepsElementTypes(op))
    return rewriter.notifyMatchFailure(
        op,
        "the body is not a single commutative op, an element type changes, or a shape is dynamic");
  auto transpose = op.getInputs()[0].getDefiningOp<stablehlo::TransposeOp>();
  if (!transpose)
    return rewriter.notifyMatchFailure(op, "the input is not a transpose");
  SmallVector<int64_t> dims;
  int64_t last = -1;
  for (auto [index, dim] : llvm::enumerate(transpose.getPermutation())) {
    if (llvm::is_contained(op.getDimensions(), static_cast<int64_t>(index))) {
      dims.push_back(dim);
    } else {
      if (dim < last)
        return rewriter.notifyMatchFailure(
            op, "the transpose changes the order of the kept dimensions");
      last = dim;
    }
  }
  llvm::sort(dims);
  rewriter.replaceOp(op, makeLike(op, transpose.getOperand(), dims, rewriter));
  return success();
}

/// Removes an idempotent reduction of broadcast elements: the result is the broadcast value,
/// combined with the initial value.
LogicalResult reduceOfBroadcast(stablehlo::ReduceOp op, PatternRewriter &rewriter) {
  Operation *body = commutativeCombiner(op.getBody());
  if (!body || !keepsElementTypes(op) || !isIdempotent(body))
    return rewriter.notifyMatchFailure(
        op,
        "the body is not a single idempotent op, an element type changes, or a shape is dynamic");
  auto broadcast = op.getInputs()[0].getDefiningOp<stablehlo::BroadcastInDimOp>();
  if (!broadcast || typeOf(broadcast).getNumElements() == 0)
    return rewriter.notifyMatchFailure(op, "the input is not a broadcast, or is empty");
  // Every reduced dimension must be one that the broadcast added or expanded from size 1.
  RankedTensorType source = typeOf(broadcast.getOperand());
  for (auto [index, dim] : llvm::enumerate(broadcast.getBroadcastDimensions()))
    if (llvm::is_contained(op.getDimensions(), dim) &&
        source.getDimSize(static_cast<unsigned>(index)) != 1)
      return rewriter.notifyMatchFailure(op, Twine("it reduces dimension ") + Twine(dim) +
                                                 ", which the broadcast does not repeat");
  SmallVector<int64_t> place, dims, shape;
  int64_t kept = 0;
  for (int64_t dim = 0; dim < typeOf(broadcast).getRank(); ++dim)
    place.push_back(llvm::is_contained(op.getDimensions(), dim) ? -1 : kept++);
  for (auto [index, dim] : llvm::enumerate(broadcast.getBroadcastDimensions())) {
    if (place[static_cast<size_t>(dim)] < 0)
      continue;
    dims.push_back(place[static_cast<size_t>(dim)]);
    shape.push_back(source.getDimSize(static_cast<unsigned>(index)));
  }
  Value value = reshapeTo(rewriter, op.getLoc(), broadcast.getOperand(),
                          RankedTensorType::get(shape, source.getElementType()));
  RankedTensorType type = typeOf(op.getResult(0));
  Value reduced = stablehlo::BroadcastInDimOp::create(rewriter, op.getLoc(), type, value, dims);
  if (!startsFromIdentity(op)) {
    Value start = stablehlo::BroadcastInDimOp::create(rewriter, op.getLoc(), type,
                                                      op.getInitValues()[0], ArrayRef<int64_t>{});
    reduced = rewriter
                  .create(op.getLoc(), body->getName().getIdentifier(), ValueRange{reduced, start},
                          TypeRange{type})
                  ->getResult(0);
  }
  rewriter.replaceOp(op, reduced);
  return success();
}

/// Whether `value` is `compare direction, lhs, rhs` and does not use the total order.
bool isCompare(Value value, stablehlo::ComparisonDirection direction, Value lhs, Value rhs) {
  auto compare = value.getDefiningOp<stablehlo::CompareOp>();
  return compare && compare.getComparisonDirection() == direction && compare.getLhs() == lhs &&
         compare.getRhs() == rhs &&
         compare.getCompareType() != stablehlo::ComparisonType::TOTALORDER;
}

/// Whether `value` is an `Op` with one operand that satisfies `first` and another that satisfies
/// `second`.
template <typename Op, typename First, typename Second>
bool isBinary(Value value, First first, Second second) {
  auto op = value.getDefiningOp<Op>();
  return op && ((first(op.getLhs()) && second(op.getRhs())) ||
                (first(op.getRhs()) && second(op.getLhs())));
}

} // namespace

stablehlo::SelectOp indexOfFirstNan(stablehlo::ReduceOp op) {
  using Direction = stablehlo::ComparisonDirection;
  if (op.getInputs().size() != 2)
    return {};
  Block &body = op.getBody().front();
  Value value = body.getArgument(0), index = body.getArgument(1);
  Value best = body.getArgument(2), at = body.getArgument(3);
  if (!isFloat(value) || !isInteger(index) || value.getType() != best.getType() ||
      index.getType() != at.getType())
    return {};
  auto values = body.getTerminator()->getOperand(0).getDefiningOp<stablehlo::SelectOp>();
  auto indices = body.getTerminator()->getOperand(1).getDefiningOp<stablehlo::SelectOp>();
  if (!values || !indices || values.getOnTrue() != value || values.getOnFalse() != best ||
      indices.getOnTrue() != index || indices.getOnFalse() != at)
    return {};
  Value wins = values.getPred();
  auto isFurther = [&](Value x) {
    return isCompare(x, Direction::GT, value, best) || isCompare(x, Direction::LT, value, best);
  };
  auto isNan = [&](Value x) { return isCompare(x, Direction::NE, value, value); };
  auto isEqual = [&](Value x) { return isCompare(x, Direction::EQ, value, best); };
  auto isEarlier = [&](Value x) { return isCompare(x, Direction::LT, index, at); };
  auto isTie = [&](Value x) { return isBinary<stablehlo::AndOp>(x, isEqual, isEarlier); };
  if (!isBinary<stablehlo::OrOp>(wins, isFurther, isNan) ||
      !isBinary<stablehlo::OrOp>(indices.getPred(), [&](Value x) { return x == wins; }, isTie))
    return {};
  return indices;
}

namespace {

/// JAX's argmax and argmin prefer the left of two NaNs:
///
///   wins  = value > best or value is NaN
///   value = select(wins, value, best)
///   index = select(wins or (value == best and index < at), index, at)
///
/// This yields the first NaN only if elements are combined in the order of their indices, but a
/// reduction may combine them in any order (across lanes, threads and ranks). So this rewrite
/// treats two NaNs as a tie, which the smaller index wins; the body is then commutative. The value
/// may still be either NaN.
LogicalResult breakTiesOfNan(stablehlo::ReduceOp op, PatternRewriter &rewriter) {
  using Direction = stablehlo::ComparisonDirection;
  stablehlo::SelectOp indices = indexOfFirstNan(op);
  if (!indices)
    return rewriter.notifyMatchFailure(
        op, "the body is not that of an argmax or argmin in which the left NaN wins");
  Block &body = op.getBody().front();
  Value value = body.getArgument(0), index = body.getArgument(1);
  Value best = body.getArgument(2), at = body.getArgument(3);
  Value wins = body.getTerminator()->getOperand(0).getDefiningOp<stablehlo::SelectOp>().getPred();

  rewriter.setInsertionPoint(indices);
  Location loc = indices.getLoc();
  auto compare = [&](Direction direction, Value lhs, Value rhs, stablehlo::ComparisonType type) {
    return Value(stablehlo::CompareOp::create(
        rewriter, loc, wins.getType(), lhs, rhs, direction,
        stablehlo::ComparisonTypeAttr::get(rewriter.getContext(), type)));
  };
  Type flag = wins.getType();
  constexpr auto real = stablehlo::ComparisonType::FLOAT;
  const bool isUnsigned = typeOf(index).getElementType().isUnsignedInteger();
  Value bestIsNumber = compare(Direction::EQ, best, best, real);
  Value bestIsNan = compare(Direction::NE, best, best, real);
  Value valueIsNan = compare(Direction::NE, value, value, real);
  Value equal = compare(Direction::EQ, value, best, real);
  Value earlier =
      compare(Direction::LT, index, at,
              isUnsigned ? stablehlo::ComparisonType::UNSIGNED : stablehlo::ComparisonType::SIGNED);
  Value beats = stablehlo::AndOp::create(rewriter, loc, flag, wins, bestIsNumber);
  Value bothNan = stablehlo::AndOp::create(rewriter, loc, flag, valueIsNan, bestIsNan);
  Value tie = stablehlo::OrOp::create(rewriter, loc, flag, equal, bothNan);
  Value first = stablehlo::AndOp::create(rewriter, loc, flag, tie, earlier);
  Value takes = stablehlo::OrOp::create(rewriter, loc, flag, beats, first);
  rewriter.modifyOpInPlace(indices, [&] { indices.getPredMutable().assign(takes); });
  return success();
}

/// Replaces a map by the ops of its body, applied to tensors instead of scalars.
LogicalResult inlineMap(stablehlo::MapOp op, PatternRewriter &rewriter) {
  Block &body = op.getComputation().front();
  RankedTensorType type = typeOf(op);
  if (!isStatic(op))
    return rewriter.notifyMatchFailure(op, "a shape is dynamic");
  for (Operation &inner : body.without_terminator()) {
    const bool scalars = llvm::all_of(inner.getOperands(), [&](Value value) {
      return typeOf(value) && typeOf(value).getRank() == 0 && value.getParentBlock() == &body;
    });
    const bool known = isa<stablehlo::ConstantOp>(inner) ||
                       inner.hasTrait<OpTrait::Elementwise>() ||
                       isa<stablehlo::SelectOp, stablehlo::ClampOp>(inner);
    if (!scalars || !known || inner.getNumRegions() != 0)
      return rewriter.notifyMatchFailure(op,
                                         Twine("the body has '") + inner.getName().getStringRef() +
                                             "', which is not an elementwise op on its scalars");
  }
  Value result = body.getTerminator()->getOperand(0);
  if (result.getParentBlock() != &body)
    return rewriter.notifyMatchFailure(op, "the result is not computed in the body");
  IRMapping mapping;
  mapping.map(body.getArguments(), op.getInputs());
  for (Operation &inner : body.without_terminator()) {
    if (auto constant = dyn_cast<stablehlo::ConstantOp>(inner)) {
      Attribute splat = splatOf(constant);
      if (!splat)
        return rewriter.notifyMatchFailure(op, "a constant of the body is not a splat");
      mapping.map(
          constant.getResult(),
          makeSplat(rewriter, op.getLoc(), type.clone(typeOf(constant).getElementType()), splat));
      continue;
    }
    Operation *copy = rewriter.clone(inner, mapping);
    for (Value value : copy->getResults())
      value.setType(type.clone(typeOf(value).getElementType()));
  }
  rewriter.replaceOp(op, mapping.lookup(result));
  return success();
}

} // namespace

void addReductionPatterns(RewritePatternSet &patterns) {
  addPattern<stablehlo::ReduceOp>(patterns, "dropUnitDimensions", dropUnitDimensions);
  addPattern<stablehlo::ReduceOp>(patterns, "reduceNothing", reduceNothing);
  addPattern<stablehlo::ReduceOp>(patterns, "reduceOfReduce", reduceOfReduce);
  addPattern<stablehlo::ReduceOp>(patterns, "reduceOfTranspose", reduceOfTranspose);
  addPattern<stablehlo::ReduceOp>(patterns, "reduceOfBroadcast", reduceOfBroadcast);
  addPattern<stablehlo::ReduceOp>(patterns, "breakTiesOfNan", breakTiesOfNan);
  addPattern<stablehlo::MapOp>(patterns, "inlineMap", inlineMap);
}

} // namespace tilewright::simplify
