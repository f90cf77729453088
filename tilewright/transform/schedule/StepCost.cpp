#include "tilewright/transform/schedule/StepCost.h"

#include "tilewright/dialect/exec/LibraryOps.h"
#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/numerics/ElementType.h"
#include "tilewright/transform/schedule/BufferClasses.h"

#include <algorithm>
#include <optional>

using namespace mlir;

namespace tilewright::schedule {

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
    auto sums = static_cast<double>(dot.getPacking(dot.getLhs()));
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

/// The shape and the arithmetic of a product, alone or in a fusion.
static predict::Work productOf(Operation *op) {
  predict::Work work;
  auto set = [&](double batch, double m, double n, double k, unsigned bits, bool isBf16) {
    work.batch = batch, work.m = m, work.n = n, work.k = k;
    work.flops = 2 * batch * m * n * k;
    work.type = bits <= 8 ? "f8" : bits > 16 ? "f32" : isBf16 ? "bf16" : "f16";
  };
  if (auto counted = op->getAttrOfType<DenseI64ArrayAttr>("exec.work");
      counted && counted.size() == 7 && counted[3] > 0) {
    const auto element = static_cast<numerics::ElementType>(counted[6]);
    set(static_cast<double>(counted[2]), static_cast<double>(counted[3]),
        static_cast<double>(counted[4]), static_cast<double>(counted[5]),
        static_cast<unsigned>(numerics::bitWidth(element)), element == numerics::ElementType::bf16);
    work.flops = static_cast<double>(counted[0]);
  } else if (auto dot = dyn_cast<exec::DotGeneralOp>(op)) {
    auto lhs = cast<ShapedType>(dot.getLhs().getType()),
         rhs = cast<ShapedType>(dot.getRhs().getType());
    auto sizeOf = [&](ArrayRef<int64_t> dimensions) {
      double size = 1;
      for (int64_t dimension : dimensions)
        size *= static_cast<double>(lhs.getDimSize(dimension));
      return size;
    };
    const double batch = sizeOf(dot.getLhsBatchingDimensions());
    const auto packing = static_cast<double>(dot.getPacking(dot.getLhs())),
               rhsPacking = static_cast<double>(dot.getPacking(dot.getRhs()));
    const double k = packing * sizeOf(dot.getLhsContractingDimensions());
    const double shared = std::max(batch * k, 1.0);
    // A scaled product multiplies its factors as bf16.
    const bool isScaled = dot.getBlock() > 0;
    set(batch, packing * elementsOf(lhs) / shared, rhsPacking * elementsOf(rhs) / shared, k,
        isScaled ? 16 : lhs.getElementTypeBitWidth(), isScaled || lhs.getElementType().isBF16());
  }
  return work;
}

/// Nanoseconds of a launch, call or copy.
double StepCost::ofKernel(Operation *op, double bytes) const {
  predict::Work work;
  if (prices.isMeasured())
    work = productOf(op);
  else
    work.flops = flopsOf(op);
  work.bytes = bytes;
  return prices.kernel(work);
}

double StepCost::ofBlock(Block &block) const {
  double sum = 0;
  for (Operation &op : block)
    sum += of(&op);
  return sum;
}

/// The bytes that an op reads and writes if it touches only a part of an operand; nullopt for other
/// ops.
static std::optional<double> bytesOfPart(Operation *op) {
  if (isa<exec::DynamicSliceOp, exec::SliceOp, exec::GatherOp>(op))
    return 2.0 * static_cast<double>(bytesOf(op->getResult(0).getType()));
  if (auto update = dyn_cast<exec::DynamicUpdateSliceOp>(op))
    return 2.0 * static_cast<double>(bytesOf(update.getUpdate().getType()));
  if (isa<exec::LaunchOp>(op) && exec::mustAlias(op)) {
    double read = 0;
    for (Value operand : op->getOperands())
      read += static_cast<double>(bytesOf(operand.getType()));
    ArrayRef<int64_t> pairs = exec::aliasesOf(op);
    for (size_t i = 1; i < pairs.size(); i += 2)
      read -=
          static_cast<double>(bytesOf(op->getOperand(static_cast<unsigned>(pairs[i])).getType()));
    return 2 * read;
  }
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
    return ofKernel(op, *part);
  double bytes = 0;
  for (Value operand : op->getOperands())
    bytes += static_cast<double>(bytesOf(operand.getType()));
  if (auto start = dyn_cast<exec::CollectiveStartOp>(op))
    return prices.collective(start.getCollective().getKind(), start.getGroups(), bytes);
  for (Value result : op->getResults())
    bytes += static_cast<double>(bytesOf(result.getType()));
  return ofKernel(op, bytes);
}

} // namespace tilewright::schedule
