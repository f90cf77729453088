#include "tilewright/interpret/kernels/SliceIndices.h"

#include "tilewright/support/Concat.h"

namespace tilewright::interpret {

Result<SliceIndices> SliceIndices::create(std::string_view op, const Shape &operand,
                                          const Tensor &indices,
                                          const SliceIndexDimensions &dimensions) {
  const int64_t rank = indices.rank();
  if (!numerics::isInteger(indices.type()))
    return Status(Error::operandType, concat(op, ": indices must be integers, got ",
                                             numerics::spelling(indices.type())));
  if (dimensions.indexVectorDim < 0 || dimensions.indexVectorDim > rank)
    return Status(Error::interpretShape, concat(op, ": index_vector_dim must be in [0, ", rank,
                                                "], got ", dimensions.indexVectorDim));
  const bool hasVector = dimensions.indexVectorDim < rank;
  const int64_t vectorSize = hasVector ? indices.shape()[dimensions.indexVectorDim] : 1;
  if (vectorSize != static_cast<int64_t>(dimensions.slicedDims.size()))
    return Status(Error::interpretShape,
                  concat(op, ": an index vector must have one entry for each of the ",
                         dimensions.slicedDims.size(), " dimensions it indexes, got ", vectorSize));
  TILEWRIGHT_TRY(checkDims(op, "indexed and batching dimensions",
                           joined({dimensions.slicedDims, dimensions.operandBatchingDims}),
                           operand.rank()));
  TILEWRIGHT_TRY(
      checkDims(op, "batching dimensions of the indices", dimensions.indicesBatchingDims, rank));
  if (dimensions.operandBatchingDims.size() != dimensions.indicesBatchingDims.size())
    return Status(
        Error::interpretShape,
        concat(op, ": operand and indices must have the same number of batching dimensions, got ",
               dimensions.operandBatchingDims.size(), " and ",
               dimensions.indicesBatchingDims.size()));
  for (size_t i = 0; i < dimensions.operandBatchingDims.size(); ++i) {
    const int64_t indicesDim = dimensions.indicesBatchingDims[i];
    if (indicesDim == dimensions.indexVectorDim)
      return Status(Error::interpretShape,
                    concat(op,
                           ": index_vector_dim must not be a batching dimension, but dimension ",
                           indicesDim, " is both"));
    const int64_t operandSize = operand[dimensions.operandBatchingDims[i]];
    if (indices.shape()[indicesDim] != operandSize)
      return Status(Error::interpretShape,
                    concat(op, ": batches operand dimension ", dimensions.operandBatchingDims[i],
                           " with indices dimension ", indicesDim, ", which must be equal, got ",
                           operandSize, " and ", indices.shape()[indicesDim]));
  }
  const Dims vectorDim = hasVector ? Dims{dimensions.indexVectorDim} : Dims{};
  const Dims batchDims = remaining(rank, vectorDim), strides = indices.shape().strides();
  return SliceIndices(
      indices, dimensions, pick(indices.shape().dims(), batchDims), pick(strides, batchDims),
      hasVector ? strides[static_cast<size_t>(dimensions.indexVectorDim)] : 0, operand.rank());
}

SliceIndices::SliceIndices(Tensor indices, SliceIndexDimensions dimensions, Dims sizes,
                           Dims strides, int64_t vectorStride, int64_t operandRank)
    : indices(std::move(indices)), dimensions(std::move(dimensions)), sizes(std::move(sizes)),
      vectorStride(vectorStride), first(static_cast<size_t>(operandRank), 0),
      walk(this->sizes, {std::span<const int64_t>(strides)}) {
  for (int64_t dim : this->dimensions.indicesBatchingDims)
    batchingPositions.push_back(dim < this->dimensions.indexVectorDim ? dim : dim - 1);
  if (!done())
    load();
}

void SliceIndices::load() {
  for (size_t i = 0; i < dimensions.slicedDims.size(); ++i)
    first[static_cast<size_t>(dimensions.slicedDims[i])] =
        indices.indexAt(walk.offset() + static_cast<int64_t>(i) * vectorStride);
  for (size_t i = 0; i < batchingPositions.size(); ++i)
    first[static_cast<size_t>(dimensions.operandBatchingDims[i])] =
        walk.index()[static_cast<size_t>(batchingPositions[i])];
}

} // namespace tilewright::interpret
