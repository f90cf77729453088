#include "tilewright/transform/distribute/rules/Rules.h"

#include <numeric>

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
  rule.why = "slides a window over";
  stablehlo::ConvDimensionNumbersAttr numbers = op.getDimensionNumbers();
  auto at = [](ShardingRule::Dims &dims, int64_t dim) -> ShardingRule::Dim & {
    return dims[static_cast<size_t>(dim)];
  };
  auto size = [](Value value, int64_t dim) { return shapeOf(value)[static_cast<size_t>(dim)]; };
  ShardingRule::Dim &batchIn = at(rule.operands[0], numbers.getInputBatchDimension()),
                    &featureIn = at(rule.operands[0], numbers.getInputFeatureDimension()),
                    &kernelIn = at(rule.operands[1], numbers.getKernelInputFeatureDimension()),
                    &kernelOut = at(rule.operands[1], numbers.getKernelOutputFeatureDimension()),
                    &batchOut = at(rule.results[0], numbers.getOutputBatchDimension()),
                    &featureOut = at(rule.results[0], numbers.getOutputFeatureDimension());
  // Groups are the outermost loop of the dimensions that they divide.
  const auto featureGroups = static_cast<int64_t>(op.getFeatureGroupCount()),
             batchGroups = static_cast<int64_t>(op.getBatchGroupCount());
  if (featureGroups * batchGroups > 1) {
    const int groups = rule.add(featureGroups * batchGroups);
    kernelOut = featureOut = {groups};
    (featureGroups > 1 ? featureIn : batchIn) = {groups};
  }
  auto share = [&](std::initializer_list<ShardingRule::Dim *> dims, int loop) {
    for (ShardingRule::Dim *dim : dims)
      dim->push_back(loop);
  };
  share({&batchIn, &batchOut}, rule.add(size(op.getResult(), numbers.getOutputBatchDimension())));
  share({&kernelOut, &featureOut},
        rule.add(size(op.getResult(), numbers.getOutputFeatureDimension()) /
                 (featureGroups * batchGroups)));
  share({&featureIn, &kernelIn},
        rule.add(size(op.getRhs(), numbers.getKernelInputFeatureDimension()), LoopKind::reduced,
                 sum));

  for (auto [in, kernel, out] :
       llvm::zip_equal(numbers.getInputSpatialDimensions(), numbers.getKernelSpatialDimensions(),
                       numbers.getOutputSpatialDimensions())) {
    const int64_t rows = size(op.getLhs(), in), taps = size(op.getRhs(), kernel),
                  windows = size(op.getResult(), out);
    if (rows <= 1 || taps == 0 || windows == 0)
      continue;
    // The gradient of a kernel slides one image over another: few windows with many taps, which
    // are summed. Both images are sharded, so the number of shards divides both sizes.
    if (windows >= taps)
      at(rule.operands[0], in) = at(rule.results[0], out) = {rule.add(windows, LoopKind::shifted)};
    else
      at(rule.operands[0], in) =
          at(rule.operands[1], kernel) = {rule.add(std::gcd(rows, taps), LoopKind::reduced, sum)};
  }
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
