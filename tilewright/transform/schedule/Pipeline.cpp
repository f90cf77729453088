#include "tilewright/transform/PipelineOptions.h"
#include "tilewright/transform/schedule/Passes.h"

#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace tilewright::schedule {

void buildSchedulePipeline(OpPassManager &passes, const CommunicateOptions &options) {
  OpPassManager &functions = passes.nest<func::FuncOp>();
  // Order the steps before memory is assigned, which depends on when values are live.
  OrderPassOptions ordering;
  ordering.overlap = options.overlap;
  ordering.overlapMemory = options.overlapMemory;
  ordering.cluster = options.cluster;
  functions.addPass(createOrderPass(ordering));
  // Claim donations first, because later passes treat a result and the parameter it claims as one
  // buffer.
  functions.addPass(createClaimDonationsPass());
  functions.addPass(createInsertCopiesPass());
  functions.addPass(createAssignBuffersPass());
  functions.addPass(createVerifyPlanPass());
}

void registerSchedulePasses() {
  registerTilewrightSchedulePasses();
  static PassPipelineRegistration<transform::communicate_pipeline> pipeline(
      "schedule", "Orders steps and assigns memory to every value",
      [](OpPassManager &passes, const transform::communicate_pipeline &options) {
        buildSchedulePipeline(passes, valuesOf(options));
      });
}

} // namespace tilewright::schedule
