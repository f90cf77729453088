#include "tilewright/transform/distribute/rules/Rules.h"

#include "tilewright/dialect/elements/Commutative.h"
#include "tilewright/dialect/sdy/SdyDialect.h"
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
  while (isa_and_nonnull<stablehlo::BroadcastInDimOp, sdy::ShardingConstraintOp>(
      value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
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

Attribute neutralElement(Type element, StringRef combine) {
  Builder builder(element.getContext());
  if (auto complex = dyn_cast<ComplexType>(element)) {
    Attribute part = neutralElement(complex.getElementType(), combine);
    if (!part)
      return {};
    Attribute imaginary =
        combine == "stablehlo.multiply" ? builder.getZeroAttr(complex.getElementType()) : part;
    return builder.getArrayAttr({part, imaginary});
  }
  if (auto type = dyn_cast<FloatType>(element)) {
    // Narrow types may lack a zero or the number 1.
    if (type.getWidth() < 16)
      return {};
    // -0.0 + x is x for every x, but 0.0 + -0.0 is 0.0.
    if (combine == "stablehlo.add")
      return FloatAttr::get(type, APFloat::getZero(type.getFloatSemantics(), /*Negative=*/true));
    if (combine == "stablehlo.multiply")
      return FloatAttr::get(type, 1.0);
    return {};
  }
  auto type = dyn_cast<IntegerType>(element);
  if (!type || (type.getWidth() < 8 && type.getWidth() != 1))
    return {};
  const bool isBoolean = type.getWidth() == 1;
  if ((combine == "stablehlo.add" && !isBoolean) || (combine == "stablehlo.or"))
    return IntegerAttr::get(type, 0);
  if ((combine == "stablehlo.multiply" && !isBoolean))
    return IntegerAttr::get(type, 1);
  return {};
}

StringRef masksBy(Type element) {
  const StringRef combine = element.isInteger(1) ? "stablehlo.or" : "stablehlo.add";
  return neutralElement(element, combine) ? combine : StringRef();
}

ShardingRule reduceRule(stablehlo::ReduceOp op) {
  ShardingRule rule = emptyRule(op);
  rule.why = "reduces";
  ArrayRef<int64_t> sizes = shapeOf(op.getInputs()[0]);
  ShardingRule::Dims input(sizes.size());
  size_t kept = 0;
  for (auto [dim, loops] : llvm::enumerate(input))
    if (!llvm::is_contained(op.getDimensions(), static_cast<int64_t>(dim)))
      rule.results[0][kept++] = loops = {rule.add(sizes[dim])};
  StringRef combine = op.getInputs().size() == 1 ? combinerOf(op.getBody()) : StringRef();
  // Only one device adds an initial value that is not neutral. Partial results of other bodies are
  // gathered and reduced once more: the body and the initial values must be a monoid.
  Value init = op.getInitValues()[0];
  const bool isReduced = !combine.empty() && (isNeutral(init, combine) ||
                                              neutralElement(getElementTypeOrSelf(init), combine));
  // Shards of the first reduced dimension are in the order of the elements, those of others are
  // not.
  bool isInOrder = true;
  for (auto [dim, loops] : llvm::enumerate(input)) {
    if (!loops.empty())
      continue;
    loops = {isReduced   ? rule.add(sizes[dim], LoopKind::reduced, combine)
             : isInOrder ? rule.add(sizes[dim], LoopKind::shifted)
                         : rule.add(sizes[dim], LoopKind::whole)};
    isInOrder = (isInOrder && sizes[dim] == 1) || elements::isCommutative(op.getBody());
  }
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

std::optional<ScanForm> scanFormOf(stablehlo::ReduceWindowOp op, ArrayRef<int64_t> shape) {
  if (op.getInputs().size() != 1 || !op.getPadding())
    return std::nullopt;
  auto padding = llvm::to_vector(op.getPadding()->getValues<int64_t>());
  std::optional<ScanForm> form;
  for (auto [dim, window] : llvm::enumerate(op.getWindowDimensions())) {
    const auto at = static_cast<int64_t>(dim);
    const int64_t low = padding[2 * dim], high = padding[2 * dim + 1];
    if (!isOneAt(op.getWindowStrides(), at) || !isOneAt(op.getBaseDilations(), at) ||
        !isOneAt(op.getWindowDilations(), at))
      return std::nullopt;
    if (window == 1 && low == 0 && high == 0)
      continue;
    if (form || window != shape[dim] || low + high != window - 1 || (low != 0 && high != 0))
      return std::nullopt;
    form = {at, high != 0};
  }
  if (!form)
    return std::nullopt;
  // The scans of all shards begin with the initial value.
  StringRef combine = combinerOf(op.getBody());
  if (!combine.empty() && !isNeutral(op.getInitValues()[0], combine))
    return std::nullopt;
  return form;
}

ShardingRule reduceWindowRule(stablehlo::ReduceWindowOp op) {
  if (std::optional<ScanForm> form = scanFormOf(op, shapeOf(op.getInputs()[0]))) {
    ShardingRule rule = elementwiseRule(op);
    rule.loops[static_cast<size_t>(form->dim)].kind = LoopKind::shifted;
    return rule;
  }
  return keepingRule(
      op, "slides a window over",
      [&](int64_t dim) {
        return isStill(dim, op.getWindowDimensions(), op.getWindowStrides(), op.getPadding()) &&
               isOneAt(op.getBaseDilations(), dim) && isOneAt(op.getWindowDilations(), dim);
      },
      LoopKind::shifted);
}

ShardingRule selectAndScatterRule(stablehlo::SelectAndScatterOp op) {
  // Windows that lie outside scatter zeros; padding must not be selected, so there must be none.
  DenseIntElementsAttr padding = op.getPaddingAttr();
  const bool canShift = combinerOf(op.getScatter()) == "stablehlo.add" &&
                        (!padding || llvm::all_of(padding.getValues<APInt>(),
                                                  [](const APInt &rows) { return rows.isZero(); }));
  return keepingRule(
      op, canShift ? "slides a window over" : "slides a window with padding over",
      [&](int64_t dim) {
        return !op.getWindowDimensions() ||
               isStill(dim, *op.getWindowDimensions(), op.getWindowStrides(), op.getPadding());
      },
      canShift ? LoopKind::shifted : LoopKind::whole);
}

ShardingRule sortRule(stablehlo::SortOp op) {
  const auto rank = static_cast<int64_t>(shapeOf(op.getResult(0)).size());
  auto sorted = static_cast<int64_t>(op.getDimension());
  if (sorted < 0)
    sorted += rank;
  return keepingRule(op, "sorts", [&](int64_t dim) { return dim != sorted; });
}

} // namespace tilewright::distribute
