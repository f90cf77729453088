#include "tilewright/interpret/kernels/Gather.h"

#include "tilewright/interpret/kernels/SliceIndices.h"
#include "tilewright/support/Concat.h"

#include <algorithm>
#include <cstring>

namespace tilewright::interpret {

namespace {
/// One slice as contiguous runs of `length` elements. `begins` has the start of each run in operand
/// and result, relative to the first element of the slice.
struct SliceRuns {
  std::vector<std::pair<int64_t, int64_t>> begins; // operand, result
  int64_t length = 1;
};
} // namespace

static SliceRuns runsOf(Dims sizes, Dims operandStrides, Dims resultStrides) {
  SliceRuns runs;
  while (!sizes.empty() && (sizes.back() == 1 || (operandStrides.back() == runs.length &&
                                                  resultStrides.back() == runs.length))) {
    runs.length *= sizes.back();
    sizes.pop_back();
    operandStrides.pop_back();
    resultStrides.pop_back();
  }
  for (StridedWalk<2> walk(sizes, {operandStrides, resultStrides}); !walk.done(); walk.next())
    runs.begins.emplace_back(walk.offset(0), walk.offset(1));
  return runs;
}

Result<Tensor> gather(const Tensor &operand, const Tensor &startIndices,
                      const GatherDimensions &dimensions, std::span<const int64_t> sliceSizes,
                      Context &context) {
  const int64_t rank = operand.rank();
  const Dims dropped = joined({dimensions.collapsedSliceDims, dimensions.operandBatchingDims});
  TILEWRIGHT_TRY(checkDims("gather", "collapsed and batching dimensions", dropped, rank));
  if (static_cast<int64_t>(sliceSizes.size()) != rank)
    return Status(Error::interpretShape,
                  concat("gather: slice_sizes must have one entry for each of the ", rank,
                         " dimensions of the operand, got ", sliceSizes.size()));
  for (int64_t dim = 0; dim < rank; ++dim) {
    const int64_t size = sliceSizes[static_cast<size_t>(dim)];
    if (size < 0 || size > operand.shape()[dim])
      return Status(Error::interpretShape, concat("gather: slice size of dimension ", dim,
                                                  " must be from 0 to the operand's size, ",
                                                  operand.shape()[dim], ", got ", size));
    if (size > 1 && std::find(dropped.begin(), dropped.end(), dim) != dropped.end())
      return Status(Error::interpretShape,
                    concat("gather: dimension ", dim,
                           " is collapsed or batched, so its slice size must be at most 1, got ",
                           size));
  }
  TILEWRIGHT_ASSIGN(
      SliceIndices starts,
      SliceIndices::create("gather", operand.shape(), startIndices,
                           {dimensions.startIndexMap, dimensions.operandBatchingDims,
                            dimensions.startIndicesBatchingDims, dimensions.indexVectorDim}));

  // The result has the batch dimensions, with the dimensions of the slice inserted at offset_dims.
  const Dims keptDims = remaining(rank, dropped);
  const auto resultRank = static_cast<int64_t>(starts.batchSizes().size() + keptDims.size());
  TILEWRIGHT_TRY(checkDims("gather", "offset_dims", dimensions.offsetDims, resultRank));
  if (dimensions.offsetDims.size() != keptDims.size())
    return Status(Error::interpretShape,
                  concat("gather: offset_dims must have one entry for each of the ",
                         keptDims.size(), " offset dimensions, got ",
                         dimensions.offsetDims.size()));
  const Dims batchDims = remaining(resultRank, dimensions.offsetDims);
  Dims resultSizes(static_cast<size_t>(resultRank));
  for (size_t i = 0; i < keptDims.size(); ++i)
    resultSizes[static_cast<size_t>(dimensions.offsetDims[i])] =
        sliceSizes[static_cast<size_t>(keptDims[i])];
  for (size_t i = 0; i < batchDims.size(); ++i)
    resultSizes[static_cast<size_t>(batchDims[i])] = starts.batchSizes()[i];
  TILEWRIGHT_ASSIGN(Shape resultShape, Shape::create(resultSizes));
  TILEWRIGHT_TRY(context.countSteps(resultShape.elementCount()));
  TILEWRIGHT_ASSIGN(Tensor result, Tensor::allocate(operand.type(), resultShape, context));
  if (resultShape.elementCount() == 0)
    return result;
  // With slice size 0 in a dropped dimension, a slice has no elements, but the result has.
  for (int64_t dim : dropped)
    if (sliceSizes[static_cast<size_t>(dim)] == 0)
      return Status(Error::interpretShape,
                    concat("gather: dimension ", dim,
                           " is collapsed or batched, so its slice size must be 1 for a result of ",
                           resultShape.toString(), ", got 0"));

  const Dims operandStrides = operand.shape().strides(), resultStrides = resultShape.strides();
  const SliceRuns runs = runsOf(pick(sliceSizes, keptDims), pick(operandStrides, keptDims),
                                pick(resultStrides, dimensions.offsetDims));
  const Dims batchStrides = pick(resultStrides, batchDims);
  const int64_t bytes = static_cast<int64_t>(operand.elementBytes());
  const std::byte *const from = operand.data();
  std::byte *const to = result.mutableData();
  for (; !starts.done(); starts.next()) {
    int64_t source = 0, target = 0;
    for (int64_t dim = 0; dim < rank; ++dim) {
      const auto d = static_cast<size_t>(dim);
      const int64_t last = operand.shape()[dim] - sliceSizes[d];
      source += std::clamp<int64_t>(starts.start()[d], 0, last) * operandStrides[d];
    }
    for (size_t i = 0; i < batchStrides.size(); ++i)
      target += starts.batchIndex()[i] * batchStrides[i];
    for (auto [operandBegin, resultBegin] : runs.begins)
      std::memcpy(to + (target + resultBegin) * bytes, from + (source + operandBegin) * bytes,
                  static_cast<size_t>(runs.length * bytes));
  }
  return result;
}

Result<Tensor> torchIndexSelect(const Tensor &operand, const Tensor &index, int64_t dimension,
                                int64_t batchDims, Context &context) {
  const int64_t dim = dimension < 0 ? dimension + operand.rank() : dimension;
  const int64_t batch = batchDims < 0 ? batchDims + index.rank() : batchDims;
  TILEWRIGHT_TRY(checkDims("torch_index_select", "dim", Dims{dim}, operand.rank()));
  if (batch < 0 || batch > index.rank() || batch > dim)
    return Status(
        Error::interpretShape,
        concat("torch_index_select: batch_dims must be in [0, min(dim, rank of index)], got ",
               batchDims, " with dim ", dimension, " and index of ", index.typeString()));
  // A gather whose slices are whole in all dimensions except `dim` and the batch dimensions.
  GatherDimensions dimensions;
  Dims sliceSizes(operand.shape().dims().begin(), operand.shape().dims().end());
  for (int64_t i = 0; i < batch; ++i) {
    dimensions.operandBatchingDims.push_back(i);
    dimensions.startIndicesBatchingDims.push_back(i);
    sliceSizes[static_cast<size_t>(i)] = 1;
  }
  if (sliceSizes[static_cast<size_t>(dim)] == 0 && index.elementCount() > 0)
    return Status(Error::interpretShape,
                  concat("torch_index_select: dimension ", dim, " of ", operand.typeString(),
                         " is empty, but index is not"));
  sliceSizes[static_cast<size_t>(dim)] = 1;
  dimensions.collapsedSliceDims = {dim};
  dimensions.startIndexMap = {dim};
  dimensions.indexVectorDim = index.rank();
  // The result's dimensions: batch, the operand's before dim, the index's, the operand's after dim.
  for (int64_t i = batch; i < dim; ++i)
    dimensions.offsetDims.push_back(i);
  for (int64_t i = dim + 1; i < operand.rank(); ++i)
    dimensions.offsetDims.push_back(index.rank() - batch + i - 1);
  return gather(operand, index, dimensions, sliceSizes, context);
}

} // namespace tilewright::interpret
