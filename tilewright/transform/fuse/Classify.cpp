#include "tilewright/transform/fuse/Classify.h"

#include "tilewright/dialect/elements/Commutative.h"
#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/stablehlo/ops/BinaryOps.h"
#include "tilewright/dialect/stablehlo/ops/CallOps.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/dialect/stablehlo/ops/IndexingOps.h"
#include "tilewright/dialect/stablehlo/ops/ReductionOps.h"
#include "tilewright/dialect/stablehlo/ops/UnaryOps.h"

using namespace mlir;

namespace tilewright::fuse {

/// With more operands, the selects would cost more than the copies that they replace.
static constexpr size_t maxConcatenated = 8;

bool hasEffects(Operation *op) {
  return !isa<exec::FusionOp, stablehlo::CompositeOp>(op) && !isMemoryEffectFree(op) &&
         !op->hasTrait<OpTrait::IsTerminator>();
}

bool canMultiplyAsTf32(stablehlo::DotGeneralOp dot, exec::MatrixAttr matrix) {
  ArrayAttr precision = dot.getPrecisionConfigAttr();
  return matrix.takes(FloatTF32Type::get(dot.getContext())) &&
         (!precision || llvm::all_of(precision, [](Attribute attribute) {
           return cast<stablehlo::PrecisionAttr>(attribute).getValue() ==
                  stablehlo::Precision::DEFAULT;
         }));
}

int64_t elementsOf(Type type) { return cast<RankedTensorType>(type).getNumElements(); }

/// Whether a type is a tensor of static shape with integer, float or complex elements.
static bool isPlain(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() &&
         isa<IntegerType, FloatType, ComplexType>(tensor.getElementType());
}

static bool isElementwise(Operation *op) {
  if (isa<stablehlo::SelectOp, stablehlo::ClampOp>(op))
    // After simplification, a scalar operand of an elementwise op is an explicit broadcast.
    return llvm::all_of(op->getOperandTypes(), [&](Type type) {
      return cast<RankedTensorType>(type).getShape() ==
             cast<RankedTensorType>(op->getResult(0).getType()).getShape();
    });
  if (auto composite = dyn_cast<stablehlo::CompositeOp>(op))
    return composite.getName() == "chlo.erf" && composite->getNumOperands() == 1;
  if (auto bitcast = dyn_cast<stablehlo::BitcastConvertOp>(op))
    return bitcast.getOperand().getType().getShape() == bitcast.getType().getShape();
  if (isa<stablehlo::UniformQuantizeOp, stablehlo::UniformDequantizeOp>(op))
    return false;
  return op->hasTrait<OpTrait::Elementwise>();
}

OpClass classify(Operation *op) {
  if (!llvm::all_of(op->getOperandTypes(), isPlain) ||
      !llvm::all_of(op->getResultTypes(), isPlain) || op->getNumResults() == 0)
    return OpClass::other;
  if (auto constant = dyn_cast<stablehlo::ConstantOp>(op)) {
    auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
    return elements && !elements.empty() && (elements.isSplat() || elements.getNumElements() == 1)
               ? OpClass::splat
               : OpClass::other;
  }
  if (isa<stablehlo::ReshapeOp>(op))
    return OpClass::reshape;
  if (isElementwise(op))
    return OpClass::elementwise;
  if (auto reduce = dyn_cast<stablehlo::ReduceOp>(op))
    return elements::isCommutative(reduce.getBody()) ? OpClass::reduce : OpClass::other;
  if (auto concatenate = dyn_cast<stablehlo::ConcatenateOp>(op))
    return concatenate.getInputs().size() <= maxConcatenated ? OpClass::movement : OpClass::other;
  if (isa<stablehlo::BroadcastInDimOp, stablehlo::IotaOp, stablehlo::TransposeOp,
          stablehlo::SliceOp, stablehlo::PadOp, stablehlo::ReverseOp, stablehlo::DynamicSliceOp>(
          op))
    return OpClass::movement;
  return OpClass::other;
}

bool canFuseGather(Operation *op) {
  auto gather = dyn_cast<stablehlo::GatherOp>(op);
  if (!gather || !isPlain(gather.getType()) || !isPlain(gather.getStartIndices().getType()))
    return false;
  auto table = cast<RankedTensorType>(gather.getOperand().getType());
  auto result = cast<RankedTensorType>(gather.getType());
  // Packed elements are unpacked by the library.
  Type element = table.getElementType();
  if (element.isIntOrFloat() && element.getIntOrFloatBitWidth() < 8 && !element.isInteger(1))
    return false;
  if (llvm::all_of(gather.getSliceSizes(), [](int64_t size) { return size == 1; }))
    return true;
  ArrayRef<int64_t> offsets = gather.getDimensionNumbers().getOffsetDims();
  const int64_t last = gather.getSliceSizes().back();
  // The last offset dimension is the table's last dimension unless that one is collapsed.
  constexpr int64_t leastRow = 16;
  return last >= leastRow && !offsets.empty() && offsets.back() == result.getRank() - 1 &&
         result.getDimSize(result.getRank() - 1) == last;
}

bool isPointwiseGather(stablehlo::GatherOp op) {
  auto indices = cast<RankedTensorType>(op.getStartIndices().getType());
  const int64_t component = op.getDimensionNumbers().getIndexVectorDim();
  return llvm::all_of(op.getSliceSizes(), [](int64_t size) { return size == 1; }) &&
         component >= indices.getRank() - 1 && indices.getNumElements() == elementsOf(op.getType());
}

bool isExpensive(Operation *op) {
  return isa<stablehlo::CbrtOp, stablehlo::CosineOp, stablehlo::ExponentialOp,
             stablehlo::ExponentialMinusOneOp, stablehlo::LogOp, stablehlo::LogPlusOneOp,
             stablehlo::LogisticOp, stablehlo::RsqrtOp, stablehlo::SineOp, stablehlo::SqrtOp,
             stablehlo::TanOp, stablehlo::TanhOp, stablehlo::DivideOp, stablehlo::RemainderOp,
             stablehlo::PowerOp, stablehlo::Atan2Op, stablehlo::CompositeOp, stablehlo::ReduceOp>(
      op);
}

bool isCheap(Operation *op) {
  return isa<stablehlo::BroadcastInDimOp, stablehlo::IotaOp, stablehlo::SliceOp,
             stablehlo::ConvertOp, stablehlo::ReshapeOp, stablehlo::DynamicSliceOp>(op) ||
         classify(op) == OpClass::splat;
}

bool isParameter(OpOperand &operand) {
  Operation *op = operand.getOwner();
  if (isa<stablehlo::DynamicSliceOp, stablehlo::PadOp>(op))
    return operand.getOperandNumber() >= 1;
  if (auto reduce = dyn_cast<stablehlo::ReduceOp>(op))
    return operand.getOperandNumber() >= reduce.getInputs().size();
  return isa<stablehlo::GatherOp>(op) && operand.getOperandNumber() == 0;
}

} // namespace tilewright::fuse
