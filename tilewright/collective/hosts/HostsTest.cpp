// Tests of several hosts: bytes between them, the order of sums, deaths.
#include "tilewright/collective/hosts/HostsEngine.h"
#include "tilewright/collective/testing/Processes.h"
#include "tilewright/collective/ucx/UcxEngine.h"
#include "tilewright/support/Concat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

namespace tilewright::collective::hosts {
namespace {

using namespace std::chrono_literals;
using test::membershipOf;
using ::testing::HasSubstr;

HostsEngine::Options optionsFor(int64_t process, int64_t processesEach) {
  HostsEngine::Options options;
  options.host = concat("host", process / processesEach);
  options.address = "127.0.0.1";
  options.arenaBytes = size_t(256) << 20;
  options.timeout = 30s;
  options.canSpin = false;
  return options;
}

/// Runs `body` for each rank of a job with `each` processes per host.
void runJob(int64_t ranks, int64_t each,
            const std::function<void(HostsEngine &, Communicator &)> &body,
            HostsEngine::Between between = HostsEngine::Between::tcp) {
  MemoryKeyValueStore store;
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      HostsEngine::Options options = optionsFor(rank, each);
      options.between = between;
      auto engine = HostsEngine::connect(membershipOf(rank, ranks), store, options);
      ASSERT_TRUE(engine.isOk()) << std::move(engine).takeStatus().toString();
      auto communicator = (*engine)->join({1, rank, ranks, {}});
      ASSERT_TRUE(communicator.isOk());
      body(**engine, **communicator);
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST(HostsEngine, FourHostsOfTwoRanksSendWhatFourRanksWould) {
  constexpr size_t count = 1 << 18;
  runJob(8, 2, [&](HostsEngine &engine, Communicator &communicator) {
    const uint64_t before = engine.traffic().payload;
    Status status = test::sumOnes(communicator, count, 8);
    EXPECT_TRUE(status.isOk()) << status.toString();
    // The first rank of each host sends 2 (h - 1) / h of the tensor, the other ranks nothing.
    const uint64_t bytes = communicator.rank() % 2 == 0 ? 2 * 3 * count * 4 / 4 : 0;
    EXPECT_EQ(engine.traffic().payload - before, bytes) << "rank " << communicator.rank();
  });
}

/// (a + b) + (c + d), and not ((a + b) + c) + d.
TEST(HostsEngine, SumsOfFloatsAreTakenByHost) {
  for (size_t count : {size_t(1), size_t(70'000)})
    runJob(4, 2, [&](HostsEngine &, Communicator &communicator) {
      const float values[] = {1e8F, 0, 3, 3}; // 3 is lost when added to 1e8, 6 is not
      std::vector<float> in(count, values[communicator.rank()]), out(count);
      const std::vector<std::vector<int64_t>> all;
      Call call;
      call.groups = &all;
      call.reduction.operation = ReductionKind::add;
      call.name = "sum";
      const auto size = static_cast<int64_t>(count);
      call.tensors = {{ElementType::f32,
                       {size},
                       {size},
                       reinterpret_cast<const std::byte *>(in.data()),
                       reinterpret_cast<std::byte *>(out.data())}};
      for (int round = 0; round < 3; ++round) {
        Status status = communicator.run(call);
        ASSERT_TRUE(status.isOk()) << status.toString();
        EXPECT_THAT(out, ::testing::Each(1e8F + 6));
      }
    });
}

TEST(HostsEngine, HostsMayHaveDifferentlyManyRanks) {
  runJob(5, 3, [&](HostsEngine &, Communicator &communicator) {
    for (size_t count : {size_t(1), size_t(3000), size_t(200'000)}) {
      Status status = test::sumOnes(communicator, count, 5);
      EXPECT_TRUE(status.isOk()) << status.toString();
    }
  });
}

TEST(HostsEngine, UcxMayCarryWhatGoesBetweenHosts) {
  if (Status status = ucx::isAvailable(); !status.isOk())
    GTEST_SKIP() << status.toString();
  runJob(
      4, 2,
      [&](HostsEngine &engine, Communicator &communicator) {
        for (size_t count : {size_t(1), size_t(3000), size_t(200'000)}) {
          Status status = test::sumOnes(communicator, count, 4);
          EXPECT_TRUE(status.isOk()) << status.toString();
        }
      },
      HostsEngine::Between::ucx);
}

TEST(HostsEngine, ProcessesThatWouldUseDifferentCarriersAreNamed) {
  MemoryKeyValueStore store;
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      HostsEngine::Options options = optionsFor(rank, 1);
      options.between = rank == 0 ? HostsEngine::Between::tcp : HostsEngine::Between::mpi;
      const Status status =
          HostsEngine::connect(membershipOf(rank, 2), store, options).takeStatus();
      EXPECT_EQ(status.error(), Error::ranksNotConnected);
      EXPECT_THAT(
          status.message(),
          HasSubstr(rank == 0
                        ? "process 0 uses tcp between hosts, but process 1 (rank 1) uses mpi; set "
                          "runtime.between-hosts"
                        : "process 1 uses mpi between hosts, but process 0 (rank 0) uses tcp"));
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST(HostsEngine, AKilledRankIsNoticedOnItsHostAndOnOthers) {
  test::Processes processes;
  for (int64_t rank = 0; rank < 4; ++rank)
    processes.start([&, rank](KeyValueStore &store, test::Report &report) -> Status {
      TILEWRIGHT_ASSIGN(auto engine,
                        HostsEngine::connect(membershipOf(rank, 4), store, optionsFor(rank, 2)));
      TILEWRIGHT_ASSIGN(auto communicator, engine->join({1, rank, 4, {}}));
      int round = 0;
      Status status = test::sumForEver(*communicator, 1000, 4, [&] {
        if (++round == 20)
          report.say("runs");
      });
      report.say("noticed");
      report.say(status.toString());
      return Status();
    });
  for (size_t rank = 0; rank < 4; ++rank)
    processes.awaitText(rank, "runs");
  const auto killed = std::chrono::steady_clock::now();
  processes.signal(3, SIGKILL);
  for (size_t rank : {0, 1, 2}) {
    EXPECT_LT(processes.awaitText(rank, "noticed") - killed, 50ms * test::slowness());
    EXPECT_EQ(processes.end(rank), "") << processes.said(rank);
    EXPECT_THAT(processes.said(rank), HasSubstr("E6003"));
    EXPECT_THAT(processes.said(rank), HasSubstr("rank 3 died"));
    EXPECT_THAT(processes.said(rank), HasSubstr("train.py:41"));
  }
}

TEST(HostsEngine, ThisHostHasAName) {
  EXPECT_EQ(nameOfThisHost(), nameOfThisHost());
  EXPECT_GT(nameOfThisHost().size(), 10U);
}

} // namespace
} // namespace tilewright::collective::hosts
