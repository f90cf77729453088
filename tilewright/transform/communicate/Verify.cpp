#include "tilewright/dialect/stablehlo/Collectives.h"
#include "tilewright/interpret/ranks/RankGroups.h"
#include "tilewright/support/Errors.h"
#include "tilewright/transform/communicate/Passes.h"

using namespace mlir;

namespace tilewright::communicate {

#define GEN_PASS_DEF_VERIFYCOLLECTIVESPASS
#include "tilewright/transform/communicate/Passes.h.inc"

namespace {

struct VerifyCollectives : impl::VerifyCollectivesPassBase<VerifyCollectives> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    const interpret::RankGrid grid =
        interpret::rankGridOf(getOperation()->getParentOfType<ModuleOp>());
    auto result = getOperation().walk([&](Operation *op) -> WalkResult {
      if (!stablehlo::isCollective(op))
        return WalkResult::advance();
      if (Result<interpret::RankGroups> groups = interpret::rankGroupsOf(op, grid); !groups.isOk())
        return op->emitError() << idOf(Error::distributeGroups) << " communicate: '"
                               << op->getName() << "' " << std::move(groups).takeStatus().message();
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
} // namespace tilewright::communicate
