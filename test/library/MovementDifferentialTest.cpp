#include "test/library/Differential.h"

#include "tilewright/interpret/kernels/Gather.h"
#include "tilewright/interpret/kernels/Movement.h"

#include <algorithm>

namespace tilewright::runtime::cpu {

static Context context;

TEST(MovementDifferential, Transpose) {
  Random random(1);
  for (int round = 0; round < 400; ++round) {
    const int64_t rank = random.number(0, 5);
    TestBuffer operand =
        random.buffer(random.type(), random.dims(rank, 0 + (round % 4 != 0), rank > 3 ? 9 : 70));
    const Dims order = random.permutation(rank);
    auto expected = interpret::transpose(tensorOf(operand), order, context);
    const std::string what = concat("transpose ", listed(order), listed(operand.type.dims));
    TestCall call(TransposeCall{.permutation = order});
    call.operand(std::move(operand));
    expectSame(call, std::move(expected), what);
  }
}

TEST(MovementDifferential, TransposePastTheCache) {
  Random random(2);
  for (ElementType type :
       {ElementType::f32, ElementType::c64, ElementType::bf16, ElementType::i8}) {
    const int64_t rows = (40 << 20) / 4096 / static_cast<int64_t>(numerics::storageBytes(type));
    TestBuffer operand({type, {rows, 4096}});
    for (size_t i = 0; i < operand.size() / 4; ++i)
      operand.as<uint32_t>()[i] = static_cast<uint32_t>(i * 2654435761u);
    Context large;
    auto expected = interpret::transpose(tensorOf(operand), Dims{1, 0}, large);
    TestCall call(TransposeCall{.permutation = {1, 0}});
    call.operand(std::move(operand));
    ASSERT_TRUE(expected.isOk());
    call.result(typeOf(*expected));
    ASSERT_TRUE(call.run().isOk());
    EXPECT_EQ(0, std::memcmp(call.results[0].data(), (*expected).data(), call.results[0].size()));
  }
}

TEST(MovementDifferential, SliceReverseBroadcast) {
  Random random(3);
  for (int round = 0; round < 400; ++round) {
    const int64_t rank = random.number(0, 4);
    TestBuffer operand = random.buffer(random.type(), random.dims(rank, 0, 20));
    const Tensor tensor = tensorOf(operand);
    const Dims dims = operand.type.dims;
    if (round % 3 == 0) {
      Dims start, limit, step;
      for (int64_t size : dims) {
        start.push_back(random.number(0, size));
        limit.push_back(random.number(start.back(), size));
        step.push_back(random.number(1, 4));
      }
      TestCall call(SliceCall{.startIndices = start, .limitIndices = limit, .strides = step});
      call.operand(std::move(operand));
      expectSame(call, interpret::slice(tensor, start, limit, step, context), "slice");
    } else if (round % 3 == 1) {
      Dims reversed = random.permutation(rank);
      reversed.resize(static_cast<size_t>(random.number(0, rank)));
      TestCall call(ReverseCall{.dimensions = reversed});
      call.operand(std::move(operand));
      expectSame(call, interpret::reverse(tensor, reversed, context), "reverse");
    } else {
      const int64_t more = random.number(0, 2);
      Dims where = random.permutation(rank + more);
      where.resize(static_cast<size_t>(rank));
      Dims sizes = random.dims(rank + more, 0, 8);
      for (size_t i = 0; i < where.size(); ++i)
        if (dims[i] != 1)
          sizes[static_cast<size_t>(where[i])] = dims[i];
      TestCall call(BroadcastInDimCall{.broadcastDimensions = where});
      call.operand(std::move(operand));
      expectSame(call, interpret::broadcastInDim(tensor, where, *Shape::create(sizes), context),
                 concat("broadcast ", listed(dims), listed(where), listed(sizes)));
    }
  }
}

TEST(MovementDifferential, ConcatenateAndPad) {
  Random random(4);
  for (int round = 0; round < 300; ++round) {
    const int64_t rank = random.number(1, 4);
    const ElementType type = random.type();
    if (round % 2 == 0) {
      const int64_t dimension = random.number(0, rank - 1);
      Dims dims = random.dims(rank, 0, 9);
      TestCall call(ConcatenateCall{.dimension = dimension});
      std::vector<Tensor> tensors;
      for (int64_t i = random.number(1, 4); i > 0; --i) {
        dims[static_cast<size_t>(dimension)] = random.number(0, 20);
        call.operand(random.buffer(type, dims));
        tensors.push_back(tensorOf(call.operands.back()));
      }
      expectSame(call, interpret::concatenate(tensors, dimension, context), "concatenate");
      continue;
    }
    const Dims dims = random.dims(rank, 0, 12);
    Dims low, high, interior;
    for (int64_t size : dims) {
      interior.push_back(random.number(0, 3) == 0 ? random.number(1, 3) : 0);
      const int64_t spread = size == 0 ? 0 : size + (size - 1) * interior.back();
      low.push_back(random.number(-5, 6));
      high.push_back(std::max(random.number(-5, 6), -spread - low.back()));
    }
    TestCall call(
        PadCall{.edgePaddingLow = low, .edgePaddingHigh = high, .interiorPadding = interior});
    call.operand(random.buffer(type, dims)).operand(random.buffer(type, {}));
    expectSame(call,
               interpret::pad(tensorOf(call.operands[0]), tensorOf(call.operands[1]), low, high,
                              interior, context),
               concat("pad ", listed(dims), listed(low), listed(high), listed(interior)));
  }
}

TEST(MovementDifferential, Iota) {
  Random random(5);
  for (size_t type = 0; type < numerics::elementTypeCount; ++type)
    for (int round = 0; round < 4; ++round) {
      const int64_t rank = random.number(1, 3), dimension = random.number(0, rank - 1);
      const Dims dims = random.dims(rank, 0, 300 / (rank * rank * rank));
      TestCall call(IotaCall{.iotaDimension = dimension});
      expectSame(call,
                 interpret::iota(elementTypeNumber(type), *Shape::create(dims), dimension, context),
                 "iota");
    }
}

TEST(MovementDifferential, DynamicSlices) {
  Random random(6);
  for (int round = 0; round < 300; ++round) {
    const int64_t rank = random.number(0, 4);
    const ElementType type = random.type();
    const ElementType indexType =
        random.oneOf({ElementType::i32, ElementType::i64, ElementType::ui8, ElementType::ui64});
    const Dims dims = random.dims(rank, 0, 9);
    Dims sizes, start;
    for (int64_t size : dims) {
      sizes.push_back(random.number(0, size));
      start.push_back(numerics::isUnsigned(indexType) ? random.number(0, 12)
                                                      : random.number(-4, 12));
    }
    const bool updates = round % 2 == 0;
    TestCall call(updates ? LibraryCall(DynamicUpdateSliceCall{})
                          : LibraryCall(DynamicSliceCall{.sliceSizes = sizes}));
    call.operand(random.buffer(type, dims));
    if (updates)
      call.operand(random.buffer(type, sizes));
    for (int64_t index : start)
      call.operand(random.buffer(indexType, {}, index, index));
    call.inPlace = updates && round % 4 == 0;
    if (updates)
      expectSame(call,
                 interpret::dynamicUpdateSlice(tensorOf(call.operands[0]),
                                               tensorOf(call.operands[1]), start, context),
                 "dynamic_update_slice");
    else
      expectSame(call, interpret::dynamicSlice(tensorOf(call.operands[0]), start, sizes, context),
                 "dynamic_slice");
  }
}

/// Consistent dimension numbers, derived from a random operand.
TEST(MovementDifferential, Gather) {
  Random random(7);
  for (int round = 0; round < 600; ++round) {
    const int64_t rank = random.number(1, 4);
    const Dims dims = random.dims(rank, 1, 7);
    Dims roles = random.permutation(rank);
    const int64_t batching = random.number(0, std::min<int64_t>(rank, 2));
    const int64_t collapsed = random.number(0, rank - batching);
    interpret::GatherDimensions numbers;
    numbers.operandBatchingDims.assign(roles.begin(), roles.begin() + batching);
    numbers.collapsedSliceDims.assign(roles.begin() + batching,
                                      roles.begin() + batching + collapsed);
    std::sort(numbers.operandBatchingDims.begin(), numbers.operandBatchingDims.end());
    std::sort(numbers.collapsedSliceDims.begin(), numbers.collapsedSliceDims.end());
    Dims sliceSizes;
    for (int64_t dim = 0; dim < rank; ++dim) {
      const auto at = std::find(roles.begin(), roles.end(), dim) - roles.begin();
      sliceSizes.push_back(
          at < batching + collapsed ? 1 : random.number(0, dims[static_cast<size_t>(dim)]));
    }
    Dims mapped(roles.begin() + batching, roles.end());
    mapped.resize(static_cast<size_t>(random.number(0, static_cast<int64_t>(mapped.size()))));
    numbers.startIndexMap = mapped;
    // Indices: the batching dimensions and some others, with the index vector in any position.
    Dims indexDims;
    for (int64_t dim : numbers.operandBatchingDims)
      indexDims.push_back(dims[static_cast<size_t>(dim)]);
    const Dims more = random.dims(random.number(0, 2), 1, 9);
    const bool moreFirst = random.number(0, 1) == 0;
    indexDims.insert(moreFirst ? indexDims.begin() : indexDims.end(), more.begin(), more.end());
    Dims batchPlaces;
    for (int64_t i = 0; i < batching; ++i)
      batchPlaces.push_back(i + (moreFirst ? static_cast<int64_t>(more.size()) : 0));
    const auto batchRank = static_cast<int64_t>(indexDims.size());
    numbers.indexVectorDim = random.number(0, batchRank);
    if (mapped.size() != 1 || numbers.indexVectorDim != batchRank || random.number(0, 1) == 0) {
      indexDims.insert(indexDims.begin() + numbers.indexVectorDim,
                       static_cast<int64_t>(mapped.size()));
      for (int64_t &place : batchPlaces)
        place += place >= numbers.indexVectorDim;
    }
    numbers.startIndicesBatchingDims = batchPlaces;
    const int64_t kept = rank - batching - collapsed;
    Dims offsets = random.permutation(batchRank + kept);
    offsets.resize(static_cast<size_t>(kept));
    std::sort(offsets.begin(), offsets.end());
    numbers.offsetDims = offsets;

    TestCall call(GatherCall{.offsetDims = numbers.offsetDims,
                             .collapsedSliceDims = numbers.collapsedSliceDims,
                             .operandBatchingDims = numbers.operandBatchingDims,
                             .startIndicesBatchingDims = batchPlaces,
                             .startIndexMap = mapped,
                             .indexVectorDim = numbers.indexVectorDim,
                             .sliceSizes = sliceSizes});
    const ElementType indexType =
        random.oneOf({ElementType::i32, ElementType::i64, ElementType::i8, ElementType::ui16});
    call.operand(random.buffer(random.type(), dims, -100, 100))
        .operand(random.buffer(indexType, indexDims, -3, 9));
    expectSame(call,
               interpret::gather(tensorOf(call.operands[0]), tensorOf(call.operands[1]), numbers,
                                 sliceSizes, context),
               concat("gather ", round));
  }
}

} // namespace tilewright::runtime::cpu
