#include "tilewright/predict/Forms.h"

#include <gtest/gtest.h>

namespace tilewright::predict {
namespace {

Cluster h100(int64_t ranks) {
  Result<Cluster> cluster = parseCluster(shippedCluster("h100"), "h100");
  EXPECT_TRUE(cluster.isOk());
  Result<Cluster> sized = withRanks(*cluster, ranks);
  EXPECT_TRUE(sized.isOk());
  return *sized;
}

std::string_view best(int64_t ranks, CollectiveKind kind, double bytes, bool hasMulticast) {
  const Cluster cluster = h100(ranks);
  return nameOf(
      pricesOf(cluster, kind, bytes, shapeAlong(cluster, ranks, 1), hasMulticast).front());
}

TEST(FormsTest, TheFormOfAnAllReduceGrowsWithItsSize) {
  EXPECT_EQ(best(8, CollectiveKind::allReduce, 8 << 10, false), "one-shot");
  EXPECT_EQ(best(8, CollectiveKind::allReduce, 64 << 10, false), "one-shot");
  EXPECT_EQ(best(8, CollectiveKind::allReduce, 2 << 20, false), "direct");
  EXPECT_EQ(best(8, CollectiveKind::allReduce, 2 << 20, true), "multicast");
}

TEST(FormsTest, OwnKernelsAreChosenWhereTheTablesPriceThemLower) {
  FormChoice choice("sm_90a");
  EXPECT_TRUE(choice.prefersOwn(CollectiveKind::allReduce, 8 << 10, 8));
  EXPECT_TRUE(choice.prefersOwn(CollectiveKind::allReduce, 8 << 10, 2));
  EXPECT_FALSE(choice.prefersOwn(CollectiveKind::allReduce, 512 << 20, 8));
  EXPECT_FALSE(choice.prefersOwn(CollectiveKind::allReduce, 8 << 10, 1));
  EXPECT_FALSE(choice.prefersOwn(CollectiveKind::allReduce, 8 << 10, 64)); // several domains
  EXPECT_FALSE(FormChoice("sm_75").prefersOwn(CollectiveKind::allReduce, 8 << 10, 8)); // no tables
}

TEST(FormsTest, OneShotAndTwoShotCostTheSameNear256KiBOn8Gpus) {
  // Where XLA changes from one to the other.
  const Cluster cluster = h100(8);
  double one = 0, two = 0;
  for (const FormPrice &price :
       pricesOf(cluster, CollectiveKind::allReduce, 256 << 10, shapeAlong(cluster, 8, 1), false)) {
    if (price.form == CollectiveForm::oneShot)
      one = price.seconds;
    if (price.form == CollectiveForm::direct)
      two = price.seconds;
  }
  EXPECT_NEAR(one / two, 1, 0.25);
}

TEST(FormsTest, OnlyNcclReachesOtherNodes) {
  const Cluster cluster = h100(16);
  const auto prices =
      pricesOf(cluster, CollectiveKind::allReduce, 8 << 10, shapeAlong(cluster, 16, 1), true);
  ASSERT_EQ(prices.size(), 1U);
  EXPECT_EQ(nameOf(prices[0]), "nccl");
}

TEST(FormsTest, KindsHaveTheFormsOfTheirKernels) {
  const Cluster cluster = h100(8);
  const GroupShape shape = shapeAlong(cluster, 8, 1);
  EXPECT_EQ(pricesOf(cluster, CollectiveKind::allReduce, 1 << 20, shape, true).size(), 4U);
  EXPECT_EQ(pricesOf(cluster, CollectiveKind::allGather, 1 << 20, shape, true).size(), 3U);
  EXPECT_EQ(pricesOf(cluster, CollectiveKind::allToAll, 1 << 20, shape, true).size(), 2U);
  EXPECT_EQ(pricesOf(cluster, CollectiveKind::allGather, 1 << 20, shape, false).size(), 2U);
}

} // namespace
} // namespace tilewright::predict
