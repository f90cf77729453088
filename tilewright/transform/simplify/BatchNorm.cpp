// Expands batch_norm_* into elementwise ops and sums over all dimensions but one.
#include "tilewright/dialect/stablehlo/ops/BinaryOps.h"
#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/dialect/stablehlo/ops/LinearAlgebraOps.h"
#include "tilewright/dialect/stablehlo/ops/ReductionOps.h"
#include "tilewright/dialect/stablehlo/ops/UnaryOps.h"
#include "tilewright/transform/simplify/Constants.h"
#include "tilewright/transform/simplify/Patterns.h"

using namespace mlir;

namespace tilewright::simplify {
namespace {

/// Builds the arithmetic of one batch_norm. Narrower types are computed in f32 and rounded at the
/// end.
class Norm {
public:
  Norm(Operation *op, Value operand, int64_t feature, APFloat epsilon, PatternRewriter &rewriter)
      : rewriter(rewriter), location(op->getLoc()), feature(feature) {
    original = typeOf(operand).getElementType();
    element = original.getIntOrFloatBitWidth() < 32 ? rewriter.getF32Type() : original;
    full = RankedTensorType::get(typeOf(operand).getShape(), element);
    vector = RankedTensorType::get({full.getDimSize(static_cast<unsigned>(feature))}, element);
    bool lost = false;
    epsilon.convert(cast<FloatType>(element).getFloatSemantics(), APFloat::rmNearestTiesToEven,
                    &lost);
    this->epsilon = makeSplat(rewriter, location, vector, FloatAttr::get(element, epsilon));
  }

  Value widened(Value value) { return converted(value, element); }
  Value narrowed(Value value) { return converted(value, original); }

  template <typename Op> Value binary(Value a, Value b) {
    return Op::create(rewriter, location, a.getType(), a, b);
  }
  Value add(Value a, Value b) { return binary<stablehlo::AddOp>(a, b); }
  Value subtract(Value a, Value b) { return binary<stablehlo::SubtractOp>(a, b); }
  Value multiply(Value a, Value b) { return binary<stablehlo::MultiplyOp>(a, b); }
  Value divide(Value a, Value b) { return binary<stablehlo::DivideOp>(a, b); }

  /// Broadcasts one value per feature to all elements.
  Value spread(Value vectorValue) {
    return stablehlo::BroadcastInDimOp::create(rewriter, location, full, vectorValue,
                                               ArrayRef<int64_t>{feature});
  }
  Value deviation(Value variance) {
    Value shifted = add(variance, epsilon);
    return stablehlo::SqrtOp::create(rewriter, location, vector, shifted, nullptr);
  }
  Value shiftedVariance(Value variance) { return add(variance, epsilon); }
  /// The number of elements per feature.
  Value count() {
    return makeNumber(rewriter, location, vector,
                      static_cast<double>(full.getNumElements() / vector.getNumElements()));
  }
  /// The sum over all elements of each feature.
  Value sum(Value value) {
    auto scalar = RankedTensorType::get({}, element);
    Value zero = makeNumber(rewriter, location, scalar, 0);
    SmallVector<int64_t> dims;
    for (int64_t dim = 0; dim < full.getRank(); ++dim)
      if (dim != feature)
        dims.push_back(dim);
    auto reduce = stablehlo::ReduceOp::create(rewriter, location, TypeRange{vector},
                                              ValueRange{value}, ValueRange{zero}, dims);
    OpBuilder::InsertionGuard guard(rewriter);
    Block *body =
        rewriter.createBlock(&reduce.getBody(), {}, {scalar, scalar}, {location, location});
    Value total = stablehlo::AddOp::create(rewriter, location, scalar, body->getArgument(0),
                                           body->getArgument(1));
    stablehlo::ReturnOp::create(rewriter, location, total);
    return reduce.getResult(0);
  }
  Value normalized(Value operand, Value scale, Value offset, Value mean, Value variance) {
    Value centred = subtract(operand, spread(mean));
    Value scaled = divide(centred, spread(deviation(variance)));
    return add(multiply(spread(scale), scaled), spread(offset));
  }
  bool isEmpty() const { return full.getNumElements() == 0; }

private:
  Value converted(Value value, Type to) {
    RankedTensorType type = typeOf(value);
    if (type.getElementType() == to)
      return value;
    return stablehlo::ConvertOp::create(rewriter, location, type.clone(to), value);
  }

  PatternRewriter &rewriter;
  Location location;
  int64_t feature;
  Type original, element;
  RankedTensorType full, vector;
  Value epsilon;
};

/// Excludes quantized and dynamic operands, and empty ones, for which the mean would divide by
/// zero.
bool isExpandable(Operation *op) {
  return llvm::all_of(op->getOperands(), [](Value value) {
    return isStatic(value) && isFloat(value) && typeOf(value).getNumElements() > 0;
  });
}

LogicalResult expandInference(stablehlo::BatchNormInferenceOp op, PatternRewriter &rewriter) {
  if (!isExpandable(op))
    return rewriter.notifyMatchFailure(op, "an operand is dynamic, empty or not floating-point");
  Norm norm(op, op.getOperand(), op.getFeatureIndex(), op.getEpsilon(), rewriter);
  Value result = norm.normalized(norm.widened(op.getOperand()), norm.widened(op.getScale()),
                                 norm.widened(op.getOffset()), norm.widened(op.getMean()),
                                 norm.widened(op.getVariance()));
  rewriter.replaceOp(op, norm.narrowed(result));
  return success();
}

LogicalResult expandTraining(stablehlo::BatchNormTrainingOp op, PatternRewriter &rewriter) {
  if (!isExpandable(op))
    return rewriter.notifyMatchFailure(op, "an operand is dynamic, empty or not floating-point");
  Norm norm(op, op.getOperand(), op.getFeatureIndex(), op.getEpsilon(), rewriter);
  Value x = norm.widened(op.getOperand());
  Value mean = norm.divide(norm.sum(x), norm.count());
  Value centred = norm.subtract(x, norm.spread(mean));
  Value variance = norm.divide(norm.sum(norm.multiply(centred, centred)), norm.count());
  Value output =
      norm.normalized(x, norm.widened(op.getScale()), norm.widened(op.getOffset()), mean, variance);
  rewriter.replaceOp(op, {norm.narrowed(output), norm.narrowed(mean), norm.narrowed(variance)});
  return success();
}

LogicalResult expandGrad(stablehlo::BatchNormGradOp op, PatternRewriter &rewriter) {
  if (!isExpandable(op))
    return rewriter.notifyMatchFailure(op, "an operand is dynamic, empty or not floating-point");
  Norm norm(op, op.getOperand(), op.getFeatureIndex(), op.getEpsilon(), rewriter);
  Value x = norm.widened(op.getOperand()), scale = norm.widened(op.getScale());
  Value mean = norm.widened(op.getMean()), variance = norm.widened(op.getVariance());
  Value dy = norm.widened(op.getGradOutput());
  Value centred = norm.subtract(x, norm.spread(mean));
  Value deviation = norm.deviation(variance);
  Value sum = norm.sum(dy), weighted = norm.sum(norm.multiply(dy, centred));
  // scale / deviation / n * (dy * n - sum - centred * weighted / (variance + epsilon))
  Value count = norm.count();
  Value slope = norm.divide(weighted, norm.shiftedVariance(variance));
  Value rest = norm.subtract(norm.subtract(norm.multiply(dy, norm.spread(count)), norm.spread(sum)),
                             norm.multiply(centred, norm.spread(slope)));
  Value factor = norm.divide(norm.divide(scale, deviation), count);
  Value gradOperand = norm.multiply(norm.spread(factor), rest);
  rewriter.replaceOp(op, {norm.narrowed(gradOperand),
                          norm.narrowed(norm.divide(weighted, deviation)), norm.narrowed(sum)});
  return success();
}

} // namespace

void addBatchNormPatterns(RewritePatternSet &patterns) {
  addPattern<stablehlo::BatchNormInferenceOp>(patterns, "expandInference", expandInference);
  addPattern<stablehlo::BatchNormTrainingOp>(patterns, "expandTraining", expandTraining);
  addPattern<stablehlo::BatchNormGradOp>(patterns, "expandGrad", expandGrad);
}

} // namespace tilewright::simplify
