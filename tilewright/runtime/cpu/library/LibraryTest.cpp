#include "tilewright/runtime/cpu/library/Library.h"

#include "tilewright/runtime/cpu/library/testing/Calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilewright::runtime::cpu {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Library, AnInvalidFieldIsNamed) {
  TestCall call(TransposeCall{});
  call.operand(bufferOf(ElementType::f32, {1, 2}, {1, 2})).result({ElementType::f32, {2, 1}});
  const Status status = call.run();
  EXPECT_EQ(status.error(), Error::libraryCall);
  EXPECT_THAT(status.message(),
              HasSubstr("transpose: permutation must list each of the 2 dimensions once, got []"));
}

TEST(Library, AWrongResultTypeShowsBoth) {
  TestCall call(TransposeCall{.permutation = {1, 0}});
  call.operand(bufferOf(ElementType::f32, {1, 2}, {1, 2})).result({ElementType::f32, {1, 2}});
  const Status status = call.run();
  EXPECT_EQ(status.error(), Error::libraryCall);
  EXPECT_THAT(status.message(), HasSubstr("result 0 must be f32[2, 1], got f32[1, 2]"));
}

TEST(Library, TooFewOperandsAreAnError) {
  // Every call without operands and results is refused.
  [&]<typename... Calls>(std::type_identity<std::variant<Calls...>>) {
    for (const LibraryCall &each : {LibraryCall(Calls())...}) {
      TestCall call(each);
      EXPECT_EQ(call.run().error(), Error::libraryCall) << nameOf(each);
    }
  }(std::type_identity<artifact::AnyLibraryCall>());
}

TEST(Library, OnlyReduceHasArgMax) {
  TestCall call(CumulativeCall{.body = Combiner::argmax});
  call.operand(bufferOf(ElementType::f32, {2}, {1, 2})).result({ElementType::f32, {2}});
  EXPECT_EQ(call.run().error(), Error::libraryCall);
  TestCall window(ReduceWindowCall{.windowDimensions = {1},
                                   .windowStrides = {1},
                                   .baseDilations = {1},
                                   .windowDilations = {1},
                                   .padding = {0, 0},
                                   .body = Combiner::argmin});
  window.operand(bufferOf(ElementType::f32, {2}, {1, 2}))
      .operand(bufferOf(ElementType::f32, {}, {0}));
  window.result({ElementType::f32, {2}});
  EXPECT_THAT(window.run().message(),
              HasSubstr("'body' must be an operation on two elements, got 'argmin'"));
}

TEST(Library, AnUpdateInPlaceWritesOnlyTheUpdate) {
  TestCall call(DynamicUpdateSliceCall{});
  call.operand(bufferOf(ElementType::f32, {4}, {1, 2, 3, 4}))
      .operand(bufferOf(ElementType::f32, {2}, {8, 9}))
      .operand(bufferOf(ElementType::i32, {}, {7})) // clamped
      .result({ElementType::f32, {4}});
  call.inPlace = true;
  ASSERT_TRUE(call.run().isOk());
  EXPECT_THAT(call.operands[0].reals(), ElementsAre(1, 2, 8, 9));
}

// In place of generated code: all weights are 1.
void averageOfBlock(void *const *, int64_t rowBegin, int64_t rowEnd, int64_t columnBegin,
                    int64_t columnEnd, float *, int64_t, void *weights, int64_t stride,
                    float *maximum, float *sum, float *factor) {
  for (int64_t row = 0; row < rowEnd - rowBegin; ++row) {
    std::fill_n(static_cast<float *>(weights) + row * stride, columnEnd - columnBegin, 1.0f);
    maximum[row] = 0;
    factor[row] = 1;
    sum[row] += static_cast<float>(columnEnd - columnBegin);
  }
}

/// Two heads, two queries, three keys, depth and width of 1: the mean of all values of a head.
TestCall averages(AttentionCall fields) {
  const std::vector<double> zeros(6);
  TestCall call(std::move(fields), {reinterpret_cast<Body>(averageOfBlock)});
  call.operand(bufferOf(ElementType::f32, {2, 2, 1}, zeros))
      .operand(bufferOf(ElementType::f32, {2, 3, 1}, zeros))
      .operand(bufferOf(ElementType::f32, {2, 3, 1}, {1, 2, 6, 10, 20, 60}))
      .result({ElementType::f32, {2, 2, 1}});
  return call;
}

const AttentionCall attention{.sizes = {2, 2, 3, 1, 1},
                              .dims = {0, 1, 3, 0, 2, 3, 0, 2, 4, 0, 1, 4},
                              .weightType = ElementType::f32};

TEST(Library, AttentionTakesTheWeightsOfGeneratedCode) {
  TestCall call = averages(attention);
  ASSERT_TRUE(call.run().isOk());
  EXPECT_THAT(call.results[0].reals(), ElementsAre(3, 3, 30, 30));
}

TEST(Library, AttentionRefusesWrongFields) {
  auto refusal = [](auto change) {
    AttentionCall fields = attention;
    change(fields);
    return averages(fields).run().message();
  };
  EXPECT_THAT(refusal([](AttentionCall &call) { call.sizes = {2, 3, 1}; }), HasSubstr("4 sizes"));
  EXPECT_THAT(refusal([](AttentionCall &call) { call.weightType.reset(); }),
              HasSubstr("a weight type"));
  EXPECT_THAT(refusal([](AttentionCall &call) { call.weightType = ElementType::f64; }),
              HasSubstr("at most 32 bits, got f64"));
  EXPECT_THAT(refusal([](AttentionCall &call) { call.maskedScore = {0}; }),
              HasSubstr("a body for the softmax and for the mask"));
  EXPECT_THAT(refusal([](AttentionCall &call) { call.sizes[2] = int64_t(1) << 31; }),
              HasSubstr("less than 2^31, got 2147483648"));
  EXPECT_THAT(refusal([](AttentionCall &call) { call.sizes[2] = 4; }),
              HasSubstr("dimension 1 of tensor 1"));
  EXPECT_THAT(refusal([](AttentionCall &call) { call.dims.pop_back(); }), HasSubstr("dims"));
  EXPECT_THAT(refusal([](AttentionCall &call) { call.dims.push_back(0); }), HasSubstr("dims"));
  EXPECT_THAT(refusal([](AttentionCall &call) { call.dims[0] = 7; }), HasSubstr("got 7"));
  EXPECT_THAT(refusal([](AttentionCall &call) { call.dims[0] = -1; }), HasSubstr("got -1"));
  EXPECT_THAT(refusal([](AttentionCall &call) { call.dims[0] = 1; }),
              HasSubstr("dimension 1 of tensor 0"));
  // Head and query have the same size: queries that have both are right, keys that have the query
  // are not, nor a result that lacks one.
  EXPECT_THAT(refusal([](AttentionCall &call) { call.dims[3] = 1; }),
              HasSubstr("tensor 1 must not vary along dimension 1"));
  EXPECT_THAT(refusal([](AttentionCall &call) { call.sizes.insert(call.sizes.begin(), 2); }),
              HasSubstr("must be one of the problem"));
}

TEST(Library, AttentionReturnsTheMaximumAndTheSumOfEachRow) {
  TestCall call = averages(attention);
  call.result({ElementType::f32, {2, 2}}).result({ElementType::f32, {2, 2}});
  ASSERT_TRUE(call.run().isOk());
  EXPECT_THAT(call.results[1].reals(), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(call.results[2].reals(), ElementsAre(3, 3, 3, 3));
}

// In place of generated code: all weights and gradients are 1.
void onesOfBlock(void *const *, int64_t rowBegin, int64_t rowEnd, int64_t columnBegin,
                 int64_t columnEnd, const float *, const float *, int64_t stride, const float *,
                 void *weights, void *gradients) {
  for (int64_t row = 0; row < rowEnd - rowBegin; ++row)
    for (void *tile : {weights, gradients})
      std::fill_n(static_cast<float *>(tile) + row * stride, columnEnd - columnBegin, 1.0f);
}

/// One head, two queries, three keys, depth and width of 1: sums of keys, queries and cotangents.
TestCall sums(AttentionCall fields) {
  TestCall call(std::move(fields), {reinterpret_cast<Body>(onesOfBlock)});
  call.operand(bufferOf(ElementType::f32, {2, 1}, {1, 2}))
      .operand(bufferOf(ElementType::f32, {3, 1}, {3, 4, 5}))
      .operand(bufferOf(ElementType::f32, {3, 1}, {6, 7, 8}))
      .operand(bufferOf(ElementType::f32, {2, 1}, {10, 20}))
      .operand(bufferOf(ElementType::f32, {2, 1}, {0, 0}))
      .result({ElementType::f32, {2, 1}})
      .result({ElementType::f32, {3, 1}})
      .result({ElementType::f32, {3, 1}});
  return call;
}

const AttentionCall gradients{.sizes = {2, 3, 1, 1},
                              .dims = {0, 2, 1, 2, 1, 3, 0, 3, 0, 3, 0, 2, 1, 2, 1, 3},
                              .weightType = ElementType::f32};

TEST(Library, AttentionSumsTheGradientsOfGeneratedCode) {
  TestCall call = sums(gradients);
  ASSERT_TRUE(call.run().isOk());
  EXPECT_THAT(call.results[0].reals(), ElementsAre(12, 12));
  EXPECT_THAT(call.results[1].reals(), ElementsAre(3, 3, 3));
  EXPECT_THAT(call.results[2].reals(), ElementsAre(30, 30, 30));
}

TEST(Library, GradientsOfAttentionRefuseWrongFields) {
  auto refusal = [](auto change) {
    AttentionCall fields = gradients;
    change(fields);
    return sums(fields).run().message();
  };
  EXPECT_THAT(refusal([](AttentionCall &call) { call.sizes = {2, 3, 1}; }), HasSubstr("4 sizes"));
  EXPECT_THAT(refusal([](AttentionCall &call) { call.weightType.reset(); }),
              HasSubstr("a weight type"));
  EXPECT_THAT(refusal([](AttentionCall &call) { call.maskedScore = {0}; }),
              HasSubstr("no masked score"));
  EXPECT_THAT(refusal([](AttentionCall &call) { call.weightType = ElementType::f64; }),
              HasSubstr("at most 32 bits, got f64"));
  EXPECT_THAT(refusal([](AttentionCall &call) { call.dims[2] = 0; }),
              HasSubstr("dimension 0 of tensor 1"));
  EXPECT_THAT(refusal([](AttentionCall &call) { call.dims[6] = 1; }),
              HasSubstr("dimension 0 of tensor 3"));
  EXPECT_THAT(refusal([](AttentionCall &call) { call.dims[10] = 7; }), HasSubstr("got 7"));
  EXPECT_THAT(refusal([](AttentionCall &call) { call.dims.pop_back(); }), HasSubstr("dims"));
}

} // namespace tilewright::runtime::cpu
