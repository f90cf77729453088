// The start positions of the slices of a gather or scatter.
#ifndef TILEWRIGHT_INTERPRET_KERNELS_SLICEINDICES_H
#define TILEWRIGHT_INTERPRET_KERNELS_SLICEINDICES_H

#include "tilewright/interpret/kernels/Indexing.h"

namespace tilewright::interpret {

/// The part of the dimension numbers that gather and scatter share. `operand` is the sliced tensor,
/// `indices` contains the start positions.
struct SliceIndexDimensions {
  Dims slicedDims;          // dimension of the operand for each entry of an index vector
  Dims operandBatchingDims; // batch dimensions …
  Dims indicesBatchingDims; // … in operand and indices
  int64_t indexVectorDim = 0;
};

/// Visits the index vectors of `indices` in row-major order and computes the start position of each
/// slice in the operand.
///
///   TILEWRIGHT_ASSIGN(SliceIndices starts,
///                     SliceIndices::create("gather", operand, indices, dims));
///   for (; !starts.done(); starts.next())
///     … starts.start() …             // may lie outside the operand
class SliceIndices {
public:
  ///  - interpretShape: dimension numbers do not match the shapes.
  ///  - operandType: the indices are not integers.
  static Result<SliceIndices> create(std::string_view op, const Shape &operand,
                                     const Tensor &indices, const SliceIndexDimensions &dimensions);

  /// Sizes of the indices tensor without the index vector's dimension.
  const Dims &batchSizes() const { return sizes; }

  bool done() const { return walk.done(); }
  void next() {
    walk.next();
    if (!done())
      load();
  }
  /// The index within the batch, one number for each of batchSizes().
  std::span<const int64_t> batchIndex() const { return walk.index(); }
  /// The index of the slice's first element in the operand, one number per dimension.
  std::span<const int64_t> start() const { return first; }

private:
  SliceIndices(Tensor indices, SliceIndexDimensions dimensions, Dims sizes, Dims strides,
               int64_t vectorStride, int64_t operandRank);
  void load();

  Tensor indices;
  SliceIndexDimensions dimensions;
  Dims sizes;
  Dims batchingPositions; // position within the batch of each indicesBatchingDim
  int64_t vectorStride;
  Dims first;
  StridedWalk<1> walk;
};

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_KERNELS_SLICEINDICES_H
