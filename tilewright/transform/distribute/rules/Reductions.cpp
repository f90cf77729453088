#include "tilewright/transform/distribute/rules/Rules.h"

#include "tilewright/dialect/stablehlo/ops/BinaryOps.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"

#include "mlir/IR/Matchers.h"

#include <complex>

using namespace mlir;

namespace tilewright::distribute {

StringRef combinerOf(Region &region) {
  Block &block = region.front();
  if (block.getNumArguments() != 2 || !llvm::hasNItems(block, 2))
    return {};
  Operation &op = block.front();
  if (!isa<stablehlo::AddOp, stablehlo::MultiplyOp, stablehlo::MaximumOp, stablehlo::MinimumOp,
           stablehlo::AndOp, stablehlo::OrOp>(op) ||
      block.getTerminator()->getOperand(0) != op.getResult(0) ||
      op.getOperand(0) == op.getOperand(1) || !llvm::all_of(op.getOperands(), [&](Value operand) {
        auto argument = dyn_cast<BlockArgument>(operand);
        return argument && argument.getOwner() == &block;
      }))
    return {};
  return op.getName().getStringRef();
}

bool isNeutral(Value value, StringRef combine) {
  if (combine != "stablehlo.add" && combine != "stablehlo.multiply")
    return true; // the others are idempotent
  const int neutral = combine == "stablehlo.add" ? 0 : 1;
  // Look through broadcasts.
  while (auto broadcast = value.getDefiningOp<stablehlo::BroadcastInDimOp>())
    value = broadcast.getOperand();
  DenseElementsAttr constant;
  if (!matchPattern(value, m_Constant(&constant)) || !constant.isSplat())
    return false;
  if (isa<FloatType>(constant.getElementType()))
    return neutral ? constant.getSplatValue<APFloat>().isExactlyValue(1)
                   : constant.getSplatValue<APFloat>().isZero();
  if (auto type = dyn_cast<ComplexType>(constant.getElementType())) {
    if (!isa<FloatType>(type.getElementType()))
      return false;
    auto value = constant.getSplatValue<std::complex<APFloat>>();
    return value.imag().isZero() &&
           (neutral ? value.real().isExactlyValue(1) : value.real().isZero());
  }
  if (constant.getElementType().isInteger(1))
    return false;
  return constant.getSplatValue<APInt>() == static_cast<uint64_t>(neutral);
}

ShardingRule reduceRule(stablehlo::ReduceOp op) {
  ShardingRule rule = emptyRule(op);
  rule.why = "reduces with a body or an initial value that does not allow partial results";
  ArrayRef<int64_t> sizes = shapeOf(op.getInputs()[0]);
  ShardingRule::Dims input(sizes.size());
  size_t kept = 0;
  for (auto [dim, loops] : llvm::enumerate(input))
    if (!llvm::is_contained(op.getDimensions(), static_cast<int64_t>(dim)))
      rule.results[0][kept++] = loops = {rule.add(sizes[dim])};
  StringRef combine = op.getInputs().size() == 1 ? combinerOf(op.getBody()) : StringRef();
  if (!combine.empty() && isNeutral(op.getInitValues()[0], combine))
    for (auto [dim, loops] : llvm::enumerate(input))
      if (loops.empty())
        loops = {rule.add(sizes[dim], LoopKind::reduced, combine)};
  for (size_t i = 0; i < op.getInputs().size(); ++i)
    rule.operands[i] = input;
  for (size_t i = 1; i < rule.results.size(); ++i)
    rule.results[i] = rule.results[0];
  return rule;
}

static bool isOneAt(std::optional<ArrayRef<int64_t>> values, int64_t dim) {
  return !values || (*values)[static_cast<size_t>(dim)] == 1;
}

/// Whether the window has size 1, stride 1 and no padding in a dimension.
static bool isStill(int64_t dim, ArrayRef<int64_t> sizes, std::optional<ArrayRef<int64_t>> strides,
                    std::optional<DenseIntElementsAttr> padding) {
  const auto at = static_cast<size_t>(dim);
  if (padding)
    for (size_t i : {2 * at, 2 * at + 1})
      if (!padding->getValues<APInt>()[i].isZero())
        return false;
  return sizes[at] == 1 && isOneAt(strides, dim);
}

ShardingRule reduceWindowRule(stablehlo::ReduceWindowOp op) {
  return keepingRule(op, "slides a window over", [&](int64_t dim) {
    return isStill(dim, op.getWindowDimensions(), op.getWindowStrides(), op.getPadding()) &&
           isOneAt(op.getBaseDilations(), dim) && isOneAt(op.getWindowDilations(), dim);
  });
}

ShardingRule selectAndScatterRule(stablehlo::SelectAndScatterOp op) {
  return keepingRule(op, "slides a window over", [&](int64_t dim) {
    return !op.getWindowDimensions() ||
           isStill(dim, *op.getWindowDimensions(), op.getWindowStrides(), op.getPadding());
  });
}

ShardingRule sortRule(stablehlo::SortOp op) {
  const auto rank = static_cast<int64_t>(shapeOf(op.getResult(0)).size());
  const int64_t sorted = op.getDimension() < 0 ? op.getDimension() + rank : op.getDimension();
  return keepingRule(op, "sorts", [&](int64_t dim) { return dim != sorted; });
}

} // namespace tilewright::distribute
