// Memory that the driver gave out or was told of.
#ifndef TILEWRIGHT_VGPU_DRIVER_MEMORY_H
#define TILEWRIGHT_VGPU_DRIVER_MEMORY_H

#include "tilewright/vgpu/driver/Driver.h"
#include "tilewright/vgpu/machine/Allocations.h"

#include <optional>

namespace tilewright::vgpu::driver {

using machine::AllocationKind;

/// What is known of a range of memory beside machine::Allocation.
struct OwnedMemory {
  uint64_t begin = 0, bytes = 0;
  AllocationKind kind = AllocationKind::device;
  Device *device = nullptr;
  std::weak_ptr<Context> context;
  unsigned flags = 0;
  std::shared_ptr<MemoryPool> pool; // of memory in the order of a stream
  bool isOfGraph = false;           // reserved for a node; may be used again
  bool inUse = true;                // false: between a free and the next use of a graph's memory
  // What cuMemAdvise and cuMemPrefetchAsync were told; -2 is nowhere.
  bool readMostly = false;
  int preferred = -2, prefetched = -2;
};

/// Memory that begins on a multiple of 512 bytes, as that of cards does.
///  - CUDA_ERROR_OUT_OF_MEMORY: the device, or the host, has not that much.
CUresult allocate(Context &context, size_t bytes, AllocationKind kind, unsigned flags,
                  CUdeviceptr &address);
/// Gives back what begins at `address` if it is of one of two kinds.
CUresult release(CUdeviceptr address, AllocationKind kind, AllocationKind orKind);
/// What holds `address`.
std::optional<OwnedMemory> ownedAt(uint64_t address);
/// Calls `change` with what holds `address`, under the lock; false if nothing does.
bool changeOwned(uint64_t address, void (*change)(OwnedMemory &owned, const void *argument),
                 const void *argument);
void releaseMemoryOf(const Context &context);

void addOwned(OwnedMemory owned);
std::optional<OwnedMemory> takeOwned(uint64_t begin);

/// Plain memory without an entry anywhere; null if there is none left. Without a device
/// it counts as the host's.
void *takeMemory(Device *device, size_t bytes);
void giveMemory(Device *device, void *memory, size_t bytes);

} // namespace tilewright::vgpu::driver

#endif // TILEWRIGHT_VGPU_DRIVER_MEMORY_H
