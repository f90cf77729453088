#include "tilewright/interpret/kernels/Elementwise.h"

#include "tilewright/interpret/kernels/testing/Tensors.h"

using namespace tilewright;
using namespace tilewright::interpret;
using testing::HasSubstr;

TEST(Elementwise, AddsAcrossBlocks) {
  Context context;
  std::vector<double> ones(1000, 1), twos(1000, 2);
  Tensor sum = *elementwise(ScalarOp::add,
                            std::vector{tensorOf(ElementType::bf16, {10, 100}, ones),
                                        tensorOf(ElementType::bf16, {10, 100}, twos)},
                            ElementType::bf16, context);
  EXPECT_EQ(valuesOf(sum), std::vector<double>(1000, 3));
}

TEST(Elementwise, ScalarsGoWithEveryElement) {
  Context context;
  Tensor clamped = *elementwise(ScalarOp::clamp,
                                std::vector{tensorOf(ElementType::i32, {}, {0}),
                                            tensorOf(ElementType::i32, {3}, {-5, 2, 9}),
                                            tensorOf(ElementType::i32, {}, {3})},
                                ElementType::i32, context);
  EXPECT_EQ(clamped.toString(), "[0, 2, 3]");
  Tensor selected = *elementwise(ScalarOp::select,
                                 std::vector{tensorOf(ElementType::pred, {}, {1}),
                                             tensorOf(ElementType::i8, {2}, {1, 2}),
                                             tensorOf(ElementType::i8, {2}, {3, 4})},
                                 ElementType::i8, context);
  EXPECT_EQ(selected.toString(), "[1, 2]");
}

TEST(Elementwise, UndefinedTypesAreNamed) {
  Context context;
  Tensor operand = tensorOf(ElementType::f32, {1}, {1});
  Status status =
      elementwise(ScalarOp::popcnt, std::vector{operand}, ElementType::f32, context).takeStatus();
  EXPECT_EQ(status.code(), Code::unimplemented);
  EXPECT_THAT(status.message(), HasSubstr("popcnt of f32"));
}

TEST(Elementwise, DifferentShapesAreNamed) {
  Context context;
  Status status = elementwise(ScalarOp::add,
                              std::vector{tensorOf(ElementType::f32, {2}, {1, 2}),
                                          tensorOf(ElementType::f32, {1}, {1})},
                              ElementType::f32, context)
                      .takeStatus();
  EXPECT_EQ(status.error(), Error::interpretShape);
  EXPECT_THAT(status.message(), HasSubstr("got 2 and 1"));
}

TEST(Elementwise, StepsAreCountedBeforeTheyAreTaken) {
  InterpretOptions options;
  options.maxSteps = 2;
  Context context(options);
  Tensor operand = tensorOf(ElementType::f32, {3}, {1, 2, 3});
  Status status =
      elementwise(ScalarOp::negate, std::vector{operand}, ElementType::f32, context).takeStatus();
  EXPECT_EQ(status.error(), Error::interpretSteps);
}

TEST(Elementwise, FunctionGivesOneTensorPerResult) {
  Context context;
  std::vector<Tensor> results = *elementwise(
      ScalarFunction::single(ScalarOp::compareLt, ElementType::f32),
      std::vector{tensorOf(ElementType::f32, {2}, {1, 2}), tensorOf(ElementType::f32, {2}, {2, 1})},
      context);
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].toString(), "[true, false]");
}

TEST(BitcastConvert, SplitsIntoPartsFromTheLowBitsUp) {
  Context context;
  Tensor bytes = *bitcastConvert(tensorOf(ElementType::ui32, {1}, {0x01020304}), ElementType::ui8,
                                 *Shape::create({1, 4}), context);
  EXPECT_EQ(bytes.toString(), "[[4, 3, 2, 1]]");
  Tensor nibbles = *bitcastConvert(tensorOf(ElementType::ui8, {1}, {0xf1}), ElementType::i4,
                                   *Shape::create({1, 2}), context);
  EXPECT_EQ(nibbles.toString(), "[[1, -1]]");
}

TEST(BitcastConvert, JoinsParts) {
  Context context;
  Tensor joined = *bitcastConvert(tensorOf(ElementType::ui4, {1, 2}, {1, 15}), ElementType::ui8,
                                  *Shape::create({1}), context);
  EXPECT_EQ(joined.toString(), "[241]");
}
