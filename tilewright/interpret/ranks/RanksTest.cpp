#include "tilewright/interpret/ranks/Ranks.h"

#include "tilewright/interpret/kernels/testing/Tensors.h"

using namespace tilewright;
using namespace tilewright::interpret;
using testing::AllOf;
using testing::HasSubstr;

/// A value that identifies its sender.
static RuntimeValues numbered(int64_t number) {
  return {tensorOf(ElementType::i32, {}, {static_cast<double>(number)})};
}
static int64_t numberOf(const RuntimeValues &values) { return values[0].tensor().indexAt(0); }

TEST(World, ExchangeGivesEverybodysValuesInGroupOrder) {
  World world({1, 4});
  int site;
  const std::vector<int64_t> group{3, 1, 0, 2};
  auto results = world.run([&](int64_t rank) -> Result<RuntimeValues> {
    for (int64_t round = 0; round < 100; ++round) {
      TILEWRIGHT_ASSIGN(auto values,
                        world.exchange(&site, group, rank, numbered(rank + 10 * round), "here"));
      for (size_t i = 0; i < group.size(); ++i)
        EXPECT_EQ(numberOf(values[i]), group[i] + 10 * round);
    }
    return numbered(rank);
  });
  ASSERT_TRUE(results.isOk());
  EXPECT_EQ(numberOf((*results)[2]), 2);
}

TEST(World, ChannelsKeepTheirOrder) {
  World world({1, 2});
  auto results = world.run([&](int64_t rank) -> Result<RuntimeValues> {
    const World::Channel channel{nullptr, 7, 0, 1};
    if (rank == 0) {
      for (int64_t i = 0; i < 50; ++i)
        world.send(channel, numbered(i));
      return RuntimeValues();
    }
    for (int64_t i = 0; i < 50; ++i) {
      TILEWRIGHT_ASSIGN(RuntimeValues values, world.receive(channel, "here"));
      EXPECT_EQ(numberOf(values), i);
    }
    return RuntimeValues();
  });
  EXPECT_TRUE(results.isOk());
}

TEST(World, OppositeOrdersAreADeadlockThatNamesBoth) {
  World world({1, 2});
  int first, second;
  const std::vector<int64_t> group{0, 1};
  Status status =
      world
          .run([&](int64_t rank) -> Result<RuntimeValues> {
            TILEWRIGHT_ASSIGN(auto values, world.exchange(rank ? &second : &first, group, rank, {},
                                                          rank ? "the second" : "the first"));
            return values[0];
          })
          .takeStatus();
  EXPECT_EQ(status.error(), Error::interpretDeadlock);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("rank 0 waits in the first"),
                                      HasSubstr("rank 1 waits in the second")));
}

TEST(World, AFailureWakesTheOthersAndIsTheOneReported) {
  World world({1, 3});
  int site;
  std::atomic<int> aborted = 0;
  const std::vector<int64_t> group{0, 1, 2};
  Status status = world
                      .run([&](int64_t rank) -> Result<RuntimeValues> {
                        if (rank == 1)
                          return Status(Code::internal, "out of luck");
                        auto values = world.exchange(&site, group, rank, {}, "here");
                        Status status = std::move(values).takeStatus();
                        aborted += status.error() == Error::interpretAborted;
                        return status;
                      })
                      .takeStatus();
  EXPECT_EQ(status.message(), "while running rank 1 of 3: out of luck");
  EXPECT_EQ(aborted, 2);
}

TEST(World, MoreRanksThanThreadsAreRefused) {
  World world({1, World::maxRanks + 1});
  Status status =
      world.run([](int64_t) -> Result<RuntimeValues> { return RuntimeValues(); }).takeStatus();
  EXPECT_EQ(status.error(), Error::interpretGroups);
  EXPECT_THAT(status.message(), HasSubstr("257 ranks, but the evaluator simulates at most 256"));
}

TEST(World, FeedsRunDry) {
  World world({1, 1}, Feeds{{numbered(1)}, {}});
  EXPECT_EQ(numberOf(*world.takeInfeed()), 1);
  EXPECT_EQ(world.takeInfeed().takeStatus().error(), Error::interpretFeed);
  world.putOutfeed(numbered(2));
  EXPECT_EQ(world.takeFeeds().outfeed.size(), 1u);
}
