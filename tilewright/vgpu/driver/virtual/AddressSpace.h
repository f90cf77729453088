// Reserved address ranges, and the memory objects that are mapped in them.
#ifndef TILEWRIGHT_VGPU_DRIVER_VIRTUAL_ADDRESSSPACE_H
#define TILEWRIGHT_VGPU_DRIVER_VIRTUAL_ADDRESSSPACE_H

#include "tilewright/vgpu/driver/virtual/MemoryObject.h"

#include <map>
#include <span>

namespace tilewright::vgpu::driver {

/// The functions implement the calls with the same names (cuMemAddressReserve, cuMemMap …).
/// Thread-safe.
class AddressSpace {
public:
  CUresult reserve(uint64_t bytes, uint64_t alignment, uint64_t hint, CUdeviceptr &address);
  CUresult free(CUdeviceptr address, uint64_t bytes);
  CUresult map(CUdeviceptr address, uint64_t bytes, std::shared_ptr<MemoryObject> object);
  /// The range must be made up of whole mappings.
  CUresult unmap(CUdeviceptr address, uint64_t bytes);
  CUresult setAccess(CUdeviceptr address, uint64_t bytes, std::span<const CUmemAccessDesc> wanted);

  struct Mapping {
    uint64_t bytes = 0;
    std::shared_ptr<MemoryObject> object;
    uint64_t devices = 0; // that have access, one bit for each ordinal
  };
  /// The mapping that contains `address`, and its start; nullopt if there is none.
  std::optional<std::pair<uint64_t, Mapping>> find(CUdeviceptr address);

private:
  using Mappings = std::map<uint64_t, Mapping>;
  /// The mappings that make up the range, in order; empty if it is not made up of whole mappings.
  /// The caller holds the lock.
  std::vector<Mappings::iterator> wholeMappings(uint64_t begin, uint64_t bytes);
  /// Tells the machine which devices may access the mapping. The caller holds the lock.
  void publish(uint64_t begin, const Mapping &mapping, uint64_t before);

  std::mutex mutex;
  std::map<uint64_t, uint64_t> reservations; // bytes by begin; guarded by mutex
  Mappings mappings;                         // by begin; guarded by mutex
};

/// The address space of this process.
AddressSpace &addressSpace();

} // namespace tilewright::vgpu::driver

#endif // TILEWRIGHT_VGPU_DRIVER_VIRTUAL_ADDRESSSPACE_H
