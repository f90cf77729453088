#include "tilewright/predict/Jitter.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tilewright::predict {
namespace {

TEST(Jitter, TheMaximumOfNormalsHasItsKnownMoments) {
  EXPECT_EQ(maximumOf(1).mean, 0);
  EXPECT_NEAR(maximumOf(2).mean, 0.5641896, 1e-6); // 1 / sqrt(pi)
  EXPECT_NEAR(maximumOf(2).variance, 1 - 1 / 3.14159265, 1e-6);
  EXPECT_NEAR(maximumOf(10).mean, 1.5387527, 1e-6);
  EXPECT_NEAR(maximumOf(100).mean, 2.5075936, 1e-6);
  EXPECT_NEAR(maximumOf(131072).mean, 4.4430, 1e-4);
}

TEST(Jitter, WhatIsTheSameInAGroupDelaysItOnce) {
  const int64_t sizes[] = {16, 8};
  Scatter scatter;
  scatter.add(1);
  const double first = scatter.meet(/*axes=*/2, sizes, 1);
  EXPECT_NEAR(first, maximumOf(8).mean, 1e-12);
  EXPECT_EQ(scatter.meet(2, sizes, 1), 0); // the members are level now
  // Groups still differ from each other, by the scatter of their maxima.
  EXPECT_NEAR(scatter.meet(1, sizes, 1), std::sqrt(maximumOf(8).variance) * maximumOf(16).mean,
              1e-12);
  EXPECT_EQ(scatter.last(sizes, 128), 0);
}

TEST(Jitter, GroupsOutsideTheMeshUseTheirSize) {
  Scatter scatter;
  scatter.add(4);
  EXPECT_NEAR(scatter.meet(0, {}, 2), 2 * maximumOf(2).mean, 1e-12);
}

} // namespace
} // namespace tilewright::predict
