// What only processes can do: be killed, be stopped, come late, and leave nothing behind.
#include "tilewright/collective/tcp/TcpEngine.h"
#include "tilewright/collective/test/Processes.h"
#include "tilewright/support/Concat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

namespace tilewright::collective::tcp {
namespace {

using namespace std::chrono_literals;
using test::membershipOf;
using test::Processes;
using test::sumForEver;
using test::sumOnes;
using ::testing::HasSubstr;

TcpEngine::Options optionsFor(std::chrono::nanoseconds patience) {
  TcpEngine::Options options;
  options.address = "127.0.0.1";
  options.patience = patience;
  options.connectPatience = 20s;
  return options;
}

class TcpProcesses : public ::testing::TestWithParam<size_t> {};

TEST_P(TcpProcesses, AKilledRankIsNamedWithinFiftyMillisecondsAndTheOthersGoOn) {
  const size_t count = GetParam();
  Processes processes;
  for (int64_t rank = 0; rank < 3; ++rank)
    processes.start([&, rank](KeyValueStore &store, test::Report &report) -> Status {
      TILEWRIGHT_ASSIGN(auto engine,
                        TcpEngine::connect(membershipOf(rank, 3), store, optionsFor(30s)));
      TILEWRIGHT_ASSIGN(auto communicator, engine->join({1, rank, 3, {}}));
      int round = 0;
      Status status = sumForEver(*communicator, count, 3, [&] {
        if (++round == 20)
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
      TILEWRIGHT_ASSIGN(engine, TcpEngine::connect(membership, store, optionsFor(30s)));
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
    EXPECT_THAT(processes.said(rank), HasSubstr("rank 2 died: the connection to process 2"));
    EXPECT_THAT(processes.said(rank), HasSubstr("'all_reduce.3'"));
    EXPECT_THAT(processes.said(rank), HasSubstr("train.py:41"));
  }
}
INSTANTIATE_TEST_SUITE_P(Of, TcpProcesses, ::testing::Values(size_t(1), size_t(200'000)));

TEST(TcpEngine, AStoppedRankRunsIntoTheDeadlineOfTheOthersAndIsFencedAfterwards) {
  Processes processes;
  for (int64_t rank = 0; rank < 2; ++rank)
    processes.start([&, rank](KeyValueStore &store, test::Report &report) -> Status {
      TILEWRIGHT_ASSIGN(auto engine,
                        TcpEngine::connect(membershipOf(rank, 2), store, optionsFor(300ms)));
      TILEWRIGHT_ASSIGN(auto communicator, engine->join({1, rank, 2, {}}));
      int round = 0;
      Status status = sumForEver(*communicator, 1, 2, [&] {
        if (++round == 20)
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
  EXPECT_THAT(processes.said(1), HasSubstr("E6003"));
}

TEST(TcpEngine, ARankThatDoesNotComeIsNamed) {
  MemoryKeyValueStore store;
  TcpEngine::Options options = optionsFor(1s);
  options.connectPatience = 50ms;
  Status status = TcpEngine::connect(membershipOf(1, 2), store, options).takeStatus();
  EXPECT_EQ(status.error(), Error::ranksNotConnected);
  EXPECT_THAT(status.message(), HasSubstr("rank 0 to come"));
  status = TcpEngine::connect(membershipOf(0, 2), store, options).takeStatus();
  EXPECT_EQ(status.error(), Error::ranksNotConnected);
  EXPECT_THAT(status.message(), HasSubstr("in vain for rank 1"));
  options.address = "localhost";
  status = TcpEngine::connect(membershipOf(0, 2), store, options).takeStatus();
  EXPECT_THAT(status.message(), HasSubstr("'localhost' is not the number of an address"));
}

TEST(TcpEngine, AnAddressWhoseProcessIsGoneIsAnError) {
  MemoryKeyValueStore store;
  ASSERT_TRUE(store.put("tilewright/tcp/0/0", "127.0.0.1 1 7").isOk());
  Status status = TcpEngine::connect(membershipOf(1, 2), store, optionsFor(1s)).takeStatus();
  EXPECT_EQ(status.error(), Error::ranksNotConnected);
  EXPECT_THAT(status.message(), HasSubstr("rank 0 cannot be reached at 127.0.0.1:1"));
}

TEST(TcpEngine, ALateRankOfAnotherEpochIsFenced) {
  MemoryKeyValueStore store;
  std::thread survivor([&] {
    auto engine = TcpEngine::connect(membershipOf(0, 2, 5), store, optionsFor(1s));
    EXPECT_TRUE(engine.isOk()) << std::move(engine).takeStatus().toString();
  });
  test::StaleStore stale(store, "tilewright/tcp/5/0");
  Status status = TcpEngine::connect(membershipOf(1, 2, 4), stale, optionsFor(1s)).takeStatus();
  EXPECT_EQ(status.error(), Error::rankFenced);
  EXPECT_THAT(status.message(), HasSubstr("epoch 4, which has epoch 5"));
  auto engine = TcpEngine::connect(membershipOf(1, 2, 5), store, optionsFor(1s));
  EXPECT_TRUE(engine.isOk()) << std::move(engine).takeStatus().toString();
  survivor.join();
}

/// Each rank sends 2 (n - 1) / n of a tensor, however many there are.
TEST(TcpEngine, AnAllReduceSendsWhatARingWould) {
  constexpr int64_t ranks = 4;
  constexpr size_t count = 1 << 16;
  MemoryKeyValueStore store;
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      auto engine = TcpEngine::connect(membershipOf(rank, ranks), store, optionsFor(30s));
      ASSERT_TRUE(engine.isOk()) << std::move(engine).takeStatus().toString();
      auto communicator = (*engine)->join({1, rank, ranks, {}});
      Status status = sumOnes(**communicator, count, ranks);
      EXPECT_TRUE(status.isOk()) << status.toString();
      EXPECT_EQ((*engine)->traffic().payload, 2 * (ranks - 1) * count * 4 / ranks);
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST(TcpEngine, NothingIsLeftBehind) {
  const test::Census before = test::Census::take();
  for (int round = 0; round < 1000; ++round) {
    MemoryKeyValueStore store;
    std::vector<std::thread> threads;
    for (int64_t rank = 0; rank < 2; ++rank)
      threads.emplace_back([&, rank] {
        auto engine = TcpEngine::connect(membershipOf(rank, 2), store, optionsFor(30s));
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
}

} // namespace
} // namespace tilewright::collective::tcp
