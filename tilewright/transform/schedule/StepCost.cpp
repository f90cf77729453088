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

StepCost::StepCost(exec::TargetAttr target, std::optional<predict::Cluster> cluster)
    : cluster(std::move(cluster)), link(transform::Link::of(target)) {
  if (this->cluster) {
    // A separate stream executes collectives, so no thread is woken.
    flopsPerNano = bytesPerNano = launch = wake = 0;
    return;
  }
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
    const double k = sizeOf(dot.getLhsContractingDimensions());
    const double shared = std::max(batch * k, 1.0);
    set(batch, elementsOf(lhs) / shared, elementsOf(rhs) / shared, k, lhs.getElementTypeBitWidth(),
        lhs.getElementType().isBF16());
  }
  return work;
}

/// Nanoseconds of a launch, call, copy or collective.
double StepCost::onCluster(Operation *op, double bytes) const {
  if (auto start = dyn_cast<exec::CollectiveStartOp>(op)) {
    const numerics::CollectiveKind kind = start.getCollective().getKind();
    const auto groups = start.getGroups();
    std::vector<int64_t> members;
    const int64_t size = cast<ShapedType>(groups.getType()).getDimSize(1);
    for (int64_t member : llvm::make_range(groups.getValues<int64_t>().begin(),
                                           groups.getValues<int64_t>().begin() + size))
      members.push_back(member);
    const predict::GroupShape shape = predict::shapeOf(*cluster, members);
    return 1e9 * predict::secondsOf(*cluster, kind, predict::wholeBytes(kind, bytes, shape.ranks()),
                                    shape);
  }
  predict::Work work = productOf(op);
  work.bytes = bytes;
  return 1e9 * predict::secondsOf(*cluster, work);
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
    return cluster ? onCluster(op, *part) : launch + *part / bytesPerNano;
  double bytes = 0;
  for (Value operand : op->getOperands())
    bytes += static_cast<double>(bytesOf(operand.getType()));
  if (auto start = dyn_cast<exec::CollectiveStartOp>(op)) {
    if (cluster)
      return onCluster(op, bytes);
    const auto groups = cast<ShapedType>(start.getGroups().getType());
    return transform::collectiveTime(link, start.getCollective().getKind(),
                                     std::max<int64_t>(groups.getDimSize(1), 1), bytes);
  }
  for (Value result : op->getResults())
    bytes += static_cast<double>(bytesOf(result.getType()));
  return cluster ? onCluster(op, bytes)
                 : launch + std::max(bytes / bytesPerNano, flopsOf(op) / flopsPerNano);
}

} // namespace tilewright::schedule
