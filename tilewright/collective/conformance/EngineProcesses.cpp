#include "tilewright/collective/conformance/EngineProcesses.h"
#include "tilewright/collective/testing/Processes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

namespace tilewright::collective::test {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

namespace {

Result<std::unique_ptr<Engine>> connect(const Membership &membership, KeyValueStore &store,
                                        std::chrono::nanoseconds timeout,
                                        std::chrono::nanoseconds connectTimeout) {
  return processKit().connect(membership, store, timeout, connectTimeout);
}

class EngineProcesses : public ::testing::TestWithParam<size_t> {}; // numbers in each sum

/// The others report the death within 50 ms and sum again within 200 ms.
TEST_P(EngineProcesses, AKilledRankIsNamedWithinFiftyMillisecondsAndTheOthersGoOn) {
  const size_t count = GetParam();
  Processes processes;
  for (int64_t rank = 0; rank < 3; ++rank)
    processes.start([&, rank](KeyValueStore &store, Report &report) -> Status {
      TILEWRIGHT_ASSIGN(auto engine, connect(membershipOf(rank, 3), store, 30s, 20s));
      TILEWRIGHT_ASSIGN(auto communicator, engine->join({1, rank, 3, {}}));
      int round = 0;
      Status status = sumForEver(*communicator, count, 3, [&] {
        if (++round == processKit().rounds)
          report.say("runs");
      });
      report.say("noticed");
      if (status.error() != Error::collectiveAborted)
        return status;
      report.say(status.message());
      communicator.reset();
      engine.reset();
      // The survivors connect again, with a new epoch.
      Membership membership = membershipOf(rank, 3, 1);
      membership.processOfRank[2] = -1;
      TILEWRIGHT_ASSIGN(engine, connect(membership, store, 30s, 20s));
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
    EXPECT_LT(noticed - killed, 50ms * slowness());
    const auto healed = processes.awaitText(rank, "healed");
    EXPECT_LT(healed - killed, 200ms * slowness());
    EXPECT_EQ(processes.end(rank), "") << processes.said(rank);
    EXPECT_THAT(processes.said(rank), HasSubstr(processKit().died));
    EXPECT_THAT(processes.said(rank), HasSubstr("'all_reduce.3'"));
    EXPECT_THAT(processes.said(rank), HasSubstr("train.py:41"));
  }
}
INSTANTIATE_TEST_SUITE_P(Of, EngineProcesses, ::testing::Values(size_t(1), size_t(200'000)));

TEST(EngineProcess, AStoppedRankRunsIntoTheDeadlineOfTheOthersAndIsFencedAfterwards) {
  Processes processes;
  for (int64_t rank = 0; rank < 2; ++rank)
    processes.start([&, rank](KeyValueStore &store, Report &report) -> Status {
      TILEWRIGHT_ASSIGN(auto engine, connect(membershipOf(rank, 2), store, 2s, 20s));
      TILEWRIGHT_ASSIGN(auto communicator, engine->join({1, rank, 2, {}}));
      int round = 0;
      Status status = sumForEver(*communicator, 1, 2, [&] {
        if (++round == processKit().rounds)
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
  // When it resumes, its engine has failed.
  EXPECT_THAT(processes.said(1), HasSubstr("E6003"));
}

TEST(EngineProcess, ARankThatDoesNotComeIsNamed) {
  MemoryKeyValueStore store;
  Status status = connect(membershipOf(1, 2), store, 1s, 50ms).takeStatus();
  EXPECT_EQ(status.error(), Error::ranksNotConnected);
  EXPECT_THAT(status.message(), HasSubstr("rank 0 to connect"));
  // A process that connects now learns at once that it is too late, and for which rank the other
  // one waited.
  const auto began = std::chrono::steady_clock::now();
  status = connect(membershipOf(0, 2), store, 1s, 20s).takeStatus();
  EXPECT_LT(std::chrono::steady_clock::now() - began, 1s * slowness());
  EXPECT_EQ(status.error(), Error::ranksNotConnected);
  EXPECT_THAT(status.message(), HasSubstr("rank 1 gave up connecting: process 1 timed out"));
  MemoryKeyValueStore empty;
  status = connect(membershipOf(0, 2), empty, 1s, 50ms).takeStatus();
  EXPECT_EQ(status.error(), Error::ranksNotConnected);
  EXPECT_THAT(status.message(), HasSubstr(processKit().missing));
}

/// A process of epoch 4 that has the address of rank 0 in epoch 5 is rejected.
TEST(EngineProcess, ALateRankOfAnotherEpochIsFenced) {
  MemoryKeyValueStore store;
  std::thread survivor([&] {
    auto engine = connect(membershipOf(0, 2, 5), store, 1s, 20s);
    EXPECT_TRUE(engine.isOk()) << std::move(engine).takeStatus().toString();
  });
  StaleStore stale(store, 4, 5);
  Status status = connect(membershipOf(1, 2, 4), stale, 1s, 20s).takeStatus();
  EXPECT_EQ(status.error(), Error::rankFenced);
  EXPECT_THAT(status.message(), HasSubstr("epoch 4, but the current epoch is 5"));
  // A process with the right epoch is still admitted.
  auto engine = connect(membershipOf(1, 2, 5), store, 1s, 20s);
  EXPECT_TRUE(engine.isOk()) << std::move(engine).takeStatus().toString();
  survivor.join();
}

TEST(EngineProcess, NothingIsLeftBehind) {
  const Census before = Census::take();
  for (int round = 0; round < processKit().connects; ++round) {
    MemoryKeyValueStore store;
    std::vector<std::thread> threads;
    for (int64_t rank = 0; rank < 2; ++rank)
      threads.emplace_back([&, rank] {
        auto engine = connect(membershipOf(rank, 2), store, 30s, 20s);
        ASSERT_TRUE(engine.isOk()) << std::move(engine).takeStatus().toString();
        auto communicator = (*engine)->join({1, rank, 2, {}});
        ASSERT_TRUE(communicator.isOk());
        Status status = sumOnes(**communicator, round % 2 ? 1 : 5000, 2);
        EXPECT_TRUE(status.isOk()) << status.toString();
      });
    for (std::thread &thread : threads)
      thread.join();
  }
  const Census later = Census::take();
  EXPECT_EQ(later.descriptors, before.descriptors);
  EXPECT_EQ(later.threads, before.threads);
  if (processKit().countsMappings)
    EXPECT_EQ(later.mappings, before.mappings);
}

} // namespace
} // namespace tilewright::collective::test
