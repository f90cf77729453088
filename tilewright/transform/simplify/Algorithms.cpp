// dot_general with an algorithm: expresses the algorithm by element types, where they suffice.
#include "tilewright/dialect/exec/Hint.h"
#include "tilewright/dialect/stablehlo/ops/LinearAlgebraOps.h"
#include "tilewright/dialect/stablehlo/ops/UnaryOps.h"
#include "tilewright/transform/ConvertTo.h"
#include "tilewright/transform/simplify/Constants.h"
#include "tilewright/transform/simplify/Patterns.h"

using namespace mlir;

namespace tilewright::simplify {
namespace {

/// The types in which a dot_general with one product computes: its operands are rounded to `lhs`
/// and `rhs`, and the sum is rounded to `sum`.
struct Arithmetic {
  Type lhs, rhs, sum;
  /// Whether the element types alone leave the arithmetic open: a target may multiply f32 in a
  /// narrower type, unless the algorithm requires f32.
  bool keepsAlgorithm;
};

/// The element type of tensors that hold elements of the algorithm's type. tf32 is stored as f32.
Type storageOf(Type precision) {
  return isa<FloatTF32Type>(precision) ? Float32Type::get(precision.getContext()) : precision;
}

std::optional<Arithmetic> arithmeticOf(stablehlo::DotGeneralOp op) {
  stablehlo::DotAlgorithmAttr algorithm = op.getAlgorithmAttr();
  if (!algorithm || algorithm.getLhsComponentCount() != 1 ||
      algorithm.getRhsComponentCount() != 1 || algorithm.getNumPrimitiveOperations() != 1)
    return std::nullopt;
  Type lhs = algorithm.getLhsPrecisionType(), rhs = algorithm.getRhsPrecisionType(),
       sum = algorithm.getAccumulationType();
  Type given[3] = {typeOf(op.getLhs()).getElementType(), typeOf(op.getRhs()).getElementType(),
                   typeOf(op).getElementType()};
  // Integers are never rounded, so their algorithm can only repeat the types of the op.
  if (lhs == given[0] && rhs == given[1] && sum == given[2] && !isa<FloatType>(lhs))
    return Arithmetic{lhs, rhs, sum, /*keepsAlgorithm=*/false};
  if (!llvm::all_of(ArrayRef{lhs, rhs, sum, given[0], given[1], given[2]},
                    [](Type type) { return isa<FloatType>(type); }) ||
      isa<FloatTF32Type>(sum))
    return std::nullopt;
  const bool isSingle = storageOf(lhs).isF32() || storageOf(rhs).isF32();
  if (isSingle && lhs != rhs)
    return std::nullopt;
  return Arithmetic{storageOf(lhs), storageOf(rhs), sum, isSingle};
}

/// Rounds the operands to the types of the algorithm and the result from its accumulation type, and
/// drops the algorithm if the types determine it. Only f32 and tf32 keep theirs.
LogicalResult spellAlgorithm(stablehlo::DotGeneralOp op, PatternRewriter &rewriter) {
  if (!hasUnspelledAlgorithm(op))
    return rewriter.notifyMatchFailure(
        op, "it has no algorithm, or one that its element types cannot express");
  const Arithmetic arithmetic = *arithmeticOf(op);
  auto convert = [&](Value value, Type element) {
    return convertTo(rewriter, op.getLoc(), value, element);
  };
  auto sums = stablehlo::DotGeneralOp::create(
      rewriter, op.getLoc(), typeOf(op).clone(arithmetic.sum), convert(op.getLhs(), arithmetic.lhs),
      convert(op.getRhs(), arithmetic.rhs), op.getDotDimensionNumbers(),
      op.getPrecisionConfigAttr(),
      arithmetic.keepsAlgorithm ? op.getAlgorithmAttr() : stablehlo::DotAlgorithmAttr());
  exec::copyHint(op, sums);
  rewriter.replaceOp(op, convert(sums, typeOf(op).getElementType()));
  return success();
}

} // namespace

bool hasUnspelledAlgorithm(stablehlo::DotGeneralOp op) {
  if (!typeOf(op.getLhs()) || !typeOf(op.getRhs()) || !typeOf(op.getResult()))
    return false;
  const std::optional<Arithmetic> arithmetic = arithmeticOf(op);
  return arithmetic &&
         (!arithmetic->keepsAlgorithm || typeOf(op.getLhs()).getElementType() != arithmetic->lhs ||
          typeOf(op.getRhs()).getElementType() != arithmetic->rhs ||
          typeOf(op.getResult()).getElementType() != arithmetic->sum);
}

void addAlgorithmPatterns(RewritePatternSet &patterns) {
  addPattern<stablehlo::DotGeneralOp>(patterns, "spellAlgorithm", spellAlgorithm);
}

} // namespace tilewright::simplify
