#include "tilewright/vgpu/machine/matrix/TileProduct.h"

#include "tilewright/vgpu/machine/matrix/Matrix.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace tilewright::vgpu::machine {
namespace {

using ptx::Modifier;

/// An exact sum of doubles: doubles that do not overlap, smallest first (Shewchuk). A different
/// method from the code under test.
class Expansion {
public:
  void add(double value) {
    std::vector<double> next;
    for (double part : parts) {
      const double sum = value + part, second = sum - value;
      const double lost = (value - (sum - second)) + (part - second);
      if (lost != 0)
        next.push_back(lost);
      value = sum;
    }
    if (value != 0)
      next.push_back(value);
    parts = std::move(next);
  }
  /// -1, 0 or 1: the sum is less than, equal to or greater than `value`.
  int compare(double value) const {
    Expansion difference = *this;
    difference.add(-value);
    return difference.parts.empty() ? 0 : difference.parts.back() < 0 ? -1 : 1;
  }

private:
  std::vector<double> parts;
};

/// Whether `result` is `sum` rounded to nearest even.
bool isRounded(const Expansion &sum, float result) {
  const double beyond = std::ldexp(2.0 - std::ldexp(1.0, -24), 127);
  if (std::isinf(result))
    return result > 0 ? sum.compare(beyond) >= 0 : sum.compare(-beyond) <= 0;
  const bool isEven = (std::bit_cast<uint32_t>(result) & 1) == 0;
  auto middle = [&](float direction) {
    const float next = std::nextafterf(result, direction);
    return std::isinf(next) ? std::copysign(beyond, next) : 0.5 * (double(result) + double(next));
  };
  const int above = sum.compare(middle(INFINITY)), below = sum.compare(middle(-INFINITY));
  return (above < 0 || (above == 0 && isEven)) && (below > 0 || (below == 0 && isEven));
}

enum class Range { any, near, cancelling };

struct Case {
  Modifier type;
  unsigned k;
};

class TileProducts : public testing::TestWithParam<Case> {
protected:
  static constexpr unsigned n = 24;

  uint32_t element(Range range) {
    const Modifier type = GetParam().type;
    const uint32_t bits = static_cast<uint32_t>(random());
    auto isFinite = [&](uint32_t pattern) { return std::isfinite(elementValue(type, pattern)); };
    if (range == Range::any)
      return isFinite(bits) ? bits : 0;
    // Magnitudes of a few binades around one.
    const uint32_t one = type == Modifier::f16    ? 0x3c00
                         : type == Modifier::bf16 ? 0x3f80
                         : type == Modifier::tf32 ? 0x3f800000
                         : type == Modifier::e4m3 ? 0x38
                                                  : 0x3c;
    const uint32_t spread = type == Modifier::tf32   ? 0x01ffffff
                            : type == Modifier::bf16 ? 0x01ff
                            : type == Modifier::f16  ? 0x0fff
                                                     : 0x0f;
    const uint32_t sign = bits & 1u << (ptx::bitsOf(type) - 1);
    return (one + (bits & spread)) | sign;
  }

  void fill(std::vector<std::byte> &bytes, Range range) {
    const unsigned size = ptx::bitsOf(GetParam().type) / 8;
    for (size_t i = 0; i < bytes.size(); i += size) {
      const uint32_t bits = element(range);
      std::memcpy(&bytes[i], &bits, size);
    }
  }

  static double valueAt(const std::vector<std::byte> &bytes, unsigned index) {
    const Modifier type = GetParam().type;
    const unsigned size = ptx::bitsOf(type) / 8;
    uint32_t bits = 0;
    std::memcpy(&bits, &bytes[size_t(index) * size], size);
    return elementValue(type, bits);
  }
  /// The offsets of the 16-byte chunks of A and B.
  static std::vector<uint32_t> chunksOf(unsigned bytes) {
    std::vector<uint32_t> offsets;
    for (unsigned offset = 0; offset < bytes; offset += 16)
      offsets.push_back(offset);
    return offsets;
  }

  float start(Range range) {
    if (range == Range::near)
      return std::ldexp(static_cast<float>(static_cast<int32_t>(random())), -28);
    const auto value = std::bit_cast<float>(static_cast<uint32_t>(random()));
    return std::isfinite(value) ? value : 0.0f;
  }

  std::mt19937_64 random{7};
};

TEST_P(TileProducts, RoundOnceForEveryInstructionSet) {
  const auto [type, k] = GetParam();
  const unsigned size = ptx::bitsOf(type) / 8;
  const std::vector<uint32_t> offsetsA = chunksOf(16 * k * size), offsetsB = chunksOf(n * k * size);

  unsigned checked = 0;
  for (Range range : {Range::any, Range::near, Range::cancelling})
    for (int round = 0; round < 20; ++round) {
      std::vector<std::byte> a(16 * k * size), b(n * k * size);
      fill(a, range), fill(b, range);
      if (range == Range::cancelling) {
        // The second half of each row cancels the first, except for the last element.
        for (unsigned row = 0; row < 16; ++row)
          std::memcpy(&a[(row * k + k / 2) * size], &a[row * k * size], (k / 2) * size);
        for (unsigned column = 0; column < n; ++column)
          for (unsigned l = 0; l + 1 < k / 2; ++l)
            for (unsigned byte = 0; byte < size; ++byte)
              b[(column * k + k / 2 + l) * size + byte] =
                  b[(column * k + l) * size + byte] ^ std::byte(byte + 1 == size ? 0x80 : 0);
      }
      std::vector<float> starts(16 * n);
      for (float &one : starts)
        one = start(range);

      std::vector<float> first;
      for (const char *set : {"v4", "v3", "portable"}) {
        const TileKernels *kernels = tileKernelsFor(set);
        if (!kernels)
          continue;
        TileProduct product(*kernels);
        product.begin(type, type, n, k);
        product.readA(a.data(), offsetsA, false, false);
        product.readB(b.data(), offsetsB, false);
        std::vector<float> sums = starts;
        std::vector<float *> registers;
        for (unsigned r = 0; r < n / 2; ++r)
          registers.push_back(&sums[32 * r]);
        product.accumulate(registers.data(), true);

        if (!first.empty()) {
          ASSERT_EQ(std::memcmp(first.data(), sums.data(), 4 * sums.size()), 0) << set;
          continue;
        }
        first = sums;
        for (unsigned i = 0; i < sums.size(); ++i) {
          const unsigned row = i % 32 / 4 + 8 * (i / 64 % 2);
          const unsigned column = 8 * (i / 128) + 2 * (i % 4) + i / 32 % 2;
          Expansion exact;
          exact.add(starts[i]);
          for (unsigned l = 0; l < k; ++l)
            exact.add(valueAt(a, row * k + l) * valueAt(b, column * k + l));
          ASSERT_TRUE(isRounded(exact, sums[i]))
              << set << " row " << row << " column " << column << " gives " << sums[i];
          ++checked;
        }
      }
    }
  EXPECT_EQ(checked, 3u * 20 * 16 * n);
}

/// A chain of k fused multiply-adds, in every instruction set the same one, also if the fragments
/// stay in registers.
TEST_P(TileProducts, FastSumsAreWithinTheErrorOfTheirTerms) {
  const auto [type, k] = GetParam();
  const unsigned size = ptx::bitsOf(type) / 8, perChunk = 16 / size;
  const std::vector<uint32_t> offsetsA = chunksOf(16 * k * size), offsetsB = chunksOf(n * k * size);
  for (int round = 0; round < 20; ++round) {
    std::vector<std::byte> a(16 * k * size), b(n * k * size);
    fill(a, Range::near), fill(b, Range::near);
    std::vector<float> starts(16 * n), first;
    for (float &one : starts)
      one = start(Range::near);
    // The same matrices as registers of mma: 128 bytes each, first A, then B by octet.
    const unsigned chunks = k / perChunk;
    std::vector<std::byte> fragments(size_t(128) * (2 * chunks + n / 8 * chunks));
    std::vector<uint32_t> slots;
    for (size_t r = 0; r < fragments.size() / 128; ++r) {
      slots.push_back(static_cast<uint32_t>(128 * r));
      const bool isA = r < 2 * chunks;
      const size_t rest = r - 2 * chunks, chunk = isA ? r / 2 : rest % chunks;
      for (size_t line = 0; line < 8; ++line) {
        const size_t row = line + 8 * (isA ? r % 2 : rest / chunks);
        std::memcpy(&fragments[128 * r + 16 * line], &(isA ? a : b)[(row * chunks + chunk) * 16],
                    16);
      }
    }
    for (const char *set : {"v4", "v3", "portable"}) {
      const TileKernels *kernels = tileKernelsFor(set);
      if (!kernels)
        continue;
      TileProduct product(*kernels);
      product.begin(type, type, n, k, /*isFast=*/true);
      product.readA(a.data(), offsetsA, false, false);
      product.readB(b.data(), offsetsB, false);
      std::vector<float> sums = starts, direct = starts;
      std::vector<float *> registers, directRegisters;
      for (unsigned r = 0; r < n / 2; ++r) {
        registers.push_back(&sums[32 * r]);
        directRegisters.push_back(&direct[32 * r]);
      }
      product.accumulate(registers.data(), true);
      if (first.empty())
        first = sums;
      ASSERT_EQ(std::memcmp(first.data(), sums.data(), 4 * sums.size()), 0) << set;
      for (unsigned octet = 0; octet < n / 8; ++octet)
        kernels->multiplyFragments(
            {tileElementOf(type), elementTable(type), slots.data(), 2 * chunks},
            {tileElementOf(type), elementTable(type), &slots[2 * chunks + octet * chunks], chunks},
            fragments.data(), directRegisters.data() + 4 * octet,
            directRegisters.data() + 4 * octet);
      ASSERT_EQ(std::memcmp(first.data(), direct.data(), 4 * direct.size()), 0) << set;
    }
    for (unsigned i = 0; i < first.size(); ++i) {
      const unsigned row = i % 32 / 4 + 8 * (i / 64 % 2);
      const unsigned column = 8 * (i / 128) + 2 * (i % 4) + i / 32 % 2;
      long double sum = starts[i], magnitude = std::abs(starts[i]);
      for (unsigned l = 0; l < k; ++l) {
        const double term = valueAt(a, row * k + l) * valueAt(b, column * k + l);
        sum += term;
        magnitude += std::abs(term);
      }
      // Each of k additions rounds a partial sum, whose magnitude is at most that of its terms.
      ASSERT_LE(std::abs(first[i] - sum), (k + 1) * std::ldexp(1.0L, -24) * magnitude)
          << "row " << row << " column " << column;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, TileProducts,
                         testing::Values(Case{Modifier::f16, 16}, Case{Modifier::f16, 8},
                                         Case{Modifier::bf16, 16}, Case{Modifier::tf32, 8},
                                         Case{Modifier::tf32, 4}, Case{Modifier::e4m3, 32},
                                         Case{Modifier::e5m2, 32}),
                         [](const auto &info) {
                           return ptx::spellingOf(info.param.type) + "k" +
                                  std::to_string(info.param.k);
                         });

/// Halfway between two floats, where a much smaller product decides: a plain sum of doubles loses
/// it and rounds to even.
TEST(TileProduct, OneRoundingSeesWhatADoubleCannot) {
  std::vector<uint16_t> a(16 * 16, 0), b(8 * 16, 0);
  // 2^24 + 1 = 4096 * 4096 + 1 * 1 is halfway; 2^-48 is the smallest product.
  a[0] = 0x6c00, b[0] = 0x6c00, a[1] = 0x3c00, b[1] = 0x3c00, a[2] = 1, b[2] = 1;
  std::vector<uint32_t> offsetsA, offsetsB;
  for (unsigned offset = 0; offset < 512; offset += 16)
    offsetsA.push_back(offset);
  for (unsigned offset = 0; offset < 256; offset += 16)
    offsetsB.push_back(offset);
  float sums[4][32] = {};
  float *registers[] = {sums[0], sums[1], sums[2], sums[3]};
  auto multiply = [&](bool isNegated) {
    TileProduct product;
    product.begin(Modifier::f16, Modifier::f16, 8, 16);
    product.readA(reinterpret_cast<const std::byte *>(a.data()), offsetsA, false, isNegated);
    product.readB(reinterpret_cast<const std::byte *>(b.data()), offsetsB, false);
    product.accumulate(registers, false);
    return sums[0][0];
  };
  EXPECT_EQ(multiply(false), 16777218.0f);
  EXPECT_EQ(multiply(true), -16777218.0f);
  b[2] = 0x8001;
  EXPECT_EQ(multiply(false), 16777216.0f);
  EXPECT_EQ(multiply(true), -16777216.0f);
}

TEST(TileProduct, InfinitiesAndNaNsStayInTheirRowAndColumn) {
  std::vector<uint16_t> a(16 * 16, 0x3c00), b(8 * 16, 0x3c00);
  a[3 * 16 + 5] = 0x7c00;               // row 3: +inf
  b[2 * 16 + 5] = 0;                    // column 2: inf * 0
  a[7 * 16 + 1] = 1, b[4 * 16 + 1] = 1; // too wide for plain doubles beside the 65504 below
  a[7 * 16 + 2] = 0x7bff, b[4 * 16 + 2] = 0x7bff;
  std::vector<uint32_t> offsetsA, offsetsB;
  for (unsigned offset = 0; offset < 512; offset += 16)
    offsetsA.push_back(offset);
  for (unsigned offset = 0; offset < 256; offset += 16)
    offsetsB.push_back(offset);
  for (bool isFast : {false, true}) {
    float sums[4][32] = {};
    float *registers[] = {sums[0], sums[1], sums[2], sums[3]};
    TileProduct product;
    product.begin(Modifier::f16, Modifier::f16, 8, 16, isFast);
    product.readA(reinterpret_cast<const std::byte *>(a.data()), offsetsA, false, false);
    product.readB(reinterpret_cast<const std::byte *>(b.data()), offsetsB, false);
    product.accumulate(registers, true);
    auto at = [&](unsigned row, unsigned column) {
      return sums[2 * (row / 8) + column % 2][4 * (row % 8) + column / 2];
    };
    EXPECT_EQ(at(0, 0), 16.0f);
    EXPECT_EQ(at(0, 2), 15.0f);
    EXPECT_EQ(at(3, 0), INFINITY);
    EXPECT_EQ(std::bit_cast<uint32_t>(at(3, 2)), 0x7fffffffu);
    EXPECT_EQ(at(7, 4), static_cast<float>(65504.0 * 65504.0 + 14.0));
  }
}

TEST(TileProduct, AZeroIsNegativeOnlyIfEveryTermIs) {
  std::vector<uint16_t> a(16 * 16, 0x8000), b(8 * 16, 0x3c00);
  std::vector<uint32_t> offsetsA, offsetsB;
  for (unsigned offset = 0; offset < 512; offset += 16)
    offsetsA.push_back(offset);
  for (unsigned offset = 0; offset < 256; offset += 16)
    offsetsB.push_back(offset);
  float sums[4][32];
  float *registers[] = {sums[0], sums[1], sums[2], sums[3]};
  auto multiply = [&](float start, bool adds) {
    for (auto &one : sums)
      std::fill_n(one, 32, start);
    TileProduct product;
    product.begin(Modifier::f16, Modifier::f16, 8, 16);
    product.readA(reinterpret_cast<const std::byte *>(a.data()), offsetsA, false, false);
    product.readB(reinterpret_cast<const std::byte *>(b.data()), offsetsB, false);
    product.accumulate(registers, adds);
    return std::bit_cast<uint32_t>(sums[0][0]);
  };
  EXPECT_EQ(multiply(-0.0f, true), 0x80000000u);
  EXPECT_EQ(multiply(0.0f, true), 0u);
  EXPECT_EQ(multiply(-0.0f, false), 0u);
  a[0] = 0;
  EXPECT_EQ(multiply(-0.0f, true), 0u);
}

TEST(TileProduct, TransposedFactorsGiveTheSameSums) {
  constexpr unsigned n = 16, k = 16;
  std::mt19937 random(3);
  std::vector<uint16_t> a(16 * k), b(n * k), aByColumn(a.size()), bByRow(b.size());
  for (unsigned l = 0; l < k; ++l) {
    for (unsigned row = 0; row < 16; ++row)
      aByColumn[l * 16 + row] = a[row * k + l] = 0x3000 + random() % 0x1000;
    for (unsigned column = 0; column < n; ++column)
      bByRow[l * n + column] = b[column * k + l] = 0xb000 + random() % 0x1000;
  }
  std::vector<uint32_t> offsets;
  for (unsigned offset = 0; offset < 512; offset += 16)
    offsets.push_back(offset);
  for (const char *set : {"v4", "v3", "portable"}) {
    const TileKernels *kernels = tileKernelsFor(set);
    if (!kernels)
      continue;
    float sums[2][8][32] = {};
    for (bool isTransposed : {false, true}) {
      float *registers[8];
      for (unsigned r = 0; r < 8; ++r)
        registers[r] = sums[isTransposed][r];
      auto bytes = [](const std::vector<uint16_t> &data) {
        return reinterpret_cast<const std::byte *>(data.data());
      };
      TileProduct product(*kernels);
      product.begin(Modifier::f16, Modifier::f16, n, k);
      product.readA(bytes(isTransposed ? aByColumn : a), offsets, isTransposed, false);
      product.readB(bytes(isTransposed ? bByRow : b), offsets, isTransposed);
      product.accumulate(registers, false);
    }
    EXPECT_LT(sums[0][0][0], 0.0f) << set;
    EXPECT_EQ(std::memcmp(sums[0], sums[1], sizeof(sums[0])), 0) << set;
  }
}

TEST(TileProduct, IntegersAreExact) {
  struct {
    Modifier type;
    unsigned k;
  } cases[] = {{Modifier::u8, 32},
               {Modifier::s8, 32},
               {Modifier::u4, 64},
               {Modifier::s4, 64},
               {Modifier::b1, 256}};
  std::mt19937 random(5);
  for (const auto &[type, k] : cases) {
    const unsigned bits = ptx::bitsOf(type);
    std::vector<uint8_t> a(16 * k * bits / 8), b(8 * k * bits / 8);
    for (std::vector<uint8_t> *factor : {&a, &b})
      for (uint8_t &byte : *factor)
        byte = static_cast<uint8_t>(random());
    auto at = [&, type = type](const std::vector<uint8_t> &data, unsigned i) {
      return elementValue(type, data[i * bits / 8] >> (i * bits % 8));
    };
    std::vector<uint32_t> offsetsA, offsetsB;
    for (unsigned offset = 0; offset < a.size(); offset += 16)
      offsetsA.push_back(offset);
    for (unsigned offset = 0; offset < b.size(); offset += 16)
      offsetsB.push_back(offset);
    for (bool isFast : {false, true}) {
      TileProduct product;
      product.begin(type, type, 8, k, isFast);
      product.readA(reinterpret_cast<const std::byte *>(a.data()), offsetsA, false, false);
      product.readB(reinterpret_cast<const std::byte *>(b.data()), offsetsB, false);
      double start[128], results[128];
      for (double &one : start)
        one = static_cast<int32_t>(random());
      product.sums(0, start, results);
      for (unsigned i = 0; i < 128; ++i) {
        double sum = start[i];
        for (unsigned l = 0; l < k; ++l)
          sum += at(a, (i % 32 / 4 + 8 * (i / 64)) * k + l) *
                 at(b, (2 * (i % 4) + i / 32 % 2) * k + l);
        ASSERT_EQ(results[i], sum) << ptx::spellingOf(type) << " element " << i;
      }
    }
  }
}

} // namespace
} // namespace tilewright::vgpu::machine
