// fuse-verify and fuse-print: verify and print the fused program.
#include "tilewright/dialect/exec/ScaledOps.h"
#include "tilewright/dialect/exec/SoftmaxOps.h"
#include "tilewright/dialect/indexing/IndexingRelation.h"
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/support/Concat.h"
#include "tilewright/transform/fuse/Classify.h"
#include "tilewright/transform/fuse/Passes.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace tilewright::fuse {
#define GEN_PASS_DEF_VERIFYFUSEDPASS
#define GEN_PASS_DEF_PRINTFUSIONSPASS
#include "tilewright/transform/fuse/Passes.h.inc"

std::string summarizeFusions(Operation *root) {
  struct FusionCount {
    int64_t count = 0, ops = 0;
  };
  llvm::MapVector<std::pair<StringAttr, StringAttr>, FusionCount> fusions;
  llvm::MapVector<StringRef, int64_t> alone;
  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto fusion = dyn_cast<exec::FusionOp>(op)) {
      FusionCount &fused = fusions[{fusion.getNameAttr(), fusion.getReasonAttr()}];
      ++fused.count;
      fused.ops = static_cast<int64_t>(fusion.getBody().front().getOperations().size()) - 1;
      return WalkResult::skip();
    }
    if (isa_and_present<stablehlo::StablehloDialect>(op->getDialect()) &&
        !op->hasTrait<OpTrait::IsTerminator>() && !op->hasTrait<OpTrait::ConstantLike>())
      ++alone[op->getName().getStringRef()];
    // Do not count the ops in the bodies of reductions and similar ops.
    const StringRef name = op->getName().stripDialect();
    const bool descends = op->getNumRegions() == 0 || name == "while" || name == "if" ||
                          name == "case" || !isa<stablehlo::StablehloDialect>(op->getDialect());
    return descends ? WalkResult::advance() : WalkResult::skip();
  });
  std::string text;
  for (const auto &[key, fused] : fusions)
    text += concat(fused.count, " x ", key.first.str(), ": ", fused.ops,
                   fused.ops == 1 ? " op " : " ops ", key.second ? key.second.str() : "", "\n");
  for (const auto &[name, count] : alone)
    text += concat(count, " x ", name.str(), " alone\n");
  return text;
}

namespace {

struct VerifyFused : impl::VerifyFusedPassBase<VerifyFused> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (getOperation().isPrivate())
      return;
    // A GPU has no kernel library, so its fusions hold every op that can be tiled.
    const bool isGpu = exec::targetOf(getOperation()).isGpu();
    auto complain = [&](Operation *op, const char *complaint) {
      op->emitError() << idOf(Error::fuseResidue) << " fuse: '" << op->getName() << "' "
                      << complaint;
      signalPassFailure();
      return WalkResult::interrupt();
    };
    getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (auto fusion = dyn_cast<exec::FusionOp>(op)) {
        for (Operation &inner : fusion.getBody().front().without_terminator())
          if (classify(&inner) == OpClass::other && !canFuseGather(&inner) &&
              !(isGpu &&
                (isa<exec::ScaledMatmulOp, exec::SoftmaxDotOp, exec::SoftmaxDotBackwardOp>(inner) ||
                 indexing::canTile(&inner))))
            return complain(&inner, "is in a fusion, but no kernel can be generated for it");
        return WalkResult::skip();
      }
      const OpClass opClass = classify(op);
      if (opClass == OpClass::elementwise || opClass == OpClass::reduce)
        return complain(op, "is not in a fusion, but should be");
      const StringRef name = op->getName().stripDialect();
      const bool descends =
          op == getOperation() || name == "while" || name == "if" || name == "case";
      return descends ? WalkResult::advance() : WalkResult::skip();
    });
  }
};

struct PrintFusions : impl::PrintFusionsPassBase<PrintFusions> {
  void runOnOperation() override {
    llvm::outs() << "@" << getOperation().getName() << "\n" << summarizeFusions(getOperation());
  }
};

} // namespace
} // namespace tilewright::fuse
