#include "tilewright/interpret/kernels/Gather.h"

#include "tilewright/interpret/kernels/testing/Tensors.h"
#include "tilewright/support/Concat.h"

#include <algorithm>
#include <limits>

using namespace tilewright;
using namespace tilewright::interpret;
using testing::HasSubstr;

static int64_t at(const Dims &index, const Shape &shape) {
  int64_t offset = 0;
  for (size_t i = 0; i < index.size(); ++i)
    offset = offset * shape[static_cast<int64_t>(i)] + index[i];
  return offset;
}

static bool contains(const Dims &dims, int64_t dim) {
  return std::find(dims.begin(), dims.end(), dim) != dims.end();
}

/// The specification's definition, one result element at a time.
static double definition(const Tensor &operand, const Tensor &indices, const GatherDimensions &dims,
                         const Dims &sliceSizes, std::span<const int64_t> resultIndex) {
  Dims batchIndex, offsetIndex;
  for (size_t d = 0; d < resultIndex.size(); ++d)
    (contains(dims.offsetDims, static_cast<int64_t>(d)) ? offsetIndex : batchIndex)
        .push_back(resultIndex[d]);
  Dims operandIndex(static_cast<size_t>(operand.rank()), 0);
  for (size_t dStart = 0; dStart < dims.startIndexMap.size(); ++dStart) {
    Dims place = batchIndex;
    if (dims.indexVectorDim < indices.rank())
      place.insert(place.begin() + dims.indexVectorDim, static_cast<int64_t>(dStart));
    const int64_t d = dims.startIndexMap[dStart];
    operandIndex[static_cast<size_t>(d)] =
        std::clamp<int64_t>(indices.indexAt(at(place, indices.shape())), 0,
                            operand.shape()[d] - sliceSizes[static_cast<size_t>(d)]);
  }
  for (size_t i = 0; i < dims.operandBatchingDims.size(); ++i) {
    const int64_t dStart = dims.startIndicesBatchingDims[i];
    operandIndex[static_cast<size_t>(dims.operandBatchingDims[i])] =
        batchIndex[static_cast<size_t>(dStart - (dStart < dims.indexVectorDim ? 0 : 1))];
  }
  size_t next = 0;
  for (int64_t d = 0; d < operand.rank(); ++d)
    if (!contains(dims.collapsedSliceDims, d) && !contains(dims.operandBatchingDims, d))
      operandIndex[static_cast<size_t>(d)] += offsetIndex[next++];
  return valuesOf(operand)[static_cast<size_t>(at(operandIndex, operand.shape()))];
}

TEST(Gather, AgreesWithItsDefinition) {
  struct Case {
    std::vector<int64_t> operand, indices;
    GatherDimensions dims;
    Dims sliceSizes;
  };
  const std::vector<Case> cases = {
      // Rows of a matrix, index vector last or missing.
      {{5, 3}, {4, 1}, {{1}, {0}, {}, {}, {0}, 1}, {1, 3}},
      {{5, 3}, {4}, {{1}, {0}, {}, {}, {0}, 1}, {1, 3}},
      // Columns, and the offsets before the batch.
      {{5, 3}, {4}, {{0}, {1}, {}, {}, {1}, 1}, {5, 1}},
      // Slices of two dimensions at points, the index vector first.
      {{5, 6, 2}, {2, 3}, {{0, 2}, {2}, {}, {}, {1, 0}, 0}, {2, 3, 1}},
      // All dimensions indexed, permuted.
      {{3, 4, 5}, {7, 3}, {{}, {0, 1, 2}, {}, {}, {2, 0, 1}, 1}, {1, 1, 1}},
      // The specification's example with a batching dimension.
      {{2, 3, 4, 2}, {2, 2, 3, 2}, {{3, 4}, {1}, {0}, {1}, {2, 1}, 3}, {1, 1, 2, 2}},
      // A batching dimension after the index vector's.
      {{4, 5, 3}, {2, 3, 2}, {{0}, {0}, {2}, {1}, {1, 0}, 2}, {1, 3, 1}},
      {{4, 5, 3}, {2, 2, 3}, {{1}, {0}, {2}, {2}, {1, 0}, 1}, {1, 3, 1}},
      // Scalars from a vector by one index.
      {{6}, {1}, {{}, {0}, {}, {}, {0}, 0}, {1}},
      // Slices that are empty, and no indices at all.
      {{5, 3}, {4, 1}, {{1}, {0}, {}, {}, {0}, 1}, {1, 0}},
      {{5, 3}, {0, 1}, {{1}, {0}, {}, {}, {0}, 1}, {1, 3}},
  };
  Context context;
  for (const Case &c : cases)
    for (ElementType type : {ElementType::f32, ElementType::i8, ElementType::c128}) {
      Tensor operand = wholeNumbers(type, c.operand, 1, 0, 100);
      // Indices far out of bounds as well as in bounds.
      Tensor indices = wholeNumbers(ElementType::i32, c.indices, 2, -3, 8);
      Result<Tensor> result = gather(operand, indices, c.dims, c.sliceSizes, context);
      ASSERT_TRUE(result.isOk()) << std::move(result).takeStatus().toString();
      const std::vector<double> values = valuesOf(*result);
      const Dims zeros(static_cast<size_t>(result->rank()), 0);
      size_t i = 0;
      for (StridedWalk<1> walk(result->shape().dims(), {zeros}); !walk.done(); walk.next())
        EXPECT_EQ(values[i++], definition(operand, indices, c.dims, c.sliceSizes, walk.index()))
            << listed(c.operand) << " by " << listed(c.indices) << " at " << listed(walk.index());
      EXPECT_EQ(i, values.size());
    }
}

TEST(Gather, AnyIndexIsMovedInwards) {
  Context context;
  Tensor operand = tensorOf(ElementType::i32, {3}, {10, 11, 12});
  Tensor indices = *Tensor::allocate(ElementType::ui64, *Shape::create({2}), context);
  indices.set(0, Scalar::ofUnsigned(std::numeric_limits<uint64_t>::max()));
  indices.set(1, Scalar::ofUnsigned(1));
  const GatherDimensions dims{{}, {0}, {}, {}, {0}, 1};
  EXPECT_EQ(gather(operand, indices, dims, Dims{1}, context)->toString(), "[12, 11]");
  Tensor low = *Tensor::filled(ElementType::i64, *Shape::create({1}),
                               Scalar::ofSigned(std::numeric_limits<int64_t>::min()), context);
  EXPECT_EQ(gather(operand, low, dims, Dims{1}, context)->toString(), "[10]");
}

TEST(Gather, WhatDoesNotFitIsRefused) {
  Context context;
  Tensor operand = wholeNumbers(ElementType::f32, {5, 3}, 1),
         indices = wholeNumbers(ElementType::i32, {4, 1}, 1);
  const GatherDimensions good{{1}, {0}, {}, {}, {0}, 1};
  auto failure = [&](const Tensor &indices, const GatherDimensions &dims, const Dims &sizes) {
    Status status = gather(operand, indices, dims, sizes, context).takeStatus();
    EXPECT_EQ(status.error(), Error::interpretShape);
    return status.message();
  };
  EXPECT_THAT(failure(indices, good, {1, 4}),
              HasSubstr("slice size of dimension 1 must be from 0 to the operand's size, 3,"));
  EXPECT_THAT(failure(indices, good, {2, 3}), HasSubstr("its slice size must be at most 1, got 2"));
  EXPECT_THAT(failure(indices, good, {1}),
              HasSubstr("slice_sizes must have one entry for each of the 2 dimensions"));
  EXPECT_THAT(failure(indices, good, {0, 3}), HasSubstr("slice size must be 1 for a result of"));
  EXPECT_THAT(failure(indices, {{1}, {0}, {}, {}, {0}, 3}, {1, 3}),
              HasSubstr("index_vector_dim must be in [0, 2]"));
  EXPECT_THAT(failure(indices, {{1}, {0}, {}, {}, {0, 1}, 1}, {1, 3}),
              HasSubstr("each of the 2 dimensions it indexes, got 1"));
  EXPECT_THAT(failure(indices, {{2}, {0}, {}, {}, {0}, 1}, {1, 3}),
              HasSubstr("offset_dims must be in [0, 2)"));
  EXPECT_THAT(failure(indices, {{}, {0}, {}, {}, {0}, 1}, {1, 3}),
              HasSubstr("offset_dims must have one entry for each of the 1"));
  EXPECT_THAT(failure(indices, {{}, {}, {0, 1}, {0}, {}, 2}, {1, 1}),
              HasSubstr("each of the 0 dimensions"));
  EXPECT_THAT(
      failure(wholeNumbers(ElementType::i32, {4, 1}, 1), {{}, {1}, {0}, {0}, {1}, 1}, {1, 1}),
      HasSubstr("batches operand dimension 0 with indices dimension 0, which must be equal, got 5 "
                "and 4"));
  Status status = gather(operand, operand, good, Dims{1, 3}, context).takeStatus();
  EXPECT_EQ(status.error(), Error::operandType);
  EXPECT_THAT(status.message(), HasSubstr("indices must be integers, got f32"));
}

TEST(TorchIndexSelect, TakesRowsOfEachBatch) {
  Context context;
  Tensor operand = tensorOf(ElementType::i32, {2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  Tensor index = tensorOf(ElementType::i32, {2, 1}, {1, 0});
  EXPECT_EQ(torchIndexSelect(operand, index, 1, 1, context)->toString(), "[[[3, 4]], [[5, 6]]]");
  EXPECT_EQ(torchIndexSelect(operand, index, -1, 1, context)->toString(),
            "[[[2], [4]], [[5], [7]]]");
  Tensor flat = tensorOf(ElementType::i32, {3}, {1, 0, 9});
  EXPECT_EQ(torchIndexSelect(operand, flat, 0, 0, context)->toString(),
            "[[[5, 6], [7, 8]], [[1, 2], [3, 4]], [[5, 6], [7, 8]]]");
  EXPECT_EQ(torchIndexSelect(operand, index, 0, 1, context).takeStatus().error(),
            Error::interpretShape);
  EXPECT_EQ(torchIndexSelect(operand, index, 3, 0, context).takeStatus().error(),
            Error::interpretShape);
}
