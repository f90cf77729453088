// Simplifies dynamic slices, gathers and scatters whose indices are known or that access only one
// window.
#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/dialect/stablehlo/ops/IndexingOps.h"
#include "tilewright/dialect/stablehlo/ops/UnaryOps.h"
#include "tilewright/transform/simplify/Constants.h"
#include "tilewright/transform/simplify/Patterns.h"

#include <numeric>

using namespace mlir;

namespace tilewright::simplify {
namespace {

LogicalResult simplifyDynamicSlice(stablehlo::DynamicSliceOp op, PatternRewriter &rewriter) {
  if (!isStatic(op) || !isStatic(op.getOperand()))
    return rewriter.notifyMatchFailure(op, "a shape is dynamic");
  RankedTensorType type = typeOf(op.getOperand());
  if (type == op.getType()) {
    rewriter.replaceOp(op, op.getOperand());
    return success();
  }
  if (Attribute splat = splatOf(op.getOperand())) {
    rewriter.replaceOp(op, makeSplat(rewriter, op.getLoc(), op.getType(), splat));
    return success();
  }
  SmallVector<int64_t> starts, limits, strides(static_cast<size_t>(type.getRank()), 1);
  for (auto [dim, index] : llvm::enumerate(op.getStartIndices())) {
    const int64_t size = op.getSliceSizes()[dim], most = type.getDimSize(dim) - size;
    // A slice of full size starts at 0, because the index is clamped.
    const auto start = most == 0 ? std::optional(SmallVector<int64_t>{0}) : integersOf(index);
    if (!start)
      return rewriter.notifyMatchFailure(op, Twine("the start index of dimension ") + Twine(dim) +
                                                 " is not constant");
    starts.push_back(std::clamp<int64_t>(start->front(), 0, most));
    limits.push_back(starts.back() + size);
  }
  rewriter.replaceOpWithNewOp<stablehlo::SliceOp>(op, op.getType(), op.getOperand(), starts, limits,
                                                  strides);
  return success();
}

LogicalResult simplifyDynamicUpdateSlice(stablehlo::DynamicUpdateSliceOp op,
                                         PatternRewriter &rewriter) {
  if (!isStatic(op) || !isStatic(op.getUpdate()))
    return rewriter.notifyMatchFailure(op, "a shape is dynamic");
  if (op.getUpdate().getType() == op.getType()) {
    rewriter.replaceOp(op, op.getUpdate());
    return success();
  }
  if (typeOf(op.getUpdate()).getNumElements() == 0) {
    rewriter.replaceOp(op, op.getOperand());
    return success();
  }
  return rewriter.notifyMatchFailure(op, "the update is neither empty nor as large as the operand");
}

/// The scalar at position `at` of a vector of indices.
Value indexAt(Value indices, int64_t at, PatternRewriter &rewriter, Location location) {
  RankedTensorType type = typeOf(indices);
  const int64_t count = type.getNumElements();
  auto flat = RankedTensorType::get({count}, type.getElementType());
  auto one = RankedTensorType::get({1}, type.getElementType());
  Value vector = reshapeTo(rewriter, location, indices, flat);
  if (count > 1)
    vector = stablehlo::SliceOp::create(rewriter, location, one, vector, ArrayRef<int64_t>{at},
                                        ArrayRef<int64_t>{at + 1}, ArrayRef<int64_t>{1});
  return reshapeTo(rewriter, location, vector, RankedTensorType::get({}, type.getElementType()));
}

/// Turns a gather of one window into a dynamic_slice: both clamp the window to the operand.
LogicalResult gatherOneWindow(stablehlo::GatherOp op, PatternRewriter &rewriter) {
  if (!isStatic(op) || !isStatic(op.getOperand()) || !isStatic(op.getStartIndices()))
    return rewriter.notifyMatchFailure(op, "a shape is dynamic");
  auto numbers = op.getDimensionNumbers();
  RankedTensorType operand = typeOf(op.getOperand()), indices = typeOf(op.getStartIndices());
  if (!numbers.getOperandBatchingDims().empty() || indices.getNumElements() == 0 ||
      indices.getNumElements() != static_cast<int64_t>(numbers.getStartIndexMap().size()))
    return rewriter.notifyMatchFailure(
        op, "it has batching dimensions, or its indices do not select a single window");
  auto scalar = RankedTensorType::get({}, indices.getElementType());
  SmallVector<Value> starts;
  for (int64_t dim = 0; dim < operand.getRank(); ++dim) {
    auto found = llvm::find(numbers.getStartIndexMap(), dim);
    starts.push_back(found == numbers.getStartIndexMap().end()
                         ? makeNumber(rewriter, op.getLoc(), scalar, 0)
                         : indexAt(op.getStartIndices(),
                                   std::distance(numbers.getStartIndexMap().begin(), found),
                                   rewriter, op.getLoc()));
  }
  auto window = RankedTensorType::get(op.getSliceSizes(), operand.getElementType());
  Value slice = stablehlo::DynamicSliceOp::create(rewriter, op.getLoc(), window, op.getOperand(),
                                                  starts, op.getSliceSizes());
  rewriter.replaceOp(op, reshapeTo(rewriter, op.getLoc(), slice, op.getType()));
  return success();
}

/// Turns a gather along one dimension at known, equidistant indices into a slice.
LogicalResult gatherRange(stablehlo::GatherOp op, PatternRewriter &rewriter) {
  if (!isStatic(op) || !isStatic(op.getOperand()) || !isStatic(op.getStartIndices()))
    return rewriter.notifyMatchFailure(op, "a shape is dynamic");
  auto numbers = op.getDimensionNumbers();
  RankedTensorType operand = typeOf(op.getOperand());
  if (!numbers.getOperandBatchingDims().empty() || numbers.getStartIndexMap().size() != 1)
    return rewriter.notifyMatchFailure(
        op, "it has batching dimensions or does not gather along a single dimension");
  const int64_t dim = numbers.getStartIndexMap()[0];
  if (!llvm::is_contained(numbers.getCollapsedSliceDims(), dim) ||
      numbers.getCollapsedSliceDims().size() != 1)
    return rewriter.notifyMatchFailure(op, "the gathered dimension is not the only collapsed one");
  for (int64_t d = 0; d < operand.getRank(); ++d)
    if (d != dim &&
        op.getSliceSizes()[static_cast<size_t>(d)] != operand.getDimSize(static_cast<unsigned>(d)))
      return rewriter.notifyMatchFailure(op,
                                         Twine("the slices do not cover dimension ") + Twine(d));
  // The result must have exactly one batch dimension.
  if (static_cast<int64_t>(numbers.getOffsetDims().size()) + 1 != op.getType().getRank())
    return rewriter.notifyMatchFailure(op, "the result does not have exactly one batch dimension");
  std::optional<SmallVector<int64_t>> positions = integersOf(op.getStartIndices());
  if (!positions || positions->size() < 2)
    return rewriter.notifyMatchFailure(op,
                                       "the indices are not constant, or there are fewer than two");
  const int64_t size = operand.getDimSize(static_cast<unsigned>(dim));
  // Check the range before any arithmetic, which could overflow: an index may be any int64.
  if (llvm::any_of(*positions, [&](int64_t position) { return position < 0 || position >= size; }))
    return rewriter.notifyMatchFailure(op, "an index is out of bounds");
  const int64_t first = positions->front(), stride = (*positions)[1] - first;
  for (auto [index, position] : llvm::enumerate(*positions))
    if (position != first + static_cast<int64_t>(index) * stride)
      return rewriter.notifyMatchFailure(op, "the indices are not equidistant");
  if (stride < 1)
    return rewriter.notifyMatchFailure(op, Twine("the stride of the indices is ") + Twine(stride) +
                                               ", not positive");
  const auto rank = static_cast<size_t>(operand.getRank());
  SmallVector<int64_t> starts(rank, 0), limits(operand.getShape()), strides(rank, 1),
      shape(operand.getShape());
  starts[static_cast<size_t>(dim)] = first;
  limits[static_cast<size_t>(dim)] = positions->back() + 1;
  strides[static_cast<size_t>(dim)] = stride;
  shape[static_cast<size_t>(dim)] = static_cast<int64_t>(positions->size());
  Value slice = stablehlo::SliceOp::create(rewriter, op.getLoc(),
                                           RankedTensorType::get(shape, operand.getElementType()),
                                           op.getOperand(), starts, limits, strides);
  // The batch dimension of the result is the one that is not an offset dimension.
  SmallVector<int64_t> permutation;
  int64_t next = 0;
  for (int64_t d = 0; d < op.getType().getRank(); ++d) {
    if (!llvm::is_contained(numbers.getOffsetDims(), d)) {
      permutation.push_back(dim);
      continue;
    }
    if (next == dim)
      ++next;
    permutation.push_back(next++);
  }
  rewriter.replaceOpWithNewOp<stablehlo::TransposeOp>(op, op.getType(), slice, permutation);
  return success();
}

/// Turns a scatter that overwrites one window at a known position inside the input into a
/// dynamic_update_slice.
LogicalResult scatterOneWindow(stablehlo::ScatterOp op, PatternRewriter &rewriter) {
  if (op.getInputs().size() != 1 || !isStatic(op.getInputs()[0]) || !isStatic(op.getUpdates()[0]) ||
      !isStatic(op.getScatterIndices()))
    return rewriter.notifyMatchFailure(op, "it has several inputs, or a shape is dynamic");
  Block &body = op.getUpdateComputation().front();
  if (body.getTerminator()->getOperand(0) != body.getArgument(1))
    return rewriter.notifyMatchFailure(op, "the body does not return the update");
  auto numbers = op.getScatterDimensionNumbers();
  RankedTensorType type = typeOf(op.getInputs()[0]), updates = typeOf(op.getUpdates()[0]);
  std::optional<SmallVector<int64_t>> indices = integersOf(op.getScatterIndices());
  if (!indices || !numbers.getInputBatchingDims().empty() ||
      indices->size() != numbers.getScatterDimsToOperandDims().size() ||
      updates.getElementType() != type.getElementType() || updates.getNumElements() == 0)
    return rewriter.notifyMatchFailure(
        op,
        "the indices are not constant, or the updates are not a single window of the input's type");
  SmallVector<int64_t> window, starts(static_cast<size_t>(type.getRank()), 0);
  size_t next = 0;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    window.push_back(
        llvm::is_contained(numbers.getInsertedWindowDims(), dim)
            ? 1
            : updates.getDimSize(static_cast<unsigned>(numbers.getUpdateWindowDims()[next++])));
  for (auto [dim, index] : llvm::zip_equal(numbers.getScatterDimsToOperandDims(), *indices))
    starts[static_cast<size_t>(dim)] = index;
  SmallVector<Value> positions;
  auto scalar = RankedTensorType::get({}, typeOf(op.getScatterIndices()).getElementType());
  for (unsigned dim = 0; dim < type.getRank(); ++dim) {
    // A scatter drops a window that exceeds the input, but dynamic_update_slice would clamp it. An
    // index may be any int64, so adding to it could overflow.
    if (starts[dim] < 0 || starts[dim] > type.getDimSize(dim) - window[dim])
      return rewriter.notifyMatchFailure(op, Twine("the window is out of bounds in dimension ") +
                                                 Twine(dim));
    positions.push_back(
        makeNumber(rewriter, op.getLoc(), scalar, static_cast<double>(starts[dim])));
  }
  // The body may compute in a wider type than that of the input; the result has it.
  RankedTensorType result = typeOf(op.getResult(0));
  auto widened = [&](Value value) -> Value {
    if (type.getElementType() == result.getElementType())
      return value;
    return stablehlo::ConvertOp::create(rewriter, op.getLoc(),
                                        typeOf(value).clone(result.getElementType()), value);
  };
  Value update = reshapeTo(rewriter, op.getLoc(), widened(op.getUpdates()[0]),
                           RankedTensorType::get(window, result.getElementType()));
  rewriter.replaceOpWithNewOp<stablehlo::DynamicUpdateSliceOp>(
      op, result, widened(op.getInputs()[0]), update, positions);
  return success();
}

} // namespace

void addIndexingPatterns(RewritePatternSet &patterns) {
  addPattern<stablehlo::DynamicSliceOp>(patterns, "simplifyDynamicSlice", simplifyDynamicSlice);
  addPattern<stablehlo::DynamicUpdateSliceOp>(patterns, "simplifyDynamicUpdateSlice",
                                              simplifyDynamicUpdateSlice);
  addPattern<stablehlo::GatherOp>(patterns, "gatherOneWindow", gatherOneWindow);
  addPattern<stablehlo::GatherOp>(patterns, "gatherRange", gatherRange);
  addPattern<stablehlo::ScatterOp>(patterns, "scatterOneWindow", scatterOneWindow);
}

} // namespace tilewright::simplify
