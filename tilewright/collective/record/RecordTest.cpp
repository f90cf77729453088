#include "tilewright/collective/local/LocalCollectives.h"
#include "tilewright/collective/record/Diagnosis.h"
#include "tilewright/collective/record/Folder.h"
#include "tilewright/collective/record/RecordedEngine.h"
#include "tilewright/support/Concat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

namespace tilewright::collective::record {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

/// Makes a temporary folder for each test.
class Record : public ::testing::Test {
protected:
  Record() {
    char name[] = "/tmp/tilewright-record-XXXXXX";
    folder = mkdtemp(name);
  }
  ~Record() override { std::filesystem::remove_all(folder); }

  std::shared_ptr<Recorder> make(Recorder::Options options = {}) {
    options.folder = folder;
    Result<std::shared_ptr<Recorder>> made = Recorder::create(options);
    EXPECT_TRUE(made.isOk()) << std::move(made).takeStatus().toString();
    return *made;
  }

  std::string folder;
};

/// A call together with the value and the groups that it refers to.
struct Sum {
  explicit Sum(std::vector<std::vector<int64_t>> groups = {}, std::string name = "all_reduce.3",
               std::string place = "train.py:41")
      : groups(std::move(groups)), name(std::move(name)), place(std::move(place)) {
    call.groups = &this->groups;
    call.reduction.operation = ReductionKind::add;
    call.name = this->name;
    call.place = this->place;
    auto *bytes = reinterpret_cast<std::byte *>(&value);
    call.tensors = {{ElementType::f32, {1}, {1}, bytes, bytes}};
  }
  Sum(const Sum &) = delete;
  std::vector<std::vector<int64_t>> groups;
  std::string name, place;
  float value = 1;
  Call call;
};

/// Runs `body` for each of two ranks of one process.
template <typename Body> void runTwo(Engine &engine, int64_t run, Body &&body) {
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      auto communicator = engine.join({run, rank, 2, {}});
      ASSERT_TRUE(communicator.isOk());
      body(**communicator);
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST_F(Record, EntriesSayWhatWasDoneWhereAndWhen) {
  std::shared_ptr<Recorder> recorder = make({.job = "7", .jobRanks = 2, .ranks = {0, 1}});
  RecordedEngine engine(std::make_unique<LocalCollectives>(20s), recorder, "local");
  runTwo(engine, 5, [&](Communicator &communicator) {
    Sum first, second({{0, 1}}, "all_reduce.4", "train.py:42");
    for (int i = 0; i < 3; ++i)
      EXPECT_TRUE(communicator.run(first.call).isOk());
    auto ticket = communicator.start(second.call);
    ASSERT_TRUE(ticket.isOk());
    EXPECT_TRUE(communicator.finish(*ticket).isOk());
    EXPECT_EQ(second.value, 2);
  });

  Result<Recording> recording = readRecording(recorder->path());
  ASSERT_TRUE(recording.isOk()) << std::move(recording).takeStatus().toString();
  EXPECT_EQ(recording->job, "7");
  EXPECT_EQ(recording->pid, static_cast<uint64_t>(getpid()));
  ASSERT_THAT(recording->ranks, SizeIs(2));
  // Empty groups mean all ranks, so both calls have the same clique.
  ASSERT_THAT(recording->cliques, SizeIs(1));
  EXPECT_THAT(recording->cliques[0].members, ElementsAre(0, 1));
  for (const RecordedRank &rank : recording->ranks) {
    ASSERT_THAT(rank.entries, SizeIs(4));
    int64_t before = 0;
    for (size_t i = 0; i < 4; ++i) {
      const RecordedEntry &entry = rank.entries[i];
      EXPECT_EQ(entry.state, State::done);
      EXPECT_EQ(entry.run, 5U);
      EXPECT_EQ(entry.sequence, i);
      EXPECT_LE(before, entry.begin);
      EXPECT_LE(entry.begin, entry.end);
      before = entry.end;
      EXPECT_EQ(describe(recording->sites[entry.site]),
                i < 3 ? "'all_reduce.3' (all_reduce of f32[1], 4 bytes) at train.py:41"
                      : "'all_reduce.4' (all_reduce of f32[1], 4 bytes) at train.py:42");
    }
    // On the host's monotonic clock.
    const auto now = static_cast<int64_t>(monotonicNanoseconds());
    EXPECT_LT(std::abs(now - before), 60'000'000'000);
    EXPECT_LE(before, now + 1'000'000);
  }
}

TEST_F(Record, FailuresAndWhatWasLeftAreToldApart) {
  std::shared_ptr<Recorder> recorder = make({.jobRanks = 2, .ranks = {0, 1}});
  RecordedEngine engine(std::make_unique<LocalCollectives>(50ms), recorder, "local");
  auto first = engine.join({1, 0, 2, {}});
  Sum sum;
  EXPECT_EQ((*first)->run(sum.call).error(), Error::collectiveStuck);
  Recording recording = *readRecording(recorder->path());
  EXPECT_EQ(recording.ranks[0].entries.at(0).state, State::failed);
  EXPECT_THAT(recording.ranks[0].failure, HasSubstr("rank 0 waited 0.05 s in 'all_reduce.3'"));
  EXPECT_THAT(recording.ranks[1].entries, SizeIs(0));

  auto second = engine.join({2, 1, 2, {}});
  ASSERT_TRUE((*second)->start(sum.call).isOk());
  recording = *readRecording(recorder->path());
  EXPECT_EQ(recording.ranks[1].entries.at(0).state, State::started);
  *second = nullptr;
  recording = *readRecording(recorder->path());
  EXPECT_EQ(recording.ranks[1].entries.at(0).state, State::failed);
}

TEST_F(Record, WhatEndsAnEngineReachesIt) {
  struct Revoked final : Engine {
    explicit Revoked(std::string &why) : why(why) {}
    Result<std::unique_ptr<Communicator>> join(const RunMembership &) override {
      return Status(Code::aborted, why);
    }
    void revoke(const std::string &reason) override { why = reason; }
    std::string &why;
  };
  std::string why;
  RecordedEngine engine(std::make_unique<Revoked>(why), make(), "other");
  engine.revoke("rank 3 died");
  EXPECT_EQ(why, "rank 3 died");
  EXPECT_EQ(engine.join({}).takeStatus().message(), "rank 3 died");
}

TEST_F(Record, TheRingKeepsTheLastAndTheLaneAll) {
  std::shared_ptr<Recorder> recorder = make({.jobRanks = 2, .ranks = {0}, .entries = 64});
  Track &track = *recorder->trackOf(0);
  Sum sum, other({{0}}, "all_reduce.9");
  const Recorder::CallSite callSite = recorder->callSiteOf(track, sum.call, {0, 1}, "shm"),
                           early = recorder->callSiteOf(track, other.call, {0}, "shm");
  track.end(track.begin(early.site, *early.progress, 1, State::waits), true);
  for (int i = 0; i < 3000; ++i)
    track.end(track.begin(callSite.site, *callSite.progress, 1, State::waits), true);
  const Recording recording = *readRecording(recorder->path());
  const RecordedRank &rank = recording.ranks[0];
  EXPECT_EQ(rank.begun, 3001U);
  // One less than the ring holds, because that one may be overwritten at any time.
  ASSERT_THAT(rank.entries, SizeIs(63));
  EXPECT_EQ(rank.entries.front().sequence, 2937U);
  EXPECT_EQ(rank.entries.back().sequence, 2999U);
  ASSERT_THAT(rank.progress, SizeIs(2));
  EXPECT_EQ(rank.progress[0].position, uint64_t(1) << 32 | 3000);
  EXPECT_EQ(rank.progress[1].position, uint64_t(1) << 32 | 1);
  // Readers can ask for only the newest entries.
  EXPECT_THAT(readRecording(recorder->path(), 10)->ranks[0].entries, SizeIs(10));
}

TEST_F(Record, AnEntryThatWasBeingWrittenIsRecognised) {
  std::shared_ptr<Recorder> recorder = make({.jobRanks = 2, .ranks = {0}, .entries = 64});
  Track &track = *recorder->trackOf(0);
  Sum sum;
  const Recorder::CallSite callSite = recorder->callSiteOf(track, sum.call, {0, 1}, "shm");
  for (int i = 0; i < 3; ++i)
    track.end(track.begin(callSite.site, *callSite.progress, 1, State::waits), true);
  std::fstream file(recorder->path(), std::ios::in | std::ios::out | std::ios::binary);
  const auto ring = pageBytes + tableBytes;
  const auto change = [&](size_t at, auto value) {
    file.seekp(static_cast<std::streamoff>(at));
    file.write(reinterpret_cast<const char *>(&value), sizeof value);
    file.flush();
  };
  // Killed before it wrote the stamp: this entry is missing, the others are there.
  change(ring + pageBytes + 2 * sizeof(Entry), uint32_t(0));
  Recording recording = *readRecording(recorder->path());
  EXPECT_THAT(recording.ranks[0].entries, SizeIs(2));
  EXPECT_EQ(recording.ranks[0].unreadable, 1U);
  // Killed after it wrote the stamp and before it was counted: the entry is there.
  change(ring + pageBytes + 2 * sizeof(Entry), stampOf(2, State::waits));
  change(ring + offsetof(RingHeader, next), uint64_t(2));
  recording = *readRecording(recorder->path());
  EXPECT_THAT(recording.ranks[0].entries, SizeIs(3));
  EXPECT_EQ(recording.ranks[0].entries[2].state, State::waits);
  // A stamp of another lap around the ring does not count.
  change(ring + pageBytes + sizeof(Entry), stampOf(1 + 64, State::done));
  EXPECT_THAT(readRecording(recorder->path())->ranks[0].entries, SizeIs(2));
}

TEST_F(Record, DamagedFilesAreRefusedWithAReason) {
  std::shared_ptr<Recorder> recorder = make({.jobRanks = 2, .ranks = {0}, .entries = 64});
  std::ifstream file(recorder->path(), std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(file), {}};
  const auto parse = [](std::string_view bytes) {
    return parseRecording(std::as_bytes(std::span(bytes)), "x.flight");
  };
  ASSERT_TRUE(parse(whole).isOk());
  for (size_t size : {size_t(0), size_t(7), sizeof(FileHeader), whole.size() - 1}) {
    const Status status = parse(whole.substr(0, size)).takeStatus();
    EXPECT_EQ(status.error(), Error::recordingDamaged) << size;
    EXPECT_THAT(status.message(), HasSubstr("x.flight has "));
  }
  std::string other = whole;
  other[0] = 'X';
  EXPECT_THAT(parse(other).takeStatus().message(), HasSubstr("is not a recording"));
  other = whole;
  other[8] = 9;
  EXPECT_THAT(parse(other).takeStatus().message(),
              HasSubstr("has version 9, but this build reads 1"));
  EXPECT_EQ(readRecording(folder + "/none.flight").takeStatus().error(), Error::recordingsMissing);
}

TEST_F(Record, AFullTableLeavesCollectivesWithoutNames) {
  std::shared_ptr<Recorder> recorder = make({.jobRanks = 2, .ranks = {0}, .entries = 64});
  Track &track = *recorder->trackOf(0);
  uint32_t last = 1;
  for (int i = 0; i < 10000 && last; ++i) {
    Sum sum({}, concat("all_reduce.", i), std::string(100, 'x'));
    last = recorder->callSiteOf(track, sum.call, {0, 1}, "shm").site;
  }
  EXPECT_EQ(last, 0U);
  Sum sum({}, "one.more", std::string(100, 'x'));
  const Recorder::CallSite callSite = recorder->callSiteOf(track, sum.call, {0, 1}, "shm");
  track.end(track.begin(callSite.site, *callSite.progress, 1, State::waits), true);
  const Recording recording = *readRecording(recorder->path());
  EXPECT_GT(recording.sites.size(), 1000U);
  EXPECT_EQ(recording.ranks[0].unreadable, 1U);
  EXPECT_EQ(recording.ranks[0].progress.at(0).position, uint64_t(1) << 32 | 1);
}

TEST_F(Record, LargeCliquesTakeFewBytes) {
  std::shared_ptr<Recorder> recorder = make({.jobRanks = 100'000, .ranks = {0}, .entries = 64});
  Track &track = *recorder->trackOf(0);
  Clique everybody, row;
  for (int64_t i = 0; i < 100'000; ++i)
    everybody.push_back(i);
  for (int64_t i = 0; i < 100'000; i += 8)
    row.push_back(i);
  Sum sum;
  EXPECT_EQ(recorder->callSiteOf(track, sum.call, everybody, "hosts").site, 1U);
  EXPECT_EQ(recorder->callSiteOf(track, sum.call, row, "hosts").site, 2U);
  const Recording recording = *readRecording(recorder->path());
  EXPECT_EQ(recording.cliques.at(0).members, everybody);
  EXPECT_EQ(recording.cliques.at(1).members, row);
}

TEST_F(Record, WhereFilesGo) {
  const Recorder::Options several{.process = 1, .processes = 2, .jobRanks = 2, .ranks = {1}};
  EXPECT_EQ(*openRecorder("off", several), nullptr);
  EXPECT_EQ(*openRecorder("auto", {}), nullptr); // a single process
  const std::string inside = folder + "/a/b";
  auto named = openRecorder(inside, {});
  ASSERT_TRUE(named.isOk());
  const std::string path = (*named)->path();
  EXPECT_THAT(path, HasSubstr(inside));
  *named = nullptr;
  EXPECT_TRUE(std::filesystem::exists(path)); // a recording that the user asked for stays
  EXPECT_EQ(readRecording(path)->ending, Ending::well);

  std::ofstream(folder + "/file") << "x";
  const Status status = openRecorder(folder + "/file/b", {}).takeStatus();
  EXPECT_EQ(status.error(), Error::recorderFile);
  EXPECT_THAT(status.message(), HasSubstr("runtime.flight-recorder"));
  EXPECT_EQ(openRecorder(inside, {.entries = 100}).takeStatus().error(), Error::optionValue);
  EXPECT_EQ(recordingsAt({folder}).takeStatus().error(), Error::recordingsMissing);
}

TEST_F(Record, WhatEndedWellIsRemovedUnlessItWasAskedFor) {
  for (bool isWell : {true, false}) {
    std::shared_ptr<Recorder> recorder =
        make({.jobRanks = 2, .ranks = {0}, .entries = 64, .removesWhenWell = true});
    Track &track = *recorder->trackOf(0);
    Sum sum;
    const Recorder::CallSite callSite = recorder->callSiteOf(track, sum.call, {0, 1}, "shm");
    const uint64_t number = track.begin(callSite.site, *callSite.progress, 1, State::waits);
    if (isWell)
      track.end(number, true);
    const std::string path = recorder->path();
    recorder.reset();
    EXPECT_EQ(std::filesystem::exists(path), !isWell);
  }
}

TEST_F(Record, OldFilesOfEndedProcessesAreRemoved) {
  const std::string alive = make({.job = "alive"})->path();
  for (int i = 0; i < 3; ++i) {
    // Pretend that it belongs to a process that ended long ago.
    const std::string path = make({.job = concat("old", i)})->path();
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(offsetof(FileHeader, pidStart));
    const uint64_t other = 1;
    file.write(reinterpret_cast<const char *>(&other), sizeof other);
    file.close();
    std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() +
                                               std::chrono::seconds(i));
  }
  removeEnded(folder, std::filesystem::file_size(alive) + 1);
  std::vector<std::string> left;
  const auto paths = recordingsAt({folder});
  for (const std::string &path : *paths)
    left.push_back(readRecording(path)->job);
  EXPECT_THAT(left, ElementsAre("alive", "old2"));
}

/// A handmade recording of one rank, on a host whose clock is off by `skew`.
Recording onHost(int64_t rank, const std::string &host, int64_t skew) {
  Recording recording;
  recording.job = "hosts";
  recording.host = host;
  recording.boot = "boot of " + host;
  recording.process = rank;
  recording.processes = recording.jobRanks = 3;
  recording.toReal = 1'700'000'000'000'000'000 + skew;
  recording.cliques = {{"hosts", {0, 1, 2}}};
  recording.sites = {{Kind::allReduce, 0, 0, 4, 1, "all_reduce.0", "a.py:1", "f32[1]"}};
  recording.ranks.resize(1);
  recording.ranks[0].rank = rank;
  return recording;
}

TEST(JobView, ClocksOfHostsAreBroughtTogetherByCollectives) {
  // True times; each host has its own monotonic clock and time of day.
  const int64_t boots[] = {0, 5'000'000'000, -7'000'000'000},
                skews[] = {0, 30'000'000, -20'000'000};
  std::vector<Recording> recordings;
  for (int64_t rank = 0; rank < 3; ++rank)
    recordings.push_back(onHost(rank, concat("host", rank), skews[rank] - boots[rank]));
  for (uint32_t i = 0; i < 100; ++i) {
    const int64_t round = 10'000'000'000 + int64_t(i) * 1'000'000;
    for (int64_t rank = 0; rank < 3; ++rank) {
      // Ranks join one after the other, in rotating order, and all end 20 to 60 us after the last
      // has joined.
      const int64_t begin = round + (rank + i) % 3 * 100'000,
                    end = round + 220'000 + int64_t((rank * 7 + i * 3) % 5) * 10'000;
      recordings[static_cast<size_t>(rank)].ranks[0].entries.push_back(
          {i, State::done, 0, 1, i, begin + boots[rank], end + boots[rank]});
    }
  }
  const JobView view(std::move(recordings));
  ASSERT_THAT(view.clocks(), SizeIs(3));
  EXPECT_EQ(view.clocks()[0].bound, 0);
  for (size_t host : {1, 2}) {
    const HostClock &clock = view.clocks()[host];
    // The error of true times on the common clock, which is the first host's.
    const int64_t wrong = clock.toCommon + boots[host] - view.clocks()[0].toCommon;
    EXPECT_GE(clock.bound, 0);
    EXPECT_LE(clock.bound, 60'000);
    EXPECT_LE(std::abs(wrong), clock.bound) << "host " << host;
  }
  view.forEachCollective([&](std::span<const JobView::Visit> visits) {
    ASSERT_THAT(visits, SizeIs(3));
    for (const JobView::Visit &a : visits)
      for (const JobView::Visit &b : visits)
        EXPECT_GE(a.end, b.begin);
  });
}

TEST(JobView, CountersWrapAround) {
  EXPECT_EQ(ahead(uint64_t(1) << 32 | 5, uint64_t(1) << 32 | 3), 2);
  EXPECT_EQ(ahead(uint64_t(1) << 32 | 1, uint64_t(1) << 32 | 0xFFFFFFFF), 2);
  EXPECT_GT(ahead(uint64_t(2) << 32, uint64_t(1) << 32 | 7), 7);
  EXPECT_LT(ahead(uint64_t(0xFFFFFFFF) << 32, uint64_t(0) << 32), 0);
}

TEST(Diagnosis, ACircleIsACircle) {
  // Rank 0 waits for 1 in {0, 1}, rank 1 for 2 in {1, 2}, rank 2 for 0 in {0, 2}.
  std::vector<Recording> recordings;
  const std::vector<std::vector<int64_t>> cliques = {{0, 1}, {1, 2}, {0, 2}};
  for (int64_t rank = 0; rank < 3; ++rank) {
    Recording recording = onHost(rank, "host", 0);
    recording.cliques = {{"hosts", cliques[static_cast<size_t>(rank)]}};
    recording.ranks[0].entries = {{0, State::waits, 0, 1, 0, 1000, 0}};
    recordings.push_back(std::move(recording));
  }
  const JobView view(std::move(recordings));
  const Diagnosis diagnosis = diagnose(view, 1s);
  EXPECT_TRUE(diagnosis.isHung);
  EXPECT_THAT(diagnosis.cycle, ElementsAre(0, 1, 2));
  EXPECT_THAT(toText(view, diagnosis, {}),
              HasSubstr("ranks 0, 1, 2 wait for each other in a cycle"));
}

TEST(Diagnosis, WhoIsSlowIsNamed) {
  std::vector<Recording> recordings;
  for (int64_t rank = 0; rank < 3; ++rank) {
    recordings.push_back(onHost(rank, "host", 0));
    for (uint32_t i = 0; i < 50; ++i)
      recordings.back().ranks[0].entries.push_back(
          {i, State::done, 0, 1, i, i * 1'000'000 + (rank == 1 ? 400'000 : rank * 100),
           i * 1'000'000 + 450'000});
  }
  const JobView view(std::move(recordings));
  const Diagnosis diagnosis = diagnose(view, 1s);
  EXPECT_FALSE(diagnosis.isHung);
  ASSERT_FALSE(diagnosis.stragglers.empty());
  EXPECT_EQ(diagnosis.stragglers[0].rank, 1);
  EXPECT_EQ(diagnosis.stragglers[0].last, 50U);
  EXPECT_THAT(
      toText(view, diagnosis, {}),
      HasSubstr("slowest  rank 1: last in 50 of 50 collectives, 400.0 us behind the first"));
}

} // namespace
} // namespace tilewright::collective::record
