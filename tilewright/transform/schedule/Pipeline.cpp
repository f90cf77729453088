#include "tilewright/transform/schedule/Passes.h"

#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace tilewright::schedule {

void buildSchedulePipeline(OpPassManager &passes) {
  OpPassManager &functions = passes.nest<func::FuncOp>();
  // Claim donations first, because later passes treat a result and the parameter it claims as one
  // buffer.
  functions.addPass(createClaimDonationsPass());
  functions.addPass(createInsertCopiesPass());
  functions.addPass(createAssignBuffersPass());
  functions.addPass(createVerifyPlanPass());
}

void registerSchedulePasses() {
  registerTilewrightSchedulePasses();
  static PassPipelineRegistration<> pipeline("schedule", "Assigns memory to every value",
                                             buildSchedulePipeline);
}

} // namespace tilewright::schedule
