#include "tilewright/predict/Cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace tilewright::predict {
namespace {

using testing::HasSubstr;

constexpr std::string_view small = "chip mine\n"
                                   "products h100   # scaled\n"
                                   "peak bf16 494.5TFLOP/s\n"
                                   "memory 40GB 1.5TB/s\n"
                                   "level node 4 latency 3us bandwidth 100GB/s\n"
                                   "level net 64 latency 10us bandwidth 25GB/s\n"
                                   "jitter 1.5%\n"
                                   "restart 2min\n";

TEST(Cluster, ReadsQuantitiesWithTheirUnits) {
  Result<Cluster> cluster = parseCluster(small, "mine.cluster");
  ASSERT_TRUE(cluster.isOk()) << std::move(cluster).takeStatus().message();
  EXPECT_EQ(cluster->chip, "mine");
  EXPECT_EQ(cluster->ranks, 64);
  EXPECT_DOUBLE_EQ(cluster->peak["bf16"], 494.5e12);
  EXPECT_DOUBLE_EQ(cluster->productScale["bf16"], 0.5);
  EXPECT_DOUBLE_EQ(cluster->memoryBandwidth, 1.5e12);
  ASSERT_EQ(cluster->levels.size(), 2u);
  EXPECT_DOUBLE_EQ(cluster->levels[0].latency, 3e-6);
  EXPECT_DOUBLE_EQ(cluster->levels[1].bandwidth, 25e9);
  EXPECT_DOUBLE_EQ(cluster->jitter, 0.015);
  EXPECT_DOUBLE_EQ(cluster->restart, 120);
}

TEST(Cluster, EveryShippedClusterIsValid) {
  EXPECT_THAT(shippedClusters(), testing::Contains("h100"));
  for (const std::string &name : shippedClusters()) {
    Result<Cluster> cluster = parseCluster(shippedCluster(name), name);
    ASSERT_TRUE(cluster.isOk()) << std::move(cluster).takeStatus().message();
    EXPECT_EQ(cluster->chip, name);
    EXPECT_GE(cluster->ranks, 131072);
  }
  EXPECT_EQ(shippedCluster("cray-1"), "");
}

/// Replaces the line that begins with `key`, or adds one, and returns the failure.
std::string failureWith(std::string_view key, std::string_view line) {
  std::string text;
  for (std::string_view rest = small; !rest.empty(); rest.remove_prefix(rest.find('\n') + 1))
    text += std::string(!key.empty() && rest.starts_with(key) ? line
                                                              : rest.substr(0, rest.find('\n'))) +
            "\n";
  if (key.empty())
    text += line;
  Status status = parseCluster(text, "bad.cluster").takeStatus();
  EXPECT_EQ(status.error(), Error::clusterMalformed) << text;
  return status.message();
}

TEST(Cluster, AProgramNeedsAChipForEachRank) {
  const Cluster cluster = *parseCluster(small, "mine");
  EXPECT_TRUE(checkFits(cluster, 64).isOk());
  Status status = checkFits(cluster, 65);
  EXPECT_EQ(status.error(), Error::clusterMismatch);
  EXPECT_EQ(status.message(),
            "the program is for 65 ranks, but cluster 'mine' has 64; give it more "
            "ranks, as in --cluster=minex65");
}

/// Files come from people: any text ends in a cluster or in a failure that names the file.
TEST(Cluster, DamagedFilesAreRefusedOrRead) {
  std::mt19937 random(1);
  const std::string whole(small);
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text = whole;
    for (uint32_t change = 0, count = 1 + random() % 4; change < count; ++change) {
      const size_t at = random() % text.size();
      if (random() % 3 == 0)
        text.erase(at, 1 + random() % 20);
      else if (random() % 2)
        text[at] = static_cast<char>(random() % 256);
      else
        text.insert(at, whole.substr(random() % whole.size(), random() % 30));
      if (text.empty())
        text = " ";
    }
    Result<Cluster> cluster = parseCluster(text, "damaged");
    if (cluster.isOk()) {
      EXPECT_GE(cluster->ranks, 1);
      EXPECT_GT(cluster->memoryBandwidth, 0);
      EXPECT_FALSE(cluster->peak.empty());
      continue;
    }
    ++refused;
    EXPECT_THAT(std::move(cluster).takeStatus().message(), HasSubstr("damaged"));
  }
  EXPECT_GT(refused, 10000);
}

TEST(Cluster, FailuresNameTheLineAndBothValues) {
  EXPECT_THAT(failureWith("jitter", "jiter 1%"), HasSubstr("bad.cluster:7: unknown word 'jiter'"));
  EXPECT_THAT(failureWith("jitter", "jiter 1%"), HasSubstr("jitter"));
  EXPECT_THAT(failureWith("level net", "level net 62 latency 1us bandwidth 1GB/s"),
              HasSubstr("bad.cluster:6: a domain of level 'net' has 62 ranks, which must be a "
                        "multiple of the 4 ranks of level 'node'"));
  EXPECT_THAT(failureWith("level net", "level net eight latency 1us bandwidth 1GB/s"),
              HasSubstr("from 1 to 16777216, got 'eight'"));
  EXPECT_THAT(failureWith("level net", "level net 64 measured"), HasSubstr("only the innermost"));
  EXPECT_THAT(failureWith("level net", "level net 64 latency 1us"),
              HasSubstr("takes 'measured' or"));
  EXPECT_THAT(failureWith("memory", "memory 40GB 1.5"),
              HasSubstr("TB/s, GB/s, MB/s, B/s, got '1.5'"));
  EXPECT_THAT(failureWith("memory", "memory 40GB -1TB/s"), HasSubstr("got '-1TB/s'"));
  EXPECT_THAT(failureWith("memory", "memory 40GB nanTB/s"), HasSubstr("got 'nanTB/s'"));
  EXPECT_THAT(failureWith("memory", "memory 40GB"), HasSubstr("got 1 words"));
  EXPECT_THAT(failureWith("memory", "# none"), HasSubstr("no line 'memory"));
  EXPECT_THAT(failureWith("peak", "peak int8 1TFLOP/s"), HasSubstr("got 'int8'"));
  EXPECT_THAT(failureWith("peak", "peak bf16 0TFLOP/s"), HasSubstr("positive"));
  EXPECT_THAT(failureWith("products", "products k80"), HasSubstr("'k80'"));
  EXPECT_THAT(failureWith("level node", "level node 4 measured"),
              HasSubstr("no measurements of 'mine'"));
  EXPECT_THAT(failureWith("", "contention 100%"), HasSubstr("below 100%"));
  EXPECT_THAT(failureWith("", "ranks 65"),
              HasSubstr("has 65 ranks, but its last level 'net' joins 64"));
}

} // namespace
} // namespace tilewright::predict
