#include "tilewright/transform/distribute/rules/Rules.h"

#include "tilewright/dialect/stablehlo/ops/BinaryOps.h"
#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;

namespace tilewright::distribute {

/// Whether a composite's decomposition is elementwise and has only scalars and tensors of the
/// result's shape, so that it can be applied to a shard.
static bool isElementwise(stablehlo::CompositeOp op) {
  func::FuncOp meaning =
      SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(op, op.getDecompositionAttr());
  if (!meaning || meaning.isExternal() || op->getNumOperands() != 1 || op->getNumResults() != 1)
    return false;
  ArrayRef<int64_t> shape = shapeOf(op.getResult(0));
  return llvm::all_of(meaning.front().without_terminator(), [&](Operation &inner) {
    const bool isKnown =
        inner.hasTrait<OpTrait::Elementwise>() ||
        isa<stablehlo::SelectOp, stablehlo::ClampOp, stablehlo::BroadcastInDimOp>(inner) ||
        (isa<stablehlo::ConstantOp>(inner) &&
         cast<stablehlo::ConstantOp>(inner).getValue().isSplat());
    return isKnown && llvm::all_of(inner.getResults(), [&](Value result) {
             auto type = dyn_cast<RankedTensorType>(result.getType());
             return type && (type.getRank() == 0 || type.getShape() == shape);
           });
  });
}

stablehlo::SortOp topKSortOf(stablehlo::CompositeOp op) {
  func::FuncOp meaning =
      SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(op, op.getDecompositionAttr());
  if (op.getName() != "chlo.top_k" || !meaning || meaning.isExternal() ||
      op->getNumOperands() != 1 || op->getNumResults() != 2)
    return {};
  Operation *terminator = meaning.front().getTerminator();
  stablehlo::SortOp sort;
  for (auto [number, result] : llvm::enumerate(terminator->getOperands())) {
    auto slice = result.getDefiningOp<stablehlo::SliceOp>();
    auto sorted = slice ? dyn_cast<OpResult>(slice.getOperand()) : OpResult();
    auto from = sorted ? dyn_cast<stablehlo::SortOp>(sorted.getOwner()) : stablehlo::SortOp();
    if (!from || (sort && sort != from) || sorted.getResultNumber() != number ||
        !llvm::all_of(slice.getStartIndices(), [](int64_t start) { return start == 0; }) ||
        !llvm::all_of(slice.getStrides(), [](int64_t stride) { return stride == 1; }))
      return {};
    sort = from;
  }
  const auto last = static_cast<int64_t>(shapeOf(op.getOperand(0)).size()) - 1;
  auto positions = sort->getNumOperands() == 2
                       ? sort->getOperand(1).getDefiningOp<stablehlo::IotaOp>()
                       : nullptr;
  if (!sort.getIsStable() || sort->getOperand(0) != meaning.getArgument(0) || !positions ||
      static_cast<int64_t>(positions.getIotaDimension()) != last ||
      !getElementTypeOrSelf(positions.getType()).isSignlessInteger(32) ||
      static_cast<int64_t>(sort.getDimension()) != last)
    return {};
  return sort;
}

/// Each device finds the first k elements of its shard; the result is the first k of these.
static ShardingRule topKRule(stablehlo::CompositeOp op) {
  ShardingRule rule = emptyRule(op);
  rule.why = "takes the largest along";
  for (auto [dim, size] : llvm::enumerate(shapeOf(op.getOperand(0)))) {
    const bool isLast = dim + 1 == rule.operands[0].size();
    rule.operands[0][dim] = {rule.add(size, isLast ? LoopKind::shifted : LoopKind::pass)};
    if (!isLast)
      rule.results[0][dim] = rule.results[1][dim] = rule.operands[0][dim];
  }
  return rule;
}

std::optional<ShardingRule> compositeRule(stablehlo::CompositeOp op) {
  if (isElementwise(op))
    return elementwiseRule(op);
  if (topKSortOf(op))
    return topKRule(op);
  return std::nullopt;
}

std::optional<ShardingRule> callbackRule(Operation *op) {
  auto call = dyn_cast<stablehlo::CustomCallOp>(op);
  if (!call || call.getCallTargetName() != "xla_ffi_partitioned_python_cpu_callback" ||
      call->getNumResults() != 0 || !llvm::all_of(op->getOperandTypes(), isPlainTensor))
    return std::nullopt;
  ShardingRule rule = emptyRule(op);
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    unsigned first = 0;
    while (shapeOf(op->getOperand(first)) != shapeOf(op->getOperand(i)))
      ++first;
    if (first < i)
      rule.operands[i] = rule.operands[first];
    else
      for (auto [dim, size] : llvm::zip_equal(rule.operands[i], shapeOf(op->getOperand(i))))
        dim = {rule.add(size)};
  }
  return rule;
}

std::optional<ShardingRule> batchedCallRule(Operation *op) {
  auto call = dyn_cast<stablehlo::CustomCallOp>(op);
  auto said = call ? call->getAttrOfType<DictionaryAttr>("mhlo.frontend_attributes") : nullptr;
  auto text = said ? said.getAs<StringAttr>("num_batch_dims") : nullptr;
  size_t count = 0;
  if (!text || text.getValue().getAsInteger(10, count) || count == 0 || call.getHasSideEffect())
    return std::nullopt;
  ShardingRule rule = emptyRule(op);
  rule.why = "operates along";
  const ArrayRef<int64_t> first = shapeOf(op->getOperands().front());
  if (first.size() < count)
    return std::nullopt;
  for (int64_t size : first.take_front(count))
    rule.add(size);
  auto mark = [&](Value value, ShardingRule::Dims &dims) {
    const ArrayRef<int64_t> shape = shapeOf(value);
    if (shape.size() < count || shape.take_front(count) != first.take_front(count))
      return false;
    for (size_t dim = 0; dim < count; ++dim)
      dims[dim] = {static_cast<int>(dim)};
    return true;
  };
  for (auto [operand, dims] : llvm::zip_equal(op->getOperands(), rule.operands))
    if (!mark(operand, dims))
      return std::nullopt;
  for (auto [result, dims] : llvm::zip_equal(op->getResults(), rule.results))
    if (!mark(result, dims))
      return std::nullopt;
  return rule;
}

} // namespace tilewright::distribute
