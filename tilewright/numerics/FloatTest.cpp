#include "tilewright/numerics/Float.h"

#include "gtest/gtest.h"

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

using namespace tilewright::numerics;

namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double notANumber = std::numeric_limits<double>::quiet_NaN();

std::vector<ElementType> reals() {
  std::vector<ElementType> types;
  for (size_t i = 0; i < elementTypeCount; ++i)
    if (isReal(static_cast<ElementType>(i)))
      types.push_back(static_cast<ElementType>(i));
  return types;
}

double largest(ElementType type) {
  return decode(type, formatOf(type).maxFinite() << formatOf(type).paddingBits);
}
} // namespace

TEST(FloatFormat, LargestFiniteValuesAreThePublishedOnes) {
  EXPECT_EQ(largest(ElementType::f4E2M1FN), 6);
  EXPECT_EQ(largest(ElementType::f6E2M3FN), 7.5);
  EXPECT_EQ(largest(ElementType::f6E3M2FN), 28);
  EXPECT_EQ(largest(ElementType::f8E3M4), 15.5);
  EXPECT_EQ(largest(ElementType::f8E4M3), 240);
  EXPECT_EQ(largest(ElementType::f8E4M3FN), 448);
  EXPECT_EQ(largest(ElementType::f8E4M3FNUZ), 240);
  EXPECT_EQ(largest(ElementType::f8E4M3B11FNUZ), 30);
  EXPECT_EQ(largest(ElementType::f8E5M2), 57344);
  EXPECT_EQ(largest(ElementType::f8E5M2FNUZ), 57344);
  EXPECT_EQ(largest(ElementType::f8E8M0FNU), std::ldexp(1.0, 127));
  EXPECT_EQ(largest(ElementType::bf16), std::ldexp(255.0, 120));
  EXPECT_EQ(largest(ElementType::f16), 65504);
  EXPECT_EQ(largest(ElementType::tf32), std::ldexp(2047.0, 117));
  EXPECT_EQ(largest(ElementType::f32), std::numeric_limits<float>::max());
  EXPECT_EQ(largest(ElementType::f64), std::numeric_limits<double>::max());
}

TEST(FloatFormat, WidthsAgreeWithElementTypes) {
  for (ElementType type : reals())
    EXPECT_EQ(formatOf(type).bits() + formatOf(type).paddingBits, bitWidth(type)) << spelling(type);
}

TEST(Float, EveryPatternOfASmallFormatSurvivesTheRoundTrip) {
  for (ElementType type : reals()) {
    if (bitWidth(type) > 16)
      continue;
    for (uint64_t bits = 0; bits < uint64_t(1) << bitWidth(type); ++bits) {
      double value = decode(type, bits);
      uint64_t back = encode(type, value);
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(decode(type, back))) << spelling(type) << " " << bits;
        EXPECT_EQ(std::signbit(decode(type, back)), std::signbit(value));
      } else {
        EXPECT_EQ(back, bits) << spelling(type);
      }
    }
  }
}

TEST(Float, HalfwayGoesToTheEvenNeighbour) {
  // 1 and 1.5 are neighbours in f4, 1 + 2^-7 follows 1 in bf16.
  EXPECT_EQ(decode(ElementType::f4E2M1FN, encode(ElementType::f4E2M1FN, 1.25)), 1);
  EXPECT_EQ(decode(ElementType::f4E2M1FN, encode(ElementType::f4E2M1FN, 1.75)), 2);
  EXPECT_EQ(encode(ElementType::bf16, 1 + std::ldexp(1, -8)), 0x3f80u);
  EXPECT_EQ(encode(ElementType::bf16, 1 + std::ldexp(3, -8)), 0x3f82u);
  // Half the smallest subnormal is halfway to zero.
  EXPECT_EQ(encode(ElementType::f16, std::ldexp(1, -25)), 0u);
  EXPECT_EQ(encode(ElementType::f16, std::nextafter(std::ldexp(1, -25), 1)), 1u);
}

TEST(Float, RoundsOnceAlsoWhereTheWayThroughF32RoundsTwice) {
  // In f32 the value is a tie for bf16; it is not one in truth.
  double justAbove = 1 + std::ldexp(1, -8) + std::ldexp(1, -45);
  EXPECT_EQ(encode(ElementType::bf16, justAbove), 0x3f81u);
  EXPECT_EQ(encode(ElementType::bf16, static_cast<float>(justAbove)), 0x3f80u);
}

TEST(Float, OverflowIsWhatTheFormatHas) {
  EXPECT_EQ(encode(ElementType::f8E5M2, 1e9), 0x7cu);
  EXPECT_EQ(encode(ElementType::f8E4M3FN, -1e9), 0xffu);
  EXPECT_EQ(encode(ElementType::f8E4M3FN, 464), 0x7eu); // halfway to the slot of NaN, even below
  EXPECT_EQ(encode(ElementType::f8E4M3FN, std::nextafter(464, 500)), 0x7fu);
  EXPECT_EQ(encode(ElementType::f8E4M3FNUZ, infinity), 0x80u);
  EXPECT_EQ(encode(ElementType::f4E2M1FN, -infinity), 0xfu);
  EXPECT_EQ(encode(ElementType::f8E8M0FNU, std::ldexp(1.5, 127)), 0xffu);
}

TEST(Float, SaturatingEncodeStopsAtTheLargestFiniteValue) {
  for (ElementType type : reals()) {
    EXPECT_EQ(decode(type, encodeSaturating(type, infinity)), largest(type)) << spelling(type);
    if (!formatOf(type).hasSign())
      continue;
    EXPECT_EQ(decode(type, encodeSaturating(type, -infinity)), -largest(type)) << spelling(type);
    EXPECT_EQ(encodeSaturating(type, notANumber), encode(type, notANumber)) << spelling(type);
    EXPECT_EQ(encodeSaturating(type, 1.5), encode(type, 1.5)) << spelling(type);
  }
}

TEST(Float, ScaleFormatHasNeitherZeroNorSign) {
  EXPECT_EQ(encode(ElementType::f8E8M0FNU, 0.0), 0xffu);
  EXPECT_EQ(encode(ElementType::f8E8M0FNU, -1.0), 0xffu);
  EXPECT_EQ(encode(ElementType::f8E8M0FNU, 1e-300), 0u);
  EXPECT_EQ(encode(ElementType::f8E8M0FNU, 1.0), 127u);
  EXPECT_EQ(encode(ElementType::f8E8M0FNU, 3.0), 129u);
  EXPECT_EQ(decode(ElementType::f8E8M0FNU, 0), std::ldexp(1, -127));
}

TEST(Float, Tf32IgnoresAndClearsTheLowBits) {
  EXPECT_EQ(decode(ElementType::tf32, 0x3f801fff), 1.0);
  EXPECT_EQ(encode(ElementType::tf32, 1 + std::ldexp(1, -10)), 0x3f802000u);
  EXPECT_EQ(encode(ElementType::tf32, 1e39), 0x7f800000u);
}

TEST(Float, IntegersRoundOnce) {
  // 2^62 + 2^38 + 1 becomes a tie for f32 once a double has dropped the 1.
  int64_t value = (int64_t(1) << 62) + (int64_t(1) << 38) + 1;
  EXPECT_EQ(encodeInteger(ElementType::f32, value),
            std::bit_cast<uint32_t>(static_cast<float>(value)));
  EXPECT_EQ(encodeInteger(ElementType::f32, -value),
            std::bit_cast<uint32_t>(static_cast<float>(-value)));
  EXPECT_EQ(decode(ElementType::bf16, encodeInteger(ElementType::bf16, (1 << 16) + (1 << 8) + 1)),
            65536 + 512);
  EXPECT_EQ(encodeUnsigned(ElementType::f16, ~uint64_t(0)), 0x7c00u);
  EXPECT_EQ(decode(ElementType::f64, encodeInteger(ElementType::f64, INT64_MIN)), -0x1p63);
}

TEST(Float, TruncationClampsAndTurnsNanIntoZero) {
  EXPECT_EQ(truncateToSigned(-1.99, 8), -1);
  EXPECT_EQ(truncateToSigned(1e30, 64), INT64_MAX);
  EXPECT_EQ(truncateToSigned(-1e30, 64), INT64_MIN);
  EXPECT_EQ(truncateToSigned(7.9, 4), 7);
  EXPECT_EQ(truncateToSigned(8, 4), 7);
  EXPECT_EQ(truncateToSigned(-3, 2), -2);
  EXPECT_EQ(truncateToSigned(notANumber, 32), 0);
  EXPECT_EQ(truncateToUnsigned(-5, 32), 0u);
  EXPECT_EQ(truncateToUnsigned(infinity, 64), UINT64_MAX);
  EXPECT_EQ(truncateToUnsigned(3.99, 2), 3u);
  EXPECT_EQ(truncateToUnsigned(notANumber, 8), 0u);
}
