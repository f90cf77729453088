// fuse-cascades: joins attention into one op, and explains which reductions can share a pass.
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/dialect/stablehlo/ops/LinearAlgebraOps.h"
#include "tilewright/transform/fuse/EraseDead.h"
#include "tilewright/transform/fuse/Passes.h"
#include "tilewright/transform/fuse/cascade/Attention.h"
#include "tilewright/transform/fuse/cascade/Online.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;

namespace tilewright::fuse {
#define GEN_PASS_DEF_CASCADESPASS
#include "tilewright/transform/fuse/Passes.h.inc"

namespace {

struct Cascades : impl::CascadesPassBase<Cascades> {
  using CascadesPassBase::CascadesPassBase;

  void runOnOperation() override {
    if (getOperation().isPrivate())
      return;
    // If no one reads remarks, analyse only what may be rewritten.
    if (getContext().getRemarkEngine())
      getOperation().walk([&](Block *block) {
        for (const std::unique_ptr<cascade::Cascade> &found : cascade::findCascades(*block))
          for (unsigned i = 0; i < found->reductions.size(); ++i)
            explain(*found, i);
      });
    const bool hasJoined = joinsAttention() && joinAttention();
    if (blockSize > 0)
      computeLargestInBlocks(getOperation().getBody().front());
    else if (!hasJoined)
      markAllAnalysesPreserved();
  }

  /// With a block size, the reductions themselves are rewritten, so attention must remain a
  /// cascade. Kernels for GPUs need matrix instructions, to whose rows blocks of queries are
  /// fitted.
  bool joinsAttention() {
    const exec::TargetAttr target = exec::targetOf(getOperation());
    return attention && blockSize <= 0 && (!target.isGpu() || target.getMatrix());
  }

  /// Returns whether the function has changed.
  bool joinAttention() {
    bool hasJoined = false;
    SmallVector<Block *> blocks;
    getOperation().walk([&](Block *block) {
      if (llvm::range_size(block->getOps<stablehlo::DotGeneralOp>()) >= 2)
        blocks.push_back(block);
    });
    for (Block *block : blocks) {
      // A replacement erases ops to which other cascades refer, so find the cascades again.
      llvm::SmallPtrSet<Operation *, 4> refused;
      while (joinOne(*block, refused))
        hasJoined = true;
    }
    return hasJoined;
  }

  /// Replaces the last cascade that can be replaced, except those whose last reduction is in
  /// `refused`; adds refused ones there. Returns whether it has replaced a cascade.
  bool joinOne(Block &block, llvm::SmallPtrSet<Operation *, 4> &refused) {
    auto opts = remark::RemarkOpts::name("attention").category("fuse");
    std::vector<std::unique_ptr<cascade::Cascade>> cascades = cascade::findCascades(block);
    llvm::erase_if(cascades, [](const auto &one) {
      return !cascade::looksLikeAttention(*one) && !cascade::mayBeGradients(*one);
    });
    for (const std::unique_ptr<cascade::Cascade> &found : llvm::reverse(cascades)) {
      Operation *last = found->reductions.back().op;
      if (refused.contains(last))
        continue;
      Location loc = last->getLoc();
      std::string why;
      exec::SoftmaxDotOp op =
          cascade::replaceByAttention(*found, exec::targetOf(getOperation()).isGpu(), why);
      if (!op)
        op = joinWithUnreadResult(block, *found, why);
      if (!op) {
        refused.insert(last);
        if (!cascade::looksLikeAttention(*found))
          continue;
        remark::missed(loc, opts) << remark::add(
                                         "{0}",
                                         "a softmax and its products remain separate kernels")
                                  << remark::reason("{0}", why);
        continue;
      }
      remark::passed(loc, opts)
          << remark::add("{0}", "two products and the softmax between them become one kernel")
          << remark::reason("{0}", "no tensor has an element for each query and key");
      if (!op.getRowValues().empty())
        remark::passed(loc, opts)
            << remark::add("{0}", exec::targetOf(getOperation()).isGpu()
                                      ? "the gradients of attention become a kernel that sums over "
                                        "keys and one that sums over queries"
                                      : "the gradients of attention become one kernel")
            << remark::reason("{0}", "weights are computed again from a maximum and a sum");
      return true;
    }
    return false;
  }

  /// Replaces a cascade whose program reads only gradients. Returns null, and leaves `why` as it
  /// is, if it is not such a cascade.
  exec::SoftmaxDotOp joinWithUnreadResult(Block &block, cascade::Cascade &found, std::string &why) {
    stablehlo::DotGeneralOp result = cascade::addUnreadResult(found);
    if (!result)
      return {};
    for (const std::unique_ptr<cascade::Cascade> &again : cascade::findCascades(block))
      if (again->indexOf(result) < again->reductions.size())
        if (exec::SoftmaxDotOp op =
                cascade::replaceByAttention(*again, exec::targetOf(getOperation()).isGpu(), why))
          return op;
    eraseDead({result.getResult()});
    return {};
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
