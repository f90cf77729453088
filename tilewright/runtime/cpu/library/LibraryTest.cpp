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
  }(std::type_identity<LibraryCall>());
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

} // namespace tilewright::runtime::cpu
