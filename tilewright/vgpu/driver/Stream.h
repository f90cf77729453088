// Streams: queues of work, each with a host thread, and the events between them.
#ifndef TILEWRIGHT_VGPU_DRIVER_STREAM_H
#define TILEWRIGHT_VGPU_DRIVER_STREAM_H

#include "tilewright/vgpu/driver/Driver.h"
#include "tilewright/vgpu/driver/observe/Order.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>

namespace tilewright::vgpu::driver {

struct Capture;
class SharedEvent;

/// Lower numbers are higher priorities. The driver only stores and returns them; they do not affect
/// the order of execution.
inline constexpr int leastPriority = 0, greatestPriority = -5;

/// Signalled once, when work is done. Thread-safe.
class Fence {
public:
  /// `clock`: the work that happens before everything that waits for the fence; see
  /// observe/Order.h.
  void signal(SharedClock clock = nullptr);
  void wait();
  /// Waits for the work on behalf of the program.
  void waitOnHost();
  /// Like isDone(), for a query by the program. If the result is true, the host knows that the work
  /// is done.
  bool isSeenDone();
  /// Valid only once isDone().
  const SharedClock &clock() const { return before; }
  bool isDone() const { return done.load(std::memory_order_acquire); }
  /// The time of the signal; valid only once isDone().
  std::chrono::steady_clock::time_point when() const { return time; }

private:
  std::atomic<bool> done = false;
  std::chrono::steady_clock::time_point time; // written before `done`
  SharedClock before;                         // written before `done`
  std::mutex mutex;
  std::condition_variable changed;
};

/// An event. Recording it again replaces the previous record. A wait uses the latest record at the
/// time when the wait is submitted.
struct Event : Handled {
  std::weak_ptr<Context> context;
  unsigned flags = 0;

  std::mutex mutex;
  std::shared_ptr<Fence> record; // guarded by mutex; null: never recorded
  // If the event was recorded in a capture: the capture, and the nodes that a wait for the event
  // depends on.
  std::weak_ptr<Capture> capture;   // guarded by mutex
  std::vector<void *> captureNodes; // guarded by mutex; handles

  std::shared_ptr<SharedEvent> shared; // set once; null: of this process alone

  std::shared_ptr<Fence> latest();
};

/// A queue of work. Its thread starts with the first work and ends when the stream is closed and
/// all work is done. Thread-safe.
class Stream : public Handled, public std::enable_shared_from_this<Stream> {
public:
  enum class Kind : uint8_t { legacy, perThread, created };

  Stream(std::shared_ptr<Context> context, Kind kind, unsigned flags, int priority);

  const std::shared_ptr<Context> context;
  const Kind kind;
  const unsigned flags;
  std::atomic<int> priority;
  const uint64_t id;

  /// Whether the stream waits for the legacy stream and the legacy stream waits for it.
  bool isBlocking() const { return !(flags & CU_STREAM_NON_BLOCKING); }

  /// Queues work that runs after all earlier work of the stream, after `after`, and after the work
  /// that the legacy stream's ordering rules require. The returned fence is signalled when the work
  /// is done.
  std::shared_ptr<Fence> enqueue(std::function<void()> work,
                                 std::vector<std::shared_ptr<Fence>> after = {});
  /// The fence of the last work; null if no work was ever submitted.
  std::shared_ptr<Fence> last();
  /// Closes the queue to new work. Work that is already queued still runs.
  void close();

  // The capture in progress; guarded by captureMutex.
  std::mutex captureMutex;
  std::shared_ptr<Capture> capture;
  std::vector<void *> captureTips; // handles of the nodes that the next node depends on
  // Attributes by number. The driver only stores and returns them. Guarded by captureMutex.
  std::vector<std::pair<int, CUlaunchAttributeValue>> attributes;

private:
  struct Task {
    std::function<void()> work;
    std::vector<std::shared_ptr<Fence>> after;
    std::shared_ptr<Fence> done;
    SharedClock host; // what the host knew when it submitted the work
  };
  void runTasks();
  void run(Task &task);

  machine::StreamClock before; // of the next work; used by the stream's thread only
  uint64_t works = 0;          // that began; used by the stream's thread only
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Task> tasks;               // guarded by mutex
  std::shared_ptr<Fence> lastFence;     // guarded by mutex
  bool started = false, closed = false; // guarded by mutex
};

/// Finds the stream of a handle; 0, 1 and 2 mean the default streams of the current context.
CUresult needStream(CUstream handle, std::shared_ptr<Stream> &stream);
CUresult needEvent(CUevent handle, std::shared_ptr<Event> &event);

} // namespace tilewright::vgpu::driver

#endif // TILEWRIGHT_VGPU_DRIVER_STREAM_H
