// Memory that the driver allocated or that the program registered.
#ifndef TILEWRIGHT_VGPU_DRIVER_MEMORY_H
#define TILEWRIGHT_VGPU_DRIVER_MEMORY_H

#include "tilewright/vgpu/driver/Driver.h"
#include "tilewright/vgpu/machine/memory/Allocations.h"

#include <functional>
#include <optional>

namespace tilewright::vgpu::driver {

using machine::AllocationKind;

/// Properties of a memory range in addition to machine::Allocation.
struct OwnedMemory {
  uint64_t begin = 0, bytes = 0;
  AllocationKind kind = AllocationKind::device;
  Device *device = nullptr;
  std::weak_ptr<Context> context;
  unsigned flags = 0;
  uint64_t sharedWith = 0, home = 0; // see machine::Allocation
  std::shared_ptr<MemoryPool> pool;  // of stream-ordered memory
  bool isOfGraph = false;            // reserved for an allocation node, whose graph may run again
  bool inUse = true;                 // false: graph memory before the first use or after a free
  // Set by cuMemAdvise and cuMemPrefetchAsync; -2 means no location.
  bool readMostly = false;
  int preferred = -2, prefetched = -2;
};

/// Allocates memory that is aligned to 512 bytes, as on physical GPUs.
///  - CUDA_ERROR_OUT_OF_MEMORY: the device or the host does not have that much.
CUresult allocate(Context &context, size_t bytes, AllocationKind kind, unsigned flags,
                  CUdeviceptr &address);
/// Frees the allocation that begins at `address` if its kind is `kind` or `orKind`.
CUresult release(CUdeviceptr address, AllocationKind kind, AllocationKind orKind);
/// The memory range that contains `address`.
std::optional<OwnedMemory> ownedAt(uint64_t address);
/// Calls `change`, with the lock held, for the range that contains `address`, if there is one.
void changeOwned(uint64_t address, const std::function<void(OwnedMemory &)> &change);
void releaseMemoryOf(const Context &context);
/// Changes which devices may access the memory of a pool.
void sharePool(const MemoryPool &pool, uint64_t sharedWith);

void addOwned(OwnedMemory owned);
std::optional<OwnedMemory> takeOwned(uint64_t begin);

/// Allocates memory without registering it; null if none is left. Without a device, it is charged
/// to the host.
void *takeMemory(Device *device, size_t bytes);
void giveMemory(Device *device, void *memory, size_t bytes);

} // namespace tilewright::vgpu::driver

#endif // TILEWRIGHT_VGPU_DRIVER_MEMORY_H
