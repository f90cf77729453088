// CudaQueue: a stream of a device, and a thread that waits for its work to complete.
#ifndef TILEWRIGHT_RUNTIME_CUDA_CUDAQUEUE_H
#define TILEWRIGHT_RUNTIME_CUDA_CUDAQUEUE_H

#include "tilewright/runtime/Event.h"
#include "tilewright/runtime/cuda/DriverApi.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace tilewright::runtime::cuda {

class CudaDevice;

/// A CUDA stream. The driver reports the end of work only to a thread that waits for it, and it
/// runs no host callbacks once a context has failed. So a thread waits for each piece of work in
/// order and completes its event, with success or with the driver's error.
///
/// After a failure the driver reports the same error for every piece, even for those that had
/// already completed. So each piece writes its number to host memory when it completes: the first
/// piece whose number is missing is the one that failed.
///
/// Thread-safe. The first piece of work starts the thread. The caller must have made the device's
/// context current.
class CudaQueue {
public:
  explicit CudaQueue(CudaDevice &device) : device(device) {}
  ~CudaQueue();
  CudaQueue(const CudaQueue &) = delete;
  CudaQueue &operator=(const CudaQueue &) = delete;

  /// `name` is the thread's name in debuggers and timelines; `capacity` is the limit of
  /// awaitRoom(). The device prefers the work of an urgent stream.
  Status create(std::string name, size_t capacity, bool isUrgent = false);
  CUstream stream() const { return handle; }

  /// Completes when everything submitted to the stream so far is complete. If the stream does not
  /// accept an event, waits for that work and returns a failed event.
  Event finished();
  /// Calls `callback` when everything submitted to the stream so far is complete: on the queue's
  /// thread, and in the order of these calls. A callback of finished() runs on the caller's thread
  /// if the work has ended already. If the stream does not accept an event, calls it at once.
  void whenFinished(Event::Callback callback);
  /// Like finished(), for a program; `activity` is a prefix of failure messages: "running 'f' on
  /// cuda:0". Fails only if the stream does not accept the event; an event that is returned reports
  /// the failure of the program itself, possibly before this function returns.
  Result<Event> record(std::shared_ptr<const std::string> activity);
  /// Work submitted to this stream from now on runs after the work submitted to `other` so far. The
  /// context of `other` must be current.
  Status waitFor(CudaQueue &other);
  /// The current end of the stream, for waitFor() of any queue and then release().
  Result<CUevent> mark();
  Status waitFor(CUevent marked);
  void release(CUevent marked);

  /// Blocks while `capacity` pieces are in flight.
  void awaitRoom();
  /// Blocks until nothing is in flight and all events are complete. Returns immediately on a
  /// completion thread, which would otherwise wait for itself.
  void drain();
  /// Blocks until everything submitted to the stream so far has ended. For work that no event
  /// reports because record() failed.
  void synchronize();
  /// Drains the queue and ends the thread. No work may be submitted after this.
  void stop();

private:
  struct Piece {
    CUevent event;
    Promise promise;
    std::shared_ptr<const std::string> activity;
    uint32_t number = 0;
  };
  void watch();
  Status endOf(const Piece &piece);
  Result<Event> submit(std::shared_ptr<const std::string> activity, Event::Callback callback);
  bool hasEnded(uint32_t number) const;
  Result<CUevent> takeEvent(); // the caller holds the mutex

  CudaDevice &device;
  CUstream handle = nullptr;
  std::string name;
  size_t capacity = 0;
  uint32_t *progress = nullptr; // number of the last completed piece, written by the device

  std::mutex mutex;
  std::condition_variable arrived, ended;
  // guarded by mutex:
  std::deque<Piece> pieces;
  uint32_t lastNumber = 0;
  size_t underWay = 0; // in `pieces`, plus the one that the thread waits for
  std::vector<CUevent> freeEvents;
  bool stopping = false;
  std::thread thread;
};

} // namespace tilewright::runtime::cuda

#endif // TILEWRIGHT_RUNTIME_CUDA_CUDAQUEUE_H
