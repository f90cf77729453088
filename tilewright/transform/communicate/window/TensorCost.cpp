#include "tilewright/transform/communicate/window/TensorCost.h"

#include "tilewright/dialect/stablehlo/ops/BinaryOps.h"
#include "tilewright/dialect/stablehlo/ops/CallOps.h"
#include "tilewright/dialect/stablehlo/ops/CollectiveOps.h"
#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/dialect/stablehlo/ops/IndexingOps.h"
#include "tilewright/dialect/stablehlo/ops/ReductionOps.h"
#include "tilewright/transform/communicate/Collective.h"

using namespace mlir;

namespace tilewright::communicate {

double bytesOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape())
    return 0;
  const Type element = tensor.getElementType();
  double bits = 8;
  if (auto complex = dyn_cast<ComplexType>(element))
    bits = 2 * complex.getElementType().getIntOrFloatBitWidth();
  else if (element.isIntOrFloat())
    bits = std::max(element.getIntOrFloatBitWidth(), 8u);
  return static_cast<double>(tensor.getNumElements()) * bits / 8;
}

namespace {

double sizeOf(RankedTensorType type, ArrayRef<int64_t> dims) {
  double size = 1;
  for (int64_t dim : dims)
    size *= static_cast<double>(type.getDimSize(static_cast<unsigned>(dim)));
  return size;
}

/// Whether an op is fused into the kernel that reads its result.
bool mayFuse(Operation *op) {
  return op->hasTrait<OpTrait::Elementwise>() ||
         isa<stablehlo::ReduceOp, stablehlo::SelectOp, stablehlo::ClampOp, stablehlo::SliceOp,
             stablehlo::PadOp, stablehlo::TransposeOp, stablehlo::ReverseOp>(op);
}

/// Ops without a cost, because each kernel recomputes them.
bool isFree(Operation *op) {
  return isa<stablehlo::ConstantOp, stablehlo::IotaOp, stablehlo::BroadcastInDimOp,
             stablehlo::ReshapeOp, stablehlo::PartitionIdOp, stablehlo::ReplicaIdOp>(op) ||
         op->hasTrait<OpTrait::IsTerminator>();
}

bool isStored(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !mayFuse(op))
    return !op || !isFree(op);
  if (!value.hasOneUse())
    return true;
  Operation *user = *value.getUsers().begin();
  return user->getBlock() != op->getBlock() || !mayFuse(user);
}

} // namespace

double TensorCost::movement(double bytes) const { return prices.kernel({.bytes = bytes}); }

double TensorCost::collective(Operation *op) const {
  DenseIntElementsAttr groups = groupsOf(op);
  const std::optional<numerics::CollectiveKind> kind = kindOf(op);
  if (!kind || !groups)
    return 0;
  double bytes = 0;
  for (Type type : op->getOperandTypes())
    bytes += bytesOf(type);
  return prices.collective(*kind, groups, bytes);
}

double TensorCost::product(stablehlo::DotGeneralOp op, double share, Along along) const {
  const auto lhs = cast<RankedTensorType>(op.getLhs().getType()),
             rhs = cast<RankedTensorType>(op.getRhs().getType());
  const auto numbers = op.getDotDimensionNumbers();
  predict::Work work;
  work.batch = sizeOf(lhs, numbers.getLhsBatchingDimensions());
  work.k = sizeOf(lhs, numbers.getLhsContractingDimensions());
  const double shared = std::max(work.batch * work.k, 1.0);
  work.m = static_cast<double>(lhs.getNumElements()) / shared;
  work.n = static_cast<double>(rhs.getNumElements()) / shared;
  double left = bytesOf(lhs), right = bytesOf(rhs), made = bytesOf(op.getResult().getType());
  (along == Along::batches   ? work.batch
   : along == Along::rows    ? work.m
   : along == Along::columns ? work.n
                             : work.k) *= share;
  left *= along == Along::columns ? 1 : share;
  right *= along == Along::rows ? 1 : share;
  made *= along == Along::sums ? 1 : share;
  work.flops = 2 * work.batch * work.m * work.n * work.k;
  const Type element = lhs.getElementType();
  const unsigned bits = element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 32;
  work.type = bits <= 8 ? "f8" : bits > 16 ? "f32" : element.isBF16() ? "bf16" : "f16";
  work.bytes = left + right + made;
  return prices.kernel(work);
}

double TensorCost::ofBlock(Block &block) const {
  double sum = 0;
  for (Operation &op : block)
    sum += of(&op);
  return sum;
}

double TensorCost::of(Operation *op) const {
  if (isFree(op))
    return 0;
  if (kindOf(op))
    return collective(op);
  if (auto dot = dyn_cast<stablehlo::DotGeneralOp>(op))
    return product(dot);
  if (auto loop = dyn_cast<stablehlo::WhileOp>(op)) {
    auto count = op->getAttrOfType<IntegerAttr>("exec.trip_count");
    const double iterations = count ? static_cast<double>(count.getInt()) : 8;
    return iterations * ofBlock(loop.getBody().front());
  }
  if (isa<stablehlo::IfOp, stablehlo::CaseOp>(op)) {
    double longest = 0;
    for (Region &region : op->getRegions())
      longest = std::max(longest, ofBlock(region.front()));
    return longest;
  }
  double bytes = 0;
  if (auto update = dyn_cast<stablehlo::DynamicUpdateSliceOp>(op))
    return movement(2 * bytesOf(update.getUpdate().getType()));
  for (Type type : op->getResultTypes())
    bytes += bytesOf(type);
  if (isa<stablehlo::DynamicSliceOp, stablehlo::SliceOp, stablehlo::GatherOp>(op))
    return isStored(op->getResult(0)) ? movement(2 * bytes) : 0;
  if (auto convolution = dyn_cast<stablehlo::ConvolutionOp>(op)) {
    const auto kernel = cast<RankedTensorType>(convolution.getRhs().getType());
    predict::Work work;
    work.flops = 2 * static_cast<double>(kernel.getNumElements()) * bytes / 4;
    work.bytes = bytes;
    return prices.kernel(work);
  }
  if (mayFuse(op) && !llvm::any_of(op->getResults(), isStored))
    return 0;
  for (Value operand : op->getOperands())
    if (isStored(operand))
      bytes += bytesOf(operand.getType());
  return movement(bytes);
}

} // namespace tilewright::communicate
