// Time, deaths and cuts of the simulated network. ../conformance tests what all engines share.
#include "tilewright/collective/simulate/SimulatedEngine.h"
#include "tilewright/collective/testing/Processes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilewright::collective::simulate {
namespace {

using namespace std::chrono_literals;
using test::membershipOf;
using test::sumOnes;
using ::testing::HasSubstr;

/// Runs `body` for each rank, with one process per rank; returns their statuses.
std::vector<Status> run(std::shared_ptr<Cluster> cluster, int64_t ranks,
                        const std::function<Status(Communicator &)> &body,
                        std::chrono::nanoseconds timeout = 30s) {
  SimulatedEngine::Options options;
  options.canSpin = false;
  options.timeout = timeout;
  std::vector<Status> ends(static_cast<size_t>(ranks));
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      Status &end = ends[static_cast<size_t>(rank)];
      auto engine = SimulatedEngine::connect(membershipOf(rank, ranks), cluster, options);
      auto communicator = (*engine)->join({1, rank, ranks, {}});
      end = body(**communicator);
    });
  for (std::thread &thread : threads)
    thread.join();
  return ends;
}

std::vector<std::chrono::nanoseconds> timesOfSums(int64_t ranks, size_t count, uint64_t seed,
                                                  Link link) {
  auto cluster = std::make_shared<Cluster>(ranks, seed, [=](int64_t, int64_t) { return link; });
  for (const Status &end : run(cluster, ranks, [&](Communicator &communicator) {
         return sumOnes(communicator, count, static_cast<float>(ranks));
       }))
    EXPECT_TRUE(end.isOk()) << end.toString();
  std::vector<std::chrono::nanoseconds> times;
  for (int64_t rank = 0; rank < ranks; ++rank)
    times.push_back(cluster->timeOf(rank));
  return times;
}

TEST(SimulatedEngine, ASmallSumTakesALatencyAndItsBytes) {
  const Link link{10us, 1e9};
  const auto expected = 10us + std::chrono::nanoseconds(sizeof(messages::Header) + 4);
  EXPECT_THAT(timesOfSums(2, 1, 1, link), ::testing::Each(expected));
}

TEST(SimulatedEngine, ALargeSumTakesWhatItsBytesTakeHoweverManyRanks) {
  const Link link{10us, 1e9};
  for (int64_t ranks : {4, 16}) {
    constexpr size_t count = 1 << 20;
    const double bytes =
        2.0 * static_cast<double>(ranks - 1) / static_cast<double>(ranks) * 4 * count;
    for (std::chrono::nanoseconds time : timesOfSums(ranks, count, 1, link)) {
      EXPECT_GT(static_cast<double>(time.count()), bytes); // one nanosecond per byte
      EXPECT_LT(static_cast<double>(time.count()), 1.05 * bytes + 20'000);
    }
  }
}

/// The speed of the machine and the order of deliveries do not change the times.
TEST(SimulatedEngine, TimesComeFromTheProgramAlone) {
  const Link link{3us, 5e9};
  EXPECT_EQ(timesOfSums(8, 30'000, 1, link), timesOfSums(8, 30'000, 2, link));
}

TEST(SimulatedEngine, ARankThatComputesIsWaitedFor) {
  auto cluster = std::make_shared<Cluster>(4, 1);
  for (const Status &end : run(cluster, 4, [&](Communicator &communicator) {
         if (communicator.rank() == 2)
           cluster->compute(2, 7ms);
         return sumOnes(communicator, 10, 4);
       }))
    EXPECT_TRUE(end.isOk()) << end.toString();
  for (int64_t rank = 0; rank < 4; ++rank) {
    EXPECT_GE(cluster->timeOf(rank), 7ms) << rank;
    EXPECT_LT(cluster->timeOf(rank), 7ms + 20us) << rank;
  }
}

TEST(SimulatedEngine, ManyRanksSum) {
  const auto times = timesOfSums(64, 10'000, 5, {});
  EXPECT_LT(*std::max_element(times.begin(), times.end()), 1ms);
}

TEST(SimulatedEngine, ADeathIsNamedByAll) {
  auto cluster = std::make_shared<Cluster>(4, 9);
  const std::vector<Status> ends = run(cluster, 4, [&](Communicator &communicator) -> Status {
    TILEWRIGHT_TRY(sumOnes(communicator, 1000, 4));
    if (communicator.rank() == 3) {
      cluster->kill(3);
      return Status();
    }
    return sumOnes(communicator, 1000, 4);
  });
  for (size_t rank : {0, 1, 2}) {
    EXPECT_EQ(ends[rank].error(), Error::collectiveAborted);
    EXPECT_THAT(ends[rank].message(), HasSubstr("rank 3 died"));
  }
}

TEST(SimulatedEngine, ACutLinkRunsIntoTheDeadline) {
  auto cluster = std::make_shared<Cluster>(2, 9);
  const std::vector<Status> ends = run(
      cluster, 2,
      [&](Communicator &communicator) -> Status {
        cluster->cut(0, 1);
        return sumOnes(communicator, 1000, 2);
      },
      200ms);
  for (const Status &end : ends)
    EXPECT_EQ(end.error(), Error::collectiveStuck) << end.toString();
}

/// A thread that receives the messages of all ranks of its process must wake the others. If it did
/// not, each of them would sleep until its timeout, although its message had been delivered.
TEST(SimulatedEngine, AWakeReachesEveryThreadOfTheProcess) {
  Cluster cluster(1, 9);
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 3; ++rank)
    ranks.emplace_back([&] { cluster.wait(0, 20s); });
  cluster.wake(0); // the same for threads that wait already and for those that begin later
  for (std::thread &rank : ranks)
    rank.join();
  EXPECT_LT(std::chrono::steady_clock::now() - start, 10s);
}

} // namespace
} // namespace tilewright::collective::simulate
