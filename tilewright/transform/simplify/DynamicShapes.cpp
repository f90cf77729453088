// Replaces dynamic-shape ops whose shape operands are constant by static ones.
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/dialect/stablehlo/ops/DynamicShapeOps.h"
#include "tilewright/dialect/stablehlo/ops/IndexingOps.h"
#include "tilewright/dialect/stablehlo/ops/LinearAlgebraOps.h"
#include "tilewright/transform/simplify/Constants.h"
#include "tilewright/transform/simplify/Patterns.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;

namespace tilewright::simplify {
namespace {

/// Replaces `op` by a `Static` op with the shapes as attributes, unless these contradict its types,
/// which the verifier of `op` cannot detect because it does not see operand values. The target
/// rejects the ops that remain (E4004).
template <typename Static, typename Op, typename... Arguments>
LogicalResult replaceIfValid(Op op, PatternRewriter &rewriter, Arguments &&...arguments) {
  auto made = Static::create(rewriter, op.getLoc(), op.getType(), arguments...);
  std::string why;
  LogicalResult isValid = [&] {
    ScopedDiagnosticHandler quiet(op.getContext(), [&](Diagnostic &diagnostic) {
      why = diagnostic.str();
      return success();
    });
    return verify(made, /*verifyRecursively=*/false);
  }();
  if (failed(isValid)) {
    rewriter.eraseOp(made);
    return rewriter.notifyMatchFailure(op, Twine("the static op would be invalid: ") + why);
  }
  rewriter.replaceOp(op, made);
  return success();
}

LogicalResult sizeOfStatic(stablehlo::GetDimensionSizeOp op, PatternRewriter &rewriter) {
  RankedTensorType type = typeOf(op.getOperand());
  const auto dim = static_cast<unsigned>(op.getDimension());
  if (!type || type.isDynamicDim(dim))
    return rewriter.notifyMatchFailure(op, "the dimension is dynamic");
  rewriter.replaceOp(op, makeNumber(rewriter, op.getLoc(), op.getType(),
                                    static_cast<double>(type.getDimSize(dim))));
  return success();
}

LogicalResult setWholeSize(stablehlo::SetDimensionSizeOp op, PatternRewriter &rewriter) {
  std::optional<int64_t> size = integerOf(op.getSize());
  RankedTensorType type = typeOf(op.getOperand());
  const auto dim = static_cast<unsigned>(op.getDimension());
  if (!size || op.getType() != type || type.isDynamicDim(dim) || type.getDimSize(dim) != *size)
    return rewriter.notifyMatchFailure(
        op, "the size is not a constant that equals the static size of the dimension");
  rewriter.replaceOp(op, op.getOperand());
  return success();
}

LogicalResult staticBroadcast(stablehlo::DynamicBroadcastInDimOp op, PatternRewriter &rewriter) {
  if (!isStatic(op) || !isStatic(op.getOperand()))
    return rewriter.notifyMatchFailure(op, "the operand or the result has a dynamic shape");
  rewriter.replaceOpWithNewOp<stablehlo::BroadcastInDimOp>(op, op.getType(), op.getOperand(),
                                                           op.getBroadcastDimensions());
  return success();
}

LogicalResult staticReshape(stablehlo::DynamicReshapeOp op, PatternRewriter &rewriter) {
  if (!isStatic(op) || !isStatic(op.getOperand()))
    return rewriter.notifyMatchFailure(op, "the operand or the result has a dynamic shape");
  rewriter.replaceOpWithNewOp<stablehlo::ReshapeOp>(op, op.getType(), op.getOperand());
  return success();
}

LogicalResult staticIota(stablehlo::DynamicIotaOp op, PatternRewriter &rewriter) {
  if (!isStatic(op))
    return rewriter.notifyMatchFailure(op, "the result has a dynamic shape");
  rewriter.replaceOpWithNewOp<stablehlo::IotaOp>(op, op.getType(), op.getIotaDimension());
  return success();
}

LogicalResult staticPad(stablehlo::DynamicPadOp op, PatternRewriter &rewriter) {
  auto low = integersOf(op.getEdgePaddingLow()), high = integersOf(op.getEdgePaddingHigh()),
       interior = integersOf(op.getInteriorPadding());
  if (!low || !high || !interior || !isStatic(op) || !isStatic(op.getOperand()))
    return rewriter.notifyMatchFailure(op, "the padding is not constant, or a shape is dynamic");
  return replaceIfValid<stablehlo::PadOp>(op, rewriter, op.getOperand(), op.getPaddingValue(), *low,
                                          *high, *interior);
}

LogicalResult staticSlice(stablehlo::RealDynamicSliceOp op, PatternRewriter &rewriter) {
  auto starts = integersOf(op.getStartIndices()), limits = integersOf(op.getLimitIndices()),
       strides = integersOf(op.getStrides());
  if (!starts || !limits || !strides || !isStatic(op) || !isStatic(op.getOperand()))
    return rewriter.notifyMatchFailure(
        op, "the starts, limits and strides are not constant, or a shape is dynamic");
  return replaceIfValid<stablehlo::SliceOp>(op, rewriter, op.getOperand(), *starts, *limits,
                                            *strides);
}

LogicalResult staticGather(stablehlo::DynamicGatherOp op, PatternRewriter &rewriter) {
  auto sizes = integersOf(op.getSliceSizes());
  if (!sizes || !isStatic(op) || !isStatic(op.getOperand()) || !isStatic(op.getStartIndices()))
    return rewriter.notifyMatchFailure(op,
                                       "the slice sizes are not constant, or a shape is dynamic");
  return replaceIfValid<stablehlo::GatherOp>(op, rewriter, op.getOperand(), op.getStartIndices(),
                                             op.getDimensionNumbers(), *sizes,
                                             op.getIndicesAreSorted());
}

LogicalResult staticConvolution(stablehlo::DynamicConvOp op, PatternRewriter &rewriter) {
  auto padding = integersOf(op.getPadding());
  if (!padding || !isStatic(op) || !isStatic(op.getLhs()) || !isStatic(op.getRhs()))
    return rewriter.notifyMatchFailure(op, "the padding is not constant, or a shape is dynamic");
  auto type =
      RankedTensorType::get({static_cast<int64_t>(padding->size() / 2), 2}, rewriter.getI64Type());
  return replaceIfValid<stablehlo::ConvolutionOp>(
      op, rewriter, op.getLhs(), op.getRhs(), op.getWindowStridesAttr(),
      DenseIntElementsAttr::get(type, *padding), op.getLhsDilationAttr(), op.getRhsDilationAttr(),
      op.getWindowReversalAttr(), op.getDimensionNumbersAttr(), op.getFeatureGroupCountAttr(),
      op.getBatchGroupCountAttr(), op.getPrecisionConfigAttr());
}

} // namespace

void addDynamicShapePatterns(RewritePatternSet &patterns) {
  addPattern<stablehlo::GetDimensionSizeOp>(patterns, "sizeOfStatic", sizeOfStatic);
  addPattern<stablehlo::SetDimensionSizeOp>(patterns, "setWholeSize", setWholeSize);
  addPattern<stablehlo::DynamicBroadcastInDimOp>(patterns, "staticBroadcast", staticBroadcast);
  addPattern<stablehlo::DynamicReshapeOp>(patterns, "staticReshape", staticReshape);
  addPattern<stablehlo::DynamicIotaOp>(patterns, "staticIota", staticIota);
  addPattern<stablehlo::DynamicPadOp>(patterns, "staticPad", staticPad);
  addPattern<stablehlo::RealDynamicSliceOp>(patterns, "staticSlice", staticSlice);
  addPattern<stablehlo::DynamicGatherOp>(patterns, "staticGather", staticGather);
  addPattern<stablehlo::DynamicConvOp>(patterns, "staticConvolution", staticConvolution);
}

} // namespace tilewright::simplify
