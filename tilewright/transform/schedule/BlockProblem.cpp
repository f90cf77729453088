#include "tilewright/transform/schedule/BlockProblem.h"

#include "tilewright/dialect/exec/LibraryOps.h"
#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/transform/schedule/BufferClasses.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace tilewright::schedule {

bool hasCollective(Operation *op) {
  return op->walk([](exec::CollectiveStartOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

/// Whether an op may do more than compute its results: such ops keep their order.
static bool hasEffects(Operation *op) {
  if (isa<exec::LaunchOp, exec::CopyOp, exec::CollectiveStartOp, exec::CollectiveDoneOp,
          stablehlo::ConstantOp>(op) ||
      isAlias(op))
    return false;
  if (isa<stablehlo::WhileOp, stablehlo::IfOp, stablehlo::CaseOp>(op)) {
    for (Region &region : op->getRegions())
      for (Operation &inner : region.front().without_terminator())
        if (hasEffects(&inner))
          return true;
    return false;
  }
  return !isa<exec::LibraryCallOpInterface>(op) || isa<exec::RngOp>(op);
}

BlockProblem::BlockProblem(Block &block, const StepCost &cost) : cost(cost) {
  for (Operation &op : block.without_terminator()) {
    number[&op] = static_cast<unsigned>(ops.size());
    ops.push_back(&op);
  }
  problem.steps.resize(ops.size());
  problem.separation = cost.separation();
  for (unsigned i = 0; i < ops.size(); ++i)
    add(i);
  auto function = block.front().getParentOfType<func::FuncOp>();
  for (TypeRange types :
       {TypeRange(function.getArgumentTypes()), TypeRange(function.getResultTypes())})
    for (Type type : types)
      problem.resident += bytesOf(type);
  Operation *terminator = block.getTerminator();
  for (Value operand : terminator->getOperands()) {
    if (auto buffer = buffers.find(rootOf(operand)); buffer != buffers.end()) {
      problem.returned.push_back(buffer->second);
      // The caller provides the memory of a result, for the whole run.
      if (isa<func::ReturnOp>(terminator))
        problem.bytes[buffer->second] = 0;
    }
    // The next iteration, or the op after the branch, waits for this step.
    Operation *producer = operand.getDefiningOp();
    if (auto found = number.find(producer);
        found != number.end() && !isa<func::ReturnOp>(terminator))
      problem.steps[found->second].isUrgent = true;
  }
}

void BlockProblem::add(unsigned i) {
  Operation *op = ops[i];
  OrderStep &step = problem.steps[i];
  step.time = cost.of(op);
  // The ops in its regions read too.
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands()) {
      if (auto found = number.find(operand.getDefiningOp());
          found != number.end() && found->second < i)
        step.after.push_back(found->second);
      if (auto buffer = buffers.find(rootOf(operand)); buffer != buffers.end())
        step.reads.push_back(buffer->second);
      readers[rootOf(operand)].push_back(i);
    }
  });
  if (auto start = dyn_cast<exec::CollectiveStartOp>(op)) {
    step.kind = OrderStep::Kind::start;
    auto [lane, isNew] = lanes.try_emplace(start.getGroups(), lanes.size());
    step.lane = lane->second;
    startOf[start.getId()] = i;
  } else if (auto done = dyn_cast<exec::CollectiveDoneOp>(op)) {
    step.kind = OrderStep::Kind::done;
    step.partner = startOf[done.getId()];
    step.lane = problem.steps[step.partner].lane;
    step.time = 0;
    step.after = {step.partner};
    problem.steps[step.partner].partner = i;
  } else {
    step.isUrgent =
        isa<stablehlo::WhileOp, stablehlo::IfOp, stablehlo::CaseOp>(op) && hasCollective(op);
  }
  if (hasEffects(op)) {
    if (lastEffect != ~0u)
      step.after.push_back(lastEffect);
    lastEffect = i;
  }
  keepInPlace(i);
  if (!isAlias(op) && !isa<stablehlo::ConstantOp>(op))
    for (Value result : op->getResults()) {
      buffers[result] = static_cast<unsigned>(problem.bytes.size());
      step.defines.push_back(static_cast<unsigned>(problem.bytes.size()));
      problem.bytes.push_back(bytesOf(result.getType()));
    }
  llvm::sort(step.after);
  step.after.erase(llvm::unique(step.after), step.after.end());
  llvm::sort(step.reads);
  step.reads.erase(llvm::unique(step.reads), step.reads.end());
}

/// An op that writes a part of its operand stays after the earlier readers of that operand, because
/// otherwise the whole operand would have to be copied first. An elementwise kernel would only lose
/// the reuse of memory.
void BlockProblem::keepInPlace(unsigned i) {
  Operation *op = ops[i];
  if (isa<exec::LaunchOp>(op) && !exec::mustAlias(op))
    return;
  ArrayRef<int64_t> pairs = exec::aliasesOf(op);
  for (size_t p = 1; p < pairs.size(); p += 2)
    for (unsigned reader : readers[rootOf(op->getOperand(static_cast<unsigned>(pairs[p])))]) {
      if (reader >= i)
        continue;
      problem.steps[i].after.push_back(reader);
      // A collective reads until it is done. (A start's partner is known once its done was seen.)
      if (problem.steps[reader].kind == OrderStep::Kind::start &&
          problem.steps[reader].partner > reader)
        problem.steps[i].after.push_back(problem.steps[reader].partner);
    }
}

} // namespace tilewright::schedule
