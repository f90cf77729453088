#include "tilewright/transform/distribute/rules/Rules.h"

using namespace mlir;

namespace tilewright::distribute {

ShardingRule dynamicSliceRule(stablehlo::DynamicSliceOp op) {
  // A slice of full size starts at 0, because the start index is clamped.
  return keepingRule(op, "slices", [&](int64_t dim) {
    const auto at = static_cast<size_t>(dim);
    return shapeOf(op.getOperand())[at] == op.getSliceSizes()[at];
  });
}

ShardingRule dynamicUpdateRule(stablehlo::DynamicUpdateSliceOp op) {
  return keepingRule(op, "updates a part of", [&](int64_t dim) {
    const auto at = static_cast<size_t>(dim);
    return shapeOf(op.getOperand())[at] == shapeOf(op.getUpdate())[at];
  });
}

ShardingRule gatherRule(stablehlo::GatherOp op) {
  ShardingRule rule = emptyRule(op);
  rule.why = "gathers from";
  stablehlo::GatherDimensionNumbersAttr numbers = op.getDimensionNumbers();
  ShardingRule::Dims &operand = rule.operands[0], &indices = rule.operands[1],
                     &result = rule.results[0];
  // Batch dimensions of the result are those of the indices, in order.
  size_t next = 0;
  for (auto [dim, loops] : llvm::enumerate(result))
    if (!llvm::is_contained(numbers.getOffsetDims(), static_cast<int64_t>(dim))) {
      if (static_cast<int64_t>(next) == numbers.getIndexVectorDim())
        ++next;
      loops = indices[next++] = {rule.add(shapeOf(op.getResult())[dim])};
    }
  for (auto [from, index] :
       llvm::zip_equal(numbers.getOperandBatchingDims(), numbers.getStartIndicesBatchingDims()))
    operand[static_cast<size_t>(from)] = indices[static_cast<size_t>(index)];
  // Window dimensions of the result are those of the operand that are not collapsed, in order.
  size_t offset = 0;
  for (size_t dim = 0; dim < operand.size(); ++dim) {
    const auto at = static_cast<int64_t>(dim);
    if (llvm::is_contained(numbers.getCollapsedSliceDims(), at) ||
        llvm::is_contained(numbers.getOperandBatchingDims(), at))
      continue;
    const auto into = static_cast<size_t>(numbers.getOffsetDims()[offset++]);
    if (op.getSliceSizes()[dim] == shapeOf(op.getOperand())[dim] &&
        !llvm::is_contained(numbers.getStartIndexMap(), at))
      operand[dim] = result[into] = {rule.add(op.getSliceSizes()[dim])};
  }
  return rule;
}

ShardingRule scatterRule(stablehlo::ScatterOp op) {
  ShardingRule rule = emptyRule(op);
  rule.why = "scatters along";
  if (op.getInputs().size() != 1)
    return rule;
  stablehlo::ScatterDimensionNumbersAttr numbers = op.getScatterDimensionNumbers();
  ShardingRule::Dims &operand = rule.operands[0], &indices = rule.operands[1],
                     &updates = rule.operands[2], &result = rule.results[0];
  StringRef combine = combinerOf(op.getUpdateComputation());
  const bool combines = !combine.empty() && isNeutral(op.getInputs()[0], combine);
  ArrayRef<int64_t> sizes = shapeOf(op.getUpdates()[0]);
  size_t next = 0;
  for (auto [dim, loops] : llvm::enumerate(updates)) {
    if (llvm::is_contained(numbers.getUpdateWindowDims(), static_cast<int64_t>(dim)))
      continue;
    if (static_cast<int64_t>(next) == numbers.getIndexVectorDim())
      ++next;
    const auto index = static_cast<int64_t>(next++);
    const auto *batching = llvm::find(numbers.getScatterIndicesBatchingDims(), index);
    if (batching != numbers.getScatterIndicesBatchingDims().end()) {
      const auto from = static_cast<size_t>(numbers.getInputBatchingDims()[static_cast<size_t>(
          batching - numbers.getScatterIndicesBatchingDims().begin())]);
      loops = indices[static_cast<size_t>(index)] = operand[from] =
          result[from] = {rule.add(sizes[dim])};
    } else if (combines) {
      loops =
          indices[static_cast<size_t>(index)] = {rule.add(sizes[dim], LoopKind::reduced, combine)};
    }
  }
  size_t window = 0;
  for (size_t dim = 0; dim < operand.size(); ++dim) {
    const auto at = static_cast<int64_t>(dim);
    if (llvm::is_contained(numbers.getInsertedWindowDims(), at) ||
        llvm::is_contained(numbers.getInputBatchingDims(), at))
      continue;
    const auto from = static_cast<size_t>(numbers.getUpdateWindowDims()[window++]);
    if (sizes[from] == shapeOf(op.getInputs()[0])[dim] &&
        !llvm::is_contained(numbers.getScatterDimsToOperandDims(), at))
      operand[dim] = result[dim] = updates[from] = {rule.add(sizes[from])};
  }
  return rule;
}

} // namespace tilewright::distribute
