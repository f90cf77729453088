// fuse-group: the pass.
#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/source/Source.h"
#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"
#include "tilewright/interpret/PassLog.h"
#include "tilewright/interpret/StopAt.h"
#include "tilewright/interpret/Types.h"
#include "tilewright/transform/fuse/Build.h"
#include "tilewright/transform/fuse/Passes.h"
#include "tilewright/transform/fuse/Recompute.h"

#include "mlir/IR/Remarks.h"

using namespace mlir;

namespace tilewright::fuse {
#define GEN_PASS_DEF_FUSEPASS
#include "tilewright/transform/fuse/Passes.h.inc"

namespace {

/// An op and its group's iteration space: "stablehlo.reduce tensor<8xf32> over 8x8 reduced over
/// [1]".
std::string describe(Groups &groups, Operation *op) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << op->getName();
  if (op->getNumResults() > 0)
    out << " " << op->getResult(0).getType();
  if (unsigned group = groups.groupOf(op); group != ~0u)
    out << " over " << groups.groups[group].space.toString();
  return text;
}

/// An op and its type: "stablehlo.tanh tensor<8xf32>".
std::string describe(Operation *op) {
  std::string text;
  llvm::raw_string_ostream(text) << op->getName() << " " << op->getResult(0).getType();
  return text;
}

/// Emits a remark for one decision: both ops with their groups before the decision, and the reason.
void say(Groups &groups, Operation *producer, Operation *consumer, bool joined, StringRef reason) {
  auto opts = remark::RemarkOpts::name("fuse").category("fuse");
  auto remark =
      joined ? remark::passed(consumer->getLoc(), opts) : remark::missed(consumer->getLoc(), opts);
  remark << remark::add("{0} {1} {2}", consumer->getName().getStringRef().str(),
                        joined ? "joins" : "does not join",
                        producer->getName().getStringRef().str())
         << remark::reason("{0}", reason.str())
         << remark::metric("Consumer", describe(groups, consumer))
         << remark::metric("Producer", describe(groups, producer))
         << remark::metric("ProducerAt", source::placeOf(producer->getLoc()));
}

struct Fuse : impl::FusePassBase<Fuse> {
  using FusePassBase::FusePassBase;

  void runOnOperation() override {
    // A private function is only the decomposition of a composite; it does not run.
    if (!getOperation().isPrivate())
      fuseRegion(getOperation().getBody());
  }

  void explain(const RecomputeDecision &decision) {
    const char *what = decision.isRecomputed ? " is computed again in " : " is stored for ";
    const char *kernels = decision.readers == 1 ? " other kernel" : " other kernels";
    TILEWRIGHT_LOG(getArgument(), decision.op, "its result", what, decision.readers, kernels, ": ",
                   decision.reason());
    if (!getContext().getRemarkEngine())
      return;
    auto opts = remark::RemarkOpts::name("recompute").category("fuse");
    auto remark = decision.isRecomputed ? remark::passed(decision.op->getLoc(), opts)
                                        : remark::missed(decision.op->getLoc(), opts);
    remark << remark::add("{0}{1}{2}{3}", describe(decision.op), what, decision.readers, kernels)
           << remark::reason("{0}", decision.reason());
  }

  /// Fuses nested regions first: their fusions clone ops of this region and then no longer use
  /// them.
  void fuseRegion(Region &region) {
    if (region.empty())
      return;
    Block &block = region.front();
    for (Operation &op : block)
      if (isa<stablehlo::WhileOp, stablehlo::IfOp, stablehlo::CaseOp>(op))
        for (Region &inner : op.getRegions())
          fuseRegion(inner);
    Groups *decided = nullptr;
    const bool fusesGathers = !exec::targetOf(getOperation()).isGpu();
    Groups groups(block, {maxOps, maxOperands, fusesGathers},
                  [&](Operation *producer, Operation *consumer, bool joined, StringRef reason) {
                    TILEWRIGHT_LOG(getArgument(), consumer, joined ? "joins " : "does not join ",
                                   interpret::describe(producer), ": ", reason);
                    // There is a decision for each edge, so build the text only if remarks are
                    // enabled.
                    if (getContext().getRemarkEngine())
                      say(*decided, producer, consumer, joined, reason);
                  });
    decided = &groups;
    groups.run();
    // The work limit was reached: groups are incomplete.
    if (interpret::mustStopAt(block.getParentOp()))
      return;
    for (const RecomputeDecision &decision :
         chooseRecomputed(groups, exec::targetOf(getOperation())))
      explain(decision);
    buildFusions(block, groups);
  }
};

} // namespace
} // namespace tilewright::fuse
