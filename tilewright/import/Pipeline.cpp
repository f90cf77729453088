#include "tilewright/import/Passes.h"
#include "tilewright/import/VerifyProgram.h"
#include "tilewright/support/Concat.h"

#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_VERIFYIMPORTEDPASS
#include "tilewright/import/Passes.h.inc"

namespace {
#define GEN_PASS_REGISTRATION
#include "tilewright/import/Passes.h.inc"

struct VerifyImported : impl::VerifyImportedPassBase<VerifyImported> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    const Status status = checkProgram(getOperation());
    if (status.isOk())
      return;
    getOperation().emitError(
        concat(idOf(*status.error()), " ", stageOf(*status.error()), ": ", status.message()));
    signalPassFailure();
  }
};

} // namespace

void buildImportPipeline(OpPassManager &passes) { passes.addPass(createVerifyImportedPass()); }

void registerImportPasses() {
  registerVerifyImportedPass();
  static PassPipelineRegistration<> pipeline("import", "Checks that a module is a program",
                                             buildImportPipeline);
}

} // namespace tilewright
