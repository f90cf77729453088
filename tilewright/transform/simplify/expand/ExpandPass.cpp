// simplify-expand: expands ops that only a library can compute.
#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/indexing/IndexingRelation.h"
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/interpret/PassLog.h"
#include "tilewright/transform/simplify/Passes.h"
#include "tilewright/transform/simplify/expand/Expand.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright::simplify {
#define GEN_PASS_DEF_EXPANDPASS
#include "tilewright/transform/simplify/Passes.h.inc"

namespace {

/// Remembers why the last expansion did not apply.
struct Reasons : RewriterBase::Listener {
  void notifyMatchFailure(Location location,
                          llvm::function_ref<void(Diagnostic &)> describe) override {
    Diagnostic diagnostic(location, DiagnosticSeverity::Remark);
    describe(diagnostic);
    last = diagnostic.str();
  }
  std::string last;
};

LogicalResult expand(Operation *op, RewriterBase &rewriter) {
  rewriter.setInsertionPoint(op);
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](stablehlo::ReduceOp op) { return expandReduce(op, rewriter); })
      .Case([&](stablehlo::ReduceWindowOp op) { return expandReduceWindow(op, rewriter); })
      .Case([&](stablehlo::SelectAndScatterOp op) { return expandSelectAndScatter(op, rewriter); })
      .Case([&](stablehlo::ScatterOp op) { return expandScatter(op, rewriter); })
      .Case([&](stablehlo::RngBitGeneratorOp op) { return expandRandomBits(op, rewriter); })
      .Case([&](stablehlo::FftOp op) { return expandFft(op, rewriter); })
      .Case([&](stablehlo::CholeskyOp op) { return expandCholesky(op, rewriter); })
      .Case([&](stablehlo::TriangularSolveOp op) { return expandTriangularSolve(op, rewriter); })
      .Case([&](stablehlo::CustomCallOp op) {
        if (succeeded(expandRoutineCall(op, rewriter)))
          return success();
        return transposeCallBuffers(op, rewriter);
      })
      .Default([&](Operation *op) {
        return rewriter.notifyMatchFailure(op, "this op has no expansion");
      });
}

struct Expand : impl::ExpandPassBase<Expand> {
  using ExpandPassBase::ExpandPassBase;

  void runOnOperation() override {
    // The kernels of a CPU's library are better. GPU targets have no library.
    if (!exec::targetOf(getOperation()).isGpu())
      return;
    // Collect the ops first, because expansions add new ones.
    SmallVector<Operation *> found;
    getOperation().walk([&](Operation *op) {
      if (isa<stablehlo::ReduceWindowOp, stablehlo::SelectAndScatterOp, stablehlo::ScatterOp,
              stablehlo::RngBitGeneratorOp, stablehlo::FftOp, stablehlo::CholeskyOp,
              stablehlo::TriangularSolveOp, stablehlo::CustomCallOp>(op))
        found.push_back(op);
    });
    Reasons reasons;
    IRRewriter rewriter(&getContext(), &reasons);
    for (Operation *op : found) {
      if (indexing::canTile(op)) {
        TILEWRIGHT_LOG(getArgument(), op, "is not expanded: kernels can compute the op itself");
        continue;
      }
      reasons.last.clear();
      if (failed(expand(op, rewriter)))
        TILEWRIGHT_LOG(getArgument(), op, "is not expanded: ", reasons.last);
    }
    // Expansions of ops with a body may reduce by it.
    SmallVector<stablehlo::ReduceOp> ordered;
    getOperation().walk([&](stablehlo::ReduceOp op) {
      if (!indexing::canTile(op))
        ordered.push_back(op);
    });
    for (stablehlo::ReduceOp op : ordered)
      if (failed(expand(op, rewriter)))
        TILEWRIGHT_LOG(getArgument(), op, "is not expanded: ", reasons.last);
  }
};

} // namespace
} // namespace tilewright::simplify
