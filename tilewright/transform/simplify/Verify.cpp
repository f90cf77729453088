// simplify-verify: the contract of the stage.
#include "tilewright/dialect/stablehlo/StablehloOps.h"
#include "tilewright/transform/simplify/Passes.h"

using namespace mlir;

namespace tilewright::simplify {
#define GEN_PASS_DEF_VERIFYSIMPLIFIEDPASS
#include "tilewright/transform/simplify/Passes.h.inc"

namespace {

/// What is wrong with an op, or null.
const char *complaintAbout(Operation *op) {
  if (isa<func::CallOp>(op))
    return "is a call that should have been inlined";
  if (isa<stablehlo::TupleOp, stablehlo::GetTupleElementOp>(op))
    return "uses a tuple, which only a program's results may be";
  if (isa<stablehlo::OptimizationBarrierOp>(op))
    return "should have been removed";
  if (isa<stablehlo::EinsumOp, stablehlo::UnaryEinsumOp, stablehlo::DotOp, stablehlo::BroadcastOp,
          stablehlo::CreateTokenOp, stablehlo::TorchIndexSelectOp>(op))
    return "is a legacy op that should have been expanded";
  for (Type type : op->getResultTypes())
    if (auto tensor = dyn_cast<RankedTensorType>(type); tensor && !tensor.hasStaticShape())
      return "gives a tensor whose size only its values decide, which cannot be compiled yet";
  return nullptr;
}

struct VerifySimplified : impl::VerifySimplifiedPassBase<VerifySimplified> {
  void runOnOperation() override {
    auto result = getOperation().walk([&](Operation *op) {
      if (const char *complaint = complaintAbout(op)) {
        op->emitError() << idOf(Error::simplifyResidue) << " simplify: '" << op->getName() << "' "
                        << complaint;
        return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
} // namespace tilewright::simplify
