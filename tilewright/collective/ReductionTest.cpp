#include "tilewright/collective/Reduction.h"
#include "tilewright/numerics/Float.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>

namespace tilewright::collective {
namespace {

using numerics::ElementType;

template <typename T> T combined(ReductionKind operation, ElementType type, T a, T b) {
  combineFor(operation, type)(reinterpret_cast<std::byte *>(&a),
                              reinterpret_cast<const std::byte *>(&b), 1);
  return a;
}

TEST(Reduction, IntegersWrap) {
  EXPECT_EQ(combined<int8_t>(ReductionKind::add, ElementType::i8, 127, 1), -128);
  EXPECT_EQ(combined<int64_t>(ReductionKind::multiply, ElementType::i64, INT64_MAX, 2), -2);
  EXPECT_EQ(combined<uint8_t>(ReductionKind::maximum, ElementType::ui8, 200, 100), 200);
  EXPECT_EQ(combined<int8_t>(ReductionKind::minimum, ElementType::i8, -1, 1), -1);
  EXPECT_EQ(combined<uint16_t>(ReductionKind::bitXor, ElementType::ui16, 5, 1), 4);
}

TEST(Reduction, NarrowIntegersKeepTheirHighBitsZero) {
  EXPECT_EQ(combined<uint8_t>(ReductionKind::add, ElementType::i4, 0x7, 0x1), 0x8);
  EXPECT_EQ(combined<uint8_t>(ReductionKind::minimum, ElementType::i4, 0x7, 0x8), 0x8); // -8
  EXPECT_EQ(combined<uint8_t>(ReductionKind::minimum, ElementType::ui4, 0x7, 0x8), 0x7);
}

TEST(Reduction, MaximumAndMinimumKeepNanAndTellZerosApart) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(combined<float>(ReductionKind::maximum, ElementType::f32, nan, 1)));
  EXPECT_TRUE(std::isnan(combined<float>(ReductionKind::minimum, ElementType::f32, 1, nan)));
  EXPECT_FALSE(
      std::signbit(combined<float>(ReductionKind::maximum, ElementType::f32, -0.0F, 0.0F)));
  EXPECT_TRUE(std::signbit(combined<float>(ReductionKind::minimum, ElementType::f32, 0.0F, -0.0F)));
}

TEST(Reduction, SmallFloatsRoundOnce) {
  auto bits = [](double value) {
    return static_cast<uint16_t>(numerics::encode(ElementType::bf16, value));
  };
  EXPECT_EQ(combined<uint16_t>(ReductionKind::add, ElementType::bf16, bits(256), bits(1)),
            bits(256));
  EXPECT_EQ(combined<uint16_t>(ReductionKind::add, ElementType::bf16, bits(1), bits(2)), bits(3));
}

TEST(Reduction, TruthValuesAreAddedByOr) {
  EXPECT_EQ(combined<uint8_t>(ReductionKind::add, ElementType::pred, 1, 1), 1);
  EXPECT_EQ(combined<uint8_t>(ReductionKind::multiply, ElementType::pred, 1, 0), 0);
}

TEST(Reduction, ComplexNumbersHaveNoMaximum) {
  EXPECT_EQ(combineFor(ReductionKind::maximum, ElementType::c64), nullptr);
  EXPECT_EQ(combineFor(ReductionKind::bitAnd, ElementType::f32), nullptr);
  EXPECT_EQ(combineFor(ReductionKind::none, ElementType::f32), nullptr);
  using Complex = std::complex<float>;
  EXPECT_EQ(combined<Complex>(ReductionKind::multiply, ElementType::c64, {0, 1}, {0, 1}),
            Complex(-1, 0));
}

} // namespace
} // namespace tilewright::collective
