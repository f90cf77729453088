// Memory pools for stream-ordered allocation.
#ifndef TILEWRIGHT_VGPU_DRIVER_POOL_H
#define TILEWRIGHT_VGPU_DRIVER_POOL_H

#include "tilewright/vgpu/driver/Driver.h"

#include <map>

namespace tilewright::vgpu::driver {

/// A pool keeps freed memory, up to its threshold, for the next allocation of the same size.
/// Thread-safe.
struct MemoryPool : Handled {
  explicit MemoryPool(Device &device) : device(device) {}
  ~MemoryPool();

  Device &device;
  CUmemPoolProps properties{};

  std::mutex mutex;
  // The members below are guarded by mutex.
  uint64_t threshold = 0;
  uint64_t reserved = 0, used = 0, reservedHigh = 0, usedHigh = 0;
  int reuse[3] = {1, 1, 1};
  std::multimap<size_t, void *> kept;
  std::map<int, CUmemAccess_flags> access; // by other devices
};

/// Allocates memory that is valid immediately. Graph memory is only reserved until its allocation
/// node runs.
CUresult allocateFrom(const std::shared_ptr<MemoryPool> &pool, Context &context, size_t bytes,
                      bool isOfGraph, CUdeviceptr &address);
/// The driver calls startUse() when an allocation node runs and endUse() when a free node runs.
void startUse(CUdeviceptr address, MemoryPool &pool);
void endUse(CUdeviceptr address);
/// An object that keeps graph memory reserved during its lifetime.
std::shared_ptr<void> reservationOf(CUdeviceptr address);

} // namespace tilewright::vgpu::driver

#endif // TILEWRIGHT_VGPU_DRIVER_POOL_H
