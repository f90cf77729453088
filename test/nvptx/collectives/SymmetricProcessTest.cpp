// Our own kernels on GPUs of several processes, which import each other's memory: data, a process
// that does not come, and one that is lost.
#include "test/nvptx/collectives/Team.h"

#include "tilewright/collective/nccl/testing/DeviceRanks.h"
#include "tilewright/collective/testing/Processes.h"
#include "tilewright/runtime/cuda/FindDriver.h"
#include "tilewright/runtime/cuda/symmetric/SymmetricEngine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <thread>

namespace tilewright::runtime::cuda {
namespace {

using namespace std::chrono_literals;
using namespace collective::conformance;
using collective::Communicator;
using collective::Kind;
using collective::nccl::test::DeviceRanks;
using collective::nccl::test::Gpus;
using collective::test::Processes;
using collective::test::Report;
using numerics::ElementType;
using ::testing::HasSubstr;

/// One process of a job in which each process has the same number of ranks.
class Process {
public:
  Process(int64_t process, int64_t processes, int64_t ranksEach)
      : gpus(ranksEach), ranksEach(ranksEach) {
    job.process = process;
    for (int64_t rank = 0; rank < processes * ranksEach; ++rank)
      job.processOfRank.push_back(rank / ranksEach);
  }
  Status connect(KeyValueStore &store, std::chrono::nanoseconds timeout) {
    TILEWRIGHT_ASSIGN(auto api,
                      findDriver({.library = "", .virtualChip = "sm_90a", .devices = {}}));
    std::vector<int> ordinals(static_cast<size_t>(ranksEach));
    std::iota(ordinals.begin(), ordinals.end(), 0);
    SymmetricEngine::Options options;
    options.windowBytes = size_t(256) << 10;
    options.points = 2;
    TILEWRIGHT_ASSIGN(auto engine, SymmetricEngine::connect(job, store, api, ordinals, gpus,
                                                            &nvptx::compileImage, options));
    ranks = std::make_unique<DeviceRanks>(std::move(engine), gpus, timeout);
    return Status();
  }
  /// Runs `body` on a thread for each of this process's ranks; the first failure.
  Status run(const std::function<Status(Communicator &)> &body) {
    std::vector<Status> ends(static_cast<size_t>(ranksEach));
    std::vector<std::thread> threads;
    for (int64_t i = 0; i < ranksEach; ++i)
      threads.emplace_back([&, i] {
        auto joined = ranks->join(
            {1, job.process * ranksEach + i, static_cast<int64_t>(job.processOfRank.size()), {}});
        ends[static_cast<size_t>(i)] = body(**joined);
      });
    for (std::thread &thread : threads)
      thread.join();
    for (Status &end : ends)
      TILEWRIGHT_TRY(std::move(end));
    return Status();
  }

  collective::Membership job;
  Gpus gpus;
  const int64_t ranksEach;
  std::unique_ptr<DeviceRanks> ranks;
};

/// All kinds in groups that cross processes, in every order of ranks.
Status tryEveryKind(Communicator &rank) {
  const int64_t ranks = rank.size();
  Groups odd(2), reversed(1), ring;
  for (int64_t each = 0; each < ranks; ++each) {
    odd[static_cast<size_t>(each % 2)].push_back(each);
    reversed[0].insert(reversed[0].begin(), each);
    ring.push_back({each, (each + 1) % ranks});
  }
  std::vector<Case> cases;
  for (const Groups &groups : {Groups(), odd, reversed}) {
    for (int64_t size : {1, 1031, 100'003})
      cases.push_back({Kind::allReduce, ElementType::f32, {size}, groups});
    cases.push_back({Kind::allGather, ElementType::i16, {5, 3}, groups});
    cases.push_back({Kind::reduceScatter, ElementType::bf16, {ranks * 3, 5}, groups});
    cases.push_back({Kind::allToAll, ElementType::f64, {ranks * 2, 3}, groups});
    cases.push_back({Kind::broadcast, ElementType::c64, {11}, groups});
    TILEWRIGHT_TRY(tryRaggedRows(groups, 7, 5, rank));
  }
  cases.push_back({Kind::permute, ElementType::f64, {1001}, ring});
  for (const Case &each : cases)
    TILEWRIGHT_TRY(Trial(each, rank.rank(), ranks).run(rank));
  return Status();
}

class SymmetricProcesses : public ::testing::TestWithParam<std::pair<int64_t, int64_t>> {};

TEST_P(SymmetricProcesses, ComputeWhatOneProcessComputes) {
  const auto [count, ranksEach] = GetParam();
  Processes processes;
  for (int64_t process = 0; process < count; ++process)
    processes.start([&, process](KeyValueStore &store, Report &) -> Status {
      Process self(process, count, ranksEach);
      TILEWRIGHT_TRY(self.connect(store, 5min));
      return self.run(tryEveryKind);
    });
  for (size_t process = 0; process < static_cast<size_t>(count); ++process)
    EXPECT_EQ(processes.end(process), "");
}
INSTANTIATE_TEST_SUITE_P(Of, SymmetricProcesses,
                         ::testing::Values(std::pair<int64_t, int64_t>{2, 1},
                                           std::pair<int64_t, int64_t>{2, 2},
                                           std::pair<int64_t, int64_t>{4, 2}));

TEST(SymmetricProcessFaults, AProcessThatDoesNotComeIsNamed) {
  Processes processes;
  processes.start([](KeyValueStore &store, Report &) -> Status {
    Process self(0, 2, 1);
    TILEWRIGHT_TRY(self.connect(store, 200ms));
    Status end = self.run(tryEveryKind);
    return end.error() == Error::ranksNotConnected &&
                   end.message().find("rank 1 (process 1)") != std::string::npos
               ? Status()
               : Status(Code::internal, end.toString());
  });
  EXPECT_EQ(processes.end(0), "");
}

TEST(SymmetricProcessFaults, RevokeEndsTheWaitForALostProcess) {
  Processes processes;
  for (int64_t process = 0; process < 2; ++process)
    processes.start([process](KeyValueStore &store, Report &) -> Status {
      Process self(process, 2, 1);
      TILEWRIGHT_TRY(self.connect(store, 5min));
      TILEWRIGHT_TRY(self.run([&](Communicator &rank) -> Status {
        return Trial({Kind::allReduce, ElementType::f32, {1000}}, rank.rank(), 2).run(rank);
      }));
      if (process == 1)
        return Status(); // leaves while the other one waits for it
      std::thread membership([&] {
        std::this_thread::sleep_for(50ms);
        self.ranks->revoke("process 1 is lost");
      });
      Status end = self.run([&](Communicator &rank) -> Status {
        return Trial({Kind::allReduce, ElementType::f32, {1000}}, rank.rank(), 2).run(rank);
      });
      membership.join();
      return end.message().find("process 1 is lost") != std::string::npos
                 ? Status()
                 : Status(Code::internal, end.toString());
    });
  for (size_t process = 0; process < 2; ++process)
    EXPECT_EQ(processes.end(process), "");
}

} // namespace
} // namespace tilewright::runtime::cuda
