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

  /// `name` is what a timeline and a debugger show.
  Stream(std::string name, size_t capacity);
  ~Stream();
  Stream(const Stream &) = delete;
  Stream &operator=(const Stream &) = delete;

  /// The calling thread's turn on the stream, if it can have it at once: because the stream is
  /// idle, or because the thread is already running one of its tasks (a host callback that calls
  /// back into us). Ends with its scope.
  ///
  ///   if (Stream::Turn turn(stream); turn) …run here… else stream.enqueue(…);
  class Turn;

  /// Queues a task; never blocks. Called from one of its own tasks it runs the new one at once:
  /// waiting for its turn would be waiting for itself.
  void enqueue(Task task);

  /// Blocks while `capacity` tasks wait: whoever brings work calls this first, so that memory in
  /// flight is bounded. Returns at once inside a task of any stream.
  void awaitRoom();

  /// Blocks until everything queued so far has run. Returns at once inside a task of any stream.
  void drain();

  /// Nothing runs and nothing waits.
  bool isIdle() const;

  /// The calling thread is running a task of this stream.
  bool isInside() const;
  /// The calling thread is running a task of some stream.
  static bool isInsideAny();

private:
  void work();
  static thread_local Turn *innermost; // of the calling thread

  const std::string name;
  const size_t capacity;
  mutable std::mutex mutex;
  std::condition_variable arrived, finished;
  // guarded by mutex:
  std::deque<Task> tasks;
  bool isRunning = false; // a task, or a caller whose turn it is
  bool stopping = false;
  uint64_t begun = 0, ended = 0; // tasks and turns, counted when they come and when they are over
  std::thread thread;
};

class Stream::Turn {
public:
  explicit Turn(Stream &stream);
  ~Turn();
  Turn(const Turn &) = delete;
  Turn &operator=(const Turn &) = delete;
  explicit operator bool() const { return stream; }

private:
  friend class Stream;
  Turn() = default;
  Stream *stream = nullptr; // null: not its turn
  bool isOutermost = false; // of this stream on this thread, and not the stream's own thread
  Turn *outer = nullptr;
};

} // namespace tilewright::runtime

#endif // TILEWRIGHT_RUNTIME_STREAM_H
