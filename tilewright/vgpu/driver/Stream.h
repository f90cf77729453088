// Streams: queues of work, each with a thread of the host; and the events between them.
#ifndef TILEWRIGHT_VGPU_DRIVER_STREAM_H
#define TILEWRIGHT_VGPU_DRIVER_STREAM_H

#include "tilewright/vgpu/driver/Driver.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>

namespace tilewright::vgpu::driver {

struct Capture;

/// Lower numbers go first. They are kept and told; the host's scheduler decides.
inline constexpr int leastPriority = 0, greatestPriority = -5;

/// Something that will have happened. Thread-safe.
class Fence {
public:
  void signal();
  void wait();
  bool isDone() const { return done.load(std::memory_order_acquire); }
  /// When it happened; only once it is done.
  std::chrono::steady_clock::time_point when() const { return time; }

private:
  std::atomic<bool> done = false;
  std::chrono::steady_clock::time_point time; // written before `done`
  std::mutex mutex;
  std::condition_variable changed;
};

/// An event. A record replaces the one before; whoever waits, waits for the record
/// that was the last one when it began to.
struct Event : Handled {
  std::weak_ptr<Context> context;
  unsigned flags = 0;

  std::mutex mutex;
  std::shared_ptr<Fence> record; // guarded by mutex; null: never recorded
  // Of a record in a capture: the capture and the nodes that a wait depends on.
  std::weak_ptr<Capture> capture;   // guarded by mutex
  std::vector<void *> captureNodes; // guarded by mutex; handles

  std::shared_ptr<Fence> latest() {
    std::lock_guard lock(mutex);
    return record;
  }
};

/// A queue of work. Its thread is started with the first work and ends when the stream
/// is closed and all is done. Thread-safe.
class Stream : public Handled, public std::enable_shared_from_this<Stream> {
public:
  enum class Kind : uint8_t { legacy, perThread, created };

  Stream(std::shared_ptr<Context> context, Kind kind, unsigned flags, int priority);

  const std::shared_ptr<Context> context;
  const Kind kind;
  const unsigned flags;
  std::atomic<int> priority;
  const uint64_t id;

  /// Whether it waits for the legacy stream and the legacy stream for it.
  bool isBlocking() const { return !(flags & CU_STREAM_NON_BLOCKING); }

  /// Queues work behind what is queued, behind `after`, and behind what the order with
  /// the legacy stream asks for. The fence is signalled when it is done.
  std::shared_ptr<Fence> enqueue(std::function<void()> work,
                                 std::vector<std::shared_ptr<Fence>> after = {});
  /// The fence of the last work; null if there never was any.
  std::shared_ptr<Fence> last();
  /// No work comes any more. What is queued is still done.
  void close();

  // What capture is going on; guarded by captureMutex.
  std::mutex captureMutex;
  std::shared_ptr<Capture> capture;
  std::vector<void *> captureTips; // handles of the nodes that the next one depends on
  // Attributes that are kept and given back, by their number; guarded by captureMutex.
  std::vector<std::pair<int, CUlaunchAttributeValue>> attributes;

private:
  struct Task {
    std::function<void()> work;
    std::vector<std::shared_ptr<Fence>> after;
    std::shared_ptr<Fence> done;
  };
  void runTasks();

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Task> tasks;               // guarded by mutex
  std::shared_ptr<Fence> lastFence;     // guarded by mutex
  bool started = false, closed = false; // guarded by mutex
};

/// The stream a handle means, where 0, 1 and 2 mean those of the current context.
CUresult needStream(CUstream handle, std::shared_ptr<Stream> &stream);
CUresult needEvent(CUevent handle, std::shared_ptr<Event> &event);

} // namespace tilewright::vgpu::driver

#endif // TILEWRIGHT_VGPU_DRIVER_STREAM_H
