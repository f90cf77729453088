// Rules that the program writes itself, as `sdy.sharding_rule`.
#include "tilewright/dialect/sdy/SdyDialect.h"
#include "tilewright/transform/distribute/rules/Rules.h"

using namespace mlir;

namespace tilewright::distribute {

bool isRuleOfFunction(Operation *op) {
  auto call = dyn_cast<stablehlo::CustomCallOp>(op);
  return call && call.getCallTargetName() == "tilewright.sharding_rule" &&
         call->getNumOperands() >= call->getNumResults() &&
         TypeRange(call->getOperandTypes()).take_back(call->getNumResults()) ==
             TypeRange(call->getResultTypes());
}

MutableArrayRef<OpOperand> returnedBy(Operation *ruleOfFunction) {
  return ruleOfFunction->getOpOperands().take_back(ruleOfFunction->getNumResults());
}

std::optional<ShardingRule> writtenRule(Operation *op) {
  auto written = op->getAttrOfType<sdy::OpShardingRuleAttr>(sdy::SdyDialect::shardingRuleName);
  if (!written || !llvm::all_of(op->getOperandTypes(), isPlainTensor) ||
      !llvm::all_of(op->getResultTypes(), isPlainTensor))
    return std::nullopt;
  ShardingRule rule = emptyRule(op);
  rule.why = "needs whole, as its sharding rule says, along";
  for (int64_t size : written.getFactorSizes())
    rule.add(size);
  auto mark = [&](ArrayRef<int64_t> factors, auto change) {
    for (int64_t factor : factors)
      change(rule.loops[static_cast<size_t>(factor)]);
  };
  mark(written.getReductionFactors(), [](Loop &loop) {
    loop.kind = LoopKind::reduced;
    loop.combine = "stablehlo.add";
  });
  auto needsWhole = [](Loop &loop) { loop.kind = LoopKind::whole; };
  mark(written.getNeedReplicationFactors(), needsWhole);
  mark(written.getPermutationFactors(), needsWhole); // only the op knows its neighbours
  mark(written.getBlockedPropagationFactors(), [](Loop &loop) { loop.blocked = true; });

  auto map = [&](auto values, ArrayRef<sdy::TensorMappingAttr> mappings,
                 SmallVector<ShardingRule::Dims> &all) {
    for (auto [value, mapping, dims] : llvm::zip_equal(values, mappings, all))
      for (auto [size, factors, dim] :
           llvm::zip_equal(shapeOf(value), mapping.getDimMappings(), dims)) {
        int64_t product = 1;
        for (int64_t factor : factors.getFactorIndices()) {
          dim.push_back(static_cast<int>(factor));
          product *= rule.loop(static_cast<int>(factor)).size;
        }
        // A dimension that a rule does not mention is not sharded.
        if (!dim.empty() && product != size)
          return false;
      }
    return true;
  };
  if (!map(op->getOperands(), written.getOperandMappings(), rule.operands) ||
      !map(op->getResults(), written.getResultMappings(), rule.results))
    return std::nullopt;
  return rule;
}

std::optional<ShardingRule> customRule(Operation *op) {
  auto call = dyn_cast<stablehlo::CustomCallOp>(op);
  if (!call || call.getHasSideEffect())
    return std::nullopt;
  std::optional<ShardingRule> rule = writtenRule(op);
  if (!rule)
    return rule;
  auto has = [](const ShardingRule::Dims &dims, int loop) {
    return llvm::any_of(
        dims, [&](const ShardingRule::Dim &dim) { return llvm::is_contained(dim, loop); });
  };
  // A device that splits a loop computes its shard of every result from its shard of an operand, or
  // its terms of every result. The call does not know which shard it has, so it cannot choose one.
  for (auto [number, loop] : llvm::enumerate(rule->loops)) {
    auto hasLoop = [&](const ShardingRule::Dims &dims) {
      return has(dims, static_cast<int>(number));
    };
    const bool isRead = llvm::any_of(rule->operands, hasLoop);
    const bool isRight = loop.kind == LoopKind::reduced ? llvm::none_of(rule->results, hasLoop)
                                                        : llvm::all_of(rule->results, hasLoop);
    if (!isRead || !isRight)
      loop.kind = LoopKind::whole;
  }
  return rule;
}

} // namespace tilewright::distribute
