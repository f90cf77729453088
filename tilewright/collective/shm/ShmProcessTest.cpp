// What only processes can do: be killed, be stopped, come late, and leave nothing behind.
#include "tilewright/collective/shm/ShmEngine.h"
#include "tilewright/collective/test/Processes.h"
#include "tilewright/support/Concat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

namespace tilewright::collective::shm {
namespace {

using namespace std::chrono_literals;
using test::membershipOf;
using test::Processes;
using test::sumForEver;
using test::sumOnes;
using ::testing::HasSubstr;

ShmEngine::Options optionsFor(std::chrono::nanoseconds patience) {
  ShmEngine::Options options;
  options.arenaBytes = size_t(64) << 20;
  options.patience = patience;
  options.connectPatience = 20s;
  return options;
}

class ShmProcesses : public ::testing::TestWithParam<size_t> {};

TEST_P(ShmProcesses, AKilledRankIsNamedWithinFiftyMillisecondsAndTheOthersGoOn) {
  const size_t count = GetParam();
  Processes processes;
  for (int64_t rank = 0; rank < 3; ++rank)
    processes.start([&, rank](KeyValueStore &store, test::Report &report) -> Status {
      TILEWRIGHT_ASSIGN(auto engine,
                        ShmEngine::connect(membershipOf(rank, 3), store, optionsFor(30s)));
      TILEWRIGHT_ASSIGN(auto communicator, engine->join({1, rank, 3, {}}));
      int round = 0;
      Status status = sumForEver(*communicator, count, 3, [&] {
        if (++round == 50)
          report.say("runs");
      });
      report.say("noticed");
      if (status.error() != Error::collectiveAborted)
        return status;
      report.say(status.message());
      communicator.reset();
      engine.reset();
      // The survivors, with a new epoch.
      Membership membership = membershipOf(rank, 3, 1);
      membership.processOfRank[2] = -1;
      TILEWRIGHT_ASSIGN(engine, ShmEngine::connect(membership, store, optionsFor(30s)));
      TILEWRIGHT_ASSIGN(communicator, engine->join({2, rank, 2, {}}));
      TILEWRIGHT_TRY(sumOnes(*communicator, count, 2));
      report.say("healed");
      return Status();
    });
  for (size_t rank = 0; rank < 3; ++rank)
    processes.awaitText(rank, "runs");
  const auto killed = std::chrono::steady_clock::now();
  processes.signal(2, SIGKILL);
  for (size_t rank : {0, 1}) {
    const auto noticed = processes.awaitText(rank, "noticed");
    EXPECT_LT(noticed - killed, 50ms * test::slowness());
    const auto healed = processes.awaitText(rank, "healed");
    EXPECT_LT(healed - killed, 200ms * test::slowness());
    EXPECT_EQ(processes.end(rank), "") << processes.said(rank);
    EXPECT_THAT(processes.said(rank), HasSubstr("rank 2 died: process 2 (pid "));
    EXPECT_THAT(processes.said(rank), HasSubstr("'all_reduce.3'"));
    EXPECT_THAT(processes.said(rank), HasSubstr("train.py:41"));
  }
}
INSTANTIATE_TEST_SUITE_P(Of, ShmProcesses, ::testing::Values(size_t(1), size_t(200'000)));

TEST(ShmEngine, AStoppedRankRunsIntoTheDeadlineOfTheOthersAndIsFencedAfterwards) {
  Processes processes;
  for (int64_t rank = 0; rank < 2; ++rank)
    processes.start([&, rank](KeyValueStore &store, test::Report &report) -> Status {
      TILEWRIGHT_ASSIGN(auto engine,
                        ShmEngine::connect(membershipOf(rank, 2), store, optionsFor(300ms)));
      TILEWRIGHT_ASSIGN(auto communicator, engine->join({1, rank, 2, {}}));
      int round = 0;
      Status status = sumForEver(*communicator, 1, 2, [&] {
        if (++round == 50)
          report.say("runs");
      });
      report.say("noticed");
      report.say(status.toString());
      return Status();
    });
  for (size_t rank = 0; rank < 2; ++rank)
    processes.awaitText(rank, "runs");
  processes.signal(1, SIGSTOP);
  processes.awaitText(0, "noticed");
  processes.signal(1, SIGCONT);
  processes.awaitText(1, "noticed");
  EXPECT_EQ(processes.end(0), "");
  EXPECT_EQ(processes.end(1), "");
  EXPECT_THAT(processes.said(0), HasSubstr("E6001"));
  EXPECT_THAT(processes.said(0), HasSubstr("; rank 1 "));
  // What it comes back to has failed.
  EXPECT_THAT(processes.said(1), HasSubstr("E6003"));
}

TEST(ShmEngine, ARankThatDoesNotComeIsNamed) {
  MemoryKeyValueStore store;
  ShmEngine::Options options = optionsFor(1s);
  options.connectPatience = 50ms;
  Status status = ShmEngine::connect(membershipOf(1, 2), store, options).takeStatus();
  EXPECT_EQ(status.error(), Error::ranksNotConnected);
  EXPECT_THAT(status.message(), HasSubstr("rank 0 to come"));
  status = ShmEngine::connect(membershipOf(0, 2), store, options).takeStatus();
  EXPECT_EQ(status.error(), Error::ranksNotConnected);
  EXPECT_THAT(status.message(), HasSubstr("in vain for rank 1"));
}

TEST(ShmEngine, AnAddressWhoseProcessIsGoneIsAnError) {
  MemoryKeyValueStore store;
  ASSERT_TRUE(store.put("tilewright/shm/0/0", "tilewright-nobody").isOk());
  Status status = ShmEngine::connect(membershipOf(1, 2), store, optionsFor(1s)).takeStatus();
  EXPECT_EQ(status.error(), Error::ranksNotConnected);
  EXPECT_THAT(status.message(), HasSubstr("rank 0 cannot be reached"));
}

TEST(ShmEngine, ALateRankOfAnotherEpochIsFenced) {
  MemoryKeyValueStore store;
  std::thread survivor([&] {
    auto engine = ShmEngine::connect(membershipOf(0, 2, 5), store, optionsFor(1s));
    EXPECT_TRUE(engine.isOk()) << std::move(engine).takeStatus().toString();
  });
  test::StaleStore stale(store, "tilewright/shm/5/0");
  Status status = ShmEngine::connect(membershipOf(1, 2, 4), stale, optionsFor(1s)).takeStatus();
  EXPECT_EQ(status.error(), Error::rankFenced);
  EXPECT_THAT(status.message(), HasSubstr("epoch 4, which has epoch 5"));
  // The one with the right epoch is let in all the same.
  auto engine = ShmEngine::connect(membershipOf(1, 2, 5), store, optionsFor(1s));
  EXPECT_TRUE(engine.isOk()) << std::move(engine).takeStatus().toString();
  survivor.join();
}

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
  const test::Census before = test::Census::take();
  for (int round = 0; round < 1000; ++round) {
    MemoryKeyValueStore store;
    std::vector<std::thread> threads;
    for (int64_t rank = 0; rank < 2; ++rank)
      threads.emplace_back([&, rank] {
        auto engine = ShmEngine::connect(membershipOf(rank, 2), store, optionsFor(30s));
        ASSERT_TRUE(engine.isOk()) << std::move(engine).takeStatus().toString();
        auto communicator = (*engine)->join({1, rank, 2, {}});
        ASSERT_TRUE(communicator.isOk());
        Status status = sumOnes(**communicator, round % 2 ? 1 : 5000, 2);
        EXPECT_TRUE(status.isOk()) << status.toString();
      });
    for (std::thread &thread : threads)
      thread.join();
  }
  const test::Census later = test::Census::take();
  EXPECT_EQ(later.descriptors, before.descriptors);
  EXPECT_EQ(later.threads, before.threads);
  EXPECT_EQ(later.mappings, before.mappings);
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
