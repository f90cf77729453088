#include "test/library/Differential.h"

#include "tilewright/interpret/kernels/Scatter.h"

#include <algorithm>

namespace tilewright::runtime::cpu {

using interpret::ScalarFunction;
using interpret::ScatterDimensions;
using numerics::ScalarOp;

static Context context;

namespace {
/// Dimension numbers with matching shapes.
struct Case {
  ScatterDimensions numbers;
  Dims input, indices, updates;
  ScatterCall call(Combiner body) const {
    return {.updateWindowDims = numbers.updateWindowDims,
            .insertedWindowDims = numbers.insertedWindowDims,
            .inputBatchingDims = numbers.inputBatchingDims,
            .scatterIndicesBatchingDims = numbers.scatterIndicesBatchingDims,
            .scatterDimsToOperandDims = numbers.scatterDimsToOperandDims,
            .indexVectorDim = numbers.indexVectorDim,
            .body = body};
  }
};
} // namespace

static Case randomCase(Random &random) {
  Case result;
  const int64_t rank = random.number(1, 4);
  result.input = random.dims(rank, 1, 8);
  const Dims roles = random.permutation(rank);
  const int64_t batching = random.number(0, std::min<int64_t>(rank, 2));
  const int64_t inserted = random.number(0, rank - batching);
  ScatterDimensions &numbers = result.numbers;
  numbers.inputBatchingDims.assign(roles.begin(), roles.begin() + batching);
  numbers.insertedWindowDims.assign(roles.begin() + batching, roles.begin() + batching + inserted);
  std::sort(numbers.inputBatchingDims.begin(), numbers.inputBatchingDims.end());
  std::sort(numbers.insertedWindowDims.begin(), numbers.insertedWindowDims.end());
  Dims window;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (std::find(roles.begin(), roles.begin() + batching + inserted, dim) ==
        roles.begin() + batching + inserted)
      window.push_back(random.number(0, 3) == 0
                           ? result.input[static_cast<size_t>(dim)]
                           : random.number(0, result.input[static_cast<size_t>(dim)]));
  Dims mapped(roles.begin() + batching, roles.end());
  mapped.resize(static_cast<size_t>(random.number(0, static_cast<int64_t>(mapped.size()))));
  numbers.scatterDimsToOperandDims = mapped;
  Dims batch;
  for (int64_t dim : numbers.inputBatchingDims)
    batch.push_back(result.input[static_cast<size_t>(dim)]);
  const Dims more = random.dims(random.number(0, 2), 1, 9);
  const bool moreFirst = random.number(0, 1) == 0;
  batch.insert(moreFirst ? batch.begin() : batch.end(), more.begin(), more.end());
  Dims places;
  for (int64_t i = 0; i < batching; ++i)
    places.push_back(i + (moreFirst ? static_cast<int64_t>(more.size()) : 0));
  const auto batchRank = static_cast<int64_t>(batch.size());
  numbers.indexVectorDim = random.number(0, batchRank);
  result.indices = batch;
  if (mapped.size() != 1 || numbers.indexVectorDim != batchRank || random.number(0, 1) == 0) {
    result.indices.insert(result.indices.begin() + numbers.indexVectorDim,
                          static_cast<int64_t>(mapped.size()));
    for (int64_t &place : places)
      place += place >= numbers.indexVectorDim;
  }
  numbers.scatterIndicesBatchingDims = places;
  const auto kept = static_cast<int64_t>(window.size());
  Dims windowDims = random.permutation(batchRank + kept);
  windowDims.resize(static_cast<size_t>(kept));
  std::sort(windowDims.begin(), windowDims.end());
  numbers.updateWindowDims = windowDims;
  size_t nextWindow = 0, nextBatch = 0;
  for (int64_t dim = 0; dim < batchRank + kept; ++dim)
    result.updates.push_back(std::find(windowDims.begin(), windowDims.end(), dim) !=
                                     windowDims.end()
                                 ? window[nextWindow++]
                                 : batch[nextBatch++]);
  return result;
}

TEST(ScatterDifferential, KnownOperations) {
  Random random(31);
  for (int round = 0; round < 900; ++round) {
    const Case each = randomCase(random);
    ElementType type = random.type();
    const int64_t choice = random.number(0, 3);
    while (choice > 1 && !numerics::operationFor(ScalarOp::maximum, type))
      type = random.type();
    const ScalarOp op = choice == 1 ? ScalarOp::add : ScalarOp::maximum;
    // The second argument replaces the value, which no scalar operation does.
    ScalarFunction::Builder second({type, type});
    second.addResult(1, type);
    const ScalarFunction function =
        choice == 0 ? std::move(second).finish() : ScalarFunction::single(op, type);
    TestCall call(each.call(choice == 0   ? Combiner::second
                            : choice == 1 ? Combiner::add
                                          : Combiner::maximum));
    const ElementType indexType =
        random.oneOf({ElementType::i32, ElementType::i64, ElementType::i8});
    call.operand(random.buffer(type, each.input, -3, 3))
        .operand(random.buffer(indexType, each.indices, -3, 8))
        .operand(random.buffer(type, each.updates, -3, 3));
    call.inPlace = round % 3 == 0;
    auto expected = interpret::scatter(
        std::vector{tensorOf(call.operands[0])}, tensorOf(call.operands[1]),
        std::vector{tensorOf(call.operands[2])}, each.numbers, function, context);
    ASSERT_TRUE(expected.isOk()) << std::move(expected).takeStatus().message();
    expectSame(call, *expected, concat("scatter ", round, " ", numerics::spelling(type)));
  }
}

TEST(ScatterDifferential, Functions) {
  using enum ElementType;
  const ScalarFunction function = sumAndMaximumFunction();
  Random random(32);
  for (int round = 0; round < 200; ++round) {
    const Case each = randomCase(random);
    TestCall call(each.call(Combiner::function), {sumAndMaximum});
    call.operand(random.buffer(f32, each.input)).operand(random.buffer(i32, each.input));
    call.operand(random.buffer(i32, each.indices, -3, 8));
    call.operand(random.buffer(f32, each.updates)).operand(random.buffer(i32, each.updates));
    auto expected =
        interpret::scatter(std::vector{tensorOf(call.operands[0]), tensorOf(call.operands[1])},
                           tensorOf(call.operands[2]),
                           std::vector{tensorOf(call.operands[3]), tensorOf(call.operands[4])},
                           each.numbers, function, context);
    ASSERT_TRUE(expected.isOk());
    expectSame(call, *expected, concat("scatter function ", round));
  }
}

/// Rows are split over threads: f32 sums must be in the order of the index vectors, bit for bit.
TEST(ScatterDifferential, RowsInParallel) {
  Random random(33);
  TestCall call(ScatterCall{.updateWindowDims = {1},
                            .insertedWindowDims = {0},
                            .scatterDimsToOperandDims = {0},
                            .indexVectorDim = 1,
                            .body = Combiner::add});
  call.operand(random.buffer(ElementType::f32, {100, 257}))
      .operand(random.buffer(ElementType::i32, {3000, 1}, -2, 101))
      .operand(random.buffer(ElementType::f32, {3000, 257}));
  for (int64_t i = 0; i < call.operands[2].count(); ++i)
    call.operands[2].as<float>()[i] *= 0.1f;
  auto expected =
      interpret::scatter(std::vector{tensorOf(call.operands[0])}, tensorOf(call.operands[1]),
                         std::vector{tensorOf(call.operands[2])}, {{1}, {0}, {}, {}, {0}, 1},
                         ScalarFunction::single(ScalarOp::add, ElementType::f32), context);
  ASSERT_TRUE(expected.isOk());
  expectSame(call, *expected, "rows in parallel", 3);
}

} // namespace tilewright::runtime::cpu
