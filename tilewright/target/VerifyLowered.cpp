// lower-verify: checks the output contract of the stage, which schedule and code generation expect.
#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/sm/SmDialect.h"
#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/dialect/stablehlo/ops/UnaryOps.h"
#include "tilewright/dialect/tile/TileDialect.h"
#include "tilewright/support/Errors.h"
#include "tilewright/target/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace tilewright::target {
#define GEN_PASS_DEF_VERIFYLOWEREDPASS
#include "tilewright/target/Passes.h.inc"

static InFlightDiagnostic complain(Operation *op) {
  return op->emitError() << idOf(Error::lowerResidue) << " lower: '" << op->getName() << "' ";
}

/// Whether the plan has the op: memory, tokens, or a step of the runtime.
static bool isStep(Operation *op) {
  return op->hasTrait<OpTrait::IsTerminator>() ||
         isa<stablehlo::ConstantOp, stablehlo::ReshapeOp, stablehlo::BitcastConvertOp,
             stablehlo::CreateTokenOp, stablehlo::AfterAllOp>(op) ||
         (isa_and_present<exec::ExecDialect>(op->getDialect()) && !isa<exec::FusionOp>(op));
}

static WalkResult checkStart(exec::CollectiveStartOp start) {
  bool isAwaited = start->getNumResults() == 0;
  for (Operation *user : start->getUsers()) {
    if (!isa<exec::CollectiveDoneOp>(user))
      return complain(user) << "reads the result of collective " << start.getId()
                            << " beside its exec.collective_done; this is a compiler bug";
    isAwaited = true;
  }
  if (!isAwaited)
    return complain(start) << "has id " << start.getId()
                           << ", but no exec.collective_done takes its results; this is a compiler "
                              "bug";
  return WalkResult::advance();
}

static WalkResult checkDone(exec::CollectiveDoneOp done) {
  for (Value input : done.getInputs()) {
    auto start = input.getDefiningOp<exec::CollectiveStartOp>();
    if (!start || start.getId() != done.getId() || start->getBlock() != done->getBlock())
      return complain(done) << "expects the results of the exec.collective_start with id "
                            << done.getId() << " in the same block; this is a compiler bug";
  }
  return WalkResult::advance();
}

namespace {

struct VerifyLowered : impl::VerifyLoweredPassBase<VerifyLowered> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    const SymbolTable symbols(getOperation());
    const bool isGpu = exec::targetOf(getOperation()).isGpu();
    const StringRef compiled =
        isGpu ? sm::KernelOp::getOperationName() : tile::KernelOp::getOperationName();
    auto checkHost = [&](Operation *op) -> WalkResult {
      if (auto launch = dyn_cast<exec::LaunchOp>(op)) {
        Operation *kernel = symbols.lookup(launch.getKernel());
        if (!kernel || kernel->getName().getStringRef() != compiled)
          return complain(op) << "launches '"
                              << (kernel ? kernel->getName().getStringRef() : "nothing") << "' @"
                              << launch.getKernel() << ", but the target compiles '" << compiled
                              << "'; this is a compiler bug";
      } else if (auto start = dyn_cast<exec::CollectiveStartOp>(op)) {
        return checkStart(start);
      } else if (auto done = dyn_cast<exec::CollectiveDoneOp>(op)) {
        return checkDone(done);
      } else if (isa<func::FuncOp, stablehlo::WhileOp, stablehlo::IfOp, stablehlo::CaseOp>(op) ||
                 isStep(op)) {
        return WalkResult::advance();
      } else {
        // Uses the same words as driver/Emit.cpp, which writes the plan.
        op->emitError() << idOf(Error::planOp) << " transform: '" << op->getName()
                        << "' is not supported: no stage lowered it to a step of the plan";
        return WalkResult::interrupt();
      }
      return WalkResult::advance();
    };
    for (Operation &op : *getOperation().getBody()) {
      if (isa<tile::KernelOp, sm::KernelOp>(op) && op.getName().getStringRef() != compiled) {
        complain(&op) << "@" << SymbolTable::getSymbolName(&op).getValue()
                      << " is left, but the target compiles '" << compiled
                      << "'; this is a compiler bug";
        return signalPassFailure();
      }
      // Private functions are bodies for the library, or decompositions that never run.
      auto function = dyn_cast<func::FuncOp>(op);
      if (function && !function.isPrivate() &&
          function.walk<WalkOrder::PreOrder>(checkHost).wasInterrupted())
        return signalPassFailure();
    }
  }
};

} // namespace
} // namespace tilewright::target
