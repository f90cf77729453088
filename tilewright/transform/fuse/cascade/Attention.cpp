#include "tilewright/transform/fuse/cascade/Attention.h"

#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/transform/fuse/EraseDead.h"
#include "tilewright/transform/fuse/cascade/AttentionBackward.h"

using namespace mlir;

namespace tilewright::cascade {

bool looksLikeAttention(const Cascade &cascade) {
  return cascade.reductions.size() >= 3 &&
         llvm::any_of(cascade.reductions, [](const Reduction &r) { return r.isMatmul(); });
}

bool mayBeGradients(const Cascade &cascade) {
  return cascade.reductions.size() >= 3 && llvm::any_of(cascade.reductions, [](const Reduction &r) {
           return r.combiner == Combiner::maximum;
         });
}

exec::SoftmaxDotOp replaceByAttention(Cascade &cascade, bool isGpu, std::string &why) {
  AttentionMatcher match(cascade);
  BackwardMatcher backward(match);
  if (!match.match() || (!match.otherProducts.empty() && !backward.match())) {
    why = match.why;
    return {};
  }
  match.result.followMovement(isGpu);
  exec::SoftmaxDotOp op = match.create(/*hasRowValues=*/!match.otherProducts.empty());
  // The cotangent may be computed from the result, so replace the result first.
  SmallVector<Value> dead = {match.result.value};
  Value made = op.getResult();
  if (made.getType() != match.result.value.getType()) {
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    made = stablehlo::ReshapeOp::create(builder, op.getLoc(), match.result.value.getType(), made);
  }
  match.result.value.replaceAllUsesWith(made);
  if (!match.otherProducts.empty())
    dead.append(backward.replace(op));
  fuse::eraseDead(std::move(dead));
  return op;
}

} // namespace tilewright::cascade
