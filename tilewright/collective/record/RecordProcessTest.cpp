// Jobs of real processes that hang, die, stop or diverge, diagnosed from their recordings.
#include "tilewright/collective/record/Diagnosis.h"
#include "tilewright/collective/record/RecordedEngine.h"
#include "tilewright/collective/shm/ShmEngine.h"
#include "tilewright/collective/testing/Processes.h"
#include "tilewright/support/Concat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <unistd.h>

namespace tilewright::collective::record {
namespace {

using namespace std::chrono_literals;
using test::Report;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class RecordProcesses : public ::testing::Test {
protected:
  RecordProcesses() {
    char name[] = "/tmp/tilewright-record-XXXXXX";
    folder = mkdtemp(name);
  }
  ~RecordProcesses() override { std::filesystem::remove_all(folder); }

  using Body = std::function<Status(Communicator &, int64_t rank, Report &)>;
  void start(int64_t ranks, const Body &body, std::chrono::nanoseconds timeout = 60s) {
    for (int64_t rank = 0; rank < ranks; ++rank)
      processes.start([=, this](KeyValueStore &store, Report &report) -> Status {
        TILEWRIGHT_ASSIGN(auto recorder, Recorder::create({.folder = folder,
                                                           .job = "test",
                                                           .process = rank,
                                                           .processes = ranks,
                                                           .jobRanks = ranks,
                                                           .ranks = {rank}}));
        shm::ShmEngine::Options options;
        options.timeout = timeout;
        TILEWRIGHT_ASSIGN(auto shm,
                          shm::ShmEngine::connect(test::membershipOf(rank, ranks), store, options));
        RecordedEngine engine(std::move(shm), recorder, "shm");
        TILEWRIGHT_ASSIGN(auto communicator, engine.join({1, rank, ranks, {}}));
        return body(*communicator, rank, report);
      });
  }

  /// Reads again until the job hangs, which the children are about to do.
  Diagnosis explain() {
    for (int tries = 0; tries < 400; ++tries) {
      std::vector<std::string> notes;
      auto made = viewOf({folder}, "", 1024, notes);
      if (made.isOk()) {
        view = *std::move(made);
        Diagnosis diagnosis = diagnose(*view, 300ms);
        text = toText(*view, diagnosis, notes);
        if (diagnosis.isHung)
          return diagnosis;
      }
      std::this_thread::sleep_for(20ms);
    }
    ADD_FAILURE() << "nothing stands still:\n" << text;
    return {};
  }

  static Status sums(Communicator &communicator, int count, float expected) {
    for (int i = 0; i < count; ++i)
      TILEWRIGHT_TRY(test::sumOnes(communicator, 1, expected));
    return Status();
  }

  std::string folder;
  test::Processes processes;
  std::unique_ptr<JobView> view;
  std::string text;
};

TEST_F(RecordProcesses, OneThatSleepsIsMissing) {
  start(3, [](Communicator &communicator, int64_t rank, Report &report) -> Status {
    TILEWRIGHT_TRY(sums(communicator, 20, 3));
    if (rank == 1)
      std::this_thread::sleep_for(60s);
    return sums(communicator, 1, 3);
  });
  const Diagnosis diagnosis = explain();
  ASSERT_EQ(diagnosis.stuck.size(), 1U) << text;
  const CliqueReport &report = diagnosis.stuck[0];
  EXPECT_THAT(report.missing, ElementsAre(1));
  EXPECT_THAT(report.blamed, ElementsAre(1));
  EXPECT_EQ(report.sequence, 20U);
  EXPECT_EQ(report.waiting.size(), 2U);
  EXPECT_THAT(text, HasSubstr("rank 1 is missing from collective 20 of [0, 1, 2]: 'all_reduce.3' "
                              "(all_reduce of f32[1], 4 bytes) at train.py:41"));
  EXPECT_THAT(text, HasSubstr("rank 1 finished 'all_reduce.3'"));
  EXPECT_THAT(text, HasSubstr(") is sleeping"));
  EXPECT_THAT(text, HasSubstr("  rank 0       .  .  .  .  .  .  .  .  .  .  .  .  W\n"
                              "  rank 1       .  .  .  .  .  .  .  .  .  .  .  .  -\n"
                              "  rank 2       .  .  .  .  .  .  .  .  .  .  .  .  W\n"));
  const Status verdict = verdictOf(*view, diagnosis);
  EXPECT_EQ(verdict.error(), Error::jobStandsStill);
  EXPECT_THAT(verdict.message(), HasSubstr("ranks 0, 2 wait there"));
}

TEST_F(RecordProcesses, OneThatWasKilledIsReadAfterwards) {
  start(3, [](Communicator &communicator, int64_t rank, Report &report) -> Status {
    TILEWRIGHT_TRY(sums(communicator, 5, 3));
    report.say("runs");
    if (rank == 2)
      std::this_thread::sleep_for(60s);
    Status status = sums(communicator, 1, 3);
    report.say(concat("told: ", status.message()));
    return Status();
  });
  for (size_t rank = 0; rank < 3; ++rank)
    processes.awaitText(rank, "runs");
  processes.signal(2, SIGKILL);
  for (size_t rank = 0; rank < 2; ++rank)
    EXPECT_EQ(processes.end(rank), "");
  EXPECT_EQ(processes.end(2), "ended by signal 9");
  const Diagnosis diagnosis = explain();
  ASSERT_EQ(diagnosis.stuck.size(), 1U) << text;
  EXPECT_THAT(diagnosis.stuck[0].missing, ElementsAre(2));
  EXPECT_EQ(diagnosis.stuck[0].sequence, 5U);
  EXPECT_TRUE(diagnosis.stuck[0].waiting[0].gaveUp);
  EXPECT_THAT(text, HasSubstr("rank 2 is missing from collective 5 of [0, 1, 2]: 'all_reduce.3'"));
  EXPECT_THAT(text, HasSubstr("has ended without a report: it was killed or crashed"));
  EXPECT_THAT(text, HasSubstr("rank 0 gave up after"));
}

TEST_F(RecordProcesses, OneThatIsStoppedIsSaidToBe) {
  start(2, [](Communicator &communicator, int64_t rank, Report &report) -> Status {
    TILEWRIGHT_TRY(sums(communicator, 100, 2));
    report.say("runs");
    return test::sumForEver(communicator, 1, 2);
  });
  for (size_t rank = 0; rank < 2; ++rank)
    processes.awaitText(rank, "runs");
  processes.signal(1, SIGSTOP);
  const Diagnosis diagnosis = explain();
  ASSERT_FALSE(diagnosis.stuck.empty()) << text;
  // It may have been stopped before a collective or in it.
  EXPECT_THAT(diagnosis.stuck[0].blamed, ElementsAre(1)) << text;
  EXPECT_THAT(text, HasSubstr("is stopped: `kill -CONT "));
}

TEST_F(RecordProcesses, OneThatTookAnotherBranchIsShownWithBothCalls) {
  start(2, [](Communicator &communicator, int64_t rank, Report &report) -> Status {
    TILEWRIGHT_TRY(sums(communicator, 3, 2));
    // Two numbers on one rank, one on the other.
    (void)test::sumOnes(communicator, rank == 0 ? 1 : 2, 2);
    return Status();
  });
  EXPECT_EQ(processes.end(0), "");
  EXPECT_EQ(processes.end(1), "");
  const Diagnosis diagnosis = explain();
  ASSERT_EQ(diagnosis.stuck.size(), 1U) << text;
  ASSERT_TRUE(diagnosis.stuck[0].mismatch);
  EXPECT_EQ(diagnosis.stuck[0].sequence, 3U);
  EXPECT_THAT(text, HasSubstr("rank 0 called 'all_reduce.3' (all_reduce of f32[1], 4 bytes) at "
                              "train.py:41 where rank 1 called 'all_reduce.3' (all_reduce of "
                              "f32[2], 8 bytes) at train.py:41"));
}

TEST_F(RecordProcesses, WhoWaitsForAWaiterIsNotToBlame) {
  // Pairs {0, 1} and {1, 2}: rank 2 sleeps, rank 1 waits for it, rank 0 for rank 1.
  start(3, [](Communicator &communicator, int64_t rank, Report &report) -> Status {
    const std::vector<std::vector<int64_t>> left = {{0, 1}, {2}}, right = {{0}, {1, 2}};
    float value = 1;
    auto *bytes = reinterpret_cast<std::byte *>(&value);
    Call call;
    call.reduction.operation = ReductionKind::add;
    call.tensors = {{ElementType::f32, {1}, {1}, bytes, bytes}};
    if (rank == 2)
      std::this_thread::sleep_for(60s);
    if (rank > 0) {
      call.groups = &right;
      call.name = "right";
      TILEWRIGHT_TRY(communicator.run(call));
    }
    call.groups = &left;
    call.name = "left";
    return communicator.run(call);
  });
  const auto isWhole = [&](const Diagnosis &diagnosis) { return diagnosis.stuck.size() == 2; };
  Diagnosis diagnosis = explain();
  for (int tries = 0; tries < 100 && !isWhole(diagnosis); ++tries)
    diagnosis = explain();
  ASSERT_EQ(diagnosis.stuck.size(), 2U) << text;
  EXPECT_THAT(diagnosis.stuck[0].blamed, ElementsAre(2)) << text;
  EXPECT_THAT(diagnosis.stuck[1].missing, ElementsAre(1));
  EXPECT_TRUE(diagnosis.stuck[1].blamed.empty());
  EXPECT_THAT(text, HasSubstr("rank 2 is missing from collective 0 of [1, 2]: 'right'"));
}

/// Recordings of 64 processes with full rings, as at the end of a long job.
TEST_F(RecordProcesses, SixtyFourProcessesAreExplainedWithinATenthOfASecond) {
  constexpr int64_t ranks = 64;
  std::vector<std::shared_ptr<Recorder>> recorders;
  const std::vector<std::vector<int64_t>> all;
  Call call;
  call.groups = &all;
  call.name = "all_reduce.0";
  Clique everybody;
  for (int64_t rank = 0; rank < ranks; ++rank)
    everybody.push_back(rank);
  for (int64_t rank = 0; rank < ranks; ++rank) {
    auto made = Recorder::create({.folder = folder,
                                  .job = "many",
                                  .process = rank,
                                  .processes = ranks,
                                  .jobRanks = ranks,
                                  .ranks = {rank}});
    ASSERT_TRUE(made.isOk());
    Track &track = *(*made)->trackOf(rank);
    const Recorder::CallSite row = (*made)->callSiteOf(
        track, call, {rank / 8 * 8, rank / 8 * 8 + 1, rank / 8 * 8 + 2, rank / 8 * 8 + 3}, "shm");
    const Recorder::CallSite callSite = (*made)->callSiteOf(track, call, everybody, "shm");
    for (int i = 0; i < 20000; ++i)
      track.end(track.begin(i % 4 ? callSite.site : row.site,
                            i % 4 ? *callSite.progress : *row.progress, 1, State::waits),
                true);
    if (rank != 17)
      track.begin(callSite.site, *callSite.progress, 1, State::waits);
    recorders.push_back(*std::move(made));
  }
  double best = 1e9, bestOfProcessor = 1e9;
  for (int i = 0; i < 5; ++i) {
    const std::clock_t processor = std::clock();
    const auto begin = std::chrono::steady_clock::now();
    std::vector<std::string> notes;
    auto made = viewOf({folder}, "", 1024, notes);
    ASSERT_TRUE(made.isOk());
    const Diagnosis diagnosis = diagnose(**made, 0s);
    const std::string said = toText(**made, diagnosis, notes);
    best = std::min(
        best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
                  .count());
    bestOfProcessor = std::min(bestOfProcessor, static_cast<double>(std::clock() - processor) *
                                                    1000 / CLOCKS_PER_SEC);
    ASSERT_FALSE(diagnosis.stuck.empty()) << said;
    EXPECT_THAT(diagnosis.stuck[0].missing, ElementsAre(17));
    EXPECT_EQ(diagnosis.stuck[0].waiting.size(), 63U);
  }
  std::printf("64 recordings explained in %.1f ms, of which %.1f ms of processor\n", best,
              bestOfProcessor);
  // One thread, and files in memory: on an idle machine CPU time and elapsed time are the same.
  // Test machines are not idle, so only CPU time is checked.
  EXPECT_LT(bestOfProcessor, 100.0 * test::slowness());
}

} // namespace
} // namespace tilewright::collective::record
