#include "tilewright/numerics/BlockScaling.h"

#include "tilewright/numerics/Float.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

using namespace tilewright::numerics;
using testing::Each;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

/// A quantised row that owns its bytes.
struct QuantizedRow {
  QuantizedRow(const BlockFormat &format, const std::vector<float> &values, float globalScale = 1)
      : format(format), globalScale(globalScale), elements(values.size()),
        scales(format.blocksFor(values.size())) {
    quantise(format, values, globalScale, elements, scales);
  }
  BlockScaled view() const { return {format, elements, scales, globalScale}; }
  std::vector<float> values() const {
    std::vector<float> result(elements.size());
    dequantise(view(), result);
    return result;
  }

  const BlockFormat &format;
  float globalScale;
  std::vector<uint8_t> elements, scales;
};

std::vector<float> randomValues(size_t count, int spread, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::uniform_int_distribution<int> exponent(-spread, spread);
  std::vector<float> values(count);
  for (float &value : values)
    value = std::ldexp(normal(random), exponent(random));
  return values;
}

double dot(const QuantizedRow &lhs, const QuantizedRow &rhs) {
  return decode(ElementType::f64, exactDot(lhs.view(), rhs.view(), ElementType::f64));
}

} // namespace

TEST(BlockScaling, ScaleIsThePowerOfTwoThatUsesTheLargestExponent) {
  // 100 = 1.56 * 2^6, and e4m3 reaches 2^8.
  QuantizedRow row(mxfp8E4M3, {100, 1, -3});
  EXPECT_EQ(decode(ElementType::f8E8M0FNU, row.scales[0]), 0.25);
  EXPECT_THAT(row.values(), testing::ElementsAre(96, 1, -3)); // 400 lies between 384 and 416
}

TEST(BlockScaling, LargestValueSaturatesInsteadOfOverflowing) {
  // The rule's exponent leaves 7.9 above the largest f4, which is 6.
  EXPECT_THAT(QuantizedRow(mxfp4, {7.9f, -7.9f, 1}).values(), testing::ElementsAre(6, -6, 1));
  EXPECT_THAT(QuantizedRow(mxfp8E4M3, {511}).values(), testing::ElementsAre(448));
}

TEST(BlockScaling, EachBlockHasItsOwnScaleAndTheLastMayBeShort) {
  std::vector<float> values(33, 1);
  values[32] = 1024;
  QuantizedRow row(mxfp4, values);
  ASSERT_EQ(row.scales.size(), 2u);
  EXPECT_EQ(row.values(), values);
}

TEST(BlockScaling, ZerosStayZerosAndKeepTheirSign) {
  for (const BlockFormat &format : blockFormats) {
    std::vector<float> values(format.blockSize, 0.0f);
    values[1] = -0.0f;
    QuantizedRow row(format, values);
    EXPECT_EQ(row.scales[0], 0) << format.name;
    EXPECT_THAT(row.values(), Each(0.0f)) << format.name;
    EXPECT_TRUE(std::signbit(row.values()[1])) << format.name;
  }
}

TEST(BlockScaling, OneNanMakesItsBlockNanAndNoOther) {
  for (const BlockFormat &format : blockFormats) {
    std::vector<float> values(2 * format.blockSize, 1.5f);
    values[3] = std::nanf("");
    std::vector<float> back = QuantizedRow(format, values).values();
    for (size_t i = 0; i < back.size(); ++i)
      EXPECT_EQ(std::isnan(back[i]), i < format.blockSize) << format.name << " " << i;
    EXPECT_EQ(back.back(), 1.5f);
  }
}

TEST(BlockScaling, InfinityComesBackFromMicroscaling) {
  for (const BlockFormat &format : blockFormats)
    if (!format.hasGlobalScale) {
      EXPECT_THAT(QuantizedRow(format, {infinity, -infinity, 1}).values(),
                  testing::ElementsAre(infinity, -infinity, 0))
          << format.name;
    }
}

TEST(BlockScaling, SmallestScaleStillHoldsSubnormals) {
  const float tiny = std::ldexp(1.0f, -140);
  QuantizedRow row(mxfp8E5M2, {tiny, -3 * tiny});
  EXPECT_EQ(row.scales[0], 0);
  EXPECT_THAT(row.values(), testing::ElementsAre(tiny, -3 * tiny));
  // f4 has no element small enough: the smallest positive value it can represent is 2^-127 / 2.
  EXPECT_THAT(QuantizedRow(mxfp4, {tiny}).values(), testing::ElementsAre(0));
}

TEST(BlockScaling, RequantisingChangesNothing) {
  for (const BlockFormat &format : blockFormats)
    for (int spread : {0, 4, 60}) {
      std::vector<float> values = randomValues(4096, spread, 11);
      const float global = format.hasGlobalScale ? globalScaleFor(values) : 1;
      QuantizedRow once(format, values, global);
      QuantizedRow twice(format, once.values(), global);
      for (size_t i = 0; i < values.size(); ++i) {
        // An e4m3 scale that is subnormal is too coarse to be found again.
        const uint8_t scale = once.scales[i / format.blockSize];
        if (format.hasGlobalScale && scale < 8)
          continue;
        ASSERT_EQ(twice.scales[i / format.blockSize], scale) << format.name << " " << i;
        ASSERT_EQ(twice.elements[i], once.elements[i]) << format.name << " " << i;
      }
    }
}

TEST(BlockScaling, GlobalScaleMakesTheLargestBlockScaleTheLargestE4M3) {
  std::vector<float> values = randomValues(256, 3, 5);
  values[77] = 1000;
  const float global = globalScaleFor(values);
  EXPECT_EQ(global, static_cast<float>(1000.0 / 2688));
  QuantizedRow row(nvfp4, values, global);
  EXPECT_EQ(decode(ElementType::f8E4M3FN, row.scales[77 / 16]), 448);
  EXPECT_EQ(decode(ElementType::f4E2M1FN, row.elements[77]), 6);
  EXPECT_NEAR(row.values()[77], 1000, 1e-4);
}

TEST(BlockScaling, GlobalScaleSkipsWhatIsNotFiniteAndNeverVanishes) {
  EXPECT_EQ(globalScaleFor(std::vector<float>{0, -0.0f}), 1);
  EXPECT_EQ(globalScaleFor(std::vector<float>{infinity, std::nanf(""), -2688}), 1);
  EXPECT_EQ(globalScaleFor(std::vector<float>{1e-44f}), std::numeric_limits<float>::min());
}

TEST(BlockScaling, NvScaleSaturatesAndVanishes) {
  // With a global scale for smaller values, values saturate at 448 * 6.
  EXPECT_THAT(QuantizedRow(nvfp4, {1e6f, -1e6f}).values(), testing::ElementsAre(2688, -2688));
  // With a global scale for larger values, the block scale rounds to zero, and so do all elements.
  QuantizedRow row(nvfp4, {1, -1}, 1e6f);
  EXPECT_EQ(row.scales[0], 0);
  EXPECT_THAT(row.values(), Each(0));
}

TEST(BlockScaling, DotIsExactWhereF32WouldCancel) {
  // 2^60 - 2^60 + 2^-60 over three blocks.
  std::vector<float> left(96, 0), ones(96, 1);
  left[0] = std::ldexp(1.0f, 60);
  left[40] = -left[0];
  left[80] = std::ldexp(1.0f, -60);
  EXPECT_EQ(dot(QuantizedRow(mxfp8E4M3, left), QuantizedRow(mxfp4, ones)), std::ldexp(1, -60));
}

TEST(BlockScaling, DotTakesGlobalScalesOfBothSides) {
  QuantizedRow left(nvfp4, {6, 3}, 0.5f), right(nvfp4, {6, -3}, 0.25f);
  EXPECT_EQ(dot(left, right), 6 * 6 - 3 * 3);
  right.globalScale = 0.75f;
  right.elements[1] = 0;
  EXPECT_EQ(dot(left, right), 6 * 18);
}

TEST(BlockScaling, DotWithANanBlockIsNan) {
  EXPECT_TRUE(std::isnan(dot(QuantizedRow(mxfp4, {std::nanf("")}), QuantizedRow(mxfp4, {0}))));
}
