// The bytes that ops send to obtain rows of other shards, computed without emitting ops.
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/dialect/stablehlo/ops/LinearAlgebraOps.h"
#include "tilewright/dialect/stablehlo/ops/ReductionOps.h"
#include "tilewright/transform/distribute/local/Forms.h"
#include "tilewright/transform/distribute/local/Halo.h"
#include "tilewright/transform/distribute/rules/Rules.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace mlir;

namespace tilewright::distribute {
namespace {

/// A sharded dimension of a value with its global shape.
struct Rows {
  Rows(Value value, const Sharding &sharding, size_t dim)
      : shards(sharding.count(dim)), held(shapeOf(value)[dim] / shards) {
    auto type = cast<RankedTensorType>(value.getType());
    Type element = type.getElementType();
    auto complex = dyn_cast<ComplexType>(element);
    const int64_t bits = complex ? 2 * complex.getElementType().getIntOrFloatBitWidth()
                         : element.isIntOrFloat() ? std::max(8u, element.getIntOrFloatBitWidth())
                                                  : 32;
    bytes = bits / 8;
    for (size_t other = 0; other < sharding.dims.size(); ++other)
      if (other != dim)
        bytes *= type.getShape()[other] / sharding.count(other);
  }

  /// The bytes that are sent if the device at coordinate c needs rows [base + c * step, base + c *
  /// step + size).
  int64_t sentFor(int64_t base, int64_t step, int64_t size, int64_t dilation = 1) const {
    std::vector<int64_t> starts;
    for (int64_t c = 0; c < shards; ++c)
      starts.push_back(llvm::divideCeilSigned(base + c * step, dilation));
    const int64_t rows = llvm::divideCeilSigned(size, dilation);
    const auto [first, last] = std::minmax_element(starts.begin(), starts.end());
    const auto blocks = blocksOf(shards, held, *first, *last + rows);
    return bytes * planRows(blocks, starts, rows, held).rowsSent();
  }

  int64_t shards, held; // rows that a device holds
  int64_t bytes;        // of one row of a shard
};

int64_t orOne(std::optional<ArrayRef<int64_t>> values, size_t at) {
  return values ? (*values)[at] : 1;
}

int64_t lowPadding(std::optional<DenseIntElementsAttr> padding, size_t at) {
  return padding ? padding->getValues<int64_t>()[2 * at] : 0;
}

int64_t bytesOfSlice(stablehlo::SliceOp op, const OpPlan &plan) {
  int64_t bytes = 0;
  const Sharding from = plan.shardingOf(plan.rule.operands[0]),
                 to = plan.shardingOf(plan.rule.results[0]);
  for (const SplitDim &at : splitDims(plan, plan.rule.operands[0], {LoopKind::shifted})) {
    // Other dimensions are sliced first. This dimension is sliced first, too, if its stride divides
    // the shard size.
    Rows rows(op.getResult(), to, at.dim);
    rows.held = shapeOf(op.getOperand())[at.dim] / from.count(at.dim);
    const int64_t stride = op.getStrides()[at.dim];
    const int64_t taken = rows.held % stride == 0 ? stride : 1, left = stride / taken;
    rows.held /= taken;
    const int64_t size = shapeOf(op.getResult())[at.dim] / rows.shards;
    bytes += rows.sentFor(op.getStartIndices()[at.dim] / taken, size * left, (size - 1) * left + 1);
  }
  return bytes;
}

int64_t bytesOfPad(stablehlo::PadOp op, const OpPlan &plan) {
  int64_t bytes = 0;
  const Sharding sharding = plan.shardingOf(plan.rule.operands[0]);
  for (const SplitDim &at : splitDims(plan, plan.rule.operands[0], {LoopKind::shifted})) {
    const Rows rows(op.getOperand(), sharding, at.dim);
    const int64_t size = shapeOf(op.getResult())[at.dim] / rows.shards;
    bytes += rows.sentFor(-op.getEdgePaddingLow()[at.dim], size, size,
                          op.getInteriorPadding()[at.dim] + 1);
  }
  return bytes;
}

int64_t bytesOfReverse(stablehlo::ReverseOp op, const OpPlan &plan) {
  int64_t bytes = 0;
  const Sharding sharding = plan.shardingOf(plan.rule.operands[0]);
  for (const SplitDim &at : splitDims(plan, plan.rule.operands[0], {LoopKind::shifted})) {
    const Rows rows(op.getOperand(), sharding, at.dim);
    bytes += rows.sentFor((rows.shards - 1) * rows.held, -rows.held, rows.held);
  }
  return bytes;
}

/// The bytes for a concatenation of `runs` of the op's operands; by default of all operands.
int64_t bytesOfRuns(Operation *op, const OpPlan &plan, ArrayRef<RowRun> runs) {
  const auto split = splitDims(plan, plan.rule.results[0], {LoopKind::shifted});
  if (split.empty())
    return 0;
  const Rows result(op->getResult(0), plan.shardingOf(plan.rule.results[0]), split[0].dim);
  SmallVector<int64_t> held;
  SmallVector<RowRun> all(runs);
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    const int64_t rows = shapeOf(operand)[split[0].dim];
    held.push_back(rows / result.shards);
    if (runs.empty())
      all.push_back({i, 0, rows});
  }
  return result.bytes * planRuns(held, all, result.shards).rowsSent();
}

int64_t bytesOfReduceWindow(stablehlo::ReduceWindowOp op, const OpPlan &plan) {
  int64_t bytes = 0;
  for (const SplitDim &at : splitDims(plan, plan.rule.results[0], {LoopKind::shifted}))
    for (auto [input, dims] : llvm::zip(op.getInputs(), plan.rule.operands)) {
      const Rows rows(input, plan.shardingOf(dims), at.dim);
      const int64_t windows = shapeOf(op.getResult(0))[at.dim] / rows.shards,
                    stride = orOne(op.getWindowStrides(), at.dim);
      const int64_t size =
          (windows - 1) * stride +
          (op.getWindowDimensions()[at.dim] - 1) * orOne(op.getWindowDilations(), at.dim) + 1;
      bytes += rows.sentFor(-lowPadding(op.getPadding(), at.dim), windows * stride, size,
                            orOne(op.getBaseDilations(), at.dim));
    }
  return bytes;
}

int64_t bytesOfConvolution(stablehlo::ConvolutionOp op, const OpPlan &plan) {
  int64_t bytes = 0;
  stablehlo::ConvDimensionNumbersAttr numbers = op.getDimensionNumbers();
  const Sharding sharding = plan.shardingOf(plan.rule.operands[0]);
  for (const SplitDim &at : splitDims(plan, plan.rule.operands[0], {LoopKind::shifted})) {
    const auto *found =
        llvm::find(numbers.getInputSpatialDimensions(), static_cast<int64_t>(at.dim));
    const auto dim = static_cast<size_t>(found - numbers.getInputSpatialDimensions().begin());
    const Rows rows(op.getLhs(), sharding, at.dim);
    const int64_t windows =
        shapeOf(op.getResult())[static_cast<size_t>(numbers.getOutputSpatialDimensions()[dim])] /
        rows.shards;
    const int64_t taps =
        shapeOf(op.getRhs())[static_cast<size_t>(numbers.getKernelSpatialDimensions()[dim])];
    const int64_t stride = orOne(op.getWindowStrides(), dim);
    bytes += rows.sentFor(-lowPadding(op.getPadding(), dim), windows * stride,
                          (windows - 1) * stride + (taps - 1) * orOne(op.getRhsDilation(), dim) + 1,
                          orOne(op.getLhsDilation(), dim));
  }
  return bytes;
}

} // namespace

int64_t rowsWireBytes(Operation *op, const OpPlan &plan) {
  return llvm::TypeSwitch<Operation *, int64_t>(op)
      .Case([&](stablehlo::SliceOp op) { return bytesOfSlice(op, plan); })
      .Case([&](stablehlo::PadOp op) { return bytesOfPad(op, plan); })
      .Case([&](stablehlo::ReverseOp op) { return bytesOfReverse(op, plan); })
      .Case([&](stablehlo::ConcatenateOp op) { return bytesOfRuns(op, plan, {}); })
      .Case([&](stablehlo::ReduceWindowOp op) { return bytesOfReduceWindow(op, plan); })
      .Case([&](stablehlo::ConvolutionOp op) { return bytesOfConvolution(op, plan); })
      .Case([&](stablehlo::CustomCallOp op) {
        const auto folded = FoldedSlices::of(op);
        return folded ? bytesOfRuns(op, plan, folded->runs) : 0;
      })
      .Default([](Operation *) { return 0; });
}

} // namespace tilewright::distribute
