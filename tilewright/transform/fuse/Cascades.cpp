// fuse-cascades: explains which reductions can share a pass over their rows.
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/transform/fuse/Passes.h"
#include "tilewright/transform/fuse/cascade/Online.h"

#include "mlir/IR/Remarks.h"

using namespace mlir;

namespace tilewright::fuse {
#define GEN_PASS_DEF_CASCADESPASS
#include "tilewright/transform/fuse/Passes.h.inc"

namespace {

struct Cascades : impl::CascadesPassBase<Cascades> {
  using CascadesPassBase::CascadesPassBase;

  void runOnOperation() override {
    // Without blocks nothing changes, so the analysis is of use only to a reader.
    if (getOperation().isPrivate() || (!getContext().getRemarkEngine() && blockSize <= 0)) {
      markAllAnalysesPreserved();
      return;
    }
    getOperation().walk([&](Block *block) {
      for (const std::unique_ptr<cascade::Cascade> &found : cascade::findCascades(*block))
        for (unsigned i = 0; i < found->reductions.size(); ++i)
          explain(*found, i);
    });
    if (blockSize > 0)
      computeLargestInBlocks(getOperation().getBody().front());
  }

  void computeLargestInBlocks(Block &block) {
    std::vector<std::unique_ptr<cascade::Cascade>> found = cascade::findCascades(block);
    llvm::erase_if(found, [](const auto &cascade) { return !cascade->canSplit(); });
    auto largest = std::max_element(found.begin(), found.end(), [](const auto &a, const auto &b) {
      return a->reductions.size() < b->reductions.size();
    });
    if (largest != found.end())
      cascade::computeInBlocks(**largest, blockSize, /*asTree=*/false);
  }

  /// Emits a remark about a reduction that depends on others.
  static void explain(const cascade::Cascade &cascade, unsigned index) {
    const cascade::Reduction &reduction = cascade.reductions[index];
    if (llvm::all_of(reduction.maps, [](const cascade::Node *map) { return map->reads.empty(); }))
      return;
    const bool shares = reduction.failed == cascade::Condition::none;
    auto opts = remark::RemarkOpts::name("cascade").category("fuse");
    auto remark = shares ? remark::analysis(reduction.op->getLoc(), opts)
                         : remark::missed(reduction.op->getLoc(), opts);
    remark << remark::add("{0} r{1} {2} the pass over the rows of the reductions that it reads",
                          reduction.op->getName().getStringRef().str(), index,
                          shares ? "can share" : "cannot share")
           << remark::reason("{0}", cascade::describe(reduction))
           << remark::metric("Map", cascade::toString(*reduction.maps[0]))
           << remark::metric("Pass", reduction.pass);
  }
};

} // namespace
} // namespace tilewright::fuse
