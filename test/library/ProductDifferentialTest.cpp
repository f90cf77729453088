// dot_general and convolution against the evaluator. Values are small whole numbers, so sums
// are exact in every order and results must be the same bytes.
#include "test/library/Differential.h"

#include "tilewright/interpret/kernels/Convolution.h"
#include "tilewright/interpret/kernels/Dot.h"

#include <algorithm>
#include <numeric>

namespace tilewright::runtime::cpu {

static Context context;

namespace {
struct Types {
  ElementType lhs, rhs, result;
};
} // namespace

static Types randomTypes(Random &random) {
  using enum ElementType;
  switch (random.number(0, 5)) {
  case 0:
    return {f32, f32, f32};
  case 1:
    return {bf16, bf16, random.oneOf({bf16, f32})};
  case 2: {
    const ElementType type = random.oneOf({f64, f16, c64, c128, i32, ui16, i64, i8, f8E5M2});
    return {type, type, type};
  }
  case 3:
    return {random.oneOf({i8, ui8, i4}), random.oneOf({i8, ui8, ui4}), random.oneOf({i32, i8})};
  case 4:
    return {random.oneOf({f8E4M3FN, bf16, f16}), random.oneOf({f8E5M2, f32}), f32};
  default: {
    const ElementType type = random.type();
    return {type, type, type};
  }
  }
}

/// Shuffles the dimensions of an operand; returns the new position of each of `sizes`.
static Dims shuffled(Random &random, const Dims &sizes, Dims &dims) {
  Dims order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[static_cast<size_t>(random.number(0, int64_t(i) - 1))]);
  dims.resize(sizes.size());
  Dims places(sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) {
    dims[i] = sizes[static_cast<size_t>(order[i])];
    places[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  }
  return places;
}

TEST(ProductDifferential, DotGeneral) {
  Random random(11);
  for (int round = 0; round < 600; ++round) {
    const int64_t most = round % 5 == 0 ? 17 : 7;
    const Dims batch = random.dims(random.number(0, 2), round % 20 == 0 ? 0 : 1, 4);
    const Dims summed = random.dims(random.number(0, 2), round % 20 == 1 ? 0 : 1, most);
    const Dims rows = random.dims(random.number(0, 2), round % 20 == 2 ? 0 : 1, most);
    const Dims columns = random.dims(random.number(0, 2), 1, most);
    auto concatenated = [](const Dims &a, const Dims &b, const Dims &c) {
      Dims all = a;
      all.insert(all.end(), b.begin(), b.end());
      all.insert(all.end(), c.begin(), c.end());
      return all;
    };
    Dims lhsDims, rhsDims;
    const Dims lhsPlaces = shuffled(random, concatenated(batch, summed, rows), lhsDims);
    const Dims rhsPlaces = shuffled(random, concatenated(batch, summed, columns), rhsDims);
    auto part = [](const Dims &places, size_t from, size_t count) {
      return Dims(places.begin() + static_cast<int64_t>(from),
                  places.begin() + static_cast<int64_t>(from + count));
    };
    interpret::DotDimensions dims;
    dims.lhsBatching = part(lhsPlaces, 0, batch.size());
    dims.rhsBatching = part(rhsPlaces, 0, batch.size());
    dims.lhsContracting = part(lhsPlaces, batch.size(), summed.size());
    dims.rhsContracting = part(rhsPlaces, batch.size(), summed.size());

    const Types types = randomTypes(random);
    TestBuffer lhs = random.buffer(types.lhs, lhsDims, -2, 2);
    TestBuffer rhs = random.buffer(types.rhs, rhsDims, -2, 2);
    auto expected =
        interpret::dotGeneral(tensorOf(lhs), tensorOf(rhs), dims, types.result, context);
    const std::string what = concat("round ", round, ": dot_general ", tensorOf(lhs).typeString(),
                                    " ", tensorOf(rhs).typeString());
    TestCall call(DotGeneralCall{.lhsBatchingDimensions = dims.lhsBatching,
                                 .rhsBatchingDimensions = dims.rhsBatching,
                                 .lhsContractingDimensions = dims.lhsContracting,
                                 .rhsContractingDimensions = dims.rhsContracting});
    call.operand(std::move(lhs)).operand(std::move(rhs));
    expectSame(call, std::move(expected), what);
    if (HasFatalFailure())
      return;
  }
}

/// `buffers` are a bias for each column, and the result. The product is 3 x 4.
static void addBias(void *const *buffers, int64_t rowBegin, int64_t rowEnd, int64_t columnBegin,
                    int64_t columnEnd, const void *tile, int64_t tileStride) {
  for (int64_t row = rowBegin; row < rowEnd; ++row)
    for (int64_t column = columnBegin; column < columnEnd; ++column)
      static_cast<float *>(buffers[1])[row * 4 + column] =
          static_cast<const float *>(tile)[(row - rowBegin) * tileStride + column - columnBegin] +
          static_cast<const float *>(buffers[0])[column];
}

TEST(Product, DotGeneralWithAnEpilogue) {
  TestCall call(DotGeneralCall{.lhsContractingDimensions = {1},
                               .rhsContractingDimensions = {0},
                               .productType = ElementType::f32},
                {reinterpret_cast<Body>(reinterpret_cast<void (*)()>(addBias))});
  call.operand(bufferOf(ElementType::f32, {3, 2}, {1, 2, 3, 4, 5, 6}));
  call.operand(bufferOf(ElementType::f32, {2, 4}, {1, 0, 2, 1, 0, 1, 1, 2}));
  call.operand(bufferOf(ElementType::f32, {4}, {100, 200, 300, 400}));
  call.result({ElementType::f32, {3, 4}});
  ASSERT_TRUE(call.run().isOk());
  EXPECT_EQ(call.results[0].reals(),
            (std::vector<double>{101, 202, 304, 405, 103, 204, 310, 411, 105, 206, 316, 417}));
}

TEST(Product, DotGeneralRefusesWhatDoesNotFit) {
  auto failure = [](DotGeneralCall dot, TensorType lhs, TensorType rhs, TensorType result) {
    TestCall call(std::move(dot));
    call.operand(TestBuffer(lhs)).operand(TestBuffer(rhs)).result(result);
    const Status status = call.prepare();
    EXPECT_EQ(status.error(), Error::libraryCall);
    return status.message();
  };
  using enum ElementType;
  const DotGeneralCall product{.lhsContractingDimensions = {1}, .rhsContractingDimensions = {0}};
  EXPECT_EQ(failure(product, {f32, {2, 3}}, {f32, {4, 2}}, {f32, {2, 2}}),
            "dot_general: contracted dimensions of lhs 2x3 and rhs 4x2 must have equal sizes");
  EXPECT_EQ(failure(product, {c64, {2, 3}}, {c64, {3, 2}}, {f32, {2, 2}}),
            "dot_general: products of complex<f32> and complex<f32> cannot be accumulated in f32");
  failure(product, {f32, {2, 3}}, {f32, {3, 2}}, {f32, {2, 3}});
  failure({.lhsContractingDimensions = {1}, .rhsContractingDimensions = {7}}, {f32, {2, 3}},
          {f32, {3, 2}}, {f32, {2, 2}});
  failure({.lhsBatchingDimensions = {1},
           .lhsContractingDimensions = {1},
           .rhsContractingDimensions = {0}},
          {f32, {2, 3}}, {f32, {3, 2}}, {f32, {2, 2}});
}

/// A convolution with everything drawn at random: layouts, groups, window, types.
static void compareConvolution(Random &random, int round) {
  const int64_t spatial = random.number(0, 3);
  const bool isLarge = round % 8 == 0, groupsBatch = random.number(0, 3) == 0;
  const int64_t groups = random.number(0, 1) == 0 ? 1 : random.number(2, 6);
  const int64_t groupInputs = random.number(1, isLarge ? 20 : 3);
  const int64_t groupOutputs = random.number(1, isLarge ? 40 : 3);
  const int64_t images = random.number(1, 3);

  interpret::ConvolutionParameters p;
  p.featureGroupCount = groupsBatch ? 1 : groups;
  p.batchGroupCount = groupsBatch ? groups : 1;
  Dims inputSizes = {images * p.batchGroupCount, groupInputs * p.featureGroupCount};
  Dims kernelSizes = {groups * groupOutputs, groupInputs};
  Dims strides, padding, inputDilation, kernelDilation, reversal;
  for (int64_t d = 0; d < spatial; ++d) {
    inputSizes.push_back(random.number(round % 30 == 0 ? 0 : 1, isLarge ? 14 : 7));
    kernelSizes.push_back(random.number(round % 30 == 1 ? 0 : 1, 4));
    interpret::WindowDimension window;
    window.stride = random.number(1, 3);
    window.baseDilation = random.number(0, 1) == 0 ? 1 : random.number(1, 4);
    window.windowDilation = random.number(0, 1) == 0 ? 1 : random.number(1, 3);
    window.padLow = random.number(-2, 4);
    window.padHigh = random.number(-2, 4);
    window.reversed = random.number(0, 2) == 0;
    p.window.push_back(window);
    strides.push_back(window.stride);
    padding.insert(padding.end(), {window.padLow, window.padHigh});
    inputDilation.push_back(window.baseDilation);
    kernelDilation.push_back(window.windowDilation);
    reversal.push_back(window.reversed);
  }
  auto layoutOf = [](const Dims &places) {
    return interpret::ConvolutionLayout{places[0], places[1],
                                        Dims(places.begin() + 2, places.end())};
  };
  Dims inputDims, kernelDims, outputDims;
  p.input = layoutOf(shuffled(random, inputSizes, inputDims));
  p.kernel = layoutOf(shuffled(random, kernelSizes, kernelDims));
  p.output = layoutOf(shuffled(random, inputSizes, outputDims));

  const Types types = randomTypes(random);
  // f8E8M0FNU converts numbers below 1 to NaN. A NaN factor under padding makes the kernel's result
  // NaN, while the evaluator skips padding.
  const int64_t low = types.rhs == ElementType::f8E8M0FNU ? 1 : -2;
  TestBuffer lhs = random.buffer(types.lhs, inputDims, low, 2);
  TestBuffer rhs = random.buffer(types.rhs, kernelDims, low, 2);
  auto expected = interpret::convolution(tensorOf(lhs), tensorOf(rhs), p, types.result, context);
  const std::string what = concat(
      "round ", round, ": convolution ", tensorOf(lhs).typeString(), " ",
      tensorOf(rhs).typeString(), " strides ", listed(strides), " padding ", listed(padding),
      " lhs_dilation ", listed(inputDilation), " rhs_dilation ", listed(kernelDilation),
      " reversal ", listed(reversal), " groups ", groups, groupsBatch ? " of the batch" : "");
  TestCall call(ConvolutionCall{.inputBatchDimension = p.input.first,
                                .inputFeatureDimension = p.input.second,
                                .inputSpatialDimensions = p.input.spatial,
                                .kernelInputFeatureDimension = p.kernel.second,
                                .kernelOutputFeatureDimension = p.kernel.first,
                                .kernelSpatialDimensions = p.kernel.spatial,
                                .outputBatchDimension = p.output.first,
                                .outputFeatureDimension = p.output.second,
                                .outputSpatialDimensions = p.output.spatial,
                                .windowStrides = strides,
                                .padding = padding,
                                .lhsDilation = inputDilation,
                                .rhsDilation = kernelDilation,
                                .windowReversal = reversal,
                                .featureGroupCount = p.featureGroupCount,
                                .batchGroupCount = p.batchGroupCount});
  call.operand(std::move(lhs)).operand(std::move(rhs));
  expectSame(call, std::move(expected), what);
}

TEST(ProductDifferential, Convolution) {
  Random random(12);
  for (int round = 0; round < 2000 && !HasFatalFailure(); ++round)
    compareConvolution(random, round);
}

} // namespace tilewright::runtime::cpu
