// Constraints of ops whose shapes, sizes or paddings are run-time values. These verifiers check the
// types; the reference interpreter checks the values.
#include "tilewright/dialect/stablehlo/ops/DynamicShapeOps.h"
#include "tilewright/dialect/stablehlo/verify/VerifyRules.h"

#include "mlir/Dialect/Quant/IR/QuantTypes.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace tilewright::stablehlo;

/// Number of entries of a 1-dimensional operand.
static int64_t lengthOf(Value vector) { return shapeOf(vector.getType()).front(); }

/// Checks that operand and result have the same element type, except that per-axis quantized types
/// may differ in their axis and, with `scalesMayDiffer`, in scales and zero points.
static LogicalResult verifyElements(Operation *op, Type operand, Type result,
                                    bool scalesMayDiffer) {
  Type from = elementOf(operand), to = elementOf(result);
  auto fromAxis = dyn_cast<quant::UniformQuantizedPerAxisType>(from);
  auto toAxis = dyn_cast<quant::UniformQuantizedPerAxisType>(to);
  bool agree = from == to;
  if (fromAxis && toAxis)
    agree = fromAxis.getStorageType() == toAxis.getStorageType() &&
            fromAxis.getExpressedType() == toAxis.getExpressedType() &&
            fromAxis.getFlags() == toAxis.getFlags() &&
            fromAxis.getStorageTypeMin() == toAxis.getStorageTypeMin() &&
            fromAxis.getStorageTypeMax() == toAxis.getStorageTypeMax() &&
            (scalesMayDiffer || (fromAxis.getScales() == toAxis.getScales() &&
                                 fromAxis.getZeroPoints() == toAxis.getZeroPoints()));
  if (agree)
    return success();
  return op->emitOpError() << "operand and result must have the same element type, got " << from
                           << " and " << to;
}

//===----------------------------------------------------------------------===//
// dynamic_broadcast_in_dim
//===----------------------------------------------------------------------===//

/// Checks that a per-axis quantized result is quantized along the dimension that the operand's axis
/// maps to, and that it repeats the operand's scale if that axis is expanded.
static LogicalResult verifyBroadcastQuantization(DynamicBroadcastInDimOp op) {
  auto from = dyn_cast<quant::UniformQuantizedPerAxisType>(elementOf(op.getOperand().getType()));
  auto to = dyn_cast<quant::UniformQuantizedPerAxisType>(elementOf(op.getResult().getType()));
  if (!from || !to)
    return success();
  int32_t axis = from.getQuantizedDimension();
  int64_t target = op.getBroadcastDimensions()[axis];
  if (to.getQuantizedDimension() != target)
    return op.emitOpError() << "result must be quantized along dimension " << target
                            << ", to which the operand's quantized dimension " << axis
                            << " is broadcast, got dimension " << to.getQuantizedDimension();
  bool expanded = shapeOf(op.getOperand().getType())[axis] == 1;
  if (expanded && (!llvm::all_equal(to.getScales()) || !llvm::all_equal(to.getZeroPoints()) ||
                   to.getScales().front() != from.getScales().front() ||
                   to.getZeroPoints().front() != from.getZeroPoints().front()))
    return op.emitOpError() << "result must repeat the operand's single scale and zero point along "
                               "the expanded dimension, got "
                            << from << " and " << to;
  return success();
}

LogicalResult DynamicBroadcastInDimOp::verify() {
  auto operand = cast<RankedTensorType>(getOperand().getType());
  auto result = cast<RankedTensorType>(getResult().getType());
  ArrayRef<int64_t> dims = getBroadcastDimensions();
  if (failed(verifyElements(*this, operand, result,
                            /*scalesMayDiffer=*/true)) || // dynamic_broadcast_in_dim_c1
      failed(verifyOnePerDimension(*this, "broadcast_dimensions", dims.size(), "the operand",
                                   operand.getRank())) || // dynamic_broadcast_in_dim_c2
      failed(verifyInRange(*this, "broadcast_dimensions", dims, "the result",
                           result.getRank())) ||                   // dynamic_broadcast_in_dim_c3
      failed(verifyUnique(*this, "broadcast_dimensions", dims)) || // dynamic_broadcast_in_dim_c4
      failed(verifyOnePerDimension(*this, "output_dimensions", lengthOf(getOutputDimensions()),
                                   "the result", result.getRank()))) // dynamic_broadcast_in_dim_c7
    return failure();
  for (auto [dim, target] : llvm::enumerate(dims)) { // dynamic_broadcast_in_dim_c5
    int64_t from = operand.getDimSize(dim), to = result.getDimSize(target);
    if (from != 1 && !sizesAgree(from, to))
      return emitOpError() << "dimension " << dim
                           << " of the operand must have size 1 or the size of dimension " << target
                           << " of the result, got " << from << " and " << to;
  }
  ArrayRef<int64_t> expanding = getKnownExpandingDimensions().value_or(ArrayRef<int64_t>());
  ArrayRef<int64_t> nonexpanding = getKnownNonexpandingDimensions().value_or(ArrayRef<int64_t>());
  if (failed(verifyInRange(*this, "known_expanding_dimensions", expanding, "the operand",
                           operand.getRank())) || // dynamic_broadcast_in_dim_c9
      failed(verifyInRange(*this, "known_nonexpanding_dimensions", nonexpanding, "the operand",
                           operand.getRank())) || // dynamic_broadcast_in_dim_c10
      failed(verifyUnique(*this, "known_expanding_dimensions and known_nonexpanding_dimensions",
                          expanding, nonexpanding))) // dynamic_broadcast_in_dim_c8
    return failure();
  return verifyBroadcastQuantization(*this); // dynamic_broadcast_in_dim_c6
}

//===----------------------------------------------------------------------===//
// dynamic_iota, dynamic_pad, real_dynamic_slice
//===----------------------------------------------------------------------===//

LogicalResult DynamicIotaOp::verify() {
  int64_t length = lengthOf(getOutputShape());
  int64_t dim = getIotaDimension();
  if (dim < 0 || dim >= length) // dynamic_iota_c1
    return emitOpError() << "iota_dimension must be an index of output_shape, in [0, " << length
                         << "), got " << dim;
  return verifyOnePerDimension(*this, "output_shape", length, "the result",
                               shapeOf(getResult().getType()).size()); // dynamic_iota_c2
}

LogicalResult DynamicPadOp::verify() {
  auto operand = cast<RankedTensorType>(getOperand().getType());
  auto result = cast<RankedTensorType>(getResult().getType());
  Type value = elementOf(getPaddingValue().getType());
  if (operand.getElementType() != value ||
      operand.getElementType() != result.getElementType()) // dynamic_pad_c1
    return emitOpError()
           << "operand, padding value and result must have the same element type, got "
           << operand.getElementType() << ", " << value << " and " << result.getElementType();
  if (failed(verifyOnePerDimension(*this, "edge_padding_low", lengthOf(getEdgePaddingLow()),
                                   "the operand", operand.getRank())) || // dynamic_pad_c2
      failed(verifyOnePerDimension(*this, "edge_padding_high", lengthOf(getEdgePaddingHigh()),
                                   "the operand", operand.getRank())) ||
      failed(verifyOnePerDimension(*this, "interior_padding", lengthOf(getInteriorPadding()),
                                   "the operand", operand.getRank())))
    return failure();
  if (operand.getRank() != result.getRank()) // dynamic_pad_c4
    return emitOpError() << "operand and result must have the same rank, got " << operand << " and "
                         << result;
  return success();
}

LogicalResult RealDynamicSliceOp::verify() {
  // real_dynamic_slice is no longer in the specification; these are the rules of slice that concern
  // types.
  auto operand = cast<RankedTensorType>(getOperand().getType());
  auto result = cast<RankedTensorType>(getResult().getType());
  std::pair<StringRef, Value> lists[] = {{"start_indices", getStartIndices()},
                                         {"limit_indices", getLimitIndices()},
                                         {"strides", getStrides()}};
  for (auto [name, list] : lists)
    if (int64_t length = lengthOf(list); !ShapedType::isDynamic(length))
      if (failed(verifyOnePerDimension(*this, name, length, "the operand", operand.getRank())))
        return failure();
  if (operand.getRank() != result.getRank())
    return emitOpError() << "operand and result must have the same rank, got " << operand << " and "
                         << result;
  if (operand.getElementType() != result.getElementType())
    return emitOpError() << "operand and result must have the same element type, got "
                         << operand.getElementType() << " and " << result.getElementType();
  return success();
}

//===----------------------------------------------------------------------===//
// dynamic_reshape
//===----------------------------------------------------------------------===//

/// Product of `sizes`: dynamic if one of them is, nullopt on overflow.
static std::optional<int64_t> product(ArrayRef<int64_t> sizes) {
  if (llvm::any_of(sizes, ShapedType::isDynamic))
    return ShapedType::kDynamic;
  if (llvm::is_contained(sizes, 0))
    return 0;
  int64_t count = 1;
  for (int64_t size : sizes) {
    std::optional<int64_t> next = llvm::checkedMul(count, size);
    if (!next)
      return std::nullopt;
    count = *next;
  }
  return count;
}

/// Whether two lists of sizes can hold the same number of elements.
static bool countsAgree(ArrayRef<int64_t> left, ArrayRef<int64_t> right) {
  std::optional<int64_t> leftCount = product(left), rightCount = product(right);
  return leftCount && rightCount && sizesAgree(*leftCount, *rightCount);
}

LogicalResult DynamicReshapeOp::verify() {
  auto operand = cast<RankedTensorType>(getOperand().getType());
  auto result = cast<RankedTensorType>(getResult().getType());
  if (failed(verifyElements(*this, operand, result,
                            /*scalesMayDiffer=*/false)) || // dynamic_reshape_c1
      failed(verifyOnePerDimension(*this, "output_shape", lengthOf(getOutputShape()), "the result",
                                   result.getRank()))) // dynamic_reshape_c4
    return failure();
  if (!countsAgree(operand.getShape(), result.getShape())) // dynamic_reshape_c2
    return emitOpError() << "operand and result must have the same number of elements, got "
                         << operand << " and " << result;
  // dynamic_reshape_c3
  auto from = dyn_cast<quant::UniformQuantizedPerAxisType>(operand.getElementType());
  auto to = dyn_cast<quant::UniformQuantizedPerAxisType>(result.getElementType());
  if (!from || !to)
    return success();
  int32_t fromAxis = from.getQuantizedDimension(), toAxis = to.getQuantizedDimension();
  if (!countsAgree(operand.getShape().take_front(fromAxis), result.getShape().take_front(toAxis)) ||
      !sizesAgree(operand.getDimSize(fromAxis), result.getDimSize(toAxis)) ||
      !countsAgree(operand.getShape().drop_front(fromAxis + 1),
                   result.getShape().drop_front(toAxis + 1)))
    return emitOpError() << "the quantized dimension and the number of elements before and after "
                            "it must stay the same, got "
                         << operand << " and " << result;
  return success();
}
