// The positions of the slices of a gather or scatter, as loops with strides.
#ifndef TILEWRIGHT_RUNTIME_CPU_LIBRARY_MOVEMENT_SLICEINDICES_H
#define TILEWRIGHT_RUNTIME_CPU_LIBRARY_MOVEMENT_SLICEINDICES_H

#include "tilewright/runtime/cpu/library/CallReader.h"

#include <algorithm>

namespace tilewright::runtime::cpu {

/// The dimension numbers that gather and scatter share. Indices refer to the tensor `sliced`; the
/// tensor `dense` has a slice for each index vector.
struct SliceIndexDimensions {
  Dims slicedDims;          // dimension of `sliced` for each component of an index vector
  Dims slicedBatchingDims;  // batching dimensions of `sliced` …
  Dims indicesBatchingDims; // … and the corresponding ones of the indices
  int64_t indexVectorDim = 0;
};

/// The loops over the index vectors: one for each batch dimension, collapsed where the strides of
/// all three tensors permit. Also the components of an index vector. Strides are in elements.
struct SliceIndices {
  struct Loop {
    int64_t size, indices, sliced, dense;
  };
  struct Component {
    int64_t indices; // offset within the vector
    int64_t stride;  // in `sliced`
    int64_t size;    // of the dimension
    int64_t dim;
  };
  std::vector<Loop> loops; // at least one
  std::vector<Component> components;
  int64_t count = 1;         // number of index vectors
  int64_t indexElements = 0; // elements of the indices tensor

  /// `denseBatchStrides` are the strides of `dense` for each dimension of the indices except that
  /// of the index vector.
  ///  - libraryCall: dimension numbers do not match the shapes.
  static Result<SliceIndices> create(const CallReader &reader, const Shape &sliced,
                                     const TensorType &indices,
                                     const SliceIndexDimensions &dimensions,
                                     std::span<const int64_t> denseBatchStrides);

  /// The sizes of `indices` without the dimension of the index vector.
  static Result<Dims> batchSizes(const CallReader &reader, const TensorType &indices,
                                 int64_t indexVectorDim);

  /// Calls run(indices, sliced, dense, n) until all index vectors [begin, end) are processed. Each
  /// call gets the offsets of a vector in the three tensors and the number of vectors that follow
  /// it along the innermost loop.
  template <typename Run> void forEachRun(int64_t begin, int64_t end, Run &&run) const {
    std::vector<int64_t> position(loops.size());
    int64_t indices = 0, sliced = 0, dense = 0, rest = begin;
    auto advance = [&](const Loop &loop, int64_t steps) {
      indices += steps * loop.indices;
      sliced += steps * loop.sliced;
      dense += steps * loop.dense;
    };
    for (size_t i = loops.size(); i-- > 0;) {
      position[i] = rest % loops[i].size;
      rest /= loops[i].size;
      advance(loops[i], position[i]);
    }
    const size_t last = loops.size() - 1;
    while (begin < end) {
      const int64_t n = std::min(loops[last].size - position[last], end - begin);
      run(indices, sliced, dense, n);
      begin += n;
      position[last] += n;
      advance(loops[last], n);
      for (size_t i = last; i > 0 && position[i] == loops[i].size; --i) {
        advance(loops[i], -position[i]);
        position[i] = 0;
        advance(loops[i - 1], 1);
        ++position[i - 1];
      }
    }
  }
};

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_LIBRARY_MOVEMENT_SLICEINDICES_H
