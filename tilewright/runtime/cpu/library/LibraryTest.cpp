#include "tilewright/runtime/cpu/library/Library.h"

#include "tilewright/runtime/cpu/library/testing/Calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilewright::runtime::cpu {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Library, AnUnknownNameIsAnError) {
  TestCall call("frobnicate", {});
  const Status status = call.run();
  EXPECT_EQ(status.error(), Error::libraryUnknown);
  EXPECT_THAT(status.message(), HasSubstr("no kernel 'frobnicate'"));
  EXPECT_FALSE(hasLibraryKernel("frobnicate"));
  EXPECT_TRUE(hasLibraryKernel("transpose"));
}

TEST(Library, AMissingAttributeIsNamed) {
  TestCall call("transpose", {});
  call.operand(bufferOf(ElementType::f32, {1, 2}, {1, 2})).result({ElementType::f32, {2, 1}});
  const Status status = call.run();
  EXPECT_EQ(status.error(), Error::libraryCall);
  EXPECT_THAT(status.message(), HasSubstr("transpose: attribute 'permutation' is missing"));
}

TEST(Library, AWrongResultTypeShowsBoth) {
  TestCall call("transpose", {integers("permutation", {1, 0})});
  call.operand(bufferOf(ElementType::f32, {1, 2}, {1, 2})).result({ElementType::f32, {1, 2}});
  const Status status = call.run();
  EXPECT_EQ(status.error(), Error::libraryCall);
  EXPECT_THAT(status.message(), HasSubstr("result 0 must be f32[2, 1], got f32[1, 2]"));
}

TEST(Library, TooFewOperandsAreAnError) {
  for (const char *name : {"transpose", "slice", "gather", "dynamic_slice", "dynamic_update_slice",
                           "concatenate", "pad", "reverse", "broadcast_in_dim", "reshape"}) {
    TestCall call(name, {});
    EXPECT_EQ(call.run().error(), Error::libraryCall) << name;
  }
}

TEST(Library, IntegersOfAnyWidthAreRead) {
  artifact::Elements narrow{ElementType::i32, false, std::vector<std::byte>(8)};
  const int32_t values[] = {1, 0};
  std::memcpy(narrow.bytes.data(), values, sizeof values);
  TestCall call("transpose", {{"permutation", narrow}});
  call.operand(bufferOf(ElementType::f32, {1, 2}, {1, 2})).result({ElementType::f32, {2, 1}});
  ASSERT_TRUE(call.run().isOk());
  EXPECT_THAT(call.results[0].reals(), ElementsAre(1, 2));
}

TEST(Library, AnUpdateInPlaceWritesOnlyTheUpdate) {
  TestCall call("dynamic_update_slice", {});
  call.operand(bufferOf(ElementType::f32, {4}, {1, 2, 3, 4}))
      .operand(bufferOf(ElementType::f32, {2}, {8, 9}))
      .operand(bufferOf(ElementType::i32, {}, {7})) // clamped
      .result({ElementType::f32, {4}});
  call.inPlace = true;
  ASSERT_TRUE(call.run().isOk());
  EXPECT_THAT(call.operands[0].reals(), ElementsAre(1, 2, 8, 9));
}

} // namespace tilewright::runtime::cpu
