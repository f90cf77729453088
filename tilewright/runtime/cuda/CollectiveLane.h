// CollectiveLane: the collectives of one device, on a stream beside that of its programs.
#ifndef TILEWRIGHT_RUNTIME_CUDA_COLLECTIVELANE_H
#define TILEWRIGHT_RUNTIME_CUDA_COLLECTIVELANE_H

#include "tilewright/runtime/Backend.h"
#include "tilewright/runtime/cuda/CudaQueue.h"

#include <map>
#include <memory>
#include <optional>
#include <string>

namespace tilewright::runtime::cuda {

/// A stream of the highest priority: a collective occupies few multiprocessors, and other devices
/// wait for it. Collectives run on it in the order in which they are started, and overlap with the
/// programs of the device. Thread-safe; the device's context is current.
class CollectiveLane {
public:
  explicit CollectiveLane(CudaDevice &device) : device(device), queue(device) {}
  ~CollectiveLane();

  Status create();

  /// The description of a collective for messages and timelines. Must exist as long as any work
  /// refers to it.
  struct Label {
    std::string name, place, source; // "all_reduce.3", "train.py:41", lines of the user's program
  };
  /// Starts a collective after everything that programs have submitted so far. The result marks its
  /// end, for finish(). Calls `ended`, unless it is null, when the device has executed it.
  Result<CUevent> start(collective::DeviceCommunicator &communicator, const collective::Call &call,
                        size_t clique, std::shared_ptr<const Label> label,
                        std::function<void(bool isWell)> ended);
  /// Programs submitted from now on run after the collective.
  Status finish(CUevent ended);
  /// Gives back an event of start() for which finish() is not called.
  void drop(CUevent ended) { queue.release(ended); }

  /// Waits until no collective is under way.
  void drain() { queue.drain(); }
  void stop() { queue.stop(); }

  /// The collective that the device is executing now.
  std::optional<CollectiveUnderWay> underWay();

private:
  struct Watch; // the times of one collective, while a timeline is recorded
  struct Started {
    int64_t rank = 0;
    std::shared_ptr<const Label> label;
    std::optional<std::chrono::steady_clock::time_point> seen; // when underWay() first saw it begun
  };
  Status announce(uint32_t number);

  CudaDevice &device;
  CudaQueue queue;
  uint32_t *begun = nullptr; // the last collective that the device has begun, written by the device

  std::mutex mutex;
  // guarded by mutex:
  uint32_t last = 0;
  std::map<uint32_t, Started> started; // by number; not finished
};

} // namespace tilewright::runtime::cuda

#endif // TILEWRIGHT_RUNTIME_CUDA_COLLECTIVELANE_H
