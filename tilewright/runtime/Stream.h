// Stream: work of one device, one piece after the other.
#ifndef TILEWRIGHT_RUNTIME_STREAM_H
#define TILEWRIGHT_RUNTIME_STREAM_H

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace tilewright::runtime {

/// Runs tasks in the order they came, one at a time: so whoever comes later on
/// a stream may use what came before it without asking for an event.
///
/// A task may run on the calling thread instead of the stream's own when
/// nothing is before it. Handing over costs two wake-ups (some 10 to 50 µs),
/// which is more than many programs take.
///
/// Thread-safe. The thread is made by the first task that needs one. Destroying
/// a stream runs what is queued.
class Stream {
public:
  using Task = std::function<void()>;

  /// `name` is what a timeline and a debugger show. At most `capacity` tasks wait; whoever brings
  /// one more waits too, so that memory in flight is bounded.
  Stream(std::string name, size_t capacity);
  ~Stream();
  Stream(const Stream &) = delete;
  Stream &operator=(const Stream &) = delete;

  /// Takes the stream for the calling thread if it is idle, or if the calling thread is already
  /// running one of its tasks (a host callback that calls back into us). Then the caller runs its
  /// work and calls leave().
  bool tryEnter();
  void leave();

  /// Queues a task. Called from one of its own tasks it runs the new one at once: waiting for its
  /// turn would be waiting for itself.
  void enqueue(Task task);

  /// Blocks until everything queued so far has run. Returns at once inside one of its tasks.
  void drain();

  /// Nothing runs and nothing waits.
  bool isIdle() const;

private:
  void work();
  bool isInside() const;

  const std::string name;
  const size_t capacity;
  mutable std::mutex mutex;
  std::condition_variable arrived, finished;
  std::deque<Task> tasks;       // guarded by mutex
  bool isRunning = false;       // guarded by mutex: a task, or a caller that entered
  bool stopping = false;        // guarded by mutex
  uint64_t queued = 0, ran = 0; // guarded by mutex
  std::thread thread;           // guarded by mutex until started
};

} // namespace tilewright::runtime

#endif // TILEWRIGHT_RUNTIME_STREAM_H
