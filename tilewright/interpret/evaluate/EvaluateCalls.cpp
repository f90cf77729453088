// Ops that refer to something outside the function: calls by name, composites, the host.
#include "tilewright/dialect/stablehlo/Collectives.h"
#include "tilewright/dialect/stablehlo/ops/CallOps.h"
#include "tilewright/interpret/Evaluation.h"
#include "tilewright/interpret/Types.h"
#include "tilewright/support/Concat.h"

namespace tilewright::interpret {

static Status evaluateCustomCall(stablehlo::CustomCallOp op, OpCall &call) {
  if (stablehlo::isRaggedAllToAll(op))
    return evaluateRaggedAllToAll(call);
  const std::string target = op.getCallTargetName().str();
  const CustomCalls::Function *function = call.evaluation.program.customCalls.find(target);
  if (!function)
    return Status(Error::interpretCustomCall,
                  concat("unknown custom call target '", target,
                         "'; register it with CustomCalls::add, or lower it before evaluation"));
  return call.give((*function)(op, call.operands, call.context()));
}

void addCallHandlers(HandlerTable &table) {
  add<stablehlo::CompositeOp>(table, [](stablehlo::CompositeOp op, OpCall &call) {
    return call.give(call.evaluation.call(op.getDecomposition(), std::move(call.operands)));
  });
  add<stablehlo::CustomCallOp, evaluateCustomCall>(table);

  add<stablehlo::InfeedOp>(table, [](stablehlo::InfeedOp op, OpCall &call) {
    TILEWRIGHT_ASSIGN(call.results, call.evaluation.rank.world->takeInfeed());
    call.results.emplace_back(); // the token
    return Status();
  });
  add<stablehlo::OutfeedOp>(table, [](stablehlo::OutfeedOp op, OpCall &call) {
    call.operands.pop_back(); // the token
    call.evaluation.rank.world->putOutfeed(std::move(call.operands));
    call.results.emplace_back();
    return Status();
  });
}

} // namespace tilewright::interpret
