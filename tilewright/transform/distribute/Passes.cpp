// The pass for tools; the compiler calls split() directly with the requested number of partitions.
#include "tilewright/transform/distribute/Passes.h"

#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/interpret/ranks/RankGroups.h"
#include "tilewright/transform/distribute/Split.h"

namespace tilewright::distribute {
#define GEN_PASS_DEF_SPLITPASS
#include "tilewright/transform/distribute/Passes.h.inc"

namespace {

struct SplitPass : impl::SplitPassBase<SplitPass> {
  void runOnOperation() override {
    Status status = split(getOperation(), interpret::rankGridOf(getOperation()).partitions);
    if (status.isOk())
      return;
    getOperation().emitError(status.message());
    signalPassFailure();
  }
};

} // namespace
} // namespace tilewright::distribute
