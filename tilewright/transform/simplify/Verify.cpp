// simplify-verify: checks the output contract of the phase.
#include "tilewright/dialect/sdy/SdyDialect.h"
#include "tilewright/dialect/stablehlo/StablehloOps.h"
#include "tilewright/transform/simplify/Passes.h"

using namespace mlir;

namespace tilewright::simplify {
#define GEN_PASS_DEF_VERIFYSIMPLIFIEDPASS
#include "tilewright/transform/simplify/Passes.h.inc"

namespace {

/// Why an op may not remain after this phase; null if it may.
const char *complaintAbout(Operation *op) {
  if (isa<func::CallOp>(op))
    return "is a call that should have been inlined";
  if (isa<stablehlo::TupleOp, stablehlo::GetTupleElementOp>(op))
    return "uses a tuple; only the results of a program may be tuples";
  if (isa_and_present<sdy::SdyDialect>(op->getDialect()))
    return "needs more devices than the program has";
  if (isa<stablehlo::OptimizationBarrierOp>(op))
    return "should have been removed";
  if (auto select = dyn_cast<stablehlo::TorchIndexSelectOp>(op);
      select && cast<ShapedType>(select.getOperand().getType()).getDimSize(select.getDim()) == 0)
    return "selects from a dimension of size 0, in which no index is valid";
  if (isa<stablehlo::EinsumOp, stablehlo::UnaryEinsumOp, stablehlo::DotOp, stablehlo::BroadcastOp,
          stablehlo::CreateTokenOp, stablehlo::TorchIndexSelectOp>(op))
    return "is a legacy op that should have been expanded";
  if (isa<stablehlo::CustomCallOp>(op) &&
      llvm::any_of(op->getOperandTypes(), llvm::IsaPred<stablehlo::FutureType>))
    return "takes the future of an asynchronous op, which only stablehlo.async_done may take";
  for (Type type : op->getResultTypes())
    if (auto tensor = dyn_cast<RankedTensorType>(type); tensor && !tensor.hasStaticShape())
      return "returns a tensor whose shape depends on values, which cannot be compiled yet";
  // A static-shape op of this kind remains if its shape operand is not a constant, or contradicts
  // the shape that the result declares.
  if (isa<stablehlo::DynamicBroadcastInDimOp, stablehlo::DynamicReshapeOp, stablehlo::DynamicIotaOp,
          stablehlo::DynamicPadOp, stablehlo::RealDynamicSliceOp, stablehlo::DynamicGatherOp,
          stablehlo::DynamicConvOp>(op))
    return "takes sizes that are not constant, or that do not give the shape of its result";
  return nullptr;
}

struct VerifySimplified : impl::VerifySimplifiedPassBase<VerifySimplified> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    auto result = getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
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
