#include "tilewright/support/ThreadPool.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <numeric>

using namespace tilewright;

namespace {

class ThreadPools : public testing::TestWithParam<unsigned> {};

TEST_P(ThreadPools, EveryItemIsDoneOnce) {
  ThreadPool pool(GetParam());
  for (int64_t count : {0, 1, 2, 7, 64, 1000, 100'003}) {
    std::vector<int> done(static_cast<size_t>(count));
    pool.parallelFor(count, 3, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        ++done[static_cast<size_t>(i)];
    });
    EXPECT_EQ(std::accumulate(done.begin(), done.end(), int64_t(0)), count);
    EXPECT_TRUE(count == 0 || *std::max_element(done.begin(), done.end()) == 1);
  }
}

TEST_P(ThreadPools, LoopsInsideLoopsRunOnTheirCaller) {
  ThreadPool pool(GetParam());
  std::atomic<int64_t> sum = 0;
  pool.parallelFor(100, 1, [&](int64_t begin, int64_t end) {
    std::thread::id self = std::this_thread::get_id();
    for (int64_t i = begin; i < end; ++i)
      pool.parallelFor(10, 1, [&](int64_t first, int64_t last) {
        EXPECT_EQ(std::this_thread::get_id(), self);
        sum += last - first;
      });
  });
  EXPECT_EQ(sum, 1000);
}

TEST_P(ThreadPools, SeveralCallersTakeTurns) {
  ThreadPool pool(GetParam());
  std::atomic<int64_t> sum = 0;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&] {
      for (int round = 0; round < 200; ++round)
        pool.parallelFor(64, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
    });
  for (std::thread &caller : callers)
    caller.join();
  EXPECT_EQ(sum, 4 * 200 * 64);
}

INSTANTIATE_TEST_SUITE_P(Threads, ThreadPools, testing::Values(1, 2, 3, 8));

/// Devices share the pool: a long loop of one must not block the other.
TEST(ThreadPool, ACallerWorksAloneWhileAnotherHasTheThreads) {
  ThreadPool pool(2);
  std::atomic<bool> isHeld = false, mayEnd = false;
  std::thread other([&] {
    pool.parallelFor(2, 1, [&](int64_t, int64_t) {
      isHeld = true;
      while (!mayEnd)
        std::this_thread::yield();
    });
  });
  while (!isHeld)
    std::this_thread::yield();
  std::atomic<int64_t> sum = 0;
  pool.parallelFor(1000, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
  EXPECT_EQ(sum, 1000);
  mayEnd = true;
  other.join();
}

} // namespace
