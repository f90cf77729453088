#include "tilewright/runtime/cpu/matmul/ScaledRows.h"

#include "tilewright/numerics/Convert.h"
#include "tilewright/support/Concat.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace tilewright::runtime::cpu {
namespace {

using enum ElementType;

double valueOf(ElementType type, uint8_t bits) {
  double value = 0;
  const auto byte = static_cast<std::byte>(bits);
  numerics::decode(type, &byte, &value, 1);
  return value;
}

double factorOf(ElementType factor, const std::vector<std::byte> &row, int64_t at) {
  double value = 0;
  const auto bytes = static_cast<int64_t>(numerics::storageBytes(factor));
  numerics::decode(factor, row.data() + at * bytes, &value, 1);
  return value;
}

/// Whether a factor is right. Products less than the least normal number of bf16 may be truncated.
bool isRight(ElementType factor, double expected, double value) {
  if (std::isnan(expected) || std::isnan(value))
    return std::isnan(expected) && std::isnan(value);
  if (factor == bf16 && std::fabs(expected) < double(std::numeric_limits<float>::min()))
    return std::fabs(value) <= std::fabs(expected);
  return value == double(static_cast<float>(expected));
}

struct Format {
  ElementType element, scale;
  int64_t block;
};

/// Decodes parts of random rows and compares each factor; returns the first wrong one.
std::string check(const CpuFeatures &features, const Format &format, ElementType factor,
                  std::mt19937 &random) {
  const bool isPacked = format.element == ScaledRows::packed;
  const ElementType element = isPacked ? f4E2M1FN : format.element;
  const auto bytes = static_cast<int64_t>(numerics::storageBytes(factor));
  for (int64_t length : {2, 30, 64, 66, 130, 192}) {
    ScaledRows rows(features, format.element, format.scale, format.block, length, factor);
    constexpr int64_t count = 3;
    const int64_t rowBytes = isPacked ? length / 2 : length;
    const int64_t rowScales = (length + format.block - 1) / format.block;
    // Vectors of exactly these sizes: AddressSanitizer finds a read beyond the last row.
    std::vector<std::byte> elements(static_cast<size_t>(count * rowBytes)),
        scales(static_cast<size_t>(count * rowScales));
    for (std::vector<std::byte> *each : {&elements, &scales})
      for (std::byte &value : *each)
        value = static_cast<std::byte>(random());
    for (int64_t row = 0; row < count; ++row) {
      const int64_t begin = static_cast<int64_t>(random() % uint64_t(length));
      const int64_t end = begin + 1 + static_cast<int64_t>(random() % uint64_t(length - begin));
      constexpr auto guard = static_cast<std::byte>(0xa5);
      std::vector<std::byte> to(static_cast<size_t>((end - begin + 1) * bytes), guard);
      rows.decode(elements.data(), scales.data(), row, begin, end, to.data());
      for (int64_t k = begin; k < end; ++k) {
        auto bits = uint8_t(elements[size_t(row * rowBytes + (isPacked ? k / 2 : k))]);
        if (isPacked)
          bits = static_cast<uint8_t>((bits >> (k % 2 * 4)) & 0xf);
        const double scale =
            valueOf(format.scale, uint8_t(scales[size_t(row * rowScales + k / format.block)]));
        const double expected = valueOf(element, bits) * scale;
        const double value = factorOf(factor, to, k - begin);
        if (!isRight(factor, expected, value))
          return concat("element ", k, " of ", begin, " to ", end, " of row ", row, " of ", length,
                        ": ", value, " instead of ", expected);
      }
      for (int64_t i = 0; i < bytes; ++i)
        if (to[static_cast<size_t>((end - begin) * bytes + i)] != guard)
          return concat("wrote behind element ", end, " of ", length);
    }
  }
  return "";
}

TEST(ScaledRows, AreElementsTimesScalesOnAllMachines) {
  std::mt19937 random(5);
  for (const CpuFeatures &features : {CpuFeatures::host(), CpuFeatures::portable()})
    for (ElementType element : {f8E4M3FN, f8E5M2, f8E4M3FNUZ, f6E2M3FN, f6E3M2FN, f4E2M1FN, ui8})
      for (ElementType scale : {f8E8M0FNU, f8E4M3FN, f8E5M2})
        for (int64_t block : {16, 32, 7})
          for (ElementType factor : {bf16, f32})
            EXPECT_EQ(check(features, {element, scale, block}, factor, random), "")
                << features.name() << " " << numerics::spelling(element) << " times "
                << numerics::spelling(scale) << " for " << block << " as "
                << numerics::spelling(factor);
}

TEST(ScaledRows, RefuseProductsThatBf16CannotHold) {
  EXPECT_TRUE(ScaledRows::supports(f8E4M3FN, f8E4M3FN));
  EXPECT_TRUE(ScaledRows::supports(ScaledRows::packed, f8E8M0FNU));
  EXPECT_FALSE(ScaledRows::supports(f8E3M4, f8E4M3FN));
  EXPECT_FALSE(ScaledRows::supports(bf16, f8E8M0FNU));
  EXPECT_FALSE(ScaledRows::supports(i8, f8E8M0FNU));
}

} // namespace
} // namespace tilewright::runtime::cpu
