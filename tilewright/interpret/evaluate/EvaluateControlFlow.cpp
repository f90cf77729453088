#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"
#include "tilewright/interpret/Evaluation.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tilewright::interpret {

static Status evaluateWhile(stablehlo::WhileOp op, OpCall &call) {
  RuntimeValues state = std::move(call.operands);
  for (;;) {
    TILEWRIGHT_TRY(call.context().countSteps(1));
    TILEWRIGHT_ASSIGN(RuntimeValues condition, call.run(op.getCond(), state));
    if (!condition.front().tensor().at(0).u)
      break;
    // Move the state into the body, so that the body can update its tensors in place.
    TILEWRIGHT_ASSIGN(state, call.run(op.getBody(), std::move(state)));
  }
  call.results = std::move(state);
  return Status();
}

void addControlFlowHandlers(HandlerTable &table) {
  add<mlir::func::CallOp>(table, [](mlir::func::CallOp op, OpCall &call) {
    return call.give(call.evaluation.call(op.getCallee(), std::move(call.operands)));
  });
  add<stablehlo::IfOp>(table, [](stablehlo::IfOp op, OpCall &call) {
    const bool taken = call.tensor(0).at(0).u != 0;
    return call.give(call.run(taken ? op.getTrueBranch() : op.getFalseBranch(), {}));
  });
  add<stablehlo::CaseOp>(table, [](stablehlo::CaseOp op, OpCall &call) {
    const auto count = static_cast<int64_t>(op.getBranches().size());
    const int64_t index = call.tensor(0).indexAt(0);
    // An index out of range selects the last branch.
    const int64_t branch = index >= 0 && index < count ? index : count - 1;
    return call.give(call.run(op.getBranches()[static_cast<size_t>(branch)], {}));
  });
  add<stablehlo::WhileOp, evaluateWhile>(table);
  // A fusion computes the same as its ops.
  add<exec::FusionOp>(table, [](exec::FusionOp op, OpCall &call) {
    return call.give(call.run(op.getBody(), std::move(call.operands)));
  });
  add<stablehlo::OptimizationBarrierOp>(table,
                                        [](stablehlo::OptimizationBarrierOp op, OpCall &call) {
                                          call.results = std::move(call.operands);
                                          return Status();
                                        });
  add<stablehlo::TupleOp>(table, [](stablehlo::TupleOp op, OpCall &call) {
    call.results.push_back(RuntimeValue::tuple(std::move(call.operands)));
    return Status();
  });
  add<stablehlo::GetTupleElementOp>(table, [](stablehlo::GetTupleElementOp op, OpCall &call) {
    call.results.push_back(call.operands[0].elements()[op.getIndex()]);
    return Status();
  });
  add<stablehlo::CreateTokenOp>(table, [](stablehlo::CreateTokenOp op, OpCall &call) {
    call.results.emplace_back();
    return Status();
  });
  add<stablehlo::AfterAllOp>(table, [](stablehlo::AfterAllOp op, OpCall &call) {
    call.results.emplace_back();
    return Status();
  });
}

} // namespace tilewright::interpret
