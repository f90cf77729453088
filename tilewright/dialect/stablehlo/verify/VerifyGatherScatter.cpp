// Constraints of gather, dynamic_gather, scatter and torch_index_select.
#include "tilewright/dialect/stablehlo/ops/DynamicShapeOps.h"
#include "tilewright/dialect/stablehlo/ops/IndexingOps.h"
#include "tilewright/dialect/stablehlo/verify/VerifyRules.h"

#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace tilewright::stablehlo;

/// The number of entries in one index vector: the size of dimension `indexVectorDim`, or 1 if that
/// is the rank.
static int64_t indexVectorSize(ArrayRef<int64_t> indices, int64_t indexVectorDim) {
  return indexVectorDim < static_cast<int64_t>(indices.size()) ? indices[indexVectorDim] : 1;
}

/// `sizes` without the entries at `dropped` and `alsoDropped`.
static SmallVector<int64_t> without(ArrayRef<int64_t> sizes, ArrayRef<int64_t> dropped,
                                    ArrayRef<int64_t> alsoDropped = {}) {
  llvm::SmallBitVector drop(sizes.size());
  for (ArrayRef<int64_t> list : {dropped, alsoDropped})
    for (int64_t dim : list)
      if (dim >= 0 && dim < static_cast<int64_t>(sizes.size()))
        drop.set(dim);
  SmallVector<int64_t> kept;
  for (auto [dim, size] : llvm::enumerate(sizes))
    if (!drop.test(dim))
      kept.push_back(size);
  return kept;
}

/// A shape of `rank` dimensions with the sizes `window` at `windowDims`, which must be sorted,
/// unique and in range, and the sizes `batch` at the other dimensions, in order.
static SmallVector<int64_t> combine(ArrayRef<int64_t> batch, ArrayRef<int64_t> window,
                                    ArrayRef<int64_t> windowDims, int64_t rank) {
  SmallVector<int64_t> shape;
  for (int64_t dim = 0; dim < rank; ++dim) {
    bool isWindow = !windowDims.empty() && windowDims.front() == dim;
    ArrayRef<int64_t> &source = isWindow ? window : batch;
    if (isWindow)
      windowDims = windowDims.drop_front();
    shape.push_back(source.front());
    source = source.drop_front();
  }
  return shape;
}

namespace {
/// A list that must name dimensions of a tensor called `what`.
struct DimensionList {
  StringRef name;
  ArrayRef<int64_t> dims;
  StringRef what;
  RankedTensorType tensor;
};
} // namespace

static LogicalResult verifyRanges(Operation *op, ArrayRef<DimensionList> ranges) {
  for (const DimensionList &range : ranges)
    if (failed(verifyInRange(op, range.name, range.dims, range.what, range.tensor.getRank())))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// gather, dynamic_gather
//===----------------------------------------------------------------------===//

namespace {
/// The rules that gather and dynamic_gather share. For dynamic_gather, `sliceSizes` is a run-time
/// value, so the rules on its contents are not checked here.
struct GatherChecker {
  Operation *op;
  RankedTensorType operand, indices, result;
  GatherDimensionNumbersAttr numbers;
  std::optional<ArrayRef<int64_t>> sliceSizes;

  LogicalResult verifyLists();
  LogicalResult verifyBatching();
  LogicalResult verifySliceSizes();
  LogicalResult verifyResult();
};
} // namespace

LogicalResult GatherChecker::verifyLists() {
  int64_t vectorDim = numbers.getIndexVectorDim();
  if (vectorDim < 0 || vectorDim > indices.getRank()) // gather_c2, dynamic_gather_c2
    return op->emitOpError()
           << "index_vector_dim must be at least 0 and at most the rank of start_indices, "
           << indices.getRank() << ", got " << vectorDim;
  ArrayRef<int64_t> offset = numbers.getOffsetDims();
  ArrayRef<int64_t> collapsed = numbers.getCollapsedSliceDims();
  ArrayRef<int64_t> batching = numbers.getOperandBatchingDims();
  ArrayRef<int64_t> indexBatching = numbers.getStartIndicesBatchingDims();
  ArrayRef<int64_t> indexMap = numbers.getStartIndexMap();
  DimensionList ranges[] = {
      // gather_c5, dynamic_gather_c5
      {"offset_dims", offset, "the result", result},
      // gather_c8, dynamic_gather_c7
      {"collapsed_slice_dims", collapsed, "the operand", operand},
      // gather_c11
      {"operand_batching_dims", batching, "the operand", operand},
      // gather_c14
      {"start_indices_batching_dims", indexBatching, "start_indices", indices},
      // gather_c19, dynamic_gather_c10
      {"start_index_map", indexMap, "the operand", operand}};
  if (failed(verifyRanges(op, ranges)))
    return failure();

  // gather_c4, dynamic_gather_c4
  if (failed(verifyUnique(op, "offset_dims", offset)) ||
      failed(verifySorted(op, "offset_dims", offset)))
    return failure();
  // gather_c6, dynamic_gather_c6
  if (failed(
          verifyUnique(op, "collapsed_slice_dims and operand_batching_dims", collapsed, batching)))
    return failure();
  // gather_c7, dynamic_gather_c6, then gather_c10
  if (failed(verifySorted(op, "collapsed_slice_dims", collapsed)) ||
      failed(verifySorted(op, "operand_batching_dims", batching)))
    return failure();
  // gather_c13, then gather_c18, dynamic_gather_c9
  if (failed(verifyUnique(op, "start_indices_batching_dims", indexBatching)) ||
      failed(verifyUnique(op, "start_index_map and operand_batching_dims", indexMap, batching)))
    return failure();

  // gather_c1, dynamic_gather_c1
  size_t mapped = offset.size() + collapsed.size() + batching.size();
  if (static_cast<int64_t>(mapped) != operand.getRank())
    return op->emitOpError()
           << "each dimension of the operand must be an offset, collapsed or batching dimension, "
              "got "
           << mapped << " such dimensions for rank " << operand.getRank();

  // gather_c3, dynamic_gather_c3
  int64_t vectorSize = indexVectorSize(indices.getShape(), vectorDim);
  if (!sizesAgree(vectorSize, indexMap.size())) {
    InFlightDiagnostic diag = op->emitOpError()
                              << "start_index_map must have one entry for each element of an index "
                                 "vector, got "
                              << indexMap.size() << " for " << vectorSize;
    diag.attachNote() << "index vectors lie along dimension index_vector_dim = " << vectorDim
                      << " of " << indices;
    return diag;
  }
  return success();
}

LogicalResult GatherChecker::verifyBatching() {
  ArrayRef<int64_t> operandDims = numbers.getOperandBatchingDims();
  ArrayRef<int64_t> indexDims = numbers.getStartIndicesBatchingDims();
  if (llvm::is_contained(indexDims, numbers.getIndexVectorDim())) // gather_c15
    return op->emitOpError() << "start_indices_batching_dims must not contain index_vector_dim, "
                             << numbers.getIndexVectorDim() << ", got " << shapeText(indexDims);
  if (operandDims.size() != indexDims.size()) // gather_c16
    return op->emitOpError() << "operand_batching_dims and start_indices_batching_dims must have "
                                "the same number of entries, got "
                             << operandDims.size() << " and " << indexDims.size();
  for (auto [operandDim, indexDim] : llvm::zip_equal(operandDims, indexDims)) // gather_c17
    if (!sizesAgree(operand.getDimSize(operandDim), indices.getDimSize(indexDim)))
      return op->emitOpError() << "batching dimensions " << operandDim << " of the operand and "
                               << indexDim << " of start_indices must have equal sizes, got "
                               << operand.getDimSize(operandDim) << " and "
                               << indices.getDimSize(indexDim);
  return success();
}

LogicalResult GatherChecker::verifySliceSizes() {
  if (failed(verifyOnePerDimension(op, "slice_sizes", sliceSizes->size(), "the operand",
                                   operand.getRank()))) // gather_c20
    return failure();
  for (auto [dim, slice, size] : llvm::enumerate(*sliceSizes, operand.getShape())) // gather_c21
    if (slice < 0 || (!ShapedType::isDynamic(size) && slice > size))
      return op->emitOpError() << "slice_sizes must be in [0, size of the operand], got " << slice
                               << " for dimension " << dim << " of " << operand;
  auto verifyDropped = [&](StringRef name, ArrayRef<int64_t> dims) -> LogicalResult {
    for (int64_t dim : dims) {
      const int64_t slice = (*sliceSizes)[dim];
      if (slice > 1)
        return op->emitOpError() << "slice_sizes must be at most 1 at " << name << ", got " << slice
                                 << " for dimension " << dim;
      // The specification does not define what such a gather returns, and implementations differ.
      if (slice == 0 && (!result.hasStaticShape() || result.getNumElements() > 0))
        return op->emitOpError() << "slice_sizes must be 1 at " << name
                                 << " unless the result is empty, got 0 for dimension " << dim
                                 << " and result " << result;
    }
    return success();
  };
  if (failed(verifyDropped("collapsed_slice_dims",
                           numbers.getCollapsedSliceDims())) || // gather_c9
      failed(verifyDropped("operand_batching_dims",
                           numbers.getOperandBatchingDims()))) // gather_c12
    return failure();
  return success();
}

LogicalResult GatherChecker::verifyResult() {
  // gather_c22, dynamic_gather_c13
  SmallVector<int64_t> unknown(operand.getRank(), ShapedType::kDynamic);
  SmallVector<int64_t> batch = without(indices.getShape(), {numbers.getIndexVectorDim()});
  SmallVector<int64_t> window =
      without(sliceSizes.value_or(unknown), numbers.getCollapsedSliceDims(),
              numbers.getOperandBatchingDims());
  int64_t rank = batch.size() + window.size();
  if (result.getRank() != rank)
    return op->emitOpError() << "result must have " << batch.size() << " batch and "
                             << window.size() << " offset dimensions, got " << result;
  SmallVector<int64_t> shape = combine(batch, window, numbers.getOffsetDims(), rank);
  if (!shapesAgree(shape, result.getShape()))
    return op->emitOpError() << "result must have the shape of the batch and offset dimensions, "
                             << shapeText(shape) << ", got " << result;
  if (operand.getElementType() != result.getElementType()) // gather_c23, dynamic_gather_c14
    return op->emitOpError() << "operand and result must have the same element type, got "
                             << operand.getElementType() << " and " << result.getElementType();
  return success();
}

LogicalResult GatherOp::verify() {
  GatherChecker checker{*this,
                        cast<RankedTensorType>(getOperand().getType()),
                        cast<RankedTensorType>(getStartIndices().getType()),
                        cast<RankedTensorType>(getResult().getType()),
                        getDimensionNumbers(),
                        getSliceSizes()};
  return failure(failed(checker.verifyLists()) || failed(checker.verifyBatching()) ||
                 failed(checker.verifySliceSizes()) || failed(checker.verifyResult()));
}

LogicalResult DynamicGatherOp::verify() {
  GatherChecker checker{*this,
                        cast<RankedTensorType>(getOperand().getType()),
                        cast<RankedTensorType>(getStartIndices().getType()),
                        cast<RankedTensorType>(getResult().getType()),
                        getDimensionNumbers(),
                        std::nullopt};
  int64_t sizes = shapeOf(getSliceSizes().getType()).front();
  if (failed(verifyOnePerDimension(*this, "slice_sizes", sizes, "the operand",
                                   checker.operand.getRank()))) // dynamic_gather_c11
    return failure();
  return failure(failed(checker.verifyLists()) || failed(checker.verifyBatching()) ||
                 failed(checker.verifyResult()));
}

//===----------------------------------------------------------------------===//
// scatter
//===----------------------------------------------------------------------===//

/// Checks the lists of a scatter's dimension numbers.
static LogicalResult verifyScatterLists(ScatterOp op, RankedTensorType input,
                                        RankedTensorType indices, RankedTensorType update) {
  ScatterDimensionNumbersAttr numbers = op.getScatterDimensionNumbers();
  int64_t vectorDim = numbers.getIndexVectorDim();
  if (vectorDim < 0 || vectorDim > indices.getRank()) // scatter_c22
    return op.emitOpError()
           << "index_vector_dim must be at least 0 and at most the rank of scatter_indices, "
           << indices.getRank() << ", got " << vectorDim;
  ArrayRef<int64_t> window = numbers.getUpdateWindowDims();
  ArrayRef<int64_t> inserted = numbers.getInsertedWindowDims();
  ArrayRef<int64_t> batching = numbers.getInputBatchingDims();
  ArrayRef<int64_t> indexBatching = numbers.getScatterIndicesBatchingDims();
  ArrayRef<int64_t> indexMap = numbers.getScatterDimsToOperandDims();
  DimensionList ranges[] = {
      // scatter_c8
      {"update_window_dims", window, "the updates", update},
      // scatter_c11
      {"inserted_window_dims", inserted, "the inputs", input},
      // scatter_c13
      {"input_batching_dims", batching, "the inputs", input},
      // scatter_c15
      {"scatter_indices_batching_dims", indexBatching, "scatter_indices", indices},
      // scatter_c21
      {"scatter_dims_to_operand_dims", indexMap, "the inputs", input}};
  if (failed(verifyRanges(op, ranges)))
    return failure();

  // scatter_c7
  if (failed(verifyUnique(op, "update_window_dims", window)) ||
      failed(verifySorted(op, "update_window_dims", window)))
    return failure();
  // scatter_c9
  if (failed(verifyUnique(op, "inserted_window_dims and input_batching_dims", inserted, batching)))
    return failure();
  // scatter_c10, then scatter_c12
  if (failed(verifySorted(op, "inserted_window_dims", inserted)) ||
      failed(verifySorted(op, "input_batching_dims", batching)))
    return failure();
  // scatter_c14, then scatter_c20
  if (failed(verifyUnique(op, "scatter_indices_batching_dims", indexBatching)) ||
      failed(verifyUnique(op, "scatter_dims_to_operand_dims and input_batching_dims", indexMap,
                          batching)))
    return failure();

  // scatter_c2
  size_t mapped = window.size() + inserted.size() + batching.size();
  if (static_cast<int64_t>(mapped) != input.getRank())
    return op.emitOpError()
           << "each dimension of the inputs must be a window, inserted or batching dimension, got "
           << mapped << " such dimensions for rank " << input.getRank();

  // scatter_c19
  int64_t vectorSize = indexVectorSize(indices.getShape(), vectorDim);
  if (!sizesAgree(vectorSize, indexMap.size())) {
    InFlightDiagnostic diag =
        op.emitOpError() << "scatter_dims_to_operand_dims must have one entry for each "
                            "element of an index vector, got "
                         << numbers.getScatterDimsToOperandDims().size() << " for " << vectorSize;
    diag.attachNote() << "index vectors lie along dimension index_vector_dim = " << vectorDim
                      << " of " << indices;
    return diag;
  }
  return success();
}

/// Checks that batching dimensions come in pairs of equal size.
static LogicalResult verifyScatterBatching(ScatterOp op, RankedTensorType input,
                                           RankedTensorType indices) {
  ScatterDimensionNumbersAttr numbers = op.getScatterDimensionNumbers();
  ArrayRef<int64_t> inputDims = numbers.getInputBatchingDims();
  ArrayRef<int64_t> indexDims = numbers.getScatterIndicesBatchingDims();
  if (llvm::is_contained(indexDims, numbers.getIndexVectorDim())) // scatter_c16
    return op.emitOpError() << "scatter_indices_batching_dims must not contain index_vector_dim, "
                            << numbers.getIndexVectorDim() << ", got " << shapeText(indexDims);
  if (inputDims.size() != indexDims.size()) // scatter_c17
    return op.emitOpError() << "input_batching_dims and scatter_indices_batching_dims must have "
                               "the same number of entries, got "
                            << inputDims.size() << " and " << indexDims.size();
  for (auto [inputDim, indexDim] : llvm::zip_equal(inputDims, indexDims)) // scatter_c18
    if (!sizesAgree(input.getDimSize(inputDim), indices.getDimSize(indexDim)))
      return op.emitOpError() << "batching dimensions " << inputDim << " of the inputs and "
                              << indexDim << " of scatter_indices must have equal sizes, got "
                              << input.getDimSize(inputDim) << " and "
                              << indices.getDimSize(indexDim);
  return success();
}

/// Checks the shape of the updates: scatter dimensions must match those of the indices, and window
/// dimensions must be at most as large as those of the inputs.
static LogicalResult verifyScatterUpdates(ScatterOp op, RankedTensorType input,
                                          RankedTensorType indices, RankedTensorType update) {
  // scatter_c4
  ScatterDimensionNumbersAttr numbers = op.getScatterDimensionNumbers();
  SmallVector<int64_t> batch = without(indices.getShape(), {numbers.getIndexVectorDim()});
  SmallVector<int64_t> window =
      without(input.getShape(), numbers.getInsertedWindowDims(), numbers.getInputBatchingDims());
  int64_t rank = batch.size() + window.size();
  if (update.getRank() != rank)
    return op.emitOpError() << "updates must have " << batch.size() << " scatter and "
                            << window.size() << " window dimensions, got " << update;
  SmallVector<int64_t> limits = combine(batch, window, numbers.getUpdateWindowDims(), rank);
  llvm::SmallBitVector isWindow(rank);
  for (int64_t dim : numbers.getUpdateWindowDims())
    isWindow.set(dim);
  for (auto [dim, size, limit] : llvm::enumerate(update.getShape(), limits)) {
    if (ShapedType::isDynamic(size) || ShapedType::isDynamic(limit))
      continue;
    if (isWindow.test(dim) && size > limit)
      return op.emitOpError() << "window dimension " << dim
                              << " of the updates must be at most as large as in the inputs, "
                              << limit << ", got " << size;
    if (!isWindow.test(dim) && size != limit)
      return op.emitOpError() << "scatter dimension " << dim
                              << " of the updates must have the size of the corresponding "
                                 "dimension of scatter_indices, "
                              << limit << ", got " << size;
  }
  return success();
}

LogicalResult ScatterOp::verify() {
  if (getInputs().empty()) // scatter_c5
    return emitOpError() << "must have at least one input, got none";
  // The operands other than the indices are split into two halves, which would hide an odd number
  // of them.
  if (getNumOperands() != 2 * getInputs().size() + 1)
    return emitOpError() << "must have inputs, scatter_indices and one update for each input, "
                         << 2 * getInputs().size() + 1 << " operands in total, got "
                         << getNumOperands();
  auto input = cast<RankedTensorType>(getInputs().front().getType());
  auto indices = cast<RankedTensorType>(getScatterIndices().getType());
  auto update = cast<RankedTensorType>(getUpdates().front().getType());
  for (auto [index, value] : llvm::enumerate(getInputs())) // scatter_c1
    if (!shapesAgree(shapeOf(value.getType()), input.getShape()))
      return emitOpError() << "inputs must have the same shape, got " << input
                           << " for input 0 and " << value.getType() << " for input " << index;
  for (auto [index, value] : llvm::enumerate(getUpdates())) { // scatter_c3
    if (!shapesAgree(shapeOf(value.getType()), update.getShape()))
      return emitOpError() << "updates must have the same shape, got " << update
                           << " for update 0 and " << value.getType() << " for update " << index;
    Type element = elementOf(getInputs()[index].getType());
    if (elementOf(value.getType()) != element) // scatter_c6
      return emitOpError() << "update " << index << " must have the element type of its input, "
                           << element << ", got " << elementOf(value.getType());
  }
  if (failed(verifyScatterLists(*this, input, indices, update)) ||
      failed(verifyScatterBatching(*this, input, indices)) ||
      failed(verifyScatterUpdates(*this, input, indices, update)))
    return failure();
  if (getResults().size() != getInputs().size()) // scatter_c24
    return emitOpError() << "must have one result for each input, got " << getResults().size()
                         << " for " << getInputs().size();
  for (auto [index, value] : llvm::enumerate(getResults()))
    if (!shapesAgree(shapeOf(value.getType()), input.getShape()))
      return emitOpError() << "result " << index << " must have the shape of the inputs, "
                           << shapeText(input.getShape()) << ", got " << value.getType();
  return success();
}

LogicalResult ScatterOp::verifyRegions() {
  FailureOr<SmallVector<Type>> elements =
      verifyReducer(*this, "update_computation", getUpdateComputation(),
                    getInputs().getTypes()); // scatter_c23
  if (failed(elements))
    return failure();
  return verifyResultElements(*this, getResultTypes(), *elements); // scatter_c25
}

//===----------------------------------------------------------------------===//
// torch_index_select
//===----------------------------------------------------------------------===//

// torch_index_select is no longer in the specification; its rules are derived from its semantics.
LogicalResult TorchIndexSelectOp::verify() {
  auto operand = cast<RankedTensorType>(getOperand().getType());
  auto index = cast<RankedTensorType>(getIndex().getType());
  auto result = cast<RankedTensorType>(getResult().getType());
  int64_t dim = getDim(), batchDims = getBatchDims();
  if (!index.getElementType().isInteger() || index.getElementType().isInteger(1))
    return emitOpError() << "index must have an integer element type, got "
                         << index.getElementType();
  if (batchDims < 0 || batchDims > index.getRank())
    return emitOpError() << "batch_dims must be at least 0 and at most the rank of the index, "
                         << index.getRank() << ", got " << batchDims;
  if (dim < batchDims || dim >= operand.getRank())
    return emitOpError() << "dim must be in [batch_dims, rank of the operand), [" << batchDims
                         << ", " << operand.getRank() << "), got " << dim;
  if (!shapesAgree(operand.getShape().take_front(batchDims),
                   index.getShape().take_front(batchDims)))
    return emitOpError() << "operand and index must have equal batch dimensions, got "
                         << shapeText(operand.getShape().take_front(batchDims)) << " and "
                         << shapeText(index.getShape().take_front(batchDims));
  SmallVector<int64_t> shape(operand.getShape().take_front(dim));
  llvm::append_range(shape, index.getShape().drop_front(batchDims));
  llvm::append_range(shape, operand.getShape().drop_front(dim + 1));
  if (!shapesAgree(shape, result.getShape()))
    return emitOpError() << "result must have the operand's shape with dimension dim replaced by "
                            "the index dimensions, "
                         << shapeText(shape) << ", got " << result;
  if (operand.getElementType() != result.getElementType())
    return emitOpError() << "operand and result must have the same element type, got "
                         << operand.getElementType() << " and " << result.getElementType();
  return success();
}
