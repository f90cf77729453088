#include "tilewright/runtime/cuda/CudaQueue.h"
#include "tilewright/runtime/cuda/CudaDevice.h"
#include "tilewright/support/Trace.h"

#include <atomic>
#include <pthread.h>

namespace tilewright::runtime::cuda {

/// Whether the calling thread is a queue's completion thread.
static thread_local bool isWatching = false;

Status CudaQueue::create(std::string newName, size_t newCapacity, bool isUrgent) {
  name = std::move(newName);
  capacity = newCapacity;
  // Do not synchronise with the legacy stream, which other code in this process may use.
  int least = 0, greatest = 0;
  if (isUrgent)
    TILEWRIGHT_TRY(TILEWRIGHT_CUDA(device.api(), cuCtxGetStreamPriorityRange, &least, &greatest));
  TILEWRIGHT_TRY(TILEWRIGHT_CUDA(device.api(), cuStreamCreateWithPriority, &handle,
                                 unsigned(CU_STREAM_NON_BLOCKING), greatest));
  if (!device.api().cuStreamWriteValue32)
    return Status();
  void *word = nullptr;
  TILEWRIGHT_TRY(TILEWRIGHT_CUDA(device.api(), cuMemHostAlloc, &word, sizeof *progress,
                                 CU_MEMHOSTALLOC_PORTABLE));
  progress = static_cast<uint32_t *>(word);
  *progress = 0;
  return Status();
}

bool CudaQueue::hasEnded(uint32_t number) const {
  if (!progress)
    return false;
  const uint32_t last = std::atomic_ref(*progress).load(std::memory_order_acquire);
  return static_cast<int32_t>(last - number) >= 0; // numbers wrap around after 2^32
}

CudaQueue::~CudaQueue() { stop(); }

Result<CUevent> CudaQueue::takeEvent() {
  if (!freeEvents.empty()) {
    CUevent event = freeEvents.back();
    freeEvents.pop_back();
    return event;
  }
  CUevent event = nullptr;
  TILEWRIGHT_TRY(TILEWRIGHT_CUDA(device, cuEventCreate, &event,
                                 CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC));
  return event;
}

Event CudaQueue::finished() {
  Result<Event> done = record(nullptr);
  if (done.isOk())
    return *std::move(done);
  synchronize(); // the caller may free memory once the event is complete
  return Event::failed(std::move(done).takeStatus());
}

void CudaQueue::whenFinished(Event::Callback callback) {
  Result<Event> done = submit(nullptr, callback);
  if (!done.isOk())
    callback(std::move(done).takeStatus());
}

Result<Event> CudaQueue::record(std::shared_ptr<const std::string> activity) {
  return submit(std::move(activity), nullptr);
}

Result<Event> CudaQueue::submit(std::shared_ptr<const std::string> activity,
                                Event::Callback callback) {
  std::lock_guard lock(mutex);
  TILEWRIGHT_ASSIGN(CUevent event, takeEvent());
  const uint32_t number = ++lastNumber;
  Status status;
  if (progress)
    status = TILEWRIGHT_CUDA(device, cuStreamWriteValue32, handle,
                             reinterpret_cast<CUdeviceptr>(progress), number, 0u);
  if (status.isOk())
    status = TILEWRIGHT_CUDA(device, cuEventRecord, event, handle);
  if (!status.isOk()) {
    freeEvents.push_back(event);
    return status;
  }
  pieces.push_back({event, Promise(), std::move(activity), number});
  ++underWay;
  Event done = pieces.back().promise.event();
  // The thread cannot take the piece of work before the lock is released, so the callback runs on
  // that thread.
  if (callback)
    done.onReady(std::move(callback));
  if (!thread.joinable())
    thread = std::thread([this] { watch(); });
  arrived.notify_one();
  return done;
}

Status CudaQueue::waitFor(CudaQueue &other) {
  std::lock_guard lock(other.mutex);
  TILEWRIGHT_ASSIGN(CUevent event, other.takeEvent());
  Status status = TILEWRIGHT_CUDA(other.device, cuEventRecord, event, other.handle);
  // The event can be reused at once: cuStreamWaitEvent waits for the work recorded when it was
  // called.
  if (status.isOk()) {
    const ContextScope scope(device);
    status = TILEWRIGHT_CUDA(device, cuStreamWaitEvent, handle, event, 0u);
  }
  other.freeEvents.push_back(event);
  return status;
}

Result<CUevent> CudaQueue::mark() {
  std::lock_guard lock(mutex);
  TILEWRIGHT_ASSIGN(CUevent event, takeEvent());
  Status status = TILEWRIGHT_CUDA(device, cuEventRecord, event, handle);
  if (status.isOk())
    return event;
  freeEvents.push_back(event);
  return status;
}

Status CudaQueue::waitFor(CUevent marked) {
  return TILEWRIGHT_CUDA(device, cuStreamWaitEvent, handle, marked, 0u);
}

void CudaQueue::release(CUevent marked) {
  std::lock_guard lock(mutex);
  freeEvents.push_back(marked);
}

Status CudaQueue::endOf(const Piece &piece) {
  const CUresult result = device.api().cuEventSynchronize(piece.event);
  if (!DriverApi::isFatal(result))
    return device.check(result, "cuEventSynchronize");
  if (hasEnded(piece.number))
    return Status();
  return device.fail(device.api().check(result, "cuEventSynchronize"), piece.activity.get());
}

void CudaQueue::watch() {
  isWatching = true;
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
  trace::nameThread(name);
  const ContextScope scope(device);
  std::unique_lock lock(mutex);
  while (true) {
    arrived.wait(lock, [this] { return stopping || !pieces.empty(); });
    if (pieces.empty())
      return;
    Piece piece = std::move(pieces.front());
    pieces.pop_front();
    lock.unlock();
    piece.promise.complete(endOf(piece));
    lock.lock();
    freeEvents.push_back(piece.event);
    --underWay;
    ended.notify_all();
  }
}

void CudaQueue::awaitRoom() {
  if (isWatching)
    return;
  std::unique_lock lock(mutex);
  ended.wait(lock, [this] { return underWay < capacity; });
}

void CudaQueue::drain() {
  if (isWatching)
    return;
  std::unique_lock lock(mutex);
  ended.wait(lock, [this] { return underWay == 0; });
}

void CudaQueue::synchronize() {
  // A failure is that of the work, which the caller reports already.
  (void)device.api().cuStreamSynchronize(handle);
}

void CudaQueue::stop() {
  {
    std::lock_guard lock(mutex);
    stopping = true;
    arrived.notify_all();
  }
  if (thread.joinable())
    thread.join();
  if (!handle)
    return;
  const ContextScope scope(device);
  for (CUevent event : freeEvents)
    device.api().cuEventDestroy(event);
  freeEvents.clear();
  device.api().cuStreamDestroy(handle);
  handle = nullptr;
  if (progress)
    device.api().cuMemFreeHost(std::exchange(progress, nullptr));
}

} // namespace tilewright::runtime::cuda
