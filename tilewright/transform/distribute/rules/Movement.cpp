#include "tilewright/transform/distribute/FoldSlices.h"
#include "tilewright/transform/distribute/rules/Rules.h"

#include <algorithm>
#include <numeric>

using namespace mlir;

namespace tilewright::distribute {

ShardingRule bitcastRule(stablehlo::BitcastConvertOp op) {
  ShardingRule rule = emptyRule(op);
  // The innermost dimension is added or removed if the element types differ in size.
  const size_t shared = std::min(rule.operands[0].size(), rule.results[0].size());
  for (size_t dim = 0; dim < shared; ++dim)
    rule.operands[0][dim] = rule.results[0][dim] = {rule.add(shapeOf(op.getResult())[dim])};
  return rule;
}

ShardingRule broadcastRule(stablehlo::BroadcastInDimOp op) {
  ShardingRule rule = emptyRule(op);
  ArrayRef<int64_t> from = shapeOf(op.getOperand()), to = shapeOf(op.getResult());
  for (auto [dim, size] : llvm::zip_equal(rule.results[0], to))
    dim = {rule.add(size)};
  for (auto [dim, into] : llvm::enumerate(op.getBroadcastDimensions()))
    if (from[dim] == to[static_cast<size_t>(into)])
      rule.operands[0][dim] = rule.results[0][static_cast<size_t>(into)];
  return rule;
}

/// Walks both shapes from the outermost dimension and gives each common factor a loop: 6x4 and 3x8
/// have loops of 3, 2 and 4. Where the next factors have no common divisor, as in 6x4 and 8x3 after
/// a loop of 2, the rest of the group of dimensions with the same number of elements is in no loop.
ShardingRule reshapeRule(stablehlo::ReshapeOp op) {
  ShardingRule rule = emptyRule(op);
  rule.why = "merges or splits";
  ArrayRef<int64_t> from = shapeOf(op.getOperand()), to = shapeOf(op.getResult());
  if (llvm::is_contained(from, 0))
    return rule;
  size_t i = 0, j = 0;
  int64_t left = 1, right = 1; // what remains of dimensions i - 1 and j - 1
  while (true) {
    while (left == 1 && i < from.size())
      left = from[i++];
    while (right == 1 && j < to.size())
      right = to[j++];
    if (left == 1 || right == 1)
      return rule;
    const int64_t shared = std::gcd(left, right);
    if (shared > 1) {
      const int loop = rule.add(shared);
      rule.operands[0][i - 1].push_back(loop);
      rule.results[0][j - 1].push_back(loop);
      left /= shared;
      right /= shared;
      continue;
    }
    while (left != right) {
      if (left < right)
        left *= from[i++];
      else
        right *= to[j++];
    }
    left = right = 1;
  }
}

ShardingRule transposeRule(stablehlo::TransposeOp op) {
  ShardingRule rule = emptyRule(op);
  for (auto [dim, from] : llvm::enumerate(op.getPermutation()))
    rule.results[0][dim] =
        rule.operands[0][static_cast<size_t>(from)] = {rule.add(shapeOf(op.getResult())[dim])};
  return rule;
}

ShardingRule reverseRule(stablehlo::ReverseOp op) {
  return keepingRule(
      op, "reverses", [&](int64_t dim) { return !llvm::is_contained(op.getDimensions(), dim); },
      LoopKind::shifted);
}

ShardingRule concatenateRule(stablehlo::ConcatenateOp op) {
  return keepingRule(
      op, "concatenates",
      [&](int64_t dim) { return dim != static_cast<int64_t>(op.getDimension()); },
      LoopKind::shifted);
}

std::optional<ShardingRule> foldedSlicesRule(stablehlo::CustomCallOp op) {
  const std::optional<FoldedSlices> folded = FoldedSlices::of(op);
  if (!folded)
    return std::nullopt;
  return keepingRule(
      op, "concatenates", [&](int64_t dim) { return dim != folded->dim; }, LoopKind::shifted);
}

/// The op that returns a value when it combines the value with a zero of this type; empty if none
/// is known.
static StringRef keepsBesideZero(Type element) {
  if (element.isInteger(1))
    return "stablehlo.or";
  if (auto complex = dyn_cast<ComplexType>(element))
    element = complex.getElementType();
  return element.isF32() || element.isF64() || element.isF16() || element.isBF16() ||
                 element.isIntOrIndex()
             ? "stablehlo.add"
             : "";
}

ShardingRule sliceRule(stablehlo::SliceOp op) {
  ArrayRef<int64_t> from = shapeOf(op.getOperand()), to = shapeOf(op.getResult());
  ShardingRule rule = keepingRule(
      op, "slices",
      [&](int64_t dim) {
        const auto at = static_cast<size_t>(dim);
        return op.getStrides()[at] == 1 && from[at] == to[at];
      },
      LoopKind::shifted);
  // An odd number of rows is rarely divisible. If it sends less than all rows, the devices that
  // hold the rows add them to the other devices' by a sum.
  if (const StringRef combine = keepsBesideZero(op.getType().getElementType()); !combine.empty())
    for (auto [dim, loops] : llvm::enumerate(rule.results[0]))
      if (to[dim] % 2 == 1 && 2 * to[dim] <= from[dim]) {
        rule.loops[static_cast<size_t>(loops[0])] = {from[dim], LoopKind::reduced, combine};
        loops.clear();
      }
  return rule;
}

ShardingRule padRule(stablehlo::PadOp op) {
  return keepingRule(
      op, "pads",
      [&](int64_t dim) {
        const auto at = static_cast<size_t>(dim);
        return op.getEdgePaddingLow()[at] == 0 && op.getEdgePaddingHigh()[at] == 0 &&
               op.getInteriorPadding()[at] == 0;
      },
      LoopKind::shifted);
}

} // namespace tilewright::distribute
