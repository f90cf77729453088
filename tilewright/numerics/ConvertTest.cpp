#include "tilewright/numerics/Convert.h"

#include "tilewright/numerics/Float.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <vector>

using namespace tilewright::numerics;
using testing::ElementsAre;

namespace {
template <typename To, typename From>
std::vector<To> converted(ElementType from, std::vector<From> values, ElementType to) {
  std::vector<To> result(values.size());
  EXPECT_EQ(storageBytes(from), sizeof(From));
  EXPECT_EQ(storageBytes(to), sizeof(To));
  convert(from, reinterpret_cast<const std::byte *>(values.data()), to,
          reinterpret_cast<std::byte *>(result.data()), values.size());
  return result;
}
} // namespace

TEST(Convert, IntegersWrapAroundAndKeepTheSignOfNibbles) {
  EXPECT_THAT((converted<uint8_t, int32_t>(ElementType::i32, {-9, -8, 7, 8, 31}, ElementType::i4)),
              ElementsAre(7, 8, 7, 8, 15));
  EXPECT_THAT((converted<int32_t, uint8_t>(ElementType::i4, {7, 8, 15, 0xf8}, ElementType::i32)),
              ElementsAre(7, -8, -1, -8));
  EXPECT_THAT((converted<uint64_t, int8_t>(ElementType::i8, {-1}, ElementType::ui64)),
              ElementsAre(UINT64_MAX));
}

TEST(Convert, RealsAreClampedToIntegers) {
  EXPECT_THAT((converted<int8_t, float>(ElementType::f32, {300, -300, NAN, -1.5}, ElementType::i8)),
              ElementsAre(127, -128, 0, -1));
  EXPECT_THAT((converted<uint8_t, float>(ElementType::f32, {-3, -1, 1.9f, 9}, ElementType::i2)),
              ElementsAre(2, 3, 1, 1));
}

TEST(Convert, OnlyZeroIsFalse) {
  EXPECT_THAT(
      (converted<uint8_t, float>(ElementType::f32, {0, -0.f, NAN, 1e-45f}, ElementType::pred)),
      ElementsAre(0, 0, 1, 1));
  EXPECT_THAT((converted<uint8_t, int32_t>(ElementType::i32, {0, 256}, ElementType::pred)),
              ElementsAre(0, 1));
  EXPECT_THAT((converted<float, uint8_t>(ElementType::pred, {0, 1}, ElementType::f32)),
              ElementsAre(0, 1));
}

TEST(Convert, ComplexLosesAndGainsAnImaginaryPart) {
  using c64 = std::complex<float>;
  using c128 = std::complex<double>;
  EXPECT_THAT((converted<c128, c64>(ElementType::c64, {c64(1, 2)}, ElementType::c128)),
              ElementsAre(c128(1, 2)));
  EXPECT_THAT((converted<int32_t, c64>(ElementType::c64, {c64(1.5, 2)}, ElementType::i32)),
              ElementsAre(1));
  EXPECT_THAT((converted<uint8_t, c64>(ElementType::c64, {c64(0, 1)}, ElementType::pred)),
              ElementsAre(0));
  EXPECT_THAT((converted<c128, int64_t>(ElementType::i64, {-3}, ElementType::c128)),
              ElementsAre(c128(-3, 0)));
}

TEST(Convert, BufferAndScalarAgreeAcrossChunks) {
  std::vector<float> values;
  for (int i = -1500; i < 1500; ++i)
    values.push_back(std::pow(static_cast<float>(i), 3.0f) * 1e-4f);
  std::vector<uint16_t> halves = converted<uint16_t>(ElementType::f32, values, ElementType::f16);
  for (size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(halves[i], encode(ElementType::f16, values[i])) << values[i];
  std::vector<uint8_t> bytes = converted<uint8_t>(ElementType::f16, halves, ElementType::f8E4M3FN);
  for (size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(bytes[i], encode(ElementType::f8E4M3FN, decode(ElementType::f16, halves[i])));
}

TEST(Convert, BuffersNeedNoAlignment) {
  alignas(8) std::byte in[9] = {}, out[9] = {};
  const double value = 2.5;
  std::memcpy(in + 1, &value, 8);
  convert(ElementType::f64, in + 1, ElementType::f32, out + 1, 1);
  float result;
  std::memcpy(&result, out + 1, 4);
  EXPECT_EQ(result, 2.5f);
}

TEST(Convert, SameSizeConvertsInPlace) {
  std::vector<float> values(1000, 7.25f);
  auto *bytes = reinterpret_cast<std::byte *>(values.data());
  convert(ElementType::f32, bytes, ElementType::i32, bytes, values.size());
  for (float value : values)
    ASSERT_EQ(std::bit_cast<int32_t>(value), 7);
}
