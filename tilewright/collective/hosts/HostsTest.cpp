// Tests of several hosts: bytes between them, the order of sums, deaths.
#include "tilewright/collective/Move.h"
#include "tilewright/collective/hosts/HostsEngine.h"
#include "tilewright/collective/testing/Processes.h"
#include "tilewright/collective/ucx/UcxEngine.h"
#include "tilewright/support/Concat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <barrier>
#include <csignal>

namespace tilewright::collective::hosts {
namespace {

using namespace std::chrono_literals;
using test::membershipOf;
using ::testing::AnyOf;
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

/// A collective of one tensor: what a rank has, and what it gets.
struct Case {
  Kind kind;
  std::vector<int64_t> in, out;
  int64_t dimension = 0, split = 0;
};

std::vector<Case> casesFor(int64_t ranks) {
  return {{Kind::allGather, {3, 5}, {3 * ranks, 5}},
          {Kind::allGather, {3, 5}, {3, 5 * ranks}, 1},
          {Kind::allGather, {0, 5}, {0, 5}},
          {Kind::allGather, {700, 9}, {700, 9 * ranks}, 1},
          {Kind::reduceScatter, {2 * ranks, 3}, {2, 3}},
          {Kind::reduceScatter, {7, 2 * ranks, 2}, {7, 2, 2}, 1},
          {Kind::reduceScatter, {ranks, 9000}, {1, 9000}},
          {Kind::allToAll, {2 * ranks, 3}, {2 * ranks, 3}},
          {Kind::allToAll, {2 * ranks, 3, 4}, {2, 3 * ranks, 4}, 1, 0},
          {Kind::allToAll, {5, 2 * ranks, 400}, {5 * ranks, 2, 400}, 0, 1},
          {Kind::allReduce, {11}, {11}},
          {Kind::broadcast, {4, 4}, {4, 4}},
          {Kind::permute, {6, 1000}, {6, 1000}},
          {Kind::barrier, {}, {}}};
}

size_t countOf(const std::vector<int64_t> &dims) {
  size_t count = 1;
  for (int64_t dim : dims)
    count *= static_cast<size_t>(dim);
  return count;
}

Call callOf(const Case &given, const std::vector<std::vector<int64_t>> &groups, const float *in,
            float *out) {
  Call call;
  call.kind = given.kind;
  call.groups = &groups;
  call.dimension = given.dimension;
  call.splitDimension = given.split;
  call.reduction.operation = ReductionKind::add;
  call.name = "case";
  if (given.kind != Kind::barrier)
    call.tensors = {{ElementType::f32, given.in, given.out, reinterpret_cast<const std::byte *>(in),
                     reinterpret_cast<std::byte *>(out)}};
  return call;
}

/// Small integers, so that sums are exact in every order.
std::vector<float> operandOf(int64_t rank, size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = static_cast<float>((static_cast<size_t>(rank) * 131 + i * 7) % 1009);
  return values;
}

/// The result of one member, from the operands of all.
std::vector<float> resultOf(const Case &given, const std::vector<std::vector<int64_t>> &groups,
                            const std::vector<int64_t> &clique, size_t mine) {
  std::vector<std::vector<float>> operands;
  std::vector<const std::byte *> in;
  for (int64_t rank : clique) {
    operands.push_back(operandOf(rank, countOf(given.in)));
    in.push_back(reinterpret_cast<const std::byte *>(operands.back().data()));
  }
  std::vector<float> out(countOf(given.out), -1);
  const Call call = callOf(given, groups, operands[mine].data(), out.data());
  const Party party{call, mine, clique.size(), in, {}};
  EXPECT_TRUE(
      exchange(party, given.kind == Kind::permute ? sourceOf(call, clique, mine) : std::nullopt)
          .isOk());
  return out;
}

/// Groups in the order of the hosts and across it, and hosts with differently many ranks.
TEST(HostsEngine, EveryCollectiveTakesItsStepsByHost) {
  const std::vector<std::vector<int64_t>> inOrder = {{0, 1, 2, 3, 4, 5}};
  const std::vector<std::vector<int64_t>> across = {{0, 4, 2, 1, 3, 5}};
  const std::vector<std::vector<int64_t>> pairs = {{0, 1}, {1, 4}, {4, 2}, {3, 3}, {5, 0}};
  for (int64_t each : {2, 3, 4})
    runJob(6, each, [&](HostsEngine &engine, Communicator &communicator) {
      std::byte *arena = engine.arena().allocate(1 << 20);
      for (const auto *groups : {&inOrder, &across})
        for (const Case &given : casesFor(6))
          for (bool isInArena : {false, true}) {
            const auto &taken = given.kind == Kind::permute ? pairs : *groups;
            const std::vector<int64_t> clique =
                given.kind == Kind::permute ? inOrder[0] : groups->front();
            const auto mine = static_cast<size_t>(
                std::find(clique.begin(), clique.end(), communicator.rank()) - clique.begin());
            std::vector<float> in = operandOf(communicator.rank(), countOf(given.in));
            std::vector<float> out(countOf(given.out), -2);
            const float *from = in.data();
            if (isInArena && !in.empty()) {
              std::memcpy(arena, in.data(), in.size() * sizeof(float));
              from = reinterpret_cast<const float *>(arena);
            }
            const Call call = callOf(given, taken, from, out.data());
            Status status = communicator.run(call);
            ASSERT_TRUE(status.isOk()) << status.toString();
            if (given.kind != Kind::barrier) {
              EXPECT_EQ(out, resultOf(given, taken, clique, mine))
                  << nameOf(given.kind) << " of rank " << communicator.rank() << ", " << each
                  << " ranks a host";
            }
          }
      engine.arena().free(arena);
    });
}

/// The bytes that leave a host do not grow with the ranks that need them elsewhere.
TEST(HostsEngine, RanksOfAHostShareWhatComesFromOthers) {
  constexpr int64_t ranks = 8, each = 4, hosts = ranks / each, count = 1 << 14;
  const std::vector<std::vector<int64_t>> all;
  std::atomic<uint64_t> sent[3] = {};
  std::barrier together(ranks);
  const Case cases[] = {{Kind::allGather, {count}, {count * ranks}},
                        {Kind::reduceScatter, {count * ranks}, {count}},
                        {Kind::broadcast, {count}, {count}}};
  runJob(ranks, each, [&](HostsEngine &engine, Communicator &communicator) {
    for (size_t i = 0; i < std::size(cases); ++i) {
      const std::vector<float> in = operandOf(communicator.rank(), countOf(cases[i].in));
      std::vector<float> out(countOf(cases[i].out));
      const uint64_t before = engine.traffic().payload;
      Status status = communicator.run(callOf(cases[i], all, in.data(), out.data()));
      EXPECT_TRUE(status.isOk()) << status.toString();
      together.arrive_and_wait();
      sent[i] += engine.traffic().payload - before;
      together.arrive_and_wait();
    }
  });
  EXPECT_EQ(sent[0], ranks * (hosts - 1) * count * 4); // once to each other host, not to each rank
  EXPECT_EQ(sent[1], hosts * (hosts - 1) * each * count * 4); // sums of a host
  EXPECT_EQ(sent[2], (hosts - 1) * count * 4);
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
      // A process may learn it from the other one, which gave up first.
      EXPECT_THAT(
          status.message(),
          AnyOf(HasSubstr("process 0 uses tcp between hosts, but process 1 (rank 1) uses mpi; set "
                          "runtime.between-hosts"),
                HasSubstr("process 1 uses mpi between hosts, but process 0 (rank 0) uses tcp; set "
                          "runtime.between-hosts")));
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
