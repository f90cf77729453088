// Stream: runs the work of a device in order.
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

/// Runs tasks in FIFO order, one at a time, so a task can use the results of earlier tasks of its
/// stream without waiting for an event.
///
/// If the stream is idle, a task can run on the calling thread instead of the stream's own: a
/// handover costs two wake-ups (some 10 to 50 µs), which is more than many programs take.
///
/// Thread-safe. The first task that needs the stream's own thread starts it. The destructor runs
/// the queued tasks.
class Stream {
public:
  using Task = std::function<void()>;

  /// `name` is the name of the thread in timelines and debuggers.
  Stream(std::string name, size_t capacity);
  ~Stream();
  Stream(const Stream &) = delete;
  Stream &operator=(const Stream &) = delete;

  /// Lets the calling thread run work as a task of the stream if that is possible immediately: the
  /// stream is idle, or the thread is already running one of its tasks (a host callback that calls
  /// back into the runtime). The task ends with the scope of this object.
  ///
  ///   if (Stream::InlineTask inlineTask(stream); inlineTask) …run here… else stream.enqueue(…);
  class InlineTask;

  /// Queues a task; never blocks. If called from a task of this stream it runs the new task
  /// immediately: waiting for it would be a deadlock.
  void enqueue(Task task);

  /// Blocks while `capacity` tasks are queued. Callers that submit work call this first, so that
  /// memory in flight is bounded. Returns immediately inside a task of any stream.
  void awaitRoom();

  /// Blocks until everything queued so far has run. Returns immediately inside a task of any
  /// stream.
  void drain();

  /// Whether nothing runs and nothing is queued.
  bool isIdle() const;

  /// Whether the calling thread is running a task of this stream.
  bool isInside() const;
  /// Whether the calling thread is running a task of any stream.
  static bool isInsideAny();

private:
  void work();
  static thread_local InlineTask *innermost; // of the calling thread

  const std::string name;
  const size_t capacity;
  mutable std::mutex mutex;
  std::condition_variable arrived, finished;
  // guarded by mutex:
  std::deque<Task> tasks;
  bool isRunning = false; // a task runs, or a caller that has an InlineTask
  bool stopping = false;
  uint64_t begun = 0, ended = 0; // tasks, inline ones too: queued so far, completed so far
  std::thread thread;
};

class Stream::InlineTask {
public:
  explicit InlineTask(Stream &stream);
  ~InlineTask();
  InlineTask(const InlineTask &) = delete;
  InlineTask &operator=(const InlineTask &) = delete;
  explicit operator bool() const { return stream; }

private:
  friend class Stream;
  InlineTask() = default;
  Stream *stream = nullptr; // null: could not start immediately
  bool isOutermost = false; // the first InlineTask of this stream on this thread; not in work()
  InlineTask *outer = nullptr;
};

} // namespace tilewright::runtime

#endif // TILEWRIGHT_RUNTIME_STREAM_H
