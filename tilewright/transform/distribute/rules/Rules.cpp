#include "tilewright/transform/distribute/rules/Rules.h"

#include "mlir/Dialect/Quant/IR/QuantTypes.h"

using namespace mlir;

namespace tilewright::distribute {

ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

bool isPlainTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() && !tensor.getEncoding() &&
         !isa<quant::QuantizedType>(tensor.getElementType());
}

ShardingRule emptyRule(Operation *op) {
  ShardingRule rule;
  for (Value operand : op->getOperands())
    rule.operands.emplace_back(shapeOf(operand).size());
  for (Value result : op->getResults())
    rule.results.emplace_back(shapeOf(result).size());
  return rule;
}

ShardingRule elementwiseRule(Operation *op) {
  ShardingRule rule = emptyRule(op);
  const size_t rank = rule.results[0].size();
  for (int64_t size : shapeOf(op->getResult(0)))
    rule.add(size);
  for (auto *values : {&rule.operands, &rule.results})
    for (ShardingRule::Dims &dims : *values)
      if (dims.size() == rank)
        for (auto [number, dim] : llvm::enumerate(dims))
          dim = {static_cast<int>(number)};
  return rule;
}

ShardingRule keepingRule(Operation *op, StringRef why, llvm::function_ref<bool(int64_t)> keeps,
                         LoopKind others) {
  ShardingRule rule = elementwiseRule(op);
  rule.why = why;
  for (auto [number, loop] : llvm::enumerate(rule.loops))
    if (!keeps(static_cast<int64_t>(number)))
      loop.kind = others;
  auto excludeEmpty = [&](const auto &all, auto values) {
    for (auto [dims, value] : llvm::zip_equal(all, values))
      for (auto [dim, size] : llvm::zip_equal(dims, shapeOf(value)))
        if (size == 0 && !dim.empty() && rule.loop(dim[0]).kind == LoopKind::shifted)
          rule.loops[static_cast<size_t>(dim[0])].kind = LoopKind::whole;
  };
  excludeEmpty(rule.operands, op->getOperands());
  excludeEmpty(rule.results, op->getResults());
  return rule;
}

} // namespace tilewright::distribute
