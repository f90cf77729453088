#include "tilewright/transform/distribute/rules/Rules.h"

using namespace mlir;

namespace tilewright::distribute {

static constexpr llvm::StringLiteral sum = "stablehlo.add";

static ShardingRule productRule(Operation *op, ArrayRef<int64_t> lhsBatch,
                                ArrayRef<int64_t> rhsBatch, ArrayRef<int64_t> lhsContracting,
                                ArrayRef<int64_t> rhsContracting) {
  ShardingRule rule = emptyRule(op);
  ShardingRule::Dims &lhs = rule.operands[0], &rhs = rule.operands[1], &result = rule.results[0];
  ArrayRef<int64_t> sizes = shapeOf(op->getOperand(0));
  size_t dim = 0;
  for (auto [one, other] : llvm::zip_equal(lhsBatch, rhsBatch))
    lhs[static_cast<size_t>(one)] = rhs[static_cast<size_t>(other)] =
        result[dim++] = {rule.add(sizes[static_cast<size_t>(one)])};
  for (auto [one, other] : llvm::zip_equal(lhsContracting, rhsContracting))
    lhs[static_cast<size_t>(one)] = rhs[static_cast<size_t>(other)] = {
        rule.add(sizes[static_cast<size_t>(one)], LoopKind::reduced, sum)};
  for (ShardingRule::Dims *side : {&lhs, &rhs})
    for (ShardingRule::Dim &loops : *side)
      if (loops.empty()) {
        loops = result[dim] = {rule.add(shapeOf(op->getResult(0))[dim])};
        ++dim;
      }
  return rule;
}

ShardingRule dotRule(stablehlo::DotOp op) {
  const auto last = static_cast<int64_t>(shapeOf(op.getLhs()).size()) - 1;
  return productRule(op, {}, {}, {last}, {0});
}

ShardingRule dotGeneralRule(stablehlo::DotGeneralOp op) {
  stablehlo::DotDimensionNumbersAttr numbers = op.getDotDimensionNumbers();
  return productRule(op, numbers.getLhsBatchingDimensions(), numbers.getRhsBatchingDimensions(),
                     numbers.getLhsContractingDimensions(), numbers.getRhsContractingDimensions());
}

ShardingRule convolutionRule(stablehlo::ConvolutionOp op) {
  ShardingRule rule = emptyRule(op);
  rule.why = "slides a window over or splits into groups";
  stablehlo::ConvDimensionNumbersAttr numbers = op.getDimensionNumbers();
  auto at = [](ShardingRule::Dims &dims, int64_t dim) -> ShardingRule::Dim & {
    return dims[static_cast<size_t>(dim)];
  };
  auto size = [](Value value, int64_t dim) { return shapeOf(value)[static_cast<size_t>(dim)]; };
  if (op.getBatchGroupCount() != 1)
    return rule;
  at(rule.operands[0], numbers.getInputBatchDimension()) =
      at(rule.results[0], numbers.getOutputBatchDimension()) = {
          rule.add(size(op.getResult(), numbers.getOutputBatchDimension()))};
  if (op.getFeatureGroupCount() != 1)
    return rule;
  at(rule.operands[1], numbers.getKernelOutputFeatureDimension()) =
      at(rule.results[0], numbers.getOutputFeatureDimension()) = {
          rule.add(size(op.getResult(), numbers.getOutputFeatureDimension()))};
  at(rule.operands[0], numbers.getInputFeatureDimension()) =
      at(rule.operands[1], numbers.getKernelInputFeatureDimension()) = {
          rule.add(size(op.getLhs(), numbers.getInputFeatureDimension()), LoopKind::reduced, sum)};
  return rule;
}

ShardingRule solveRule(Operation *op) {
  const auto rank = static_cast<int64_t>(shapeOf(op->getResult(0)).size());
  return keepingRule(op, "solves along", [&](int64_t dim) { return dim < rank - 2; });
}

ShardingRule fftRule(stablehlo::FftOp op) {
  const auto rank = static_cast<int64_t>(shapeOf(op.getResult()).size());
  const auto transformed = static_cast<int64_t>(op.getFftLength().size());
  return keepingRule(op, "transforms", [&](int64_t dim) { return dim < rank - transformed; });
}

} // namespace tilewright::distribute
