#include "tilewright/transform/schedule/Lifetimes.h"

#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/stablehlo/ControlFlowOps.h"

#include <algorithm>

using namespace mlir;

namespace tilewright::schedule {

/// Only ops of the plan have regions that run by themselves. Others that are
/// left (a body of a library call, say) run as part of their op.
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
  // Inside what is no control flow, the op as a whole is the user.
  while (!times.contains(user))
    user = user->getParentOp();
  // Loops, branches and copies have read their operands before they write.
  int64_t time = isControlFlow(user) || isa<exec::CopyOp>(user) ? beginOf(user) : endOf(user);
  for (Operation *at = user; at && at->getBlock() != block; at = at->getParentOp())
    if (Operation *parent = at->getParentOp(); isa<stablehlo::WhileOp>(parent))
      time = std::max(time, endOf(parent));
  // What an exchange reads must stay until it is done.
  if (isa<exec::CollectiveStartOp>(user))
    for (Operation *done : user->getUsers())
      if (isa<exec::CollectiveDoneOp>(done))
        time = std::max(time, endOf(done));
  return time;
}

Segment Lifetimes::of(Value value) const {
  Segment life;
  Block *block = value.getParentBlock();
  if (Operation *op = value.getDefiningOp()) {
    life.begin = isControlFlow(op) || isa<exec::CopyOp>(op) ? endOf(op) : beginOf(op);
  } else if (auto loop = dyn_cast<stablehlo::WhileOp>(block->getParentOp())) {
    life.begin = beginOf(loop);
    // The state survives the condition: its result may be what the loop gives.
    if (block == &loop.getCond().front())
      life.end = endOf(block->getTerminator());
  }
  life.end = std::max(life.end, life.begin);
  for (Operation *user : value.getUsers())
    life.end = std::max(life.end, useTime(user, block));
  return life;
}

} // namespace tilewright::schedule
