#include "tilewright/transform/schedule/Passes.h"

using namespace mlir;

namespace tilewright::schedule {

void buildSchedulePipeline(OpPassManager &passes) {
  OpPassManager &functions = passes.nest<func::FuncOp>();
  // Donations first: a result that takes over a parameter is one class with it.
  functions.addPass(createClaimDonationsPass());
  functions.addPass(createInsertCopiesPass());
  functions.addPass(createAssignBuffersPass());
}

} // namespace tilewright::schedule
