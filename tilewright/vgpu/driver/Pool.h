// Pools: memory that is given and taken in the order of a stream.
#ifndef TILEWRIGHT_VGPU_DRIVER_POOL_H
#define TILEWRIGHT_VGPU_DRIVER_POOL_H

#include "tilewright/vgpu/driver/Driver.h"

#include <map>

namespace tilewright::vgpu::driver {

/// A pool keeps what is freed, up to its threshold, for the next allocation of that
/// size. Thread-safe.
struct MemoryPool : Handled {
  explicit MemoryPool(Device &device) : device(device) {}
  ~MemoryPool();

  Device &device;
  CUmemPoolProps properties{};

  std::mutex mutex;
  // All guarded by mutex.
  uint64_t threshold = 0;
  uint64_t reserved = 0, used = 0, reservedHigh = 0, usedHigh = 0;
  int reuse[3] = {1, 1, 1};
  std::multimap<size_t, void *> kept;
  std::map<int, CUmemAccess_flags> access; // of other devices
};

/// Memory that exists from now on. Memory of a graph is not in use until its node runs.
CUresult allocateFrom(const std::shared_ptr<MemoryPool> &pool, Context &context, size_t bytes,
                      bool isOfGraph, CUdeviceptr &address);
/// A node that allocates, or a free, is reached.
void startUse(CUdeviceptr address, MemoryPool &pool);
void endUse(CUdeviceptr address);
/// Something that keeps memory of a graph reserved as long as it lives.
std::shared_ptr<void> reservationOf(CUdeviceptr address);

} // namespace tilewright::vgpu::driver

#endif // TILEWRIGHT_VGPU_DRIVER_POOL_H
