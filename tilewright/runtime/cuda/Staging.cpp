#include "tilewright/runtime/cuda/Staging.h"
#include "tilewright/runtime/cuda/CudaDevice.h"

namespace tilewright::runtime::cuda {

Result<std::byte *> Staging::makeLocked() {
  void *data = nullptr;
  TILEWRIGHT_TRY(TILEWRIGHT_CUDA(device, cuMemHostAlloc, &data, slotBytes,
                                 unsigned(CU_MEMHOSTALLOC_PORTABLE)));
  ++made;
  return static_cast<std::byte *>(data);
}

Result<Staging::Slot> Staging::acquire() {
  std::unique_lock lock(mutex);
  if (free.empty() && made < slotCount) {
    TILEWRIGHT_ASSIGN(std::byte * data, makeLocked());
    return Slot(this, data);
  }
  returned.wait(lock, [this] { return !free.empty(); });
  std::byte *data = free.back();
  free.pop_back();
  return Slot(this, data);
}

Staging::Slot Staging::tryAcquire() {
  std::lock_guard lock(mutex);
  if (!free.empty()) {
    std::byte *data = free.back();
    free.pop_back();
    return Slot(this, data);
  }
  if (made == slotCount)
    return Slot();
  Result<std::byte *> data = makeLocked();
  return data.isOk() ? Slot(this, *data) : Slot();
}

void Staging::give(std::byte *bytes) {
  std::lock_guard lock(mutex);
  free.push_back(bytes);
  returned.notify_one();
}

void Staging::clear() {
  std::lock_guard lock(mutex);
  if (free.empty())
    return;
  const ContextScope scope(device);
  for (std::byte *data : free)
    device.api().cuMemFreeHost(data);
  made -= free.size();
  free.clear();
}

} // namespace tilewright::runtime::cuda
