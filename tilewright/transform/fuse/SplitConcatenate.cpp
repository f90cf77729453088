// fuse-split-concatenate: on a GPU, builds a concatenation of many tensors from smaller ones.
#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/interpret/PassLog.h"
#include "tilewright/transform/fuse/Passes.h"

#include "mlir/IR/Builders.h"

#include <algorithm>

using namespace mlir;

namespace tilewright::fuse {
#define GEN_PASS_DEF_SPLITCONCATENATEPASS
#include "tilewright/transform/fuse/Passes.h.inc"

namespace {

/// The maximum number of operands that one kernel concatenates. For each element, the kernel tests
/// all operands: a comparison, a predicated load and a select each, about 4 instructions. An H100
/// executes 68 instructions in the time in which memory delivers and takes a 4-byte element, so 16
/// operands still run at the speed of memory. A second kernel would read and write all elements
/// again.
constexpr size_t maxOperands = 16;

Value concatenate(OpBuilder &builder, stablehlo::ConcatenateOp like, ArrayRef<Value> inputs) {
  const uint64_t dim = like.getDimension();
  auto type = cast<RankedTensorType>(inputs.front().getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = 0;
  for (Value input : inputs)
    shape[dim] += cast<RankedTensorType>(input.getType()).getDimSize(static_cast<unsigned>(dim));
  return stablehlo::ConcatenateOp::create(
      builder, like.getLoc(), RankedTensorType::get(shape, type.getElementType()), inputs, dim);
}

/// Concatenates the run of consecutive operands with the fewest elements, until few enough operands
/// remain, so that large operands are moved only once.
void split(stablehlo::ConcatenateOp op) {
  OpBuilder builder(op);
  SmallVector<Value> inputs(op.getInputs());
  while (inputs.size() > maxOperands) {
    const size_t length = std::min(maxOperands, inputs.size() - maxOperands + 1);
    auto elements = [&](size_t i) {
      return cast<RankedTensorType>(inputs[i].getType()).getNumElements();
    };
    int64_t sum = 0;
    for (size_t i = 0; i < length; ++i)
      sum += elements(i);
    int64_t least = sum;
    size_t first = 0;
    for (size_t i = length; i < inputs.size(); ++i) {
      sum += elements(i) - elements(i - length);
      if (sum < least) {
        least = sum;
        first = i - length + 1;
      }
    }
    auto *begin = inputs.begin() + first;
    *begin = concatenate(builder, op, ArrayRef(begin, length));
    inputs.erase(begin + 1, begin + length);
  }
  op.replaceAllUsesWith(concatenate(builder, op, inputs));
  op.erase();
}

struct SplitConcatenate : impl::SplitConcatenatePassBase<SplitConcatenate> {
  void runOnOperation() override {
    auto module = getOperation()->getParentOfType<ModuleOp>();
    if (!module || !exec::targetOf(module).isGpu() || getOperation().isPrivate())
      return;
    // Collect the ops first, because the rewrite adds new ones.
    SmallVector<stablehlo::ConcatenateOp> found;
    getOperation().walk([&](stablehlo::ConcatenateOp op) {
      auto type = dyn_cast<RankedTensorType>(op.getType());
      if (op.getInputs().size() <= maxOperands || !type || !type.hasStaticShape()) {
        TILEWRIGHT_LOG(getArgument(), op, "is not split: ", op.getInputs().size(),
                       " operands are at most ", maxOperands, ", or its shape is dynamic");
        return;
      }
      TILEWRIGHT_LOG(getArgument(), op, "is split into concatenations of at most ", maxOperands,
                     " operands");
      found.push_back(op);
    });
    for (stablehlo::ConcatenateOp op : found)
      split(op);
  }
};

} // namespace
} // namespace tilewright::fuse
