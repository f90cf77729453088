// The suite of engines between processes, and tests of this engine alone.
#include "tilewright/collective/conformance/EngineProcesses.h"
#include "tilewright/collective/shm/ShmEngine.h"
#include "tilewright/collective/testing/Processes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <sched.h>
#include <sys/stat.h>
#include <time.h>

namespace tilewright::collective::shm {
namespace {

using namespace std::chrono_literals;
using test::membershipOf;
using test::sumOnes;
using ::testing::HasSubstr;

ShmEngine::Options optionsFor(std::chrono::nanoseconds timeout) {
  ShmEngine::Options options;
  options.arenaBytes = size_t(64) << 20;
  options.timeout = timeout;
  options.connectTimeout = 20s;
  return options;
}

const test::Connect connect = test::connectWith<ShmEngine>(optionsFor(30s));

TEST(ShmEngine, AnAddressWhoseProcessIsGoneIsAnError) {
  MemoryKeyValueStore store;
  ASSERT_TRUE(store.put("tilewright/shm/0/0", "tilewright-nobody").isOk());
  Status status = ShmEngine::connect(membershipOf(1, 2), store, optionsFor(1s)).takeStatus();
  EXPECT_EQ(status.error(), Error::ranksNotConnected);
  EXPECT_THAT(status.message(), HasSubstr("rank 0 cannot be reached"));
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

/// CPU time, because other programs may use the core.
std::chrono::nanoseconds processorTime() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

TEST(ShmEngine, RanksThatTheKernelPutsOnOneCoreDoNotSpinForEachOther) {
  test::Processes processes;
  for (int64_t rank = 0; rank < 2; ++rank)
    processes.start([&, rank](KeyValueStore &store, test::Report &report) -> Status {
      // While they connect, each rank has its own core, if there are two.
      TILEWRIGHT_ASSIGN(auto engine, connect(membershipOf(rank, 2), store, 30s, 20s));
      TILEWRIGHT_ASSIGN(auto communicator, engine->join({1, rank, 2, {}}));
      cpu_set_t cores;
      sched_getaffinity(0, sizeof cores, &cores);
      int first = 0;
      while (!CPU_ISSET(first, &cores))
        ++first;
      CPU_ZERO(&cores);
      CPU_SET(first, &cores);
      if (sched_setaffinity(0, sizeof cores, &cores) != 0)
        return Status(Code::internal, "cannot choose a core");
      constexpr int rounds = 1000;
      const std::chrono::nanoseconds begin = processorTime();
      for (int round = 0; round < rounds; ++round)
        TILEWRIGHT_TRY(sumOnes(*communicator, 1, 2));
      const auto took = (processorTime() - begin) / rounds;
      report.say(concat(took.count(), " ns a sum"));
      // A wait that spins without yielding takes about 500 us.
      return took < 100us * test::slowness() ? Status() : Status(Code::internal, "they spun");
    });
  for (size_t rank : {0, 1})
    EXPECT_EQ(processes.end(rank), "") << processes.said(rank);
}

TEST(Arena, GivingALargePieceReturnsItsPages) {
  auto mapping = Mapping::create(64 << 20);
  ASSERT_TRUE(mapping.isOk());
  Arena arena(*mapping, 100);
  const auto pages = [&] {
    struct stat file = {};
    EXPECT_EQ(fstat((*mapping)->descriptor(), &file), 0);
    return file.st_blocks;
  };
  std::byte *neighbour = arena.take(1000), *large = arena.take(8 << 20), *next = arena.take(1000);
  std::memset(neighbour, 1, 1000);
  std::memset(large, 2, 8 << 20);
  std::memset(next, 3, 1000);
  const auto before = pages();
  arena.give(large);
  EXPECT_LE(pages(), before - (7 << 20) / 512);
  // The pages at both ends are shared with the neighbours, and keep their bytes.
  EXPECT_EQ(neighbour[999], std::byte(1));
  EXPECT_EQ(next[0], std::byte(3));
  EXPECT_EQ(arena.take(8 << 20), large);
  arena.free(large);
  EXPECT_EQ(arena.take(8 << 20), large);
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

const tilewright::collective::test::ProcessKit &tilewright::collective::test::processKit() {
  static const ProcessKit kit = {.connect = shm::connect,
                                 .rounds = 50,
                                 .died = "rank 2 died: process 2 (pid ",
                                 .countsMappings = true};
  return kit;
}
