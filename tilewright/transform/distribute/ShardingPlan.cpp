#include "tilewright/transform/distribute/ShardingPlan.h"

#include "tilewright/dialect/sdy/SdyDialect.h"
#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"
#include "tilewright/interpret/PassLog.h"
#include "tilewright/support/Concat.h"
#include "tilewright/transform/distribute/Choose.h"
#include "tilewright/transform/distribute/Propagate.h"

#include "mlir/IR/Remarks.h"

using namespace mlir;

namespace tilewright::distribute {

template <typename Map, typename Key> static const Sharding &lookUp(const Map &map, Key key) {
  static const Sharding replicated;
  auto found = map.find(key);
  return found == map.end() ? replicated : found->second;
}

const Sharding &ShardingPlan::shardingOf(Value value) const {
  return lookUp(valueShardings, value);
}

const Sharding &ShardingPlan::wanted(OpOperand &operand) const { return lookUp(wants, &operand); }

const Sharding &ShardingPlan::homeOf(Value value) const {
  auto found = homes.find(value);
  return found == homes.end() ? shardingOf(value) : found->second;
}

const OpPlan *ShardingPlan::find(Operation *op) const {
  auto found = plans.find(op);
  return found == plans.end() ? nullptr : &found->second;
}

Result<ShardingPlan> ShardingPlan::make(func::FuncOp main, ShardBuilder &shards,
                                        int64_t memoryLimit) {
  TILEWRIGHT_ASSIGN(ShardingGraph graph, ShardingGraph::make(main, shards));
  fixResults(graph);
  Prices prices;
  Choices choices = choose(graph, prices, memoryLimit);
  ShardingPlan plan(main);
  plan.hasLimit = memoryLimit > 0;
  if (memoryLimit > 0)
    TILEWRIGHT_LOG(splitPassName, main, "a device holds about ",
                   static_cast<int64_t>(choices.peakBytes), " bytes of ", memoryLimit);
  plan.unfollowed = std::move(graph.unfollowed);
  for (auto [node, choice] : llvm::zip_equal(graph.nodes, choices.nodes)) {
    for (size_t in = 0; in < node.ins.size(); ++in)
      if (Sharding want = wantedBy(node, choice, in); !want.isReplicated())
        plan.wants[node.ins[in]] = std::move(want);
    for (size_t out = 0; out < node.outs.size(); ++out)
      if (Sharding give = computedBy(node, choice, out); !give.isReplicated())
        plan.valueShardings[graph.values[static_cast<size_t>(node.outs[out])].value] =
            std::move(give);
    if (node.isOp)
      plan.plans[node.op] = {std::move(node.rule), choice.mesh, std::move(choice.loops),
                             std::move(choice.open)};
  }
  for (const auto &[value, copies] : choices.copyOf)
    for (auto [use, copy] : llvm::zip_equal(graph.values[static_cast<size_t>(value)].uses, copies))
      if (copy > 0)
        plan.copies[graph.nodes[static_cast<size_t>(use.node)].ins[use.in]] = copy;
  for (const GraphValue &value : graph.values) {
    SmallVector<int, 4> wanted;
    const int computed = prices.intern(plan.shardingOf(value.value));
    for (const GraphValue::Use &use : value.uses) {
      const int want =
          prices.intern(plan.wanted(*graph.nodes[static_cast<size_t>(use.node)].ins[use.in]));
      if (want != computed && !llvm::is_contained(wanted, want))
        wanted.push_back(want);
    }
    if (wanted.size() < 2)
      continue;
    const int home = prices.route(prices.typeOf(value.value.getType()), computed, wanted).home;
    if (home != computed)
      plan.homes[value.value] = prices[home];
  }
  return plan;
}

//===- Remarks ------------------------------------------------------------===//

std::string ShardingPlan::reasonFor(OpOperand &operand) const {
  Operation *op = operand.getOwner();
  const Sharding &from = shardingOf(operand.get());
  const Sharding lost = from.within(from.commonWith(wanted(operand)));
  const std::string which = op->getNumOperands() == 1
                                ? std::string("its operand")
                                : concat("its operand ", operand.getOperandNumber());
  if (!lost.isSharded())
    return concat(which, " is unreduced");
  size_t dim = 0;
  while (lost.along(dim).empty())
    ++dim;
  const std::string start = concat(which, " is sharded along dimension ", dim);
  const OpPlan *plan = find(op);
  if (!plan)
    return start + ", and the op has no sharding rule";
  const ShardingRule &rule = plan->rule;
  const ShardingRule::Dim &loops = rule.operands[operand.getOperandNumber()][dim];
  if (loops.empty() || rule.loop(loops[0]).kind == LoopKind::whole)
    return concat(start, ", which it ", rule.why.str());
  int64_t size = 1;
  for (int loop : loops)
    size *= rule.loop(loop).size;
  if (size % from.count(dim) != 0 ||
      countOf(axesPerLoop(rule, loops, from.along(dim)).front()) < from.count(dim))
    return concat(start, ", and a dimension of size ", rule.loop(loops[0]).size,
                  " is not divisible by ", from.count(dim));
  if (llvm::any_of(plan->loops, [&](const Axes &axes) { return overlap(axes, lost.along(dim)); }))
    return start + ", by axes that also shard another dimension of the op";
  return start + ", and using its shards would send more";
}

void ShardingPlan::remark(int64_t devices) const {
  if (!main->getContext()->getRemarkEngine() && !interpret::PassLog::isOn())
    return;
  auto opts = remark::RemarkOpts::name("distribute").category("distribute");
  for (const auto &[op, reason] : unfollowed) {
    TILEWRIGHT_LOG(splitPassName, op, "is ignored: ", reason);
    remark::missed(op->getLoc(), opts) << remark::add("{0}", "sdy.sharding_constraint is ignored")
                                       << remark::reason("{0}", reason);
  }
  auto say = [&](Operation *op, OpOperand &operand) {
    const OpPlan *plan = find(op);
    const bool isReplicated = !plan || !plan->isSharded();
    const std::string reason = reasonFor(operand);
    auto remark =
        isReplicated ? remark::missed(op->getLoc(), opts) : remark::passed(op->getLoc(), opts);
    const std::string name = op->getName().getStringRef().str();
    TILEWRIGHT_LOG(splitPassName, op,
                   isReplicated ? "is replicated: " : "gathers an operand: ", reason);
    remark << remark::add("{0}",
                          isReplicated
                              ? concat(name, " is replicated on each of ", devices, " devices")
                              : concat(name, " gathers ", reason.substr(0, reason.find(" is "))))
           << remark::reason("{0}", reason);
  };
  main->walk([&](Operation *op) {
    // Skip ops that only pass values on: control flow, constraints and terminators.
    const bool isComputed =
        find(op) ||
        !(op->hasTrait<OpTrait::IsTerminator>() ||
          isa<stablehlo::WhileOp, sdy::ManualComputationOp, sdy::ShardingConstraintOp>(op));
    if (const OpPlan *plan = find(op); plan && op->getNumResults() > 0)
      TILEWRIGHT_LOG(splitPassName, op, "result 0 has the sharding '",
                     shardingOf(op->getResult(0)).toString(), "'",
                     plan->mesh ? "" : ": nothing is gained by sharding it");
    if (!isComputed || passesOn(op) || isRuleOfFunction(op))
      return;
    for (OpOperand &operand : op->getOpOperands()) {
      // Reducing a sum is expected; gathering a dimension is worth a remark.
      Sharding from = shardingOf(operand.get());
      from.unreduced.clear();
      if (!wanted(operand).refines(from)) {
        say(op, operand);
        break; // one reason is enough
      }
    }
  });
}

} // namespace tilewright::distribute
