// communicate-window-products: divides collectives into pieces that are sent while products run.
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"
#include "tilewright/interpret/PassLog.h"
#include "tilewright/transform/communicate/Passes.h"
#include "tilewright/transform/communicate/window/ChooseWindows.h"

#include "mlir/IR/Remarks.h"

using namespace mlir;

namespace tilewright::communicate {

#define GEN_PASS_DEF_WINDOWPRODUCTSPASS
#include "tilewright/transform/communicate/Passes.h.inc"

namespace {

struct WindowProducts : impl::WindowProductsPassBase<WindowProducts> {
  using WindowProductsPassBase::WindowProductsPassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal() || function.isPrivate())
      return;
    FailureOr<transform::Prices> prices = transform::Prices::of(function, cluster);
    if (failed(prices))
      return signalPassFailure();
    const TensorCost cost(*std::move(prices));
    SmallVector<Block *> blocks;
    function.walk([&](Block *block) {
      if (isa<func::FuncOp, stablehlo::WhileOp, stablehlo::IfOp, stablehlo::CaseOp>(
              block->getParentOp()))
        blocks.push_back(block);
    });
    for (Block *block : blocks) {
      const std::vector<WindowChoice> choices =
          always ? allWindows(*block, cost)
                 : chooseWindows(*block, cost,
                                 [&](Operation *op, StringRef reason) { refuse(op, reason); });
      for (const WindowChoice &choice : choices) {
        if (!choice.isTaken) {
          refuse(choice.window.collective, choice.reason);
          continue;
        }
        take(choice);
        emit(choice.window);
        ++numWindows;
      }
    }
  }

private:
  static remark::RemarkOpts options() {
    return remark::RemarkOpts::name("communicate").category("communicate");
  }

  void refuse(Operation *op, StringRef reason) {
    TILEWRIGHT_LOG(getArgument(), op, "stays whole: ", reason);
    remark::missed(op->getLoc(), options())
        << remark::add("{0} is not sent in pieces beside a product", op->getName().getStringRef())
        << remark::reason("{0}", reason);
  }

  void take(const WindowChoice &choice) {
    Operation *op = choice.window.collective;
    const StringRef neighbours = choice.window.form == Window::Form::gather
                                     ? "the products that read it"
                                     : "the products that compute it";
    TILEWRIGHT_LOG(getArgument(), op, "is sent in ", choice.window.pieces, " pieces beside ",
                   neighbours, ": ", choice.reason);
    remark::passed(op->getLoc(), options())
        << remark::add("{0} is sent in {1} pieces beside {2}", op->getName().getStringRef(),
                       choice.window.pieces, neighbours)
        << remark::reason("{0}", choice.reason);
  }
};

} // namespace
} // namespace tilewright::communicate
