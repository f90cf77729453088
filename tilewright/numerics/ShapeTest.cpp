#include "tilewright/numerics/Shape.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace tilewright;
using namespace tilewright::numerics;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Shape, CountsElementsAndBytes) {
  Shape shape = *Shape::create({2, 3, 4});
  EXPECT_EQ(shape.elementCount(), 24);
  EXPECT_EQ(shape.byteCount(ElementType::c128), 24 * 16);
  EXPECT_EQ(shape.byteCount(ElementType::f4E2M1FN), 24);
  EXPECT_THAT(shape.strides(), ElementsAre(12, 4, 1));
}

TEST(Shape, OverflowIsAnErrorThatNamesTheShape) {
  Status status = Shape::create({4611686018427387904, 4}).takeStatus();
  EXPECT_EQ(status.code(), Code::outOfRange);
  EXPECT_THAT(status.message(), HasSubstr("[4611686018427387904, 4]"));
}

TEST(Shape, ProductThatWrapsToASmallNumberIsRefused) {
  EXPECT_EQ(Shape::create({int64_t(1) << 32, int64_t(1) << 32}).takeStatus().code(),
            Code::outOfRange);
}

TEST(Shape, EmptyShapeMayHaveHugeDimensions) {
  Shape shape = *Shape::create({int64_t(1) << 62, 0, int64_t(1) << 62});
  EXPECT_EQ(shape.elementCount(), 0);
  EXPECT_EQ(shape.strides().size(), 3u);
}

TEST(Shape, NegativeDimensionIsRefused) {
  EXPECT_EQ(Shape::create({2, -1}).takeStatus().code(), Code::invalidArgument);
}

TEST(ElementType, IntegersAreFoundByWidth) {
  for (size_t i = 0; i < elementTypeCount; ++i) {
    ElementType type = static_cast<ElementType>(i);
    if (isInteger(type))
      EXPECT_EQ(integerOfWidth(bitWidth(type), isUnsigned(type)), type) << spelling(type);
  }
  EXPECT_EQ(integerOfWidth(1, false), ElementType::pred);
  EXPECT_EQ(integerOfWidth(24, true), std::nullopt);
}
