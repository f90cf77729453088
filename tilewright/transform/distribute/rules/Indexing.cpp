#include "tilewright/transform/distribute/Sharding.h"
#include "tilewright/transform/distribute/rules/Rules.h"

using namespace mlir;

namespace tilewright::distribute {

/// Whether positions in a dimension can be counted in i32, as local forms do.
static bool hasPositions(int64_t size) { return positionWidth(size) == 32; }

/// A loop over an indexed dimension of an operand that is read: each device contributes the
/// elements that it holds, and the contributions are added. No loops if the element type has no
/// neutral element.
static ShardingRule::Dim maskedLoop(ShardingRule &rule, Value operand, size_t dim) {
  StringRef combine = masksBy(getElementTypeOrSelf(operand));
  if (combine.empty() || !hasPositions(shapeOf(operand)[dim]))
    return {};
  return {rule.add(shapeOf(operand)[dim], LoopKind::reduced, combine)};
}

ShardingRule dynamicSliceRule(stablehlo::DynamicSliceOp op) {
  ShardingRule rule = emptyRule(op);
  rule.why = "slices";
  for (auto [dim, size] : llvm::enumerate(op.getSliceSizes()))
    // A slice of full size starts at 0, because the start index is clamped.
    if (shapeOf(op.getOperand())[dim] == size)
      rule.operands[0][dim] = rule.results[0][dim] = {rule.add(size)};
    else
      rule.operands[0][dim] = maskedLoop(rule, op.getOperand(), dim);
  return rule;
}

ShardingRule dynamicUpdateRule(stablehlo::DynamicUpdateSliceOp op) {
  ShardingRule rule = emptyRule(op);
  for (auto [dim, size] : llvm::enumerate(shapeOf(op.getResult()))) {
    // Every device needs the whole update and uses the part that falls into its shard.
    const bool isWhole = shapeOf(op.getUpdate())[dim] == size;
    if (!isWhole && !hasPositions(size))
      continue;
    rule.operands[0][dim] = rule.results[0][dim] = {rule.add(size)};
    if (isWhole)
      rule.operands[1][dim] = rule.operands[0][dim];
  }
  return rule;
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
  for (int64_t dim : numbers.getStartIndexMap())
    if (const auto at = static_cast<size_t>(dim); op.getSliceSizes()[at] == 1)
      operand[at] = maskedLoop(rule, op.getOperand(), at);
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
  stablehlo::ScatterDimensionNumbersAttr numbers = op.getScatterDimensionNumbers();
  const size_t count = op.getInputs().size();
  // All inputs, results and updates have the same shapes.
  ShardingRule::Dims operand(shapeOf(op.getInputs()[0]).size()),
      indices(shapeOf(op.getScatterIndices()).size()), updates(shapeOf(op.getUpdates()[0]).size());
  StringRef combine = count == 1 ? combinerOf(op.getUpdateComputation()) : StringRef();
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
      loops = indices[static_cast<size_t>(index)] = operand[from] = {rule.add(sizes[dim])};
    } else if (combines) {
      loops =
          indices[static_cast<size_t>(index)] = {rule.add(sizes[dim], LoopKind::reduced, combine)};
    }
  }
  size_t window = 0;
  for (size_t dim = 0; dim < operand.size(); ++dim) {
    const auto at = static_cast<int64_t>(dim);
    const int64_t size = shapeOf(op.getInputs()[0])[dim];
    if (llvm::is_contained(numbers.getInputBatchingDims(), at))
      continue;
    const bool isIndexed = llvm::is_contained(numbers.getScatterDimsToOperandDims(), at);
    const bool isPositioned = isIndexed && hasPositions(size);
    if (llvm::is_contained(numbers.getInsertedWindowDims(), at)) {
      // Each device skips the updates that are not in its shard.
      if (isPositioned)
        operand[dim] = {rule.add(size)};
      continue;
    }
    const auto from = static_cast<size_t>(numbers.getUpdateWindowDims()[window++]);
    if (isPositioned && sizes[from] == 1)
      operand[dim] = {rule.add(size)};
    else if (!isIndexed && sizes[from] == size)
      operand[dim] = updates[from] = {rule.add(size)};
  }
  for (size_t i = 0; i < count; ++i) {
    rule.operands[i] = rule.results[i] = operand;
    rule.operands[count + 1 + i] = updates;
  }
  rule.operands[count] = indices;
  return rule;
}

} // namespace tilewright::distribute
