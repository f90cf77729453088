// Moves elementwise ops before the reshape or broadcast of their operands, where they compute fewer
// elements and become adjacent to other elementwise ops.
#include "tilewright/dialect/stablehlo/ops/BinaryOps.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/transform/simplify/Constants.h"
#include "tilewright/transform/simplify/Patterns.h"

#include "mlir/IR/OpDefinition.h"

using namespace mlir;

namespace tilewright::simplify {
namespace {

/// Matches an elementwise op whose operands are splats or results of equal `Movement` ops.
template <typename Movement> struct SinkBelow : RewritePattern {
  explicit SinkBelow(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context) {
    setDebugName(std::is_same_v<Movement, stablehlo::ReshapeOp> ? "SinkBelowReshape"
                                                                : "SinkBelowBroadcast");
  }

  /// Whether two movements map the same source shape in the same way.
  static bool alike(stablehlo::ReshapeOp a, stablehlo::ReshapeOp b) {
    return typeOf(a.getOperand()).getShape() == typeOf(b.getOperand()).getShape();
  }
  static bool alike(stablehlo::BroadcastInDimOp a, stablehlo::BroadcastInDimOp b) {
    return typeOf(a.getOperand()).getShape() == typeOf(b.getOperand()).getShape() &&
           a.getBroadcastDimensions() == b.getBroadcastDimensions();
  }
  static Value movedLike(stablehlo::ReshapeOp, Value value, RankedTensorType type,
                         PatternRewriter &rewriter) {
    return stablehlo::ReshapeOp::create(rewriter, value.getLoc(), type, value);
  }
  static Value movedLike(stablehlo::BroadcastInDimOp like, Value value, RankedTensorType type,
                         PatternRewriter &rewriter) {
    return stablehlo::BroadcastInDimOp::create(rewriter, value.getLoc(), type, value,
                                               like.getBroadcastDimensions());
  }

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!op->hasTrait<OpTrait::Elementwise>() && !isa<stablehlo::SelectOp, stablehlo::ClampOp>(op))
      return rewriter.notifyMatchFailure(op, "it is not elementwise");
    if (op->getNumResults() != 1 || op->getNumRegions() != 0 || !isStatic(op->getResult(0)))
      return rewriter.notifyMatchFailure(op, "it has regions, several results or a dynamic shape");
    Movement movement;
    for (Value operand : op->getOperands()) {
      if (!isStatic(operand) || typeOf(operand).getShape() != typeOf(op->getResult(0)).getShape())
        return rewriter.notifyMatchFailure(
            op, "the shape of an operand differs from that of the result");
      if (splatOf(operand))
        continue;
      auto next = operand.getDefiningOp<Movement>();
      if (!next || !isStatic(next.getOperand()) || (movement && !alike(movement, next)))
        return rewriter.notifyMatchFailure(op, Twine("an operand is neither a splat nor a ") +
                                                   Movement::getOperationName() +
                                                   " like the others");
      movement = next;
    }
    if (!movement)
      return rewriter.notifyMatchFailure(op, "all operands are splats");
    RankedTensorType source = typeOf(movement.getOperand());
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      if (Attribute splat = splatOf(operand))
        operands.push_back(makeSplat(rewriter, op->getLoc(),
                                     source.clone(typeOf(operand).getElementType()), splat));
      else
        operands.push_back(operand.getDefiningOp<Movement>().getOperand());
    }
    RankedTensorType type = typeOf(op->getResult(0));
    OperationState state(op->getLoc(), op->getName(), operands,
                         TypeRange{source.clone(type.getElementType())}, op->getAttrs());
    Operation *inner = rewriter.create(state);
    rewriter.replaceOp(op, movedLike(movement, inner->getResult(0), type, rewriter));
    return success();
  }
};

} // namespace

void addSinkPatterns(RewritePatternSet &patterns) {
  patterns.add<SinkBelow<stablehlo::ReshapeOp>, SinkBelow<stablehlo::BroadcastInDimOp>>(
      patterns.getContext());
}

} // namespace tilewright::simplify
