// GPUs in several processes: data, a rank that is killed, stopped or does not come, and the group
// that remains. The library is that of the virtual GPUs.
#include "tilewright/collective/conformance/Reference.h"
#include "tilewright/collective/membership/Group.h"
#include "tilewright/collective/nccl/NcclEngine.h"
#include "tilewright/collective/nccl/testing/DeviceRanks.h"
#include "tilewright/collective/testing/Processes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <thread>

namespace tilewright::collective::nccl {
namespace {

using namespace std::chrono_literals;
using collective::test::Processes;
using collective::test::Report;
using collective::test::slowness;
using ::testing::AnyOf;
using ::testing::HasSubstr;

/// One process of a job in which each process has the same number of ranks.
class Process {
public:
  Process(int64_t process, int64_t processes, int64_t ranksEach, KeyValueStore &store)
      : gpus(ranksEach), store(store) {
    job.process = process;
    for (int64_t rank = 0; rank < processes * ranksEach; ++rank)
      job.processOfRank.push_back(rank / ranksEach);
  }

  Status connect(std::chrono::nanoseconds timeout, NcclEngine::Options options = {}) {
    options.library = test::ncclLibrary();
    options.timeout = timeout;
    TILEWRIGHT_ASSIGN(auto engine, NcclEngine::connect(job, store, gpus, options));
    ranks = std::make_unique<test::DeviceRanks>(std::move(engine), gpus, timeout);
    return Status();
  }

  /// Runs `body` on a thread for each of this process's ranks; the first failure.
  Status run(const std::vector<int64_t> &members,
             const std::function<Status(Communicator &)> &body) {
    std::vector<std::thread> threads;
    std::vector<Status> ends(members.size());
    for (size_t i = 0; i < members.size(); ++i)
      if (job.processOfRank[static_cast<size_t>(members[i])] == job.process)
        threads.emplace_back([&, i] {
          auto joined = ranks->join(
              {1, static_cast<int64_t>(i), static_cast<int64_t>(members.size()), members});
          ends[i] = body(**joined);
          if (!ends[i].isOk())
            (*joined)->abandon(ends[i]);
        });
    for (std::thread &thread : threads)
      thread.join();
    for (Status &end : ends)
      TILEWRIGHT_TRY(std::move(end));
    return Status();
  }

  std::vector<int64_t> allRanks() const {
    std::vector<int64_t> all;
    for (size_t rank = 0; rank < job.processOfRank.size(); ++rank)
      all.push_back(static_cast<int64_t>(rank));
    return all;
  }

  Membership job;
  test::Gpus gpus;
  KeyValueStore &store;
  std::unique_ptr<test::DeviceRanks> ranks;
};

class NcclProcesses : public ::testing::TestWithParam<std::pair<int64_t, int64_t>> {};

TEST_P(NcclProcesses, ComputeWhatOneProcessComputes) {
  const auto [count, ranksEach] = GetParam();
  const int64_t ranks = count * ranksEach;
  using conformance::Case;
  std::vector<Case> cases;
  conformance::Groups odd(2), reversed(1), ring;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    odd[static_cast<size_t>(rank % 2)].push_back(rank);
    reversed[0].insert(reversed[0].begin(), rank);
    ring.push_back({rank, (rank + 1) % ranks});
  }
  for (const conformance::Groups &groups : {conformance::Groups(), odd, reversed}) {
    for (int64_t size : {1, 1031, 200'003})
      for (bool isInPlace : {false, true})
        cases.push_back({Kind::allReduce,
                         ElementType::f32,
                         {size},
                         groups,
                         ReductionKind::add,
                         0,
                         0,
                         isInPlace});
    cases.push_back({Kind::allGather, ElementType::i16, {5, 3}, groups});
    cases.push_back({Kind::reduceScatter, ElementType::bf16, {ranks * 3, 5}, groups});
    cases.push_back({Kind::allToAll, ElementType::f64, {ranks * 2, 3}, groups});
    cases.push_back({Kind::broadcast, ElementType::c64, {11}, groups});
  }
  cases.push_back({Kind::permute, ElementType::f64, {1001}, ring});
  Processes processes;
  for (int64_t process = 0; process < count; ++process)
    processes.start([&, process](KeyValueStore &store, Report &) -> Status {
      Process self(process, count, ranksEach, store);
      TILEWRIGHT_TRY(self.connect(60s));
      return self.run(self.allRanks(), [&](Communicator &rank) {
        for (const Case &each : cases)
          TILEWRIGHT_TRY(conformance::Trial(each, rank.rank(), ranks).run(rank));
        return Status();
      });
    });
  for (size_t process = 0; process < static_cast<size_t>(count); ++process)
    EXPECT_EQ(processes.end(process), "");
}
INSTANTIATE_TEST_SUITE_P(Of, NcclProcesses,
                         ::testing::Values(std::pair<int64_t, int64_t>{2, 1},
                                           std::pair<int64_t, int64_t>{2, 2},
                                           std::pair<int64_t, int64_t>{4, 2}));

/// Sums until a process is lost, shrinks, sums again.
Status sumAndHeal(int64_t process, int64_t count, int64_t ranksEach, KeyValueStore &store,
                  Report &report) {
  Process self(process, count, ranksEach, store);
  membership::Group::Config config;
  config.process = process;
  for (int64_t each = 0; each < count; ++each)
    config.processes.push_back(each);
  config.address = "127.0.0.1";
  TILEWRIGHT_ASSIGN(auto group, membership::Group::join(config, store, after(60s)));
  TILEWRIGHT_TRY(self.connect(60s));
  membership::View view = group->view();
  auto watch = group->watch(view.epoch, [&](const membership::Reason &why) {
    if (!why.hasLeft)
      self.ranks->revoke(why.toString(self.job));
  });
  const auto ranks = static_cast<float>(count * ranksEach);
  int rounds = 0;
  Status status = self.run(self.allRanks(), [&](Communicator &rank) {
    return collective::test::sumForEver(rank, 5000, ranks, [&] {
      if (rank.rank() == process * ranksEach && ++rounds == 20)
        report.say("runs");
    });
  });
  report.say("noticed");
  report.say(status.toString());
  watch.reset();
  group->revoke(view.epoch, {process, process, {}, {}, status.message()});
  TILEWRIGHT_ASSIGN(view, group->agree(view.epoch, after(30s)));
  std::vector<int64_t> members, lost;
  for (int64_t rank : self.allRanks())
    (std::count(view.members.begin(), view.members.end(),
                self.job.processOfRank[static_cast<size_t>(rank)]) > 0
         ? members
         : lost)
        .push_back(rank);
  const auto notes = group->store(view.epoch);
  TILEWRIGHT_ASSIGN(auto shrunk, self.ranks->device().shrink(lost, view.epoch, *notes, after(30s)));
  self.ranks = std::make_unique<test::DeviceRanks>(std::move(shrunk), self.gpus, 30s);
  TILEWRIGHT_TRY(self.run(members, [&](Communicator &rank) {
    return collective::test::sumOnes(rank, 5000, static_cast<float>(members.size()));
  }));
  report.say("healed");
  return Status();
}

/// `fault` kills or stops process 2 of three. The others must report it within `noticed`.
void expectTheOthersGoOn(int fault, std::chrono::milliseconds noticed,
                         const ::testing::Matcher<const std::string &> &text, int64_t ranksEach) {
  Processes processes;
  for (int64_t process = 0; process < 3; ++process)
    processes.start([=](KeyValueStore &store, Report &report) {
      return sumAndHeal(process, 3, ranksEach, store, report);
    });
  for (size_t process = 0; process < 3; ++process)
    processes.awaitText(process, "runs");
  const auto begin = std::chrono::steady_clock::now();
  processes.signal(2, fault);
  for (size_t process : {0, 1}) {
    EXPECT_LT(processes.awaitText(process, "noticed") - begin, noticed * slowness());
    processes.awaitText(process, "healed");
    EXPECT_EQ(processes.end(process), "") << processes.said(process);
    EXPECT_THAT(processes.said(process), text);
  }
}

TEST(NcclFaults, AKilledProcessIsNamedWithinFiftyMillisecondsAndTheOthersShrink) {
  for (int64_t ranksEach : {1, 2})
    expectTheOthersGoOn(SIGKILL, 50ms,
                        AnyOf(HasSubstr("process 2"), HasSubstr(concat("rank ", 2 * ranksEach)),
                              HasSubstr(concat("rank ", 3 * ranksEach - 1))),
                        ranksEach);
}

TEST(NcclFaults, AStoppedProcessEndsTheCollectivesOfTheOthersAndTheyShrink) {
  expectTheOthersGoOn(SIGSTOP, 500ms, HasSubstr("process 2"), 1);
}

/// Several unique ids; memory that becomes a window, and memory that is registered.
TEST(NcclWindows, AreRegisteredByAllRanks) {
  Processes processes;
  for (int64_t process = 0; process < 2; ++process)
    processes.start([=](KeyValueStore &store, Report &) -> Status {
      Process self(process, 2, 2, store);
      NcclEngine::Options options;
      options.ranksPerId = 2;
      TILEWRIGHT_TRY(self.connect(60s, options));
      DeviceEngine &engine = self.ranks->device();
      const std::vector<DeviceClique> cliques = {{{}}, {{{0, 3}, {1, 2}}, false, 1}};
      TILEWRIGHT_ASSIGN(auto own, engine.prepare(self.allRanks(), cliques, after(60s)));
      std::vector<Status> ends(own.size());
      std::vector<std::thread> threads;
      for (size_t i = 0; i < own.size(); ++i)
        threads.emplace_back([&, i] {
          auto run = [&]() -> Status {
            const int64_t rank = own[i]->rank();
            TILEWRIGHT_ASSIGN(std::byte * data, engine.allocate(rank, 1 << 20));
            for (size_t clique : {0, 1}) {
              TILEWRIGHT_ASSIGN(void *window,
                                own[i]->registerWindow(clique, data, 1 << 20, after(30s)));
              if (!window)
                return Status(Code::internal, "no window");
            }
            TILEWRIGHT_ASSIGN(std::byte * plain, self.gpus.allocate(4096));
            TILEWRIGHT_TRY(own[i]->registerMemory(plain, 4096));
            const DeviceStream stream = self.gpus.stream(rank);
            Call call;
            call.reduction.operation = ReductionKind::add;
            call.name = "in a window";
            call.tensors = {{ElementType::f32, {1024}, {1024}, plain, data}};
            std::vector<float> in(1024, static_cast<float>(rank + 1)), out(1024);
            auto *const host = reinterpret_cast<std::byte *>(in.data());
            TILEWRIGHT_TRY(self.gpus.copy(stream, plain, host, 4096));
            TILEWRIGHT_TRY(own[i]->enqueue(call, 1, stream));
            TILEWRIGHT_TRY(
                self.gpus.copy(stream, reinterpret_cast<std::byte *>(out.data()), data, 4096));
            TILEWRIGHT_TRY(self.gpus.wait(stream, [&] { return own[i]->check(); }, after(30s)));
            TILEWRIGHT_TRY(own[i]->deregisterMemory(plain));
            self.gpus.free(plain);
            return out[7] == 5 ? Status() : Status(Code::internal, "wrong sum");
          };
          ends[i] = self.gpus.makeCurrent(own[i]->rank());
          if (ends[i].isOk())
            ends[i] = run();
        });
      for (std::thread &thread : threads)
        thread.join();
      for (Status &end : ends)
        TILEWRIGHT_TRY(std::move(end));
      return Status();
    });
  for (size_t process : {0, 1}) {
    EXPECT_EQ(processes.end(process), "") << processes.said(process);
  }
}

TEST(NcclFaults, AProcessThatDoesNotComeIsNamed) {
  Processes processes;
  processes.start([](KeyValueStore &store, Report &) -> Status {
    Process self(0, 2, 2, store);
    TILEWRIGHT_TRY(self.connect(300ms));
    return self.run(self.allRanks(),
                    [](Communicator &rank) { return collective::test::sumOnes(rank, 10, 4); });
  });
  EXPECT_NE(processes.end(0), "");
  EXPECT_THAT(processes.said(0), HasSubstr("process 1 with ranks [2, 3] did not load the program"));
}

} // namespace
} // namespace tilewright::collective::nccl
