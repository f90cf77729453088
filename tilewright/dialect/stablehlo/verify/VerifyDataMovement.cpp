// Constraints of ops that move elements to other positions or to another shape.
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/dialect/stablehlo/ops/DynamicShapeOps.h"
#include "tilewright/dialect/stablehlo/ops/IndexingOps.h"
#include "tilewright/dialect/stablehlo/verify/VerifyRules.h"
#include "tilewright/numerics/Shape.h"

#include "mlir/Dialect/Quant/IR/QuantTypes.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace tilewright::stablehlo;
using tilewright::Result;
using tilewright::numerics::Shape;

/// Checks that the first operand and the result have exactly the same element type.
static LogicalResult verifyOneElementType(Operation *op) {
  Type operand = elementOf(op->getOperand(0).getType());
  Type result = elementOf(op->getResult(0).getType());
  if (operand == result)
    return success();
  return op->emitOpError() << "operand and result must have the same element type, got " << operand
                           << " and " << result;
}

/// Checks that `dimension` is a dimension of `what`, a tensor of rank `rank`.
static LogicalResult verifyDimension(Operation *op, StringRef name, int64_t dimension,
                                     StringRef what, int64_t rank) {
  if (dimension >= 0 && dimension < rank)
    return success();
  return op->emitOpError() << name << " must be a dimension of " << what << ", in [0, " << rank
                           << "), got " << dimension;
}

//===----------------------------------------------------------------------===//
// Per-axis quantization
//===----------------------------------------------------------------------===//

/// Whether the types are equal, or both per-axis quantized and different only in the quantized
/// dimension; with `rescaled`, they may also differ in scales and zero points.
static bool sameExceptAxis(Type left, Type right, bool rescaled) {
  if (left == right)
    return true;
  auto leftAxis = dyn_cast<quant::UniformQuantizedPerAxisType>(left);
  auto rightAxis = dyn_cast<quant::UniformQuantizedPerAxisType>(right);
  if (!leftAxis || !rightAxis || leftAxis.getStorageType() != rightAxis.getStorageType() ||
      leftAxis.getFlags() != rightAxis.getFlags() ||
      leftAxis.getExpressedType() != rightAxis.getExpressedType() ||
      leftAxis.getStorageTypeMin() != rightAxis.getStorageTypeMin() ||
      leftAxis.getStorageTypeMax() != rightAxis.getStorageTypeMax())
    return false;
  return rescaled || (leftAxis.getScales() == rightAxis.getScales() &&
                      leftAxis.getZeroPoints() == rightAxis.getZeroPoints());
}

/// Checks that the element type is unchanged except for its quantized dimension.
static LogicalResult verifyElementMoves(Operation *op, bool rescaled = false) {
  Type operand = elementOf(op->getOperand(0).getType());
  Type result = elementOf(op->getResult(0).getType());
  if (sameExceptAxis(operand, result, rescaled))
    return success();
  return op->emitOpError() << "operand and result must have the same element type"
                           << (rescaled ? ", up to the dimension and parameters of per-axis "
                                          "quantization"
                                        : ", up to the dimension of per-axis quantization")
                           << ", got " << operand << " and " << result;
}

//===----------------------------------------------------------------------===//
// broadcast_in_dim
//===----------------------------------------------------------------------===//

LogicalResult BroadcastInDimOp::verify() {
  auto operand = cast<RankedTensorType>(getOperand().getType());
  auto result = cast<RankedTensorType>(getResult().getType());
  ArrayRef<int64_t> dims = getBroadcastDimensions();
  // broadcast_in_dim_c1, broadcast_in_dim_c2, broadcast_in_dim_c3, broadcast_in_dim_c4
  StringRef name = "broadcast_dimensions";
  if (failed(verifyElementMoves(*this, /*rescaled=*/true)) ||
      failed(verifyOnePerDimension(*this, name, dims.size(), "the operand", operand.getRank())) ||
      failed(verifyInRange(*this, name, dims, "the result", result.getRank())) ||
      failed(verifyUnique(*this, name, dims)))
    return failure();
  // broadcast_in_dim_c5
  for (auto [dim, size] : llvm::enumerate(operand.getShape())) {
    if (size == 1 || sizesAgree(size, result.getDimSize(dims[dim])))
      continue;
    InFlightDiagnostic diag =
        emitOpError() << "dimension " << dim
                      << " of the operand must have size 1 or the size of dimension " << dims[dim]
                      << " of the result, " << result.getDimSize(dims[dim]) << ", got " << size;
    diag.attachNote() << "broadcast_dimensions[" << dim
                      << "] is the dimension of the result that it maps to";
    return diag;
  }

  // broadcast_in_dim_c6
  auto source = dyn_cast<quant::UniformQuantizedPerAxisType>(operand.getElementType());
  auto target = dyn_cast<quant::UniformQuantizedPerAxisType>(result.getElementType());
  if (!source || !target)
    return success();
  int32_t axis = source.getQuantizedDimension();
  if (target.getQuantizedDimension() != dims[axis])
    return emitOpError() << "result must be quantized along dimension " << dims[axis]
                         << ", to which the operand's quantized dimension " << axis
                         << " is broadcast, got dimension " << target.getQuantizedDimension();
  bool repeats = operand.getDimSize(axis) == 1;
  if (repeats && (!llvm::all_of(target.getScales(), [&](double scale) {
        return scale == source.getScales()[0];
      }) || !llvm::all_of(target.getZeroPoints(), [&](int64_t zeroPoint) {
        return zeroPoint == source.getZeroPoints()[0];
      })))
    return emitOpError() << "result must repeat the operand's single scale and zero point, got "
                         << target << " for " << source;
  return success();
}

//===----------------------------------------------------------------------===//
// concatenate
//===----------------------------------------------------------------------===//

LogicalResult ConcatenateOp::verify() {
  if (getInputs().empty()) // concatenate_c3
    return emitOpError() << "must have at least one input, got none";
  auto first = cast<RankedTensorType>(getInputs().front().getType());
  int64_t dimension = getDimension();
  // concatenate_c4
  if (failed(verifyDimension(*this, "dimension", dimension, "the inputs", first.getRank())))
    return failure();

  SmallVector<int64_t> expected(first.getShape());
  expected[dimension] = 0;
  for (auto [index, type] : llvm::enumerate(getInputs().getTypes())) {
    if (elementOf(type) != first.getElementType()) // concatenate_c1
      return emitOpError() << "inputs must have the same element type, got "
                           << first.getElementType() << " for input 0 and " << elementOf(type)
                           << " for input " << index;
    SmallVector<int64_t> shape(shapeOf(type));
    if (shape.size() != expected.size()) // concatenate_c2
      return emitOpError() << "inputs must have the same rank, got " << expected.size()
                           << " for input 0 and " << shape.size() << " for input " << index;
    int64_t size = std::exchange(shape[dimension], expected[dimension]);
    if (!shapesAgree(shape, expected)) // concatenate_c2
      return emitOpError() << "inputs must have the same shape except in dimension " << dimension
                           << ", got " << first << " for input 0 and " << type << " for input "
                           << index;
    if (ShapedType::isDynamic(size) || ShapedType::isDynamic(expected[dimension])) {
      expected[dimension] = ShapedType::kDynamic;
      continue;
    }
    std::optional<int64_t> sum = llvm::checkedAdd(expected[dimension], size);
    if (!sum)
      return emitOpError() << "sizes along dimension " << dimension << " must add up to less than "
                           << "2^63, got " << expected[dimension] << " and " << size;
    expected[dimension] = *sum;
  }

  auto result = cast<RankedTensorType>(getResult().getType());
  if (result.getElementType() != first.getElementType()) // concatenate_c5
    return emitOpError() << "result must have the element type of the inputs, "
                         << first.getElementType() << ", got " << result.getElementType();
  if (!shapesAgree(result.getShape(), expected)) // concatenate_c6
    return emitOpError() << "result must have the shape of the inputs concatenated along dimension "
                         << dimension << ", " << shapeText(expected) << ", got "
                         << shapeText(result.getShape());
  return success();
}

//===----------------------------------------------------------------------===//
// pad
//===----------------------------------------------------------------------===//

/// low + size + max(size - 1, 0) * interior + high; nullopt on overflow.
static std::optional<int64_t> paddedSize(int64_t size, int64_t low, int64_t high,
                                         int64_t interior) {
  std::optional<int64_t> between = llvm::checkedMul(std::max<int64_t>(size - 1, 0), interior);
  std::optional<int64_t> total = between ? llvm::checkedAdd(size, *between) : std::nullopt;
  total = total ? llvm::checkedAdd(*total, low) : std::nullopt;
  return total ? llvm::checkedAdd(*total, high) : std::nullopt;
}

LogicalResult PadOp::verify() {
  auto operand = cast<RankedTensorType>(getOperand().getType());
  auto result = cast<RankedTensorType>(getResult().getType());
  Type value = elementOf(getPaddingValue().getType());
  if (value != operand.getElementType() || value != result.getElementType()) // pad_c1
    return emitOpError()
           << "operand, padding_value and result must have the same element type, got "
           << operand.getElementType() << ", " << value << " and " << result.getElementType();
  ArrayRef<int64_t> low = getEdgePaddingLow(), high = getEdgePaddingHigh(),
                    interior = getInteriorPadding();
  int64_t rank = operand.getRank();
  for (auto [name, list] :
       {std::pair("edge_padding_low", low), std::pair("edge_padding_high", high),
        std::pair("interior_padding", interior)})
    if (failed(verifyOnePerDimension(*this, name, list.size(), "the operand", rank))) // pad_c2
      return failure();
  for (auto [dim, amount] : llvm::enumerate(interior))
    if (amount < 0) // pad_c3
      return emitOpError() << "interior_padding must not be negative, got " << amount
                           << " for dimension " << dim;
  SmallVector<int64_t> expected;
  for (auto [dim, size] : llvm::enumerate(operand.getShape())) {
    if (ShapedType::isDynamic(size)) {
      expected.push_back(size);
      continue;
    }
    std::optional<int64_t> padded = paddedSize(size, low[dim], high[dim], interior[dim]);
    if (!padded || *padded < 0) // pad_c4
      return emitOpError() << "padding dimension " << dim << " of size " << size << " with low "
                           << low[dim] << ", high " << high[dim] << " and interior "
                           << interior[dim] << " must result in a size from 0 to 2^63 - 1";
    expected.push_back(*padded);
  }
  if (!shapesAgree(result.getShape(), expected)) // pad_c4
    return emitOpError() << "result must have the padded shape, " << shapeText(expected) << ", got "
                         << shapeText(result.getShape());
  return success();
}

//===----------------------------------------------------------------------===//
// reshape
//===----------------------------------------------------------------------===//

/// Whether two lists of static sizes have the same product.
static bool sameProduct(ArrayRef<int64_t> left, ArrayRef<int64_t> right) {
  Result<Shape> leftShape = Shape::create(std::span(left.data(), left.size()));
  Result<Shape> rightShape = Shape::create(std::span(right.data(), right.size()));
  return leftShape.isOk() && rightShape.isOk() &&
         leftShape->elementCount() == rightShape->elementCount();
}

LogicalResult ReshapeOp::verify() {
  auto operand = cast<RankedTensorType>(getOperand().getType());
  auto result = cast<RankedTensorType>(getResult().getType());
  if (failed(verifyElementMoves(*this))) // reshape_c1
    return failure();
  if (!operand.hasStaticShape() || !result.hasStaticShape())
    return success();
  for (RankedTensorType type : {operand, result}) {
    Result<Shape> shape = Shape::create(std::span(type.getShape().data(), type.getShape().size()));
    if (!shape.isOk())
      return emitOpError() << std::move(shape).takeStatus().message();
  }
  if (!sameProduct(operand.getShape(), result.getShape())) // reshape_c2
    return emitOpError() << "operand and result must have the same number of elements, got "
                         << shapeText(operand.getShape()) << " and "
                         << shapeText(result.getShape());

  // reshape_c3: the quantized dimension must not be split or merged, and the dimensions before and
  // after it must have the same number of elements as in the operand.
  auto source = dyn_cast<quant::UniformQuantizedPerAxisType>(operand.getElementType());
  auto target = dyn_cast<quant::UniformQuantizedPerAxisType>(result.getElementType());
  if (!source || !target)
    return success();
  int64_t from = source.getQuantizedDimension(), to = target.getQuantizedDimension();
  if (operand.getDimSize(from) != result.getDimSize(to) ||
      !sameProduct(operand.getShape().take_front(from), result.getShape().take_front(to)) ||
      !sameProduct(operand.getShape().drop_front(from + 1), result.getShape().drop_front(to + 1)))
    return emitOpError() << "the quantized dimension and the number of elements before and after "
                            "it must stay the same, got dimension "
                         << from << " of " << shapeText(operand.getShape()) << " and dimension "
                         << to << " of " << shapeText(result.getShape());
  return success();
}

//===----------------------------------------------------------------------===//
// reverse, slice, transpose
//===----------------------------------------------------------------------===//

LogicalResult ReverseOp::verify() { // reverse_c1: see SameShape and SameBaselineElementType
  ArrayRef<int64_t> dims = getDimensions();
  int64_t rank = cast<RankedTensorType>(getResult().getType()).getRank();
  return failure(
      failed(verifyUnique(*this, "dimensions", dims)) ||                      // reverse_c2
      failed(verifyInRange(*this, "dimensions", dims, "the operand", rank))); // reverse_c3
}

LogicalResult SliceOp::verify() {
  auto operand = cast<RankedTensorType>(getOperand().getType());
  ArrayRef<int64_t> starts = getStartIndices(), limits = getLimitIndices(), strides = getStrides();
  if (failed(verifyOneElementType(*this))) // slice_c1
    return failure();
  // slice_c2
  for (auto [name, list] : {std::pair("start_indices", starts), std::pair("limit_indices", limits),
                            std::pair("strides", strides)})
    if (failed(verifyOnePerDimension(*this, name, list.size(), "the operand", operand.getRank())))
      return failure();
  if (failed(verifyPositive(*this, "strides", strides))) // slice_c4
    return failure();
  SmallVector<int64_t> expected;
  for (auto [dim, size] : llvm::enumerate(operand.getShape())) {
    int64_t start = starts[dim], limit = limits[dim], stride = strides[dim];
    if (start < 0 || limit < start || (!ShapedType::isDynamic(size) && limit > size)) // slice_c3
      return emitOpError()
             << "start and limit must satisfy 0 <= start <= limit <= size in dimension " << dim
             << " of " << operand << ", got " << start << " and " << limit;
    expected.push_back((limit - start) / stride + ((limit - start) % stride != 0));
  }
  if (!shapesAgree(shapeOf(getResult().getType()), expected)) // slice_c5
    return emitOpError() << "result must have the shape of the slice, " << shapeText(expected)
                         << ", got " << shapeText(shapeOf(getResult().getType()));
  return success();
}

LogicalResult TransposeOp::verify() {
  auto operand = cast<RankedTensorType>(getOperand().getType());
  auto result = cast<RankedTensorType>(getResult().getType());
  ArrayRef<int64_t> permutation = getPermutation();
  // transpose_c1, transpose_c2
  int64_t rank = operand.getRank();
  if (failed(verifyElementMoves(*this)) ||
      failed(
          verifyOnePerDimension(*this, "permutation", permutation.size(), "the operand", rank)) ||
      failed(verifyInRange(*this, "permutation", permutation, "the operand", rank)) ||
      failed(verifyUnique(*this, "permutation", permutation)))
    return failure();
  SmallVector<int64_t> expected;
  for (int64_t dim : permutation)
    expected.push_back(operand.getDimSize(dim));
  if (!shapesAgree(result.getShape(), expected)) // transpose_c3
    return emitOpError() << "result must have the permuted shape, " << shapeText(expected)
                         << ", got " << shapeText(result.getShape());
  auto source = dyn_cast<quant::UniformQuantizedPerAxisType>(operand.getElementType());
  auto target = dyn_cast<quant::UniformQuantizedPerAxisType>(result.getElementType());
  if (source && target &&
      source.getQuantizedDimension() != permutation[target.getQuantizedDimension()]) // transpose_c4
    return emitOpError() << "result must be quantized along dimension "
                         << llvm::find(permutation, source.getQuantizedDimension()) -
                                permutation.begin()
                         << ", to which the operand's quantized dimension "
                         << source.getQuantizedDimension() << " is transposed, got dimension "
                         << target.getQuantizedDimension();
  return success();
}

//===----------------------------------------------------------------------===//
// dynamic_slice, dynamic_update_slice
//===----------------------------------------------------------------------===//

/// Checks that there is one start index per dimension, and that all have the same type.
static LogicalResult verifyStartIndices(Operation *op, OperandRange indices, int64_t rank) {
  if (failed(verifyOnePerDimension(op, "start_indices", indices.size(), "the operand", rank)))
    return failure();
  for (Type type : indices.getTypes())
    if (type != indices.front().getType())
      return op->emitOpError() << "start_indices must all have the same type, got "
                               << indices.front().getType() << " and " << type;
  return success();
}

LogicalResult DynamicSliceOp::verify() {
  auto operand = cast<RankedTensorType>(getOperand().getType());
  ArrayRef<int64_t> sizes = getSliceSizes();
  // dynamic_slice_c1, dynamic_slice_c2, dynamic_slice_c3
  if (failed(verifyOneElementType(*this)) ||
      failed(verifyStartIndices(*this, getStartIndices(), operand.getRank())) ||
      failed(verifyOnePerDimension(*this, "slice_sizes", sizes.size(), "the operand",
                                   operand.getRank())))
    return failure();
  // dynamic_slice_c4
  for (auto [dim, limit] : llvm::enumerate(operand.getShape()))
    if (sizes[dim] < 0 || (!ShapedType::isDynamic(limit) && sizes[dim] > limit))
      return emitOpError() << "slice_sizes must be in [0, size of the operand], got " << sizes[dim]
                           << " for dimension " << dim << " of operand shape "
                           << shapeText(operand.getShape());
  if (!shapesAgree(shapeOf(getResult().getType()), sizes)) // dynamic_slice_c5
    return emitOpError() << "result must have the shape given by slice_sizes, " << shapeText(sizes)
                         << ", got " << shapeText(shapeOf(getResult().getType()));
  return success();
}

LogicalResult DynamicUpdateSliceOp::verify() {
  auto operand = cast<RankedTensorType>(getOperand().getType());
  auto update = cast<RankedTensorType>(getUpdate().getType());
  if (!typesAgree(operand, getResult().getType())) // dynamic_update_slice_c1
    return emitOpError() << "result must have the type of the operand, " << operand << ", got "
                         << getResult().getType();
  if (update.getElementType() != operand.getElementType()) // dynamic_update_slice_c2
    return emitOpError() << "update must have the element type of the operand, "
                         << operand.getElementType() << ", got " << update.getElementType();
  if (update.getRank() != operand.getRank()) // dynamic_update_slice_c3
    return emitOpError() << "update must have the rank of the operand, " << operand.getRank()
                         << ", got " << update.getRank();
  // dynamic_update_slice_c4, dynamic_update_slice_c5
  if (failed(verifyStartIndices(*this, getStartIndices(), operand.getRank())))
    return failure();
  // dynamic_update_slice_c6
  for (auto [dim, size, limit] : llvm::enumerate(update.getShape(), operand.getShape()))
    if (!ShapedType::isDynamic(size) && !ShapedType::isDynamic(limit) && size > limit)
      return emitOpError() << "update must fit into the operand of shape "
                           << shapeText(operand.getShape()) << ", got size " << size
                           << " in dimension " << dim;
  return success();
}

//===----------------------------------------------------------------------===//
// get_dimension_size, set_dimension_size
//===----------------------------------------------------------------------===//

LogicalResult GetDimensionSizeOp::verify() { // get_dimension_size_c1
  int64_t rank = cast<RankedTensorType>(getOperand().getType()).getRank();
  return verifyDimension(*this, "dimension", getDimension(), "the operand", rank);
}

// The specification does not describe set_dimension_size; these rules are derived from its
// semantics.
LogicalResult SetDimensionSizeOp::verify() {
  auto operand = cast<RankedTensorType>(getOperand().getType());
  int64_t dimension = getDimension();
  if (failed(verifyOneElementType(*this)) ||
      failed(verifyDimension(*this, "dimension", dimension, "the operand", operand.getRank())))
    return failure();
  SmallVector<int64_t> expected(operand.getShape());
  expected[dimension] = ShapedType::kDynamic;
  if (!shapesAgree(shapeOf(getResult().getType()), expected))
    return emitOpError() << "result must have the shape of the operand except in dimension "
                         << dimension << ", " << shapeText(expected) << ", got "
                         << shapeText(shapeOf(getResult().getType()));
  return success();
}
