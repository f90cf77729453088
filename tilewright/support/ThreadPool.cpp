#include "tilewright/support/ThreadPool.h"
#include "tilewright/support/Concat.h"
#include "tilewright/support/Trace.h"

#include <algorithm>
#include <string_view>

namespace tilewright {

struct ThreadPool::Loop {
  Piece piece;
  void *context;
  std::string_view name; // how a timeline names the worker threads' part of the loop
  int64_t count, step;
  std::atomic<int64_t> next = 0;
  std::atomic<unsigned> inside = 0; // workers that may still access this loop
};

/// How often a worker polls for the next loop before it sleeps: waking it costs about as much as
/// this many polls.
constexpr int looksBeforeSleep = 2000;
/// More pieces than threads, so that a thread that was preempted does not delay the others by much.
constexpr int64_t piecesPerThread = 4;

static thread_local bool insideLoop = false;

static void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

bool ThreadPool::isInsideLoop() { return insideLoop; }

ThreadPool::ThreadPool(unsigned threads) {
  for (unsigned i = 1; i < threads; ++i)
    workers.emplace_back([this, i] {
      trace::nameThread(concat("worker ", i));
      workUntilStopped();
    });
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(mutex);
    stopping = true;
    round.fetch_add(1, std::memory_order_release);
  }
  started.notify_all();
  for (std::thread &worker : workers)
    worker.join();
}

/// Runs the next piece of a loop; returns false if there is none.
bool ThreadPool::takePiece(Loop &loop) {
  int64_t begin = loop.next.fetch_add(loop.step, std::memory_order_relaxed);
  if (begin >= loop.count)
    return false;
  insideLoop = true;
  loop.piece(loop.context, begin, std::min(begin + loop.step, loop.count));
  insideLoop = false;
  return true;
}

void ThreadPool::run(int64_t count, int64_t grain, Piece piece, void *context) {
  int64_t pieces = piecesPerThread * threadCount();
  int64_t step = std::max<int64_t>({grain, (count + pieces - 1) / pieces, 1});
  Loop mine{piece, context, trace::currentName(), count, step};
  // While the workers run another caller's loop, working alone is better than waiting.
  std::unique_lock myTurn(turn, std::try_to_lock);
  while (!myTurn) {
    if (!takePiece(mine))
      return;
    (void)myTurn.try_lock();
  }
  {
    std::lock_guard lock(mutex);
    loop = &mine;
    round.fetch_add(1, std::memory_order_release);
  }
  started.notify_all();
  while (takePiece(mine))
    ;
  // No further worker may enter the loop, and those inside must leave before `mine` is destroyed.
  // They are in their last piece, so spin for a while before sleeping.
  {
    std::lock_guard lock(mutex);
    loop = nullptr;
  }
  auto isEmpty = [&] { return mine.inside.load(std::memory_order_acquire) == 0; };
  for (int look = 0; look < looksBeforeSleep && !isEmpty(); ++look)
    relax();
  if (!isEmpty()) {
    std::unique_lock lock(mutex);
    finished.wait(lock, isEmpty);
  }
}

void ThreadPool::workUntilStopped() {
  uint64_t seen = 0;
  for (;;) {
    for (int look = 0; look < looksBeforeSleep && round.load(std::memory_order_acquire) == seen;
         ++look)
      relax();
    Loop *current = nullptr;
    {
      std::unique_lock lock(mutex);
      started.wait(lock, [&] { return round.load(std::memory_order_relaxed) != seen; });
      if (stopping)
        return;
      seen = round.load(std::memory_order_relaxed);
      current = loop;
      if (current)
        current->inside.fetch_add(1, std::memory_order_relaxed);
    }
    if (!current)
      continue;
    {
      trace::Span span("worker", current->name);
      while (takePiece(*current))
        ;
    }
    {
      std::lock_guard lock(mutex);
      current->inside.fetch_sub(1, std::memory_order_release);
    }
    finished.notify_all();
  }
}

} // namespace tilewright
