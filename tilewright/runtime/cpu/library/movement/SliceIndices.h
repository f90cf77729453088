// Where the slices of a gather or scatter lie, as loops with strides.
#ifndef TILEWRIGHT_RUNTIME_CPU_LIBRARY_MOVEMENT_SLICEINDICES_H
#define TILEWRIGHT_RUNTIME_CPU_LIBRARY_MOVEMENT_SLICEINDICES_H

#include "tilewright/runtime/cpu/library/Attributes.h"

#include <algorithm>

namespace tilewright::runtime::cpu {

/// The dimension numbers that gather and scatter share. `sliced` is the tensor that
/// indices point into, `dense` the one that has a slice for each index vector.
struct SliceIndexDimensions {
  Dims slicedDims;          // dimension of `sliced` for each entry of an index vector
  Dims slicedBatchingDims;  // dimensions that are looked at together …
  Dims indicesBatchingDims; // … in `sliced` and the indices
  int64_t indexVectorDim = 0;
};

/// One loop for each dimension of the index vectors' batch, collapsed where all three
/// tensors allow, and the entries of a vector. Strides in elements.
struct SliceIndices {
  struct Loop {
    int64_t size, indices, sliced, dense;
  };
  struct Entry {
    int64_t indices; // offset within the vector
    int64_t stride;  // in `sliced`
    int64_t size;    // of the dimension
    int64_t dim;
  };
  std::vector<Loop> loops; // at least one
  std::vector<Entry> entries;
  int64_t count = 1;         // index vectors
  int64_t indexElements = 0; // in the tensor of indices

  /// `denseBatchStrides` are the strides of `dense` for each dimension of the indices without
  /// the index vector's.
  ///  - libraryCall: dimension numbers do not fit the shapes.
  static Result<SliceIndices> create(const CallReader &reader, const Shape &sliced,
                                     const TensorType &indices,
                                     const SliceIndexDimensions &dimensions,
                                     std::span<const int64_t> denseBatchStrides);

  /// Sizes of the indices without the index vector's dimension.
  static Result<Dims> batchSizes(const CallReader &reader, const TensorType &indices,
                                 int64_t indexVectorDim);

  /// Calls run(indices, sliced, dense, n) with offsets and how many steps of the
  /// innermost loop to take from there, for index vectors [begin, end).
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
