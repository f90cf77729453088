#include "tilewright/runtime/cuda/CollectiveLane.h"

#include "tilewright/collective/Clique.h"
#include "tilewright/runtime/cuda/CudaDevice.h"
#include "tilewright/support/Concat.h"
#include "tilewright/support/Trace.h"

#include <atomic>

namespace tilewright::runtime::cuda {

/// Measures a collective on the device, for timelines.
struct CollectiveLane::Watch {
  explicit Watch(CudaDevice &device) : device(device) {}
  ~Watch() {
    for (CUevent event : events)
      if (event)
        device.api().cuEventDestroy(event);
  }
  Status mark(size_t which, CUstream stream) {
    TILEWRIGHT_TRY(TILEWRIGHT_CUDA(device, cuEventCreate, &events[which], 0u));
    return TILEWRIGHT_CUDA(device, cuEventRecord, events[which], stream);
  }
  /// Called when the collective has just ended.
  void record(const Label &label) {
    const int64_t end = trace::now();
    float milliseconds = 0;
    if (device.api().cuEventElapsedTime(&milliseconds, events[0], events[1]) == CUDA_SUCCESS)
      trace::span("collective", label.name, end - static_cast<int64_t>(double(milliseconds) * 1e6),
                  end, label.source);
  }
  CudaDevice &device;
  CUevent events[2] = {nullptr, nullptr};
};

CollectiveLane::~CollectiveLane() {
  stop();
  if (!begun)
    return;
  const ContextScope scope(device);
  device.api().cuMemFreeHost(begun);
}

Status CollectiveLane::create() {
  // The queue needs no limit, because the programs that start collectives have one.
  TILEWRIGHT_TRY(queue.create(concat("collectives ", device.ordinal()), SIZE_MAX, true));
  if (!device.api().cuStreamWriteValue32)
    return Status();
  void *word = nullptr;
  TILEWRIGHT_TRY(
      TILEWRIGHT_CUDA(device, cuMemHostAlloc, &word, sizeof *begun, CU_MEMHOSTALLOC_PORTABLE));
  begun = static_cast<uint32_t *>(word);
  *begun = 0;
  return Status();
}

/// The device writes a word when it begins the collective, which tells a collective that waits for
/// other ranks from one that waits for a program of this device.
Status CollectiveLane::announce(uint32_t number) {
  return begun ? TILEWRIGHT_CUDA(device, cuStreamWriteValue32, queue.stream(),
                                 reinterpret_cast<CUdeviceptr>(begun), number, 0u)
               : Status();
}

Result<CUevent> CollectiveLane::start(collective::DeviceCommunicator &communicator,
                                      const collective::Call &call, size_t clique,
                                      std::shared_ptr<const Label> label,
                                      std::function<void(bool)> whenEnded) {
  TILEWRIGHT_TRY(queue.waitFor(device.programs()));
  uint32_t number = 0;
  {
    std::lock_guard lock(mutex);
    number = ++last;
    started[number] = {communicator.rank(), label, std::nullopt};
  }
  auto forget = [this, number] {
    std::lock_guard lock(mutex);
    started.erase(number);
  };
  auto submit = [&]() -> Result<CUevent> {
    TILEWRIGHT_TRY(announce(number));
    std::shared_ptr<Watch> watch = trace::isOn() ? std::make_shared<Watch>(device) : nullptr;
    if (watch)
      TILEWRIGHT_TRY(watch->mark(0, queue.stream()));
    TILEWRIGHT_TRY(communicator.enqueue(call, clique, queue.stream()));
    if (watch)
      TILEWRIGHT_TRY(watch->mark(1, queue.stream()));
    TILEWRIGHT_ASSIGN(CUevent ended, queue.mark());
    // On the queue's thread, because a timeline has a row for each thread.
    queue.whenFinished([forget, watch, label, whenEnded](const Status &status) {
      if (whenEnded)
        whenEnded(status.isOk());
      if (watch && status.isOk())
        watch->record(*label);
      forget();
    });
    return ended;
  };
  Result<CUevent> ended = submit();
  if (!ended.isOk()) {
    forget();
    if (whenEnded)
      whenEnded(false);
  }
  return ended;
}

Status CollectiveLane::finish(CUevent ended) {
  Status status = device.programs().waitFor(ended);
  queue.release(ended);
  return status;
}

std::optional<CollectiveUnderWay> CollectiveLane::underWay() {
  if (!begun)
    return std::nullopt;
  const uint32_t number = std::atomic_ref(*begun).load(std::memory_order_acquire);
  std::lock_guard lock(mutex);
  const auto found = started.find(number);
  if (found == started.end())
    return std::nullopt;
  const auto now = std::chrono::steady_clock::now();
  if (!found->second.seen)
    found->second.seen = now;
  const Label &label = *found->second.label;
  return CollectiveUnderWay{concat("rank ", found->second.rank, " (", device.text(), ") in '",
                                   label.name, "'",
                                   label.place.empty() ? "" : concat(" at ", label.place)),
                            now - *found->second.seen};
}

} // namespace tilewright::runtime::cuda
