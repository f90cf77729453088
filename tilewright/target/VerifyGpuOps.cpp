#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/dialect/stablehlo/StablehloOps.h"
#include "tilewright/support/Errors.h"
#include "tilewright/target/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace tilewright::target {

#define GEN_PASS_DEF_VERIFYGPUOPSPASS
#include "tilewright/target/Passes.h.inc"

namespace {

/// The name of an op, with that of its composite or custom call.
std::string nameOf(Operation *op) {
  std::string name = "'" + op->getName().getStringRef().str() + "'";
  if (auto composite = dyn_cast<stablehlo::CompositeOp>(op))
    name += " \"" + composite.getName().str() + "\"";
  if (auto call = dyn_cast<stablehlo::CustomCallOp>(op))
    name += " @" + call.getCallTargetName().str();
  return name;
}

struct VerifyGpuOps : impl::VerifyGpuOpsPassBase<VerifyGpuOps> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    bool isFirst = true;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      // A private function is only the decomposition of a composite and is never called.
      if (function.isPrivate())
        continue;
      function.walk<WalkOrder::PreOrder>([&](Operation *op) {
        if (!isa_and_present<stablehlo::StablehloDialect>(op->getDialect()) ||
            isa<stablehlo::ConstantOp, stablehlo::ReshapeOp, stablehlo::BitcastConvertOp,
                stablehlo::WhileOp, stablehlo::IfOp, stablehlo::CaseOp,
                stablehlo::OptimizationBarrierOp, stablehlo::CreateTokenOp, stablehlo::AfterAllOp>(
                op) ||
            op->hasTrait<OpTrait::IsTerminator>())
          return WalkResult::advance();
        InFlightDiagnostic diagnostic = op->emitError()
                                        << idOf(Error::gpuOp) << " target: " << nameOf(op)
                                        << " is not supported on the GPU yet";
        // Add the workaround only to the first error, because it is the same for all.
        if (std::exchange(isFirst, false))
          diagnostic.attachNote()
              << "from JAX, compute this part on the CPU: with JAX_PLATFORMS=tilewright,cpu, "
                 "jax.device_put(x, jax.devices('cpu')[0]); or compile all of it for the CPU, "
                 "without TILEWRIGHT_TARGET and compile.target";
        signalPassFailure();
        return WalkResult::skip();
      });
    }
  }
};

} // namespace
} // namespace tilewright::target
