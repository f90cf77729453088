// Constraints of ops that apply a scalar computation to tensors: map, reduce, reduce_window,
// select_and_scatter and sort.
#include "tilewright/dialect/stablehlo/ops/ReductionOps.h"
#include "tilewright/dialect/stablehlo/verify/VerifyRules.h"

#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace tilewright::stablehlo;

/// Checks that all `types` have the shape of the first. `types` must not be empty.
static LogicalResult verifySameShape(Operation *op, StringRef name, TypeRange types) {
  for (auto [index, type] : llvm::enumerate(types))
    if (!shapesAgree(shapeOf(type), shapeOf(types.front())))
      return op->emitOpError() << name << " must have the same shape, got " << types.front()
                               << " at index 0 and " << type << " at index " << index;
  return success();
}

/// Checks that the initial values are scalars of the inputs' element types.
static LogicalResult verifyInitValues(Operation *op, TypeRange inputs, TypeRange initValues) {
  for (auto [index, input, init] : llvm::enumerate(inputs, initValues)) {
    if (!shapeOf(init).empty())
      return op->emitOpError() << "initial value " << index << " must be a scalar, got " << init;
    if (elementOf(init) != elementOf(input))
      return op->emitOpError() << "initial value " << index
                               << " must have the element type of its input, " << elementOf(input)
                               << ", got " << elementOf(init);
  }
  return success();
}

/// Checks that the numbers of inputs, initial values and results are equal and at least one. The
/// operands are split into two halves, which would hide an odd number of them.
static LogicalResult verifyCounts(Operation *op, size_t inputs) {
  if (inputs == 0)
    return op->emitOpError() << "must have at least one input, got none";
  if (op->getNumOperands() != 2 * inputs)
    return op->emitOpError()
           << "must have one initial value for each input, got an odd number of operands, "
           << op->getNumOperands();
  if (op->getNumResults() != inputs)
    return op->emitOpError() << "must have one result for each input, got " << op->getNumResults()
                             << " for " << inputs;
  return success();
}

//===----------------------------------------------------------------------===//
// map
//===----------------------------------------------------------------------===//

LogicalResult MapOp::verify() {
  if (getInputs().empty()) // map_c2
    return emitOpError() << "must have at least one input, got none";
  auto result = cast<RankedTensorType>(getResult().getType());
  for (auto [index, type] : llvm::enumerate(getInputs().getTypes())) // map_c1
    if (!shapesAgree(shapeOf(type), result.getShape()))
      return emitOpError() << "input " << index << " must have the shape of the result, "
                           << shapeText(result.getShape()) << ", got " << type;
  // map_c3
  if (failed(verifyOnePerDimension(*this, "dimensions", getDimensions().size(), "the inputs",
                                   result.getRank())))
    return failure();
  for (auto [index, dim] : llvm::enumerate(getDimensions()))
    if (dim != static_cast<int64_t>(index))
      return emitOpError() << "dimensions must list all dimensions in order, got " << dim
                           << " at index " << index;
  return success();
}

LogicalResult MapOp::verifyRegions() {
  // map_c4
  SmallVector<Type> scalars;
  for (Type type : getInputs().getTypes())
    scalars.push_back(RankedTensorType::get({}, elementOf(type)));
  if (failed(verifyArguments(*this, "computation", getComputation(), scalars)))
    return failure();
  Type result = RankedTensorType::get({}, elementOf(getResult().getType()));
  return verifyReturned(*this, "computation", getComputation(), result);
}

//===----------------------------------------------------------------------===//
// reduce
//===----------------------------------------------------------------------===//

LogicalResult ReduceOp::verify() {
  TypeRange inputs = getInputs().getTypes();
  if (failed(verifyCounts(*this, inputs.size())) ||                        // reduce_c3
      failed(verifySameShape(*this, "inputs", inputs)) ||                  // reduce_c1
      failed(verifyInitValues(*this, inputs, getInitValues().getTypes()))) // reduce_c2
    return failure();
  ArrayRef<int64_t> shape = shapeOf(inputs.front());
  if (failed(verifyInRange(*this, "dimensions", getDimensions(), "the inputs",
                           shape.size())) ||                      // reduce_c4
      failed(verifyUnique(*this, "dimensions", getDimensions()))) // reduce_c5
    return failure();
  // reduce_c7
  llvm::SmallBitVector reduced(shape.size());
  for (int64_t dim : getDimensions())
    reduced.set(dim);
  SmallVector<int64_t> kept;
  for (auto [dim, size] : llvm::enumerate(shape))
    if (!reduced.test(dim))
      kept.push_back(size);
  for (auto [index, type] : llvm::enumerate(getResultTypes()))
    if (!shapesAgree(shapeOf(type), kept))
      return emitOpError() << "result " << index
                           << " must have the inputs' shape without the reduced dimensions, "
                           << shapeText(kept) << ", got " << type;
  return success();
}

LogicalResult ReduceOp::verifyRegions() {
  FailureOr<SmallVector<Type>> elements =
      verifyReducer(*this, "body", getBody(), getInputs().getTypes()); // reduce_c6
  if (failed(elements))
    return failure();
  return verifyResultElements(*this, getResultTypes(), *elements); // reduce_c8
}

//===----------------------------------------------------------------------===//
// reduce_window
//===----------------------------------------------------------------------===//

namespace {
/// The attributes of a window. An omitted list means ones, and omitted padding means zeros.
struct WindowLists {
  std::optional<ArrayRef<int64_t>> sizes, strides, baseDilations, windowDilations;
  DenseIntElementsAttr padding;
};
} // namespace

/// The number of window positions along each dimension of `input`. Each list must have one entry
/// per dimension, and sizes, strides and dilations must be at least 1.
static FailureOr<SmallVector<int64_t>> windowCounts(Operation *op, Type input,
                                                    const WindowLists &lists) {
  auto entry = [](std::optional<ArrayRef<int64_t>> list, size_t dim) {
    return list ? (*list)[dim] : 1;
  };
  SmallVector<int64_t> padding;
  if (lists.padding)
    padding = paddingEntries(lists.padding);
  SmallVector<int64_t> counts;
  for (auto [dim, size] : llvm::enumerate(shapeOf(input))) {
    Window window;
    window.size = entry(lists.sizes, dim);
    window.stride = entry(lists.strides, dim);
    window.baseDilation = entry(lists.baseDilations, dim);
    window.windowDilation = entry(lists.windowDilations, dim);
    window.lowPadding = padding.empty() ? 0 : padding[2 * dim];
    window.highPadding = padding.empty() ? 0 : padding[2 * dim + 1];
    std::optional<int64_t> count = countWindows(size, window);
    if (!count)
      return op->emitOpError() << "padded and dilated sizes must fit in 63 bits, but dimension "
                               << dim << " of " << input << " does not";
    counts.push_back(*count);
  }
  return counts;
}

LogicalResult ReduceWindowOp::verify() {
  TypeRange inputs = getInputs().getTypes();
  if (failed(verifyCounts(*this, inputs.size())) ||                        // reduce_window_c1
      failed(verifySameShape(*this, "inputs", inputs)) ||                  // reduce_window_c2
      failed(verifyInitValues(*this, inputs, getInitValues().getTypes()))) // reduce_window_c3
    return failure();
  ArrayRef<int64_t> shape = shapeOf(inputs.front());
  std::pair<StringRef, std::optional<ArrayRef<int64_t>>> lists[] = {
      {"window_dimensions", getWindowDimensions()}, // reduce_window_c4, reduce_window_c5
      {"window_strides", getWindowStrides()},       // reduce_window_c6, reduce_window_c7
      {"base_dilations", getBaseDilations()},       // reduce_window_c8, reduce_window_c9
      {"window_dilations", getWindowDilations()}};  // reduce_window_c10, reduce_window_c11
  for (auto [name, list] : lists)
    if (list &&
        (failed(verifyOnePerDimension(*this, name, list->size(), "the inputs", shape.size())) ||
         failed(verifyPositive(*this, name, *list))))
      return failure();
  if (failed(verifyPaddingShape(*this, getPaddingAttr(), shape.size())) || // reduce_window_c12
      failed(verifySameShape(*this, "results", getResultTypes())))         // reduce_window_c14
    return failure();
  // reduce_window_c15
  FailureOr<SmallVector<int64_t>> windows =
      windowCounts(*this, inputs.front(),
                   {getWindowDimensions(), getWindowStrides(), getBaseDilations(),
                    getWindowDilations(), getPaddingAttr()});
  if (failed(windows))
    return failure();
  if (!shapesAgree(shapeOf(getResultTypes().front()), *windows))
    return emitOpError() << "results must have shape " << shapeText(*windows)
                         << ", one element for each window, got " << getResultTypes().front();
  return success();
}

LogicalResult ReduceWindowOp::verifyRegions() {
  FailureOr<SmallVector<Type>> elements =
      verifyReducer(*this, "body", getBody(), getInputs().getTypes()); // reduce_window_c13
  if (failed(elements))
    return failure();
  return verifyResultElements(*this, getResultTypes(), *elements); // reduce_window_c16
}

//===----------------------------------------------------------------------===//
// select_and_scatter
//===----------------------------------------------------------------------===//

LogicalResult SelectAndScatterOp::verify() {
  auto operand = cast<RankedTensorType>(getOperand().getType());
  auto source = cast<RankedTensorType>(getSource().getType());
  int64_t rank = operand.getRank();
  if (operand.getElementType() != source.getElementType()) // select_and_scatter_c1
    return emitOpError() << "operand and source must have the same element type, got "
                         << operand.getElementType() << " and " << source.getElementType();
  if (failed(verifyInitValues(*this, operand, getInitValue().getType()))) // select_and_scatter_c3
    return failure();
  ArrayRef<int64_t> sizes = getWindowDimensions().value_or(ArrayRef<int64_t>());
  if (failed(verifyOnePerDimension(*this, "window_dimensions", sizes.size(), "the operand",
                                   rank)) ||                     // select_and_scatter_c4
      failed(verifyPositive(*this, "window_dimensions", sizes))) // select_and_scatter_c5
    return failure();
  if (auto strides = getWindowStrides()) // select_and_scatter_c6, select_and_scatter_c7
    if (failed(
            verifyOnePerDimension(*this, "window_strides", strides->size(), "the operand", rank)) ||
        failed(verifyPositive(*this, "window_strides", *strides)))
      return failure();
  if (failed(verifyPaddingShape(*this, getPaddingAttr(), rank))) // select_and_scatter_c8
    return failure();

  // select_and_scatter_c2
  FailureOr<SmallVector<int64_t>> windows =
      windowCounts(*this, operand, {sizes, getWindowStrides(), {}, {}, getPaddingAttr()});
  if (failed(windows))
    return failure();
  if (!shapesAgree(source.getShape(), *windows))
    return emitOpError() << "source must have shape " << shapeText(*windows)
                         << ", one element for each window, got " << source;
  if (!shapesAgree(shapeOf(getResult().getType()), operand.getShape())) // select_and_scatter_c11
    return emitOpError() << "result must have the shape of the operand, "
                         << shapeText(operand.getShape()) << ", got " << getResult().getType();
  return success();
}

LogicalResult SelectAndScatterOp::verifyRegions() {
  // select_and_scatter_c9
  Type operand = getOperand().getType();
  Type scalar = RankedTensorType::get({}, elementOf(operand));
  Type pred = RankedTensorType::get({}, IntegerType::get(getContext(), 1));
  if (failed(verifyArguments(*this, "select", getSelect(), {scalar, scalar})) ||
      failed(verifyReturned(*this, "select", getSelect(), pred)))
    return failure();
  FailureOr<SmallVector<Type>> elements =
      verifyReducer(*this, "scatter", getScatter(), operand); // select_and_scatter_c10
  if (failed(elements))
    return failure();
  return verifyResultElements(*this, getResult().getType(), *elements); // select_and_scatter_c12
}

//===----------------------------------------------------------------------===//
// sort
//===----------------------------------------------------------------------===//

LogicalResult SortOp::verify() {
  TypeRange inputs = getInputs().getTypes();
  if (inputs.empty()) // sort_c1
    return emitOpError() << "must have at least one input, got none";
  if (failed(verifySameShape(*this, "inputs", inputs))) // sort_c3
    return failure();
  if (inputs.size() != getNumResults()) // sort_c2
    return emitOpError() << "must have one result for each input, got " << getNumResults()
                         << " for " << inputs.size();
  for (auto [index, input, result] : llvm::enumerate(inputs, getResultTypes()))
    if (!typesAgree(input, result))
      return emitOpError() << "result " << index << " must have the type of its input, " << input
                           << ", got " << result;
  int64_t rank = shapeOf(inputs.front()).size(), dim = getDimension();
  if (dim < -rank || dim >= rank) // sort_c4
    return emitOpError() << "dimension must be in [-rank, rank) of the inputs, [" << -rank << ", "
                         << rank << "), got " << dim;
  return success();
}

LogicalResult SortOp::verifyRegions() {
  // sort_c5
  SmallVector<Type> scalars;
  for (Type type : getInputs().getTypes())
    scalars.append(2, RankedTensorType::get({}, elementOf(type)));
  if (failed(verifyArguments(*this, "comparator", getComparator(), scalars)))
    return failure();
  Type pred = RankedTensorType::get({}, IntegerType::get(getContext(), 1));
  return verifyReturned(*this, "comparator", getComparator(), pred);
}
