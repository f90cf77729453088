#include "tilewright/interpret/Checks.h"

#include "tilewright/interpret/kernels/testing/Tensors.h"

#include <cmath>
#include <limits>

using namespace tilewright;
using namespace tilewright::interpret;
using testing::HasSubstr;

static constexpr ElementType f32 = ElementType::f32;
static constexpr double quietNan = std::numeric_limits<double>::quiet_NaN();
static constexpr double infinite = std::numeric_limits<double>::infinity();

TEST(Checks, EqualComparesValuesAndAcceptsNan) {
  EXPECT_TRUE(
      expectEqual(tensorOf(f32, {2}, {0.0, quietNan}), tensorOf(f32, {2}, {-0.0, -quietNan}))
          .isOk());
  Status status = expectEqual(tensorOf(ElementType::i32, {2, 2}, {1, 2, 3, 4}),
                              tensorOf(ElementType::i32, {2, 2}, {1, 2, 5, 6}));
  EXPECT_EQ(status.error(), Error::interpretCheck);
  EXPECT_THAT(status.message(),
              HasSubstr("2 of 4 elements are not equal, the first at [1, 0]: got 3, expected 5"));
}

TEST(Checks, CloseCountsValuesOfTheType) {
  const double one = 1, next = std::nextafterf(1, 2), afterNext = std::nextafterf(next, 2);
  EXPECT_EQ(ulpsApart(f32, one, afterNext), 2u);
  EXPECT_EQ(ulpsApart(f32, -0x1p-149, 0x1p-149), 2u);
  EXPECT_EQ(ulpsApart(ElementType::bf16, 1, 1.0078125), 1u);
  EXPECT_EQ(ulpsApart(f32, infinite, infinite), 0u);
  EXPECT_EQ(ulpsApart(f32, infinite, 1), std::numeric_limits<uint64_t>::max());
  EXPECT_TRUE(expectClose(tensorOf(f32, {1}, {one}), tensorOf(f32, {1}, {next}), 1).isOk());
  Status status = expectClose(tensorOf(f32, {1}, {one}), tensorOf(f32, {1}, {afterNext}), 1);
  EXPECT_THAT(status.message(), HasSubstr("2 ulp apart"));
}

TEST(Checks, AlmostEqualIsAbsolute) {
  EXPECT_TRUE(expectAlmostEqual(tensorOf(f32, {2}, {1, quietNan}),
                                tensorOf(f32, {2}, {1.0005, quietNan}), 1e-3)
                  .isOk());
  EXPECT_FALSE(
      expectAlmostEqual(tensorOf(f32, {1}, {1}), tensorOf(f32, {1}, {1.002}), 1e-3).isOk());
  EXPECT_FALSE(
      expectAlmostEqual(tensorOf(f32, {1}, {infinite}), tensorOf(f32, {1}, {1}), 1e-3).isOk());
}

TEST(Checks, TensorsOfDifferentTypesDoNotCompare) {
  Status status = expectEqual(tensorOf(f32, {1}, {1}), tensorOf(f32, {2}, {1, 1}));
  EXPECT_THAT(status.message(), HasSubstr("got 1xf32 and 2xf32"));
}
