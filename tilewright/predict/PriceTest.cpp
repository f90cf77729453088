#include "tilewright/predict/Price.h"

#include "tilewright/predict/Measured.h"

#include <gtest/gtest.h>

#include <numeric>

namespace tilewright::predict {
namespace {

Cluster named(std::string_view name) { return *parseCluster(shippedCluster(name), name); }

TEST(Price, ShapesFollowTheLevels) {
  const Cluster h100 = named("h100");
  std::vector<int64_t> all(64), everyEighth, pairs = {6, 7, 8, 9};
  std::iota(all.begin(), all.end(), 0);
  for (int64_t rank = 0; rank < 64; rank += 8)
    everyEighth.push_back(rank);
  EXPECT_EQ(shapeOf(h100, all).counts, (std::vector<int64_t>{8, 8}));
  EXPECT_EQ(shapeOf(h100, everyEighth).counts, (std::vector<int64_t>{1, 8}));
  EXPECT_EQ(shapeOf(h100, pairs).counts, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(shapeOf(h100, std::vector<int64_t>{3}).counts, (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(shapeAlong(h100, 64, 1), shapeOf(h100, all));
  EXPECT_EQ(shapeAlong(h100, 8, 8), shapeOf(h100, everyEighth));
  EXPECT_EQ(shapeAlong(h100, 4, 4).counts, (std::vector<int64_t>{2, 2}));
  // Ranks of a 4 x 4 x 4 mesh that differ along the first and the last axis.
  const StridedAxis outerAndInner[] = {{4, 16}, {4, 1}};
  std::vector<int64_t> members;
  for (int64_t outer = 0; outer < 4; ++outer)
    for (int64_t inner = 0; inner < 4; ++inner)
      members.push_back(outer * 16 + inner);
  EXPECT_EQ(shapeAlong(h100, outerAndInner), shapeOf(h100, members));
  EXPECT_EQ(shapeAlong(h100, 1, 1).counts, (std::vector<int64_t>{1, 1}));
}

TEST(Price, InsideANodeTheTableDecides) {
  const Cluster h100 = named("h100");
  EXPECT_EQ(secondsOf(h100, CollectiveKind::allReduce, 1 << 28, shapeAlong(h100, 8, 1)),
            *CollectiveTimes::measured().seconds("h100", CollectiveKind::allReduce, 8, 1 << 28));
  EXPECT_EQ(secondsOf(h100, CollectiveKind::allReduce, 1 << 28, shapeAlong(h100, 1, 1)), 0);
}

/// Every kind costs more with more bytes and with more nodes, and never nothing.
TEST(Price, GrowsWithBytesAndNodes) {
  for (const char *name : {"h100", "gb200", "a100"}) {
    const Cluster cluster = named(name);
    for (size_t kind = 0; kind < numerics::collectiveKindCount; ++kind) {
      double last = 0;
      for (int64_t ranks = 2; ranks <= 65536; ranks *= 2) {
        const GroupShape shape = shapeAlong(cluster, ranks, 1);
        const auto which = static_cast<CollectiveKind>(kind);
        const double small = secondsOf(cluster, which, 1 << 10, shape),
                     large = secondsOf(cluster, which, 1 << 30, shape);
        EXPECT_GT(small, 0) << name << " " << numerics::nameOf(which) << " " << ranks;
        EXPECT_GT(large, small) << name << " " << numerics::nameOf(which) << " " << ranks;
        if (ranks > cluster.levels[0].ranks)
          EXPECT_GE(large, last * 0.999) << name << " " << numerics::nameOf(which) << " " << ranks;
        last = large;
      }
    }
  }
}

TEST(Price, MembersOfANodeShareItsLinks) {
  const Cluster h100 = named("h100");
  const double eightPerNode = secondsOf(h100, CollectiveKind::allReduce, 1 << 30, {{8, 8}}),
               onePerNode = secondsOf(h100, CollectiveKind::allReduce, 1 << 30, {{1, 8}});
  EXPECT_GT(onePerNode, 5 * eightPerNode);
}

TEST(Price, AProductIsBoundByArithmeticOrMemory) {
  const Cluster h100 = named("h100");
  Work work{.flops = 2.0 * 4096 * 4096 * 4096,
            .bytes = 3.0 * 4096 * 4096 * 2,
            .m = 4096,
            .n = 4096,
            .k = 4096};
  EXPECT_NEAR(secondsOf(h100, work), h100.launch + work.flops / 780e12, 5e-6);
  work = {.flops = 2.0 * 4096 * 4096, .bytes = 2.0 * 4096 * 4096, .m = 1, .n = 4096, .k = 4096};
  EXPECT_NEAR(secondsOf(h100, work), h100.launch + work.bytes / h100.memoryBandwidth, 5e-6);
  EXPECT_DOUBLE_EQ(secondsOf(h100, Work{.bytes = 2.9e9}), h100.launch + 1e-3);
}

} // namespace
} // namespace tilewright::predict
