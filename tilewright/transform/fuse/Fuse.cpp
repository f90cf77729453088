// fuse-group: the pass.
#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/stablehlo/ControlFlowOps.h"
#include "tilewright/transform/fuse/Build.h"
#include "tilewright/transform/fuse/Passes.h"

#include "mlir/IR/Remarks.h"

using namespace mlir;

namespace tilewright::fuse {
#define GEN_PASS_DEF_FUSEPASS
#include "tilewright/transform/fuse/Passes.h.inc"

namespace {

struct Fuse : impl::FusePassBase<Fuse> {
  using FusePassBase::FusePassBase;

  void runOnOperation() override {
    // A private function says what a composite means; it does not run.
    if (!getOperation().isPrivate())
      fuseRegion(getOperation().getBody());
  }

  /// Inner regions first: what they copy from outside has no use there any more.
  void fuseRegion(Region &region) {
    if (region.empty())
      return;
    Block &block = region.front();
    for (Operation &op : block)
      if (isa<stablehlo::WhileOp, stablehlo::IfOp, stablehlo::CaseOp>(op))
        for (Region &inner : op.getRegions())
          fuseRegion(inner);
    Groups groups(block, {maxOps, maxOperands},
                  [&](Operation *producer, Operation *consumer, bool joined, StringRef reason) {
                    auto opts = remark::RemarkOpts::name("fuse").category("fuse");
                    if (joined) {
                      remark::passed(consumer->getLoc(), opts)
                          << remark::add("{0} joins {1}", consumer->getName().getStringRef().str(),
                                         producer->getName().getStringRef().str())
                          << remark::reason("{0}", reason.str());
                      return;
                    }
                    ++numRefused;
                    remark::missed(consumer->getLoc(), opts)
                        << remark::add("{0} does not join {1}",
                                       consumer->getName().getStringRef().str(),
                                       producer->getName().getStringRef().str())
                        << remark::reason("{0}", reason.str());
                  });
    groups.run();
    BuildCounts counts = buildFusions(block, groups);
    numFusions += counts.fusions;
    numFused += counts.ops;
  }
};

} // namespace
} // namespace tilewright::fuse
