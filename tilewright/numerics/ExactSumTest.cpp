#include "tilewright/numerics/ExactSum.h"

#include "tilewright/numerics/Float.h"

#include "gtest/gtest.h"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

using namespace tilewright::numerics;

namespace {
double rounded(const ExactSum &sum, double factor = 1) {
  return decode(ElementType::f64, sum.round(ElementType::f64, factor));
}
constexpr double infinity = std::numeric_limits<double>::infinity();
} // namespace

TEST(ExactSum, OneSurvivesWhatWouldSwallowIt) {
  ExactSum sum;
  sum.add(1e300);
  sum.add(1);
  sum.add(-1e300);
  EXPECT_EQ(rounded(sum), 1);
}

TEST(ExactSum, ProductsKeepAllTheirBits) {
  // (1 + e)(1 - e) = 1 - e^2, of which a double sees nothing.
  const double e = std::ldexp(1, -40);
  ExactSum sum;
  sum.addProduct(1 + e, 1 - e);
  sum.add(-1);
  EXPECT_EQ(rounded(sum), -std::ldexp(1, -80));
}

TEST(ExactSum, CoversTheSmallestAndTheLargestProduct) {
  const double tiny = std::numeric_limits<double>::denorm_min();
  const double huge = std::numeric_limits<double>::max();
  ExactSum sum;
  sum.addProduct(huge, huge);
  sum.addProduct(tiny, tiny);
  sum.addProduct(-huge, huge);
  EXPECT_EQ(rounded(sum), 0);
  EXPECT_EQ(rounded(sum, std::ldexp(1, 1023)), 0) << "2^-2148 * 2^1023 is below half a denormal";
  for (int i = 0; i < 3; ++i)
    sum.addProduct(huge, huge);
  EXPECT_EQ(rounded(sum), infinity);
  EXPECT_EQ(rounded(sum, -1), -infinity);
}

TEST(ExactSum, RoundsHalfToEvenAndOnce) {
  ExactSum sum;
  sum.add(1);
  sum.add(std::ldexp(1, -53));
  EXPECT_EQ(rounded(sum), 1);
  sum.add(std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(rounded(sum), 1 + std::ldexp(1, -52));
  // A tie of bf16 in double, but not in truth.
  ExactSum narrow;
  narrow.add(1 + std::ldexp(1, -8));
  narrow.add(std::ldexp(1, -600));
  EXPECT_EQ(narrow.round(ElementType::bf16), 0x3f81u);
}

TEST(ExactSum, SubnormalResultsAreRoundedAtTheirOwnQuantum) {
  const double quantum = std::numeric_limits<double>::denorm_min();
  ExactSum sum;
  sum.addProduct(quantum, 1.5);
  EXPECT_EQ(rounded(sum), 2 * quantum);
  sum.addProduct(quantum, -1);
  EXPECT_EQ(rounded(sum), 0);
  sum.addProduct(quantum, std::ldexp(1, -900));
  EXPECT_EQ(rounded(sum), quantum);
}

TEST(ExactSum, InfinitiesAndNanFollowIeee) {
  ExactSum sum;
  sum.addProduct(infinity, -2);
  sum.add(1);
  EXPECT_EQ(rounded(sum), -infinity);
  sum.add(infinity);
  EXPECT_TRUE(std::isnan(rounded(sum)));
  ExactSum product;
  product.addProduct(0, infinity);
  EXPECT_TRUE(std::isnan(rounded(product)));
}

TEST(ExactSum, AgreesWithIntegersInAnyOrder) {
  std::mt19937_64 random(7);
  ExactSum forward, backward;
  std::vector<std::pair<double, double>> terms;
  __int128 expected = 0;
  for (int i = 0; i < 20000; ++i) {
    const auto a = static_cast<int64_t>(random()) >> 12, b = static_cast<int64_t>(random()) >> 12;
    terms.push_back({static_cast<double>(a), static_cast<double>(b)});
    expected += static_cast<__int128>(a) * b;
  }
  for (size_t i = 0; i < terms.size(); ++i) {
    forward.addProduct(terms[i].first, terms[i].second);
    backward.addProduct(terms[terms.size() - 1 - i].second, terms[terms.size() - 1 - i].first);
  }
  EXPECT_EQ(rounded(forward), static_cast<double>(expected));
  EXPECT_EQ(rounded(backward), static_cast<double>(expected));
  EXPECT_EQ(rounded(forward, -0.5), static_cast<double>(expected) * -0.5);
}
