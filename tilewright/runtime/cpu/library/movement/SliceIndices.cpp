#include "tilewright/runtime/cpu/library/movement/SliceIndices.h"

namespace tilewright::runtime::cpu {

Result<Dims> SliceIndices::batchSizes(const CallReader &reader, const TensorType &indices,
                                      int64_t indexVectorDim) {
  const auto rank = static_cast<int64_t>(indices.dims.size());
  if (!numerics::isInteger(indices.element))
    return reader.failure("indices must be integers, got ", typeString(indices));
  if (indexVectorDim < 0 || indexVectorDim > rank)
    return reader.failure("index_vector_dim must be in [0, ", rank, "], got ", indexVectorDim);
  return pick(indices.dims, remaining(rank, Dims{indexVectorDim}));
}

Result<SliceIndices> SliceIndices::create(const CallReader &reader, const Shape &sliced,
                                          const TensorType &indices,
                                          const SliceIndexDimensions &dimensions,
                                          std::span<const int64_t> denseBatchStrides) {
  TILEWRIGHT_ASSIGN(Dims sizes, batchSizes(reader, indices, dimensions.indexVectorDim));
  TILEWRIGHT_ASSIGN(Shape shape, Shape::create(indices.dims));
  const int64_t rank = shape.rank(), vectorDim = dimensions.indexVectorDim;
  const int64_t vectorSize = vectorDim < rank ? shape[vectorDim] : 1;
  if (vectorSize != static_cast<int64_t>(dimensions.slicedDims.size()))
    return reader.failure("an index vector must have one entry for each of the ",
                          dimensions.slicedDims.size(), " dimensions it indexes, got ", vectorSize);
  TILEWRIGHT_TRY(reader.checkDims("indexed and batching dimensions",
                                  joined({dimensions.slicedDims, dimensions.slicedBatchingDims}),
                                  sliced.rank()));
  TILEWRIGHT_TRY(
      reader.checkDims("batching dimensions of the indices", dimensions.indicesBatchingDims, rank));
  if (dimensions.slicedBatchingDims.size() != dimensions.indicesBatchingDims.size())
    return reader.failure(
        "operand and indices must have the same number of batching dimensions, got ",
        dimensions.slicedBatchingDims.size(), " and ", dimensions.indicesBatchingDims.size());

  const Dims strides = shape.strides(), slicedStrides = sliced.strides();
  const Dims batchDims = remaining(rank, Dims{vectorDim});
  SliceIndices result;
  result.indexElements = shape.elementCount();
  std::vector<Loop> loops;
  for (size_t i = 0; i < batchDims.size(); ++i) {
    loops.push_back(
        {sizes[i], strides[static_cast<size_t>(batchDims[i])], 0, denseBatchStrides[i]});
    result.count *= sizes[i];
  }
  for (size_t i = 0; i < dimensions.slicedBatchingDims.size(); ++i) {
    const int64_t dim = dimensions.slicedBatchingDims[i], other = dimensions.indicesBatchingDims[i];
    if (other == vectorDim)
      return reader.failure("index_vector_dim must not be a batching dimension, but dimension ",
                            vectorDim, " is both");
    if (shape[other] != sliced[dim])
      return reader.failure("batches operand dimension ", dim, " with indices dimension ", other,
                            ", which must be equal, got ", sliced[dim], " and ", shape[other]);
    loops[static_cast<size_t>(other < vectorDim ? other : other - 1)].sliced +=
        slicedStrides[static_cast<size_t>(dim)];
  }
  for (const Loop &loop : loops) {
    if (loop.size == 1)
      continue;
    if (!result.loops.empty()) {
      Loop &outer = result.loops.back();
      if (outer.indices == loop.indices * loop.size && outer.sliced == loop.sliced * loop.size &&
          outer.dense == loop.dense * loop.size) {
        outer = {outer.size * loop.size, loop.indices, loop.sliced, loop.dense};
        continue;
      }
    }
    result.loops.push_back(loop);
  }
  if (result.loops.empty())
    result.loops.push_back({1, 0, 0, 0});
  const int64_t vectorStride = vectorDim < rank ? strides[static_cast<size_t>(vectorDim)] : 0;
  for (size_t i = 0; i < dimensions.slicedDims.size(); ++i) {
    const int64_t dim = dimensions.slicedDims[i];
    result.components.push_back({static_cast<int64_t>(i) * vectorStride,
                                 slicedStrides[static_cast<size_t>(dim)], sliced[dim], dim});
  }
  return result;
}

} // namespace tilewright::runtime::cpu
