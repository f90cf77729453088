// Staging: pinned buffers for copies between devices and pageable host memory.
#ifndef TILEWRIGHT_RUNTIME_CUDA_STAGING_H
#define TILEWRIGHT_RUNTIME_CUDA_STAGING_H

#include "tilewright/support/Status.h"

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

namespace tilewright::runtime::cuda {

class CudaDevice;

/// A fixed number of pinned slots, allocated on first use. A device can copy concurrently with its
/// programs only from and to pinned memory. Pinning is slow and takes memory from all other
/// processes, so the number of slots is fixed, and a burst of copies waits for slots.
///
/// Thread-safe. Must outlive its slots. The caller must have made the device's context current.
class Staging {
public:
  static constexpr size_t slotBytes = size_t(4) << 20, slotCount = 4;

  /// Exclusive use of a slot, released by the destructor.
  class Slot {
  public:
    Slot() = default;
    Slot(Slot &&other) noexcept { *this = std::move(other); }
    Slot &operator=(Slot &&other) noexcept {
      std::swap(staging, other.staging);
      std::swap(bytes, other.bytes);
      return *this;
    }
    ~Slot() {
      if (staging)
        staging->give(bytes);
    }
    std::byte *data() const { return bytes; }
    explicit operator bool() const { return bytes; }

  private:
    friend class Staging;
    Slot(Staging *staging, std::byte *bytes) : staging(staging), bytes(bytes) {}
    Staging *staging = nullptr;
    std::byte *bytes = nullptr;
  };

  explicit Staging(CudaDevice &device) : device(device) {}

  /// Waits for a slot.
  Result<Slot> acquire();
  /// Returns an empty value if no slot is free.
  Slot tryAcquire();
  /// Frees the memory; all slots must have been released.
  void clear();

private:
  Result<std::byte *> makeLocked();
  void give(std::byte *bytes);

  CudaDevice &device;
  std::mutex mutex;
  std::condition_variable returned;
  std::vector<std::byte *> free; // guarded by mutex
  size_t made = 0;               // guarded by mutex
};

} // namespace tilewright::runtime::cuda

#endif // TILEWRIGHT_RUNTIME_CUDA_STAGING_H
