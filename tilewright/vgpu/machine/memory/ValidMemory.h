// The global addresses that the kernels of a launch may access.
#ifndef TILEWRIGHT_VGPU_MACHINE_MEMORY_VALIDMEMORY_H
#define TILEWRIGHT_VGPU_MACHINE_MEMORY_VALIDMEMORY_H

#include "tilewright/vgpu/machine/memory/Allocations.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace tilewright::vgpu::machine {

/// A range of valid addresses; empty by default.
struct ValidRange {
  uint64_t begin = 0, bytes = 0;

  /// Whether the `count` bytes at `address` are inside. The comparisons cannot overflow.
  bool holds(uint64_t address, uint64_t count) const {
    const uint64_t distance = address - begin;
    return distance < bytes && count <= bytes - distance;
  }
};

/// Each operation that accesses global memory caches the range of its last hit in one of these
/// slots, so that the table is only searched when a pointer moves to another allocation.
inline constexpr uint32_t validRangeSlots = 256;
/// All memory except the page at address 0 and the windows of Memory.h; for launches that do not
/// check addresses.
inline constexpr ValidRange allOfMemory{4096, (uint64_t(1) << 56) - 4096};

/// The live allocations of the process, and the launch's own memory (variables of its module,
/// parameters, the workspace of its grid barrier). Thread-safe.
class ValidMemory {
public:
  ValidMemory(std::vector<ValidRange> own, Accessor accessor);

  /// The range that contains `address`; empty if there is none that the device may access. Also
  /// finds memory that was allocated after the launch began.
  ValidRange find(uint64_t address);
  const Accessor &accessor() const { return by; }
  /// See AllocationTable::home().
  uint64_t home(uint64_t address);
  bool hasHomes();
  /// Like find(), for an address that home() returned.
  ValidRange findHome(uint64_t address);

private:
  std::vector<ValidRange> own;
  const Accessor by;
  std::mutex mutex;
  std::shared_ptr<const AllocationTable> table; // guarded by mutex
};

/// Why an access at `address` is invalid, in terms of the nearest allocation: "is out of bounds: 24
/// bytes past the end of an allocation of 1000 bytes of device memory", "is a use after free: …".
std::string describeInvalid(uint64_t address, const Accessor &by = {});

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_MEMORY_VALIDMEMORY_H
