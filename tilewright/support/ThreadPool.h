// ThreadPool: the threads that run parallel loops.
#ifndef TILEWRIGHT_SUPPORT_THREADPOOL_H
#define TILEWRIGHT_SUPPORT_THREADPOOL_H

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace tilewright {

/// Splits loops over a fixed number of threads. The calling thread works too, so a pool of one
/// starts no threads. A parallelFor inside a loop's body runs on its calling thread only, so
/// libraries never oversubscribe.
///
///   pool.parallelFor(rows, /*grain=*/16, [&](int64_t begin, int64_t end) { … });
///
/// Thread-safe. The workers serve one loop at a time. Another caller starts its loop alone, and the
/// workers join it when they are free.
class ThreadPool {
public:
  /// `threads` includes the calling thread; at least 1.
  explicit ThreadPool(unsigned threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  unsigned threadCount() const { return static_cast<unsigned>(workers.size()) + 1; }

  /// Calls body(begin, end) for pieces of [0, count) of at least `grain` items
  /// until all are done. Bodies must not throw.
  template <typename Body> void parallelFor(int64_t count, int64_t grain, Body &&body) {
    if (count <= 0)
      return;
    if (workers.empty() || count <= grain || isInsideLoop()) {
      body(int64_t(0), count);
      return;
    }
    run(
        count, grain,
        [](void *context, int64_t begin, int64_t end) {
          (*static_cast<std::remove_reference_t<Body> *>(context))(begin, end);
        },
        &body);
  }

private:
  using Piece = void (*)(void *context, int64_t begin, int64_t end);
  struct Loop;

  static bool isInsideLoop();
  void run(int64_t count, int64_t grain, Piece piece, void *context);
  void workUntilStopped();
  static bool takePiece(Loop &loop);

  std::vector<std::thread> workers;
  std::mutex turn; // held by the caller whose loop runs
  std::mutex mutex;
  std::condition_variable started, finished;
  Loop *loop = nullptr;            // guarded by mutex
  std::atomic<uint64_t> round = 0; // written under mutex; workers spin on it before they sleep
  bool stopping = false;           // guarded by mutex
};

} // namespace tilewright

#endif // TILEWRIGHT_SUPPORT_THREADPOOL_H
