#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/dialect/stablehlo/StablehloOps.h"
#include "tilewright/support/Errors.h"
#include "tilewright/target/nvptx/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace tilewright::nvptx {

#define GEN_PASS_DEF_NVPTXVERIFYOPSPASS
#include "tilewright/target/nvptx/Passes.h.inc"

namespace {

struct NvptxVerifyOps : impl::NvptxVerifyOpsPassBase<NvptxVerifyOps> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      // A private function says what a composite means; it does not run.
      if (function.isPrivate())
        continue;
      function.walk<WalkOrder::PreOrder>([&](Operation *op) {
        if (!isa_and_present<stablehlo::StablehloDialect>(op->getDialect()) ||
            isa<stablehlo::ConstantOp, stablehlo::ReshapeOp, stablehlo::BitcastConvertOp,
                stablehlo::WhileOp, stablehlo::IfOp, stablehlo::CaseOp,
                stablehlo::OptimizationBarrierOp>(op) ||
            op->hasTrait<OpTrait::IsTerminator>())
          return WalkResult::advance();
        op->emitError()
            << idOf(Error::gpuOp) << " target: '" << op->getName()
            << "' has no kernel on a GPU yet; docs/reference/gpu-support.md lists what has";
        signalPassFailure();
        return WalkResult::skip();
      });
    }
  }
};

} // namespace
} // namespace tilewright::nvptx
