// gather.
#include "tilewright/runtime/cpu/library/movement/CopyPlan.h"
#include "tilewright/runtime/cpu/library/movement/CopyRows.h"
#include "tilewright/runtime/cpu/library/movement/IndexValues.h"
#include "tilewright/runtime/cpu/library/movement/SliceIndices.h"

namespace tilewright::runtime::cpu {

namespace {
/// Copies one slice for each index vector. Clamps an out-of-bounds index so that the slice fits.
class GatherKernel final : public LibraryKernel {
public:
  GatherKernel(SliceIndices indices, ElementType indexType, std::span<const int64_t> sliceSizes,
               CopyPlan slice, int64_t elementBytes, bool sliceIsRow)
      : indices(std::move(indices)), indexType(indexType), slice(std::move(slice)),
        elementBytes(elementBytes), sliceIsRow(sliceIsRow) {
    for (SliceIndices::Component &component : this->indices.components)
      component.size -= sliceSizes[static_cast<size_t>(component.dim)]; // the last start that fits
  }

  Status run(const LibraryRun &run) const override {
    if (slice.bytes() == 0 || indices.count == 0)
      return Status();
    const IndexValues values(indexType, run.operands[1], indices.indexElements);
    values.visit([&](const auto *index) {
      if (indices.count < 4 && slice.bytes() > 1 << 16)
        return gatherLarge(index, run);
      const int64_t grain = std::max<int64_t>(1, (1 << 17) / (slice.bytes() + 16));
      run.pool.parallelFor(indices.count, grain,
                           [&](int64_t begin, int64_t end) { gather(index, run, begin, end); });
    });
    return Status();
  }

private:
  /// Adds `at` only if the vector has components: empty index vectors have no memory.
  template <typename Index> int64_t start(const Index *index, int64_t at) const {
    int64_t offset = 0;
    for (const SliceIndices::Component &component : indices.components)
      offset +=
          std::clamp<int64_t>(index[at + component.indices], 0, component.size) * component.stride;
    return offset;
  }

  /// Gathers few large slices: splits each over the pool.
  template <typename Index> void gatherLarge(const Index *index, const LibraryRun &run) const {
    indices.forEachRun(0, indices.count, [&](int64_t at, int64_t sliced, int64_t dense, int64_t n) {
      const SliceIndices::Loop &inner = indices.loops.back();
      for (int64_t i = 0; i < n; ++i)
        slice.run(run.operands[0] +
                      (sliced + i * inner.sliced + start(index, at + i * inner.indices)) *
                          elementBytes,
                  run.results[0] + (dense + i * inner.dense) * elementBytes, run.pool);
    });
  }

  template <typename Index>
  void gather(const Index *index, const LibraryRun &run, int64_t begin, int64_t end) const {
    const std::byte *const from = run.operands[0];
    std::byte *const to = run.results[0];
    const SliceIndices::Loop inner = indices.loops.back();
    const bool isElement = sliceIsRow && slice.bytes() == elementBytes;
    indices.forEachRun(begin, end, [&](int64_t at, int64_t sliced, int64_t dense, int64_t n) {
      if (isElement && indices.components.size() == 1)
        return withCell(elementBytes, [&]<typename Cell>() {
          const SliceIndices::Component component = indices.components[0];
          const auto *cells = reinterpret_cast<const Cell *>(from) + sliced;
          auto *out = reinterpret_cast<Cell *>(to) + dense;
          const Index *where = index + at + component.indices;
          for (int64_t i = 0; i < n; ++i)
            out[i * inner.dense] =
                cells[i * inner.sliced +
                      std::clamp<int64_t>(where[i * inner.indices], 0, component.size) *
                          component.stride];
        });
      for (int64_t i = 0; i < n; ++i) {
        const std::byte *source =
            from +
            (sliced + i * inner.sliced + start(index, at + i * inner.indices)) * elementBytes;
        std::byte *target = to + (dense + i * inner.dense) * elementBytes;
        if (sliceIsRow)
          copyRow(target, source, slice.bytes());
        else
          slice.runAlone(source, target);
      }
    });
  }

  SliceIndices indices;
  ElementType indexType;
  CopyPlan slice;
  int64_t elementBytes;
  bool sliceIsRow; // contiguous in operand and result
};
} // namespace

/// Whether the elements of a box of `sizes` are contiguous.
static bool isRow(std::span<const int64_t> sizes, std::span<const int64_t> strides) {
  int64_t next = 1;
  for (size_t dim = sizes.size(); dim-- > 0;) {
    if (sizes[dim] == 1)
      continue;
    if (strides[dim] != next)
      return false;
    next *= sizes[dim];
  }
  return true;
}

KernelResult prepareGather(const artifact::GatherCall &call, const LibrarySignature &types) {
  CallReader reader(call.name, types);
  TILEWRIGHT_TRY(reader.expectCounts(2, 1));
  TILEWRIGHT_ASSIGN(Shape operand, reader.operandShape(0));
  TILEWRIGHT_ASSIGN(Shape result, reader.resultShape(0));
  TILEWRIGHT_ASSIGN(Shape indicesShape, reader.operandShape(1));
  const Dims &offsetDims = call.offsetDims, &sliceSizes = call.sliceSizes;
  const SliceIndexDimensions dimensions{.slicedDims = call.startIndexMap,
                                        .slicedBatchingDims = call.operandBatchingDims,
                                        .indicesBatchingDims = call.startIndicesBatchingDims,
                                        .indexVectorDim = call.indexVectorDim};

  const Dims dropped = joined({call.collapsedSliceDims, call.operandBatchingDims});
  TILEWRIGHT_TRY(reader.checkDims("collapsed and batching dimensions", dropped, operand.rank()));
  if (static_cast<int64_t>(sliceSizes.size()) != operand.rank())
    return reader.failure("slice_sizes must have one entry for each of the ", operand.rank(),
                          " dimensions of the operand, got ", sliceSizes.size());
  for (int64_t dim = 0; dim < operand.rank(); ++dim) {
    const int64_t size = sliceSizes[static_cast<size_t>(dim)];
    const bool isDropped = std::find(dropped.begin(), dropped.end(), dim) != dropped.end();
    if (size < 0 || size > operand[dim] || (isDropped && size > 1))
      return reader.failure("slice size of dimension ", dim, " must be from 0 to ",
                            isDropped ? std::min<int64_t>(operand[dim], 1) : operand[dim], ", got ",
                            size);
    if (isDropped && size == 0 && result.elementCount() > 0)
      return reader.failure("dimension ", dim,
                            " is collapsed or batched, so its slice size must be 1, got 0");
  }
  const Dims kept = remaining(operand.rank(), dropped);
  TILEWRIGHT_ASSIGN(Dims batchSizes,
                    SliceIndices::batchSizes(reader, types.operands[1], dimensions.indexVectorDim));
  const auto rank = static_cast<int64_t>(batchSizes.size() + kept.size());
  TILEWRIGHT_TRY(reader.checkDims("offset_dims", offsetDims, rank));
  if (offsetDims.size() != kept.size())
    return reader.failure("offset_dims must have one entry for each of the ", kept.size(),
                          " offset dimensions, got ", offsetDims.size());
  const Dims batchDims = remaining(rank, offsetDims);
  Dims resultSizes(static_cast<size_t>(rank));
  for (size_t i = 0; i < kept.size(); ++i)
    resultSizes[static_cast<size_t>(offsetDims[i])] = sliceSizes[static_cast<size_t>(kept[i])];
  for (size_t i = 0; i < batchDims.size(); ++i)
    resultSizes[static_cast<size_t>(batchDims[i])] = batchSizes[i];
  TILEWRIGHT_TRY(reader.expectResult(0, types.operands[0].element, resultSizes));

  const Dims resultStrides = result.strides();
  TILEWRIGHT_ASSIGN(SliceIndices indices,
                    SliceIndices::create(reader, operand, types.operands[1], dimensions,
                                         pick(resultStrides, batchDims)));
  const Dims sizes = pick(sliceSizes, kept), from = pick(operand.strides(), kept),
             to = pick(resultStrides, offsetDims);
  const size_t bytes = numerics::storageBytes(types.operands[0].element);
  return makeKernel<GatherKernel>(std::move(indices), types.operands[1].element, sliceSizes,
                                  CopyPlan(sizes, from, to, bytes), static_cast<int64_t>(bytes),
                                  isRow(sizes, from) && isRow(sizes, to));
}

} // namespace tilewright::runtime::cpu
