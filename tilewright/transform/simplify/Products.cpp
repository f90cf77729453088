// dot_general: folds transposes into dimension numbers, and expands degenerate matmuls into
// elementwise ops.
#include "tilewright/dialect/exec/Hint.h"
#include "tilewright/dialect/stablehlo/ops/BinaryOps.h"
#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/dialect/stablehlo/ops/LinearAlgebraOps.h"
#include "tilewright/dialect/stablehlo/ops/ReductionOps.h"
#include "tilewright/dialect/stablehlo/ops/UnaryOps.h"
#include "tilewright/transform/FreeDims.h"
#include "tilewright/transform/simplify/Constants.h"
#include "tilewright/transform/simplify/Patterns.h"

using namespace mlir;

namespace tilewright::simplify {
namespace {

using stablehlo::DotDimensionNumbersAttr;

/// Rewrites a matmul or convolution whose result has another kind of element type than its operands
/// (JAX's preferred_element_type), so that both have the same kind. Converts the operands if the
/// result's kind is higher, otherwise the result. See kindOfNumber().
template <typename Op> LogicalResult sumInOneKind(Op op, PatternRewriter &rewriter) {
  Type lhs = typeOf(op.getLhs()).getElementType(), rhs = typeOf(op.getRhs()).getElementType();
  Type result = typeOf(op).getElementType();
  const int kind = kindOfNumber(lhs), wanted = kindOfNumber(result);
  if (kind < 0 || wanted < 0 || kind != kindOfNumber(rhs) || kind == wanted)
    return rewriter.notifyMatchFailure(op,
                                       "the element types are of the same kind, or unsupported");
  auto convert = [&](Value value, Type element) -> Value {
    return stablehlo::ConvertOp::create(rewriter, op.getLoc(), typeOf(value).clone(element), value);
  };
  if (kind < wanted) {
    Value operands[2] = {convert(op.getLhs(), result), convert(op.getRhs(), result)};
    rewriter.modifyOpInPlace(op, [&] { op->setOperands(operands); });
    return success();
  }
  auto sums = cast<Op>(rewriter.clone(*op));
  sums.getResult().setType(typeOf(op).clone(widthOfNumber(lhs) >= widthOfNumber(rhs) ? lhs : rhs));
  rewriter.replaceOp(op, convert(sums, result));
  return success();
}

/// A matmul of predicates counts pairs: the sum of predicates says whether one of them is true.
LogicalResult countPredicates(stablehlo::DotGeneralOp op, PatternRewriter &rewriter) {
  if (!multipliesPredicates(op))
    return rewriter.notifyMatchFailure(op, "it is not a matmul of predicates");
  auto convert = [&](Value value) -> Value {
    return stablehlo::ConvertOp::create(rewriter, op.getLoc(),
                                        typeOf(value).clone(rewriter.getI8Type()), value);
  };
  RankedTensorType counts = op.getType().clone(rewriter.getI32Type());
  auto sums = stablehlo::DotGeneralOp::create(
      rewriter, op.getLoc(), counts, convert(op.getLhs()), convert(op.getRhs()),
      op.getDotDimensionNumbers(), op.getPrecisionConfigAttr(), stablehlo::DotAlgorithmAttr());
  exec::copyHint(op, sums);
  rewriter.replaceOpWithNewOp<stablehlo::CompareOp>(
      op, op.getType(), sums, makeNumber(rewriter, op.getLoc(), counts, 0),
      stablehlo::ComparisonDirection::NE, stablehlo::ComparisonTypeAttr());
  return success();
}

/// Folds a transpose of an operand by renumbering its dimensions.
LogicalResult foldTransposedOperand(stablehlo::DotGeneralOp op, PatternRewriter &rewriter) {
  DotDimensionNumbersAttr numbers = op.getDotDimensionNumbers();
  SmallVector<int64_t> batching[2] = {to_vector(numbers.getLhsBatchingDimensions()),
                                      to_vector(numbers.getRhsBatchingDimensions())};
  SmallVector<int64_t> contracting[2] = {to_vector(numbers.getLhsContractingDimensions()),
                                         to_vector(numbers.getRhsContractingDimensions())};
  Value operands[2] = {op.getLhs(), op.getRhs()};
  bool changed = false;
  for (int side = 0; side < 2; ++side) {
    auto transpose = operands[side].getDefiningOp<stablehlo::TransposeOp>();
    if (!transpose || !isStatic(transpose))
      continue;
    ArrayRef<int64_t> permutation = transpose.getPermutation();
    auto renamed = [&](ArrayRef<int64_t> dims) {
      SmallVector<int64_t> result;
      for (int64_t dim : dims)
        result.push_back(permutation[static_cast<size_t>(dim)]);
      return result;
    };
    // The free dimensions appear in the result, so they must keep their order.
    if (!llvm::is_sorted(renamed(
            freeDims(static_cast<int64_t>(permutation.size()), batching[side], contracting[side]))))
      continue;
    batching[side] = renamed(batching[side]);
    contracting[side] = renamed(contracting[side]);
    operands[side] = transpose.getOperand();
    changed = true;
  }
  if (!changed)
    return rewriter.notifyMatchFailure(
        op, "no operand is a transpose that keeps the order of the free dimensions");
  // In place, so that the product keeps the user's hint and other attributes.
  rewriter.modifyOpInPlace(op, [&] {
    op->setOperands(operands);
    op.setDotDimensionNumbersAttr(DotDimensionNumbersAttr::get(
        op.getContext(), batching[0], batching[1], contracting[0], contracting[1]));
  });
  return success();
}

/// Folds a transpose of the result that only exchanges the operands' dimensions: (a b)' = b' a'.
LogicalResult foldTransposedResult(stablehlo::TransposeOp op, PatternRewriter &rewriter) {
  auto dot = op.getOperand().getDefiningOp<stablehlo::DotGeneralOp>();
  if (!dot || !dot->hasOneUse() || !isStatic(dot))
    return rewriter.notifyMatchFailure(op,
                                       "the operand is not a static dot_general with a single use");
  if (typeOf(dot.getLhs()).getElementType() != typeOf(dot.getRhs()).getElementType())
    return rewriter.notifyMatchFailure(
        op, "the operands of the dot_general have different element types");
  DotDimensionNumbersAttr numbers = dot.getDotDimensionNumbers();
  const auto batch = static_cast<int64_t>(numbers.getLhsBatchingDimensions().size());
  const auto lhsFree = static_cast<int64_t>(freeDims(typeOf(dot.getLhs()).getRank(),
                                                     numbers.getLhsBatchingDimensions(),
                                                     numbers.getLhsContractingDimensions())
                                                .size());
  const int64_t rank = op.getType().getRank();
  SmallVector<int64_t> exchange;
  for (int64_t dim = 0; dim < batch; ++dim)
    exchange.push_back(dim);
  for (int64_t dim = batch + lhsFree; dim < rank; ++dim)
    exchange.push_back(dim);
  for (int64_t dim = batch; dim < batch + lhsFree; ++dim)
    exchange.push_back(dim);
  if (ArrayRef<int64_t>(exchange) != op.getPermutation())
    return rewriter.notifyMatchFailure(
        op, "the permutation does not exchange the dimensions of the two operands");
  ArrayAttr precision = dot.getPrecisionConfigAttr();
  if (precision && precision.size() == 2)
    precision = rewriter.getArrayAttr({precision[1], precision[0]});
  stablehlo::DotAlgorithmAttr algorithm = dot.getAlgorithmAttr();
  if (algorithm)
    algorithm = stablehlo::DotAlgorithmAttr::get(
        op.getContext(), algorithm.getRhsPrecisionType(), algorithm.getLhsPrecisionType(),
        algorithm.getAccumulationType(), algorithm.getRhsComponentCount(),
        algorithm.getLhsComponentCount(), algorithm.getNumPrimitiveOperations(),
        algorithm.getAllowImpreciseAccumulation());
  rewriter.setInsertionPoint(dot);
  auto swapped = stablehlo::DotGeneralOp::create(
      rewriter, dot.getLoc(), op.getType(), dot.getRhs(), dot.getLhs(),
      DotDimensionNumbersAttr::get(
          op.getContext(), numbers.getRhsBatchingDimensions(), numbers.getLhsBatchingDimensions(),
          numbers.getRhsContractingDimensions(), numbers.getLhsContractingDimensions()),
      precision, algorithm);
  swapped->setDiscardableAttrs(dot->getDiscardableAttrDictionary());
  exec::setHint(swapped, exec::hintOf(dot).transposed());
  rewriter.replaceOp(op, swapped);
  return success();
}

/// Expands a matmul with a contraction of size 1 into a product of broadcasts, and one with a
/// single row and column into a product and a sum.
LogicalResult expandDegenerate(stablehlo::DotGeneralOp op, PatternRewriter &rewriter) {
  RankedTensorType lhs = typeOf(op.getLhs()), rhs = typeOf(op.getRhs()), result = op.getType();
  if (!lhs.hasStaticShape() || !rhs.hasStaticShape() || !result.hasStaticShape() ||
      op.getAlgorithm())
    return rewriter.notifyMatchFailure(op, "a shape is dynamic, or the algorithm is specified");
  Type element = result.getElementType();
  if (lhs.getElementType() != element || rhs.getElementType() != element)
    return rewriter.notifyMatchFailure(op, "the operands have other element types than the result");
  DotDimensionNumbersAttr numbers = op.getDotDimensionNumbers();
  int64_t contracted = 1;
  for (int64_t dim : numbers.getLhsContractingDimensions())
    contracted *= lhs.getDimSize(static_cast<unsigned>(dim));
  auto lhsFree = freeDims(lhs.getRank(), numbers.getLhsBatchingDimensions(),
                          numbers.getLhsContractingDimensions());
  auto rhsFree = freeDims(rhs.getRank(), numbers.getRhsBatchingDimensions(),
                          numbers.getRhsContractingDimensions());
  int64_t rows = 1, columns = 1;
  for (int64_t dim : lhsFree)
    rows *= lhs.getDimSize(static_cast<unsigned>(dim));
  for (int64_t dim : rhsFree)
    columns *= rhs.getDimSize(static_cast<unsigned>(dim));

  const bool outer = contracted == 1;
  // Do not expand inner products of narrow floats, which the library accumulates in a wider type.
  const bool inner =
      rows == 1 && columns == 1 && contracted > 1 &&
      (element.isF32() || element.isF64() || element.isInteger(32) || element.isInteger(64));
  if (!outer && !inner)
    return rewriter.notifyMatchFailure(op, [&](Diagnostic &diag) {
      diag << "neither an outer product nor an inner product of 32 or 64 bits: " << rows << " x "
           << columns << " results of " << contracted << " terms in " << element;
    });

  // Broadcast both operands to [batch…, lhs free…, rhs free…, contracted…].
  const auto batch = static_cast<int64_t>(numbers.getLhsBatchingDimensions().size());
  const auto lhsCount = static_cast<int64_t>(lhsFree.size());
  SmallVector<int64_t> shape(result.getShape());
  for (int64_t dim : numbers.getLhsContractingDimensions())
    shape.push_back(lhs.getDimSize(static_cast<unsigned>(dim)));
  auto place = [&](RankedTensorType type, ArrayRef<int64_t> batching, ArrayRef<int64_t> free,
                   ArrayRef<int64_t> contracting, int64_t firstFree) {
    SmallVector<int64_t> dims(static_cast<size_t>(type.getRank()));
    for (auto [index, dim] : llvm::enumerate(batching))
      dims[static_cast<size_t>(dim)] = static_cast<int64_t>(index);
    for (auto [index, dim] : llvm::enumerate(free))
      dims[static_cast<size_t>(dim)] = firstFree + static_cast<int64_t>(index);
    for (auto [index, dim] : llvm::enumerate(contracting))
      dims[static_cast<size_t>(dim)] = result.getRank() + static_cast<int64_t>(index);
    return dims;
  };
  auto spread = [&](Value value, ArrayRef<int64_t> dims) -> Value {
    // `dims` need not be sorted: broadcast_in_dim accepts any order.
    return stablehlo::BroadcastInDimOp::create(rewriter, op.getLoc(),
                                               RankedTensorType::get(shape, element), value, dims);
  };
  Value a = spread(op.getLhs(), place(lhs, numbers.getLhsBatchingDimensions(), lhsFree,
                                      numbers.getLhsContractingDimensions(), batch));
  Value b = spread(op.getRhs(), place(rhs, numbers.getRhsBatchingDimensions(), rhsFree,
                                      numbers.getRhsContractingDimensions(), batch + lhsCount));
  Value product = stablehlo::MultiplyOp::create(rewriter, op.getLoc(), a.getType(), a, b);
  if (outer) {
    rewriter.replaceOp(op, reshapeTo(rewriter, op.getLoc(), product, result));
    return success();
  }
  auto scalar = RankedTensorType::get({}, element);
  Value zero = makeNumber(rewriter, op.getLoc(), scalar, 0);
  SmallVector<int64_t> dims;
  for (int64_t dim = result.getRank(); dim < static_cast<int64_t>(shape.size()); ++dim)
    dims.push_back(dim);
  auto reduce = stablehlo::ReduceOp::create(rewriter, op.getLoc(), TypeRange{result},
                                            ValueRange{product}, ValueRange{zero}, dims);
  {
    OpBuilder::InsertionGuard guard(rewriter);
    Block *body =
        rewriter.createBlock(&reduce.getBody(), {}, {scalar, scalar}, {op.getLoc(), op.getLoc()});
    Value sum = stablehlo::AddOp::create(rewriter, op.getLoc(), scalar, body->getArgument(0),
                                         body->getArgument(1));
    stablehlo::ReturnOp::create(rewriter, op.getLoc(), sum);
  }
  rewriter.replaceOp(op, reduce);
  return success();
}

/// Replaces a contraction over no elements by zero.
LogicalResult contractNothing(stablehlo::DotGeneralOp op, PatternRewriter &rewriter) {
  if (!isStatic(op.getLhs()) || !isStatic(op) || typeOf(op.getLhs()).getNumElements() != 0 ||
      !isa<IntegerType, FloatType, ComplexType>(op.getType().getElementType()))
    return rewriter.notifyMatchFailure(op, "it contracts elements, or a shape is dynamic");
  rewriter.replaceOp(op, makeNumber(rewriter, op.getLoc(), op.getType(), 0));
  return success();
}

/// Replaces a convolution that multiplies no elements by zero.
LogicalResult convolveNothing(stablehlo::ConvolutionOp op, PatternRewriter &rewriter) {
  if (!isStatic(op.getLhs()) || !isStatic(op.getRhs()) || !isStatic(op) ||
      (typeOf(op.getLhs()).getNumElements() != 0 && typeOf(op.getRhs()).getNumElements() != 0) ||
      !isa<IntegerType, FloatType, ComplexType>(typeOf(op).getElementType()))
    return rewriter.notifyMatchFailure(op, "it multiplies elements, or a shape is dynamic");
  rewriter.replaceOp(op, makeNumber(rewriter, op.getLoc(), typeOf(op), 0));
  return success();
}

} // namespace

bool multipliesPredicates(stablehlo::DotGeneralOp op) {
  return llvm::all_of(ArrayRef<Value>{op.getLhs(), op.getRhs(), op.getResult()}, [](Value value) {
    return typeOf(value) && typeOf(value).getElementType().isInteger(1) && isStatic(value);
  });
}

int kindOfNumber(Type element) {
  if (auto integer = dyn_cast<IntegerType>(element))
    return integer.getWidth() == 1 ? 0 : 1;
  return isa<FloatType>(element) ? 2 : isa<ComplexType>(element) ? 3 : -1;
}

unsigned widthOfNumber(Type element) {
  auto complex = dyn_cast<ComplexType>(element);
  return (complex ? complex.getElementType() : element).getIntOrFloatBitWidth();
}

void addProductPatterns(RewritePatternSet &patterns) {
  addPattern<stablehlo::DotGeneralOp>(patterns, "sumInOneKind", sumInOneKind);
  addPattern<stablehlo::ConvolutionOp>(patterns, "sumInOneKind", sumInOneKind);
  addPattern<stablehlo::DotGeneralOp>(patterns, "countPredicates", countPredicates);
  addPattern<stablehlo::DotGeneralOp>(patterns, "foldTransposedOperand", foldTransposedOperand);
  addPattern<stablehlo::TransposeOp>(patterns, "foldTransposedResult", foldTransposedResult);
  addPattern<stablehlo::DotGeneralOp>(patterns, "expandDegenerate", expandDegenerate);
  addPattern<stablehlo::DotGeneralOp>(patterns, "contractNothing", contractNothing);
  addPattern<stablehlo::ConvolutionOp>(patterns, "convolveNothing", convolveNothing);
}

} // namespace tilewright::simplify
