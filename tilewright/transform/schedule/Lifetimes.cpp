#include "tilewright/transform/schedule/Lifetimes.h"

#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"

#include <algorithm>

using namespace mlir;

namespace tilewright::schedule {

/// Whether the ops in an op's regions are steps of the plan, which is true only for control flow.
/// Other regions (the body of a library call, for example) run as part of their op.
static bool isControlFlow(Operation *op) {
  return isa<stablehlo::WhileOp, stablehlo::IfOp, stablehlo::CaseOp>(op);
}

Lifetimes::Lifetimes(func::FuncOp function) { number(function.getBody().front()); }

void Lifetimes::number(Block &block) {
  for (Operation &op : block) {
    Segment time;
    time.begin = ++clock;
    if (isControlFlow(&op))
      for (Region &region : op.getRegions())
        number(region.front());
    time.end = ++clock;
    times[&op] = time;
  }
}

int64_t Lifetimes::useTime(Operation *user, Block *block) const {
  // A use inside a region that is not control flow is a use by the enclosing op.
  while (!times.contains(user))
    user = user->getParentOp();
  // Loops, branches and copies read their operands before they write their results.
  int64_t time = isControlFlow(user) || isa<exec::CopyOp>(user) ? beginOf(user) : endOf(user);
  for (Operation *at = user; at && at->getBlock() != block; at = at->getParentOp())
    if (Operation *parent = at->getParentOp(); isa<stablehlo::WhileOp>(parent))
      time = std::max(time, endOf(parent));
  // The operands of a collective must stay intact until it ends.
  if (isa<exec::CollectiveStartOp>(user))
    for (Operation *done : user->getUsers())
      if (isa<exec::CollectiveDoneOp>(done))
        time = std::max(time, endOf(done));
  return time;
}

Segment Lifetimes::of(Value value) const {
  Segment interval;
  Block *block = value.getParentBlock();
  if (Operation *op = value.getDefiningOp()) {
    interval.begin = isControlFlow(op) || isa<exec::CopyOp>(op) ? endOf(op) : beginOf(op);
  } else if (auto loop = dyn_cast<stablehlo::WhileOp>(block->getParentOp())) {
    interval.begin = beginOf(loop);
    // The condition's arguments stay live after the condition, because they may become the loop's
    // results.
    if (block == &loop.getCond().front())
      interval.end = endOf(block->getTerminator());
  }
  interval.end = std::max(interval.end, interval.begin);
  for (Operation *user : value.getUsers())
    interval.end = std::max(interval.end, useTime(user, block));
  return interval;
}

} // namespace tilewright::schedule
