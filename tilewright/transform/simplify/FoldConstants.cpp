// Folds ops with constant operands by evaluating them.
#include "tilewright/dialect/stablehlo/Collectives.h"
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/dialect/stablehlo/StablehloOps.h"
#include "tilewright/interpret/Types.h"
#include "tilewright/transform/simplify/Constants.h"
#include "tilewright/transform/simplify/Patterns.h"

using namespace mlir;

namespace tilewright::simplify {
namespace {

/// Whether an op is excluded because it is compact already, has side effects or control flow, or
/// depends on the rank or on other ranks.
bool isNeverFolded(Operation *op) {
  return stablehlo::isCollective(op) ||
         isa<stablehlo::ConstantOp, stablehlo::IotaOp, stablehlo::BroadcastInDimOp,
             stablehlo::BroadcastOp, stablehlo::OptimizationBarrierOp, stablehlo::CompositeOp,
             stablehlo::CustomCallOp, stablehlo::WhileOp, stablehlo::IfOp, stablehlo::CaseOp,
             stablehlo::PartitionIdOp, stablehlo::ReplicaIdOp, stablehlo::AsyncStartOp,
             stablehlo::AsyncDoneOp>(op);
}

bool isElementwise(Operation *op) {
  return op->hasTrait<OpTrait::Elementwise>() || isa<stablehlo::SelectOp, stablehlo::ClampOp>(op);
}

struct FoldConstants : RewritePattern {
  FoldConstants(MLIRContext *context, interpret::OpEvaluator &evaluator, int64_t maxElements,
                int64_t maxSteps)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/10, context), evaluator(evaluator),
        maxElements(maxElements), maxSteps(maxSteps) {
    setDebugName("FoldConstants");
    limits.maxSteps = maxSteps;
    limits.maxBytes = int64_t(64) << 20;
  }

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (op->getNumOperands() == 0 || op->getNumResults() == 0 ||
        !isa<stablehlo::StablehloDialect>(op->getDialect()) || isNeverFolded(op))
      return rewriter.notifyMatchFailure(op, "ops of this kind are never folded");
    // An elementwise op on splats yields splats, so it can be folded at any size.
    bool allSplats = true;
    for (Value operand : op->getOperands()) {
      if (Attribute splat = splatOf(operand); splat && isStatic(operand))
        continue;
      if (!constantOf(operand))
        return rewriter.notifyMatchFailure(op, "an operand is not constant");
      allSplats = false;
    }
    for (Value result : op->getResults())
      if (!isStatic(result))
        return rewriter.notifyMatchFailure(op, "a result has a dynamic shape");
    if (!isMemoryEffectFree(op))
      return rewriter.notifyMatchFailure(op, "it has side effects");
    if (allSplats && isElementwise(op) && op->getNumRegions() == 0)
      return foldSplats(op, rewriter);

    int64_t given = 0, made = 0;
    for (Value operand : op->getOperands()) {
      given += bytesOf(typeOf(operand));
      if (typeOf(operand).getNumElements() > maxSteps)
        return rewriter.notifyMatchFailure(
            op, Twine("an operand has ") + Twine(typeOf(operand).getNumElements()) +
                    " elements; simplify.max-fold-steps is " + Twine(maxSteps));
    }
    for (Value result : op->getResults()) {
      made += bytesOf(typeOf(result));
      if (typeOf(result).getNumElements() > maxElements)
        return rewriter.notifyMatchFailure(
            op, Twine("a result has ") + Twine(typeOf(result).getNumElements()) +
                    " elements; simplify.max-fold-elements is " + Twine(maxElements));
    }
    // A constant occupies memory, so do not fold an op whose results are much larger than its
    // operands.
    if (made > 2 * given + 512)
      return rewriter.notifyMatchFailure(op, Twine("the results would take ") + Twine(made) +
                                                 " bytes instead of the operands' " + Twine(given));

    interpret::Context context(limits);
    interpret::RuntimeValues operands;
    for (Value operand : op->getOperands()) {
      Result<interpret::Tensor> tensor = tensorOf(operand, context);
      if (!tensor.isOk())
        return giveUp(op, "an operand cannot be read", std::move(tensor).takeStatus(), rewriter);
      operands.emplace_back(*std::move(tensor));
    }
    Result<interpret::RuntimeValues> results = evaluator.evaluate(op, std::move(operands), limits);
    if (!results.isOk())
      return giveUp(op, "evaluation failed", std::move(results).takeStatus(), rewriter);
    return replaceWith(op, *results, rewriter);
  }

private:
  static LogicalResult giveUp(Operation *op, StringRef what, const Status &why,
                              PatternRewriter &rewriter) {
    return rewriter.notifyMatchFailure(op, Twine(what) + ": " + why.message());
  }

  static Result<interpret::Tensor> tensorOf(Value value, interpret::Context &context) {
    if (ElementsAttr elements = constantOf(value))
      return interpret::constantTensor(elements, context);
    RankedTensorType type = typeOf(value);
    Attribute splat = splatOf(value);
    if (isa<ArrayAttr>(splat))
      return Status(Code::unimplemented, "folding complex splats is not supported");
    return interpret::constantTensor(DenseElementsAttr::get(type, splat), context);
  }

  LogicalResult replaceWith(Operation *op, const interpret::RuntimeValues &values,
                            PatternRewriter &rewriter) const {
    SmallVector<DenseElementsAttr> constants;
    for (auto [result, value] : llvm::zip_equal(op->getResults(), values)) {
      DenseElementsAttr constant = interpret::attributeOf(value.tensor(), typeOf(result));
      if (!constant)
        return rewriter.notifyMatchFailure(op, "a result cannot be an attribute");
      constants.push_back(constant);
    }
    SmallVector<Value> replacements;
    for (DenseElementsAttr constant : constants) {
      auto type = cast<RankedTensorType>(constant.getType());
      if (constant.isSplat() && bytesOf(type) > maxSplatBytes)
        replacements.push_back(
            makeSplat(rewriter, op->getLoc(), type, *constant.getValues<Attribute>().begin()));
      else
        replacements.push_back(stablehlo::ConstantOp::create(rewriter, op->getLoc(), constant));
    }
    rewriter.replaceOp(op, replacements);
    return success();
  }

  /// Evaluates the op on scalars and makes splats of its results.
  LogicalResult foldSplats(Operation *op, PatternRewriter &rewriter) const {
    auto scalar = [](Type type) {
      return RankedTensorType::get({}, cast<RankedTensorType>(type).getElementType());
    };
    OperationState state(op->getLoc(), op->getName());
    interpret::Context context(limits);
    interpret::RuntimeValues operands;
    SmallVector<Operation *> constants;
    for (Value operand : op->getOperands()) {
      Attribute splat = splatOf(operand);
      DenseElementsAttr elements;
      if (auto parts = dyn_cast<ArrayAttr>(splat))
        elements = DenseElementsAttr::get(
            scalar(operand.getType()),
            ArrayRef(std::complex<APFloat>(cast<FloatAttr>(parts[0]).getValue(),
                                           cast<FloatAttr>(parts[1]).getValue())));
      else
        elements = DenseElementsAttr::get(scalar(operand.getType()), splat);
      Result<interpret::Tensor> tensor = interpret::constantTensor(elements, context);
      if (!tensor.isOk())
        return giveUp(op, "an operand cannot be read", std::move(tensor).takeStatus(), rewriter);
      operands.emplace_back(*std::move(tensor));
    }
    // Build a detached scalar copy of the op, whose operands are detached constants.
    OpBuilder detached(op->getContext());
    for (const interpret::RuntimeValue &operand : operands) {
      auto type = RankedTensorType::get(
          {}, typeOf(op->getOperand(static_cast<unsigned>(constants.size()))).getElementType());
      auto elements = interpret::attributeOf(operand.tensor(), type);
      if (!elements) {
        for (Operation *constant : constants)
          constant->destroy();
        return rewriter.notifyMatchFailure(op, "an operand cannot be an attribute");
      }
      constants.push_back(stablehlo::ConstantOp::create(detached, op->getLoc(), elements));
      state.addOperands(constants.back()->getResult(0));
    }
    for (Type type : op->getResultTypes())
      state.addTypes(scalar(type));
    state.addAttributes(op->getAttrs());
    Operation *twin = Operation::create(state);
    Result<interpret::RuntimeValues> results =
        evaluator.evaluate(twin, std::move(operands), limits);
    twin->destroy();
    for (Operation *constant : constants)
      constant->destroy();
    if (!results.isOk())
      return giveUp(op, "evaluation failed", std::move(results).takeStatus(), rewriter);
    SmallVector<Value> replacements;
    for (auto [result, value] : llvm::zip_equal(op->getResults(), *results)) {
      DenseElementsAttr constant =
          interpret::attributeOf(value.tensor(), cast<RankedTensorType>(scalar(result.getType())));
      if (!constant)
        return rewriter.notifyMatchFailure(op, "a result cannot be an attribute");
      replacements.push_back(makeSplat(rewriter, op->getLoc(), typeOf(result),
                                       *constant.getValues<Attribute>().begin()));
    }
    rewriter.replaceOp(op, replacements);
    return success();
  }

  interpret::OpEvaluator &evaluator;
  const int64_t maxElements, maxSteps;
  InterpretOptions limits;
};

/// Turns a large splat constant into a broadcast of a scalar.
LogicalResult chooseSplatForm(stablehlo::ConstantOp op, PatternRewriter &rewriter) {
  auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
  RankedTensorType type = op.getType();
  if (!elements || !elements.isSplat() || type.getRank() == 0 || bytesOf(type) <= maxSplatBytes ||
      !isa<IntegerType, FloatType, ComplexType>(type.getElementType()))
    return rewriter.notifyMatchFailure(op, Twine("it is not a splat of numbers of more than ") +
                                               Twine(maxSplatBytes) + " bytes");
  rewriter.replaceOp(op, makeSplat(rewriter, op.getLoc(), type, splatOf(op)));
  return success();
}

LogicalResult foldSmallBroadcast(stablehlo::BroadcastInDimOp op, PatternRewriter &rewriter) {
  if (!isStatic(op) || bytesOf(op.getType()) > maxSplatBytes)
    return rewriter.notifyMatchFailure(op, Twine("the result is dynamic or takes more than ") +
                                               Twine(maxSplatBytes) + " bytes");
  Attribute splat = splatOf(op.getOperand());
  if (!splat)
    return rewriter.notifyMatchFailure(op, "the operand is not a splat");
  rewriter.replaceOp(op, makeSplat(rewriter, op.getLoc(), op.getType(), splat));
  return success();
}

} // namespace

void addFoldPatterns(RewritePatternSet &patterns, interpret::OpEvaluator &evaluator,
                     int64_t maxElements, int64_t maxSteps) {
  addPattern<stablehlo::ConstantOp>(patterns, "chooseSplatForm", chooseSplatForm);
  addPattern<stablehlo::BroadcastInDimOp>(patterns, "foldSmallBroadcast", foldSmallBroadcast);
  if (maxElements > 0)
    patterns.add<FoldConstants>(patterns.getContext(), evaluator, maxElements, maxSteps);
}

} // namespace tilewright::simplify
