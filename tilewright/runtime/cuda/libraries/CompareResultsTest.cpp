#include "tilewright/runtime/cuda/libraries/CompareResults.h"

#include "tilewright/numerics/Float.h"

#include <cmath>
#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

namespace tilewright::runtime::cuda::libraries {
namespace {

using artifact::ScaledProduct;
using numerics::ElementType;
using testing::HasSubstr;

/// A product of ones with scales of one: every element of the result is the depth.
struct Ones {
  explicit Ones(ElementType result = ElementType::f32) {
    product.block = 32;
    product.batch = 2, product.rows = 3, product.columns = 4, product.depth = 64;
    product.resultType = result;
    const auto one = std::byte(numerics::encode(ElementType::f8E4M3FN, 1));
    const auto scale = std::byte(numerics::encode(ElementType::f8E8M0FNU, 1));
    lhs.assign(bytesOf(product.lhsBytes()), one);
    rhs.assign(bytesOf(product.rhsBytes()), one);
    lhsScale.assign(bytesOf(product.lhsScaleBytes()), scale);
    rhsScale.assign(bytesOf(product.rhsScaleBytes()), scale);
    ours.assign(24, 64), theirs.assign(24, 64);
  }
  size_t bytesOf(int64_t ofMatrix) const { return static_cast<size_t>(product.batch * ofMatrix); }
  std::string difference() const {
    auto encoded = [&](const std::vector<double> &values) {
      std::vector<std::byte> bytes;
      for (double value : values) {
        const uint64_t bits = numerics::encode(product.resultType, value);
        const auto *data = reinterpret_cast<const std::byte *>(&bits);
        bytes.insert(bytes.end(), data, data + numerics::storageBytes(product.resultType));
      }
      return bytes;
    };
    const std::vector<std::byte> mine = encoded(ours), other = encoded(theirs);
    return differenceOf(product, {lhs.data(), rhs.data(), lhsScale.data(), rhsScale.data(), factor,
                                  mine.data(), other.data()});
  }

  ScaledProduct product;
  std::vector<std::byte> lhs, rhs, lhsScale, rhsScale;
  std::vector<double> ours, theirs;
  float factor = 1;
};

TEST(CompareResults, EqualResultsAgree) { EXPECT_EQ(Ones().difference(), ""); }

TEST(CompareResults, TheElementIsNamed) {
  Ones ones;
  ones.theirs[12 + 1 * 4 + 2] = 65;
  EXPECT_THAT(ones.difference(),
              HasSubstr("element [1, 1, 2] is 65, the program's kernel computes 64"));
}

/// 65 terms of 2^-23 of a sum of magnitudes of 64.
TEST(CompareResults, RoundingOfSumsIsAllowedAndNoMore) {
  Ones ones;
  const double bound = 65 * 0x1p-23 * 64;
  ones.theirs[5] = 64 + bound / 2;
  EXPECT_EQ(ones.difference(), "");
  ones.theirs[5] = 64 + 2 * bound;
  EXPECT_THAT(ones.difference(), HasSubstr("element [0, 1, 1]"));
  ones.factor = 4; // the bound is that of four times the sum
  EXPECT_EQ(ones.difference(), "");
}

TEST(CompareResults, NarrowResultsMayBeNeighbours) {
  Ones ones(ElementType::bf16);
  ones.theirs[0] = 64.5; // the next number of bf16
  EXPECT_EQ(ones.difference(), "");
  ones.theirs[0] = 65.5;
  EXPECT_THAT(ones.difference(), HasSubstr("element [0, 0, 0]"));
}

TEST(CompareResults, NansAgreeOnlyWithNans) {
  Ones ones;
  ones.theirs[0] = std::nan("");
  EXPECT_THAT(ones.difference(), HasSubstr("is NaN, the program's kernel computes 64"));
  ones.ours[0] = std::nan("");
  EXPECT_EQ(ones.difference(), "");
}

/// A scale that is a NaN makes its row NaN, and the other rows are compared as before.
TEST(CompareResults, ARowOfNansHasNoBound) {
  Ones ones;
  ones.lhsScale[0] = std::byte(0xff);
  ones.ours[0] = ones.ours[1] = ones.ours[2] = ones.ours[3] = std::nan("");
  ones.theirs = ones.ours;
  EXPECT_EQ(ones.difference(), "");
  ones.theirs[0] = 64;
  EXPECT_THAT(ones.difference(), HasSubstr("element [0, 0, 0]"));
  ones.theirs[0] = ones.ours[0];
  ones.theirs[4] = 70;
  EXPECT_THAT(ones.difference(), HasSubstr("element [0, 1, 0]"));
}

TEST(CompareResults, ANumberBesideAnInfinityIsItsNeighbour) {
  Ones ones(ElementType::f16);
  ones.factor = 1023;
  ones.ours.assign(24, 65504), ones.theirs = ones.ours;
  ones.theirs[3] = std::numeric_limits<double>::infinity();
  EXPECT_EQ(ones.difference(), "");
  ones.theirs[3] = -std::numeric_limits<double>::infinity();
  EXPECT_THAT(ones.difference(), HasSubstr("element [0, 0, 3] is -inf"));
}

} // namespace
} // namespace tilewright::runtime::cuda::libraries
