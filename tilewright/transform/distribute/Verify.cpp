// distribute-verify: checks the output contract of the stage.
#include "tilewright/dialect/sdy/SdyDialect.h"
#include "tilewright/dialect/stablehlo/Collectives.h"
#include "tilewright/transform/distribute/Passes.h"
#include "tilewright/transform/distribute/RankMesh.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace tilewright::distribute {
#define GEN_PASS_DEF_VERIFYDISTRIBUTEDPASS
#include "tilewright/transform/distribute/Passes.h.inc"

namespace {

struct VerifyDistributed : impl::VerifyDistributedPassBase<VerifyDistributed> {
  using VerifyDistributedPassBase::VerifyDistributedPassBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    const interpret::RankGrid wanted = gridOf(getOperation(), replicas, partitions);
    // Later stages read the ranks of collectives from the module.
    const interpret::RankGrid own = interpret::rankGridOf(getOperation());
    if (failed(checkMesh(wanted)))
      return signalPassFailure();
    for (Operation &op : *getOperation().getBody()) {
      auto function = dyn_cast<func::FuncOp>(op);
      const bool isDivided = wanted.partitions > 1 && function && function.getSymName() == "main";
      auto result = op.walk<WalkOrder::PreOrder>(
          [&](Operation *inner) { return check(inner, isDivided, own); });
      if (result.wasInterrupted())
        return signalPassFailure();
    }
  }

  LogicalResult checkMesh(const interpret::RankGrid &wanted) {
    const int64_t ranks = meshOf(getOperation()).size();
    if (!getOperation()->hasAttr(meshAttr) || ranks == wanted.count())
      return success();
    return getOperation().emitError()
           << idOf(Error::distributeGroups) << " distribute: the mesh has " << ranks
           << " ranks, but the program has " << wanted.replicas << " replicas of "
           << wanted.partitions << " partitions";
  }

  static WalkResult check(Operation *op, bool isDivided, const interpret::RankGrid &grid) {
    if (isDivided && isa_and_present<sdy::SdyDialect>(op->getDialect()))
      return op->emitError() << idOf(Error::distributeResidue) << " distribute: '" << op->getName()
                             << "' is still in the program of one device; this is a compiler bug";
    if (!stablehlo::isCollective(op))
      return WalkResult::advance();
    if (Result<interpret::RankGroups> groups = interpret::rankGroupsOf(op, grid); !groups.isOk())
      return op->emitError() << idOf(Error::distributeGroups) << " distribute: '" << op->getName()
                             << "' " << std::move(groups).takeStatus().message();
    return WalkResult::advance();
  }
};

} // namespace
} // namespace tilewright::distribute
