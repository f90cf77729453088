#include "tilewright/transform/schedule/StepCost.h"

#include "tilewright/dialect/exec/LibraryOps.h"
#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/transform/schedule/BufferClasses.h"

#include <algorithm>
#include <optional>

using namespace mlir;

namespace tilewright::schedule {

StepCost::StepCost(exec::TargetAttr target) : link(transform::Link::of(target)) {
  const auto units = static_cast<double>(std::max<int64_t>(target.getUnits(), 1));
  if (target.isGpu()) {
    // Multiply-adds per cycle of a multiprocessor, at 1.5 GHz and half of the peak.
    const double rate = target.getRates() && target.getRates().getF16() > 0
                            ? static_cast<double>(target.getRates().getF16())
                            : 256;
    flopsPerNano = units * rate * 1.5;
    bytesPerNano = units * 12;
    launch = 4e3;
    wake = 2e3;
  } else {
    flopsPerNano = units * 30;
    bytesPerNano = units * 5;
    launch = 1e3;
    wake = 10e3;
  }
}

static double elementsOf(Type type) {
  double count = 1;
  if (auto shaped = dyn_cast<ShapedType>(type))
    for (int64_t size : shaped.getShape())
      count *= static_cast<double>(std::max<int64_t>(size, 1));
  return count;
}

static double flopsOf(Operation *op) {
  // The driver counts the arithmetic of a fusion: flops, transcendentals, and more.
  if (auto work = op->getAttrOfType<DenseI64ArrayAttr>("exec.work"); work && work.size() >= 2)
    return static_cast<double>(work[0]) + 16 * static_cast<double>(work[1]);
  if (auto dot = dyn_cast<exec::DotGeneralOp>(op)) {
    double sums = 1;
    auto lhs = cast<ShapedType>(dot.getLhs().getType());
    for (int64_t dimension : dot.getLhsContractingDimensions())
      sums *= static_cast<double>(lhs.getDimSize(dimension));
    return op->getNumResults() == 0 ? 0 : 2 * sums * elementsOf(op->getResult(0).getType());
  }
  if (auto convolution = dyn_cast<exec::ConvolutionOp>(op)) {
    auto kernel = cast<ShapedType>(convolution.getRhs().getType());
    const int64_t outputs = kernel.getDimSize(convolution.getKernelOutputFeatureDimension());
    return 2 * elementsOf(kernel) / static_cast<double>(std::max<int64_t>(outputs, 1)) *
           elementsOf(convolution.getType());
  }
  return 0;
}

double StepCost::ofBlock(Block &block) const {
  double sum = 0;
  for (Operation &op : block)
    sum += of(&op);
  return sum;
}

/// The bytes that an op reads and writes if it touches only a part of an operand; nothing for
/// other ops.
static std::optional<double> bytesOfPart(Operation *op) {
  if (isa<exec::DynamicSliceOp, exec::SliceOp, exec::GatherOp>(op))
    return 2.0 * static_cast<double>(bytesOf(op->getResult(0).getType()));
  if (auto update = dyn_cast<exec::DynamicUpdateSliceOp>(op))
    return 2.0 * static_cast<double>(bytesOf(update.getUpdate().getType()));
  return std::nullopt;
}

double StepCost::of(Operation *op) const {
  if (isAlias(op) || isa<stablehlo::ConstantOp>(op) || op->hasTrait<OpTrait::IsTerminator>())
    return 0;
  if (auto loop = dyn_cast<stablehlo::WhileOp>(op)) {
    auto count = op->getAttrOfType<IntegerAttr>("exec.trip_count");
    const double iterations = count ? static_cast<double>(count.getInt()) : 8;
    return iterations * (ofBlock(loop.getCond().front()) + ofBlock(loop.getBody().front()));
  }
  if (isa<stablehlo::IfOp, stablehlo::CaseOp>(op)) {
    double longest = 0;
    for (Region &region : op->getRegions())
      longest = std::max(longest, ofBlock(region.front()));
    return longest;
  }
  if (std::optional<double> part = bytesOfPart(op))
    return launch + *part / bytesPerNano;
  double bytes = 0;
  for (Value operand : op->getOperands())
    bytes += static_cast<double>(bytesOf(operand.getType()));
  if (auto start = dyn_cast<exec::CollectiveStartOp>(op)) {
    const auto groups = cast<ShapedType>(start.getGroups().getType());
    return transform::collectiveTime(link, start.getCollective().getKind(),
                                     std::max<int64_t>(groups.getDimSize(1), 1), bytes);
  }
  for (Value result : op->getResults())
    bytes += static_cast<double>(bytesOf(result.getType()));
  return launch + std::max(bytes / bytesPerNano, flopsOf(op) / flopsPerNano);
}

} // namespace tilewright::schedule
