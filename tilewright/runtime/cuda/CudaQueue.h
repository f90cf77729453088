// CudaQueue: a stream of a device, and a thread that sees its work end.
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

/// The driver tells nobody when work ends unless he waits, and calls nobody at
/// all once a context has failed. So a thread waits for each piece in order and
/// completes its event: well, or with what the driver says.
///
/// From a failure on the driver says the same of every piece, also of those that
/// had ended before. So each one leaves its number in memory of the host when it
/// ends: the first that did not is the one that failed.
///
/// Thread-safe. The thread is made by the first piece. Callers have the
/// device's context current.
class CudaQueue {
public:
  explicit CudaQueue(CudaDevice &device) : device(device) {}
  ~CudaQueue();
  CudaQueue(const CudaQueue &) = delete;
  CudaQueue &operator=(const CudaQueue &) = delete;

  /// `name` is what a debugger shows; `capacity` what awaitRoom() allows.
  Status create(std::string name, size_t capacity);
  CUstream stream() const { return handle; }

  /// Happens when everything that was given to the stream so far is done. `activity` goes before
  /// the words of a failure: "running 'f' on cuda:0".
  Event finished(std::shared_ptr<const std::string> activity = nullptr);
  /// What is given to the stream from now on comes after what `other` was given so far. The context
  /// of `other` is current.
  Status waitFor(CudaQueue &other);

  /// Blocks while `capacity` pieces are under way.
  void awaitRoom();
  /// Blocks until nothing is under way and everybody was told. Returns at once on a thread that
  /// tells, which would wait for itself.
  void drain();
  /// Drains and ends the thread. Nothing may be given afterwards.
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
  bool hasEnded(uint32_t number) const;
  Result<CUevent> takeEvent(); // with the mutex held

  CudaDevice &device;
  CUstream handle = nullptr;
  std::string name;
  size_t capacity = 0;
  uint32_t *progress = nullptr; // number of the last piece that ended, written by the device

  std::mutex mutex;
  std::condition_variable arrived, ended;
  // guarded by mutex:
  std::deque<Piece> pieces;
  uint32_t lastNumber = 0;
  size_t underWay = 0; // in `pieces`, and the one that is waited for
  std::vector<CUevent> freeEvents;
  bool stopping = false;
  std::thread thread;
};

} // namespace tilewright::runtime::cuda

#endif // TILEWRIGHT_RUNTIME_CUDA_CUDAQUEUE_H
