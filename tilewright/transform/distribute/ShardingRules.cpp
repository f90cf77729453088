#include "tilewright/transform/distribute/ShardingRules.h"

#include "tilewright/dialect/stablehlo/ops/BinaryOps.h"
#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/transform/distribute/rules/Rules.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright::distribute {

bool passesOn(Operation *op) {
  if (isa<stablehlo::OptimizationBarrierOp>(op))
    return true;
  auto call = dyn_cast<stablehlo::CustomCallOp>(op);
  if (!call || call->getOperandTypes() != call->getResultTypes())
    return false;
  StringRef target = call.getCallTargetName();
  return target == "Sharding" || target == "LayoutConstraint" ||
         target == "annotate_device_placement" || target == "MoveToHost" ||
         target == "MoveToDevice";
}

std::optional<ShardingRule> shardingRuleOf(Operation *op) {
  if (std::optional<ShardingRule> rule = callbackRule(op))
    return rule;
  if (op->getNumResults() == 0 || !llvm::all_of(op->getOperandTypes(), isPlainTensor) ||
      !llvm::all_of(op->getResultTypes(), isPlainTensor))
    return std::nullopt;
  if (op->getNumOperands() > 0)
    for (auto ruleOf : {batchedCallRule, customRule})
      if (std::optional<ShardingRule> rule = ruleOf(op))
        return rule;
  using Rule = std::optional<ShardingRule>;
  return llvm::TypeSwitch<Operation *, Rule>(op)
      .Case<stablehlo::SelectOp, stablehlo::ClampOp, stablehlo::MapOp, stablehlo::IotaOp>(
          [](Operation *op) { return elementwiseRule(op); })
      .Case([](stablehlo::ConstantOp op) -> Rule {
        if (!op.getValue().isSplat())
          return std::nullopt;
        return elementwiseRule(op);
      })
      .Case([](stablehlo::CompositeOp op) { return compositeRule(op); })
      .Case([](stablehlo::BitcastConvertOp op) { return bitcastRule(op); })
      .Case([](stablehlo::BroadcastInDimOp op) { return broadcastRule(op); })
      .Case([](stablehlo::ReshapeOp op) { return reshapeRule(op); })
      .Case([](stablehlo::TransposeOp op) { return transposeRule(op); })
      .Case([](stablehlo::ReverseOp op) { return reverseRule(op); })
      .Case([](stablehlo::ConcatenateOp op) { return concatenateRule(op); })
      .Case([](stablehlo::CustomCallOp op) { return foldedSlicesRule(op); })
      .Case([](stablehlo::RngBitGeneratorOp op) { return randomBitsRule(op); })
      .Case([](stablehlo::SliceOp op) { return sliceRule(op); })
      .Case([](stablehlo::PadOp op) { return padRule(op); })
      .Case([](stablehlo::SortOp op) { return sortRule(op); })
      .Case([](stablehlo::ReduceOp op) { return reduceRule(op); })
      .Case([](stablehlo::ReduceWindowOp op) { return reduceWindowRule(op); })
      .Case([](stablehlo::SelectAndScatterOp op) { return selectAndScatterRule(op); })
      .Case([](stablehlo::DynamicSliceOp op) { return dynamicSliceRule(op); })
      .Case([](stablehlo::DynamicUpdateSliceOp op) { return dynamicUpdateRule(op); })
      .Case([](stablehlo::GatherOp op) { return gatherRule(op); })
      .Case([](stablehlo::ScatterOp op) { return scatterRule(op); })
      .Case([](stablehlo::DotGeneralOp op) { return dotGeneralRule(op); })
      .Case([](stablehlo::DotOp op) { return dotRule(op); })
      .Case([](stablehlo::ConvolutionOp op) { return convolutionRule(op); })
      .Case([](stablehlo::FftOp op) { return fftRule(op); })
      .Case<stablehlo::CholeskyOp, stablehlo::TriangularSolveOp>(
          [](Operation *op) { return solveRule(op); })
      .Default([](Operation *op) -> Rule {
        if (op->hasTrait<OpTrait::Elementwise>() && op->getNumResults() == 1 &&
            llvm::all_of(op->getOperands(), [&](Value operand) {
              return shapeOf(operand) == shapeOf(op->getResult(0));
            }))
          return elementwiseRule(op);
        return std::nullopt;
      });
}

} // namespace tilewright::distribute
