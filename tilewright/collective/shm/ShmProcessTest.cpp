// What only processes can do: be killed, be stopped, come late, and leave nothing behind.
#include "tilewright/collective/shm/ShmEngine.h"
#include "tilewright/collective/test/EngineProcesses.h"
#include "tilewright/collective/test/Processes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilewright::collective::shm {
namespace {

using namespace std::chrono_literals;
using test::membershipOf;
using test::sumOnes;
using ::testing::HasSubstr;

ShmEngine::Options optionsFor(std::chrono::nanoseconds patience) {
  ShmEngine::Options options;
  options.arenaBytes = size_t(64) << 20;
  options.patience = patience;
  options.connectPatience = 20s;
  return options;
}

Result<std::unique_ptr<Engine>> connect(const Membership &membership, KeyValueStore &store,
                                        std::chrono::nanoseconds patience,
                                        std::chrono::nanoseconds connectPatience) {
  ShmEngine::Options options = optionsFor(patience);
  options.connectPatience = connectPatience;
  TILEWRIGHT_ASSIGN(auto engine, ShmEngine::connect(membership, store, options));
  return std::unique_ptr<Engine>(std::move(engine));
}

class ShmProcesses : public ::testing::TestWithParam<size_t> {};

TEST_P(ShmProcesses, AKilledRankIsNamedWithinFiftyMillisecondsAndTheOthersGoOn) {
  test::expectKilledRankIsNamed(connect, GetParam(), 50, "rank 2 died: process 2 (pid ");
}
INSTANTIATE_TEST_SUITE_P(Of, ShmProcesses, ::testing::Values(size_t(1), size_t(200'000)));

TEST(ShmEngine, AStoppedRankRunsIntoTheDeadlineOfTheOthersAndIsFencedAfterwards) {
  test::expectStoppedRankIsFenced(connect, 50);
}

TEST(ShmEngine, ARankThatDoesNotComeIsNamed) { test::expectMissingRanksAreNamed(connect); }

TEST(ShmEngine, AnAddressWhoseProcessIsGoneIsAnError) {
  MemoryKeyValueStore store;
  ASSERT_TRUE(store.put("tilewright/shm/0/0", "tilewright-nobody").isOk());
  Status status = ShmEngine::connect(membershipOf(1, 2), store, optionsFor(1s)).takeStatus();
  EXPECT_EQ(status.error(), Error::ranksNotConnected);
  EXPECT_THAT(status.message(), HasSubstr("rank 0 cannot be reached"));
}

TEST(ShmEngine, ALateRankOfAnotherEpochIsFenced) { test::expectStaleEpochIsFenced(connect); }

TEST(ShmEngine, AnArenaThatIsTooSmallIsAnError) {
  MemoryKeyValueStore store;
  ShmEngine::Options options = optionsFor(1s);
  options.arenaBytes = 64 << 10;
  auto engine = ShmEngine::connect(membershipOf(0, 1), store, options);
  ASSERT_TRUE(engine.isOk());
  auto communicator = (*engine)->join({1, 0, 1, {}});
  ASSERT_TRUE(communicator.isOk());
  Status status = sumOnes(**communicator, 1 << 20, 1);
  EXPECT_EQ(status.error(), Error::sharedMemoryExhausted);
  EXPECT_THAT(status.message(), HasSubstr("rank 0 needs 41943"));
  EXPECT_THAT(status.message(), HasSubstr("all_reduce.3"));
}

TEST(ShmEngine, NothingIsLeftBehind) {
  test::expectNothingIsLeftBehind(connect, /*countsMappings=*/true);
}

TEST(Arena, PiecesAreReusedAndJoined) {
  auto mapping = Mapping::create(1 << 20);
  ASSERT_TRUE(mapping.isOk());
  Arena arena(*mapping, 100);
  std::byte *a = arena.allocate(1000), *b = arena.allocate(1), *c = arena.allocate(0);
  EXPECT_EQ(arena.offsetOf(a), 128U);
  EXPECT_EQ(arena.offsetOf(b), 128U + 1024);
  EXPECT_NE(b, c);
  EXPECT_TRUE(arena.contains(a, 1000));
  EXPECT_FALSE(arena.contains(a, 2 << 20));
  const std::byte outside[8] = {};
  EXPECT_FALSE(arena.contains(outside, 8));
  EXPECT_EQ(arena.allocate(1 << 20), nullptr);
  EXPECT_EQ(arena.allocate(SIZE_MAX), nullptr);
  arena.free(b);
  arena.free(a);
  arena.free(c);
  EXPECT_EQ(arena.largestFree(), (1U << 20) - 128);
  arena.trim();
  EXPECT_EQ(arena.allocate(2000), a);
}

} // namespace
} // namespace tilewright::collective::shm
