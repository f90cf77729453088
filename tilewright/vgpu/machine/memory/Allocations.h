// The ranges of host memory that serve as memory of the virtual GPU. The code that allocates memory
// registers it here; the code that checks accesses looks it up here.
#ifndef TILEWRIGHT_VGPU_MACHINE_MEMORY_ALLOCATIONS_H
#define TILEWRIGHT_VGPU_MACHINE_MEMORY_ALLOCATIONS_H

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace tilewright::vgpu::machine {

enum class AllocationKind : uint8_t {
  device,
  pool,       // of a device, stream-ordered
  managed,    // accessible by the host and all devices
  host,       // of the host, allocated by the driver
  registered, // of the host, registered by the program
  variable,   // of a module's variables
  heap,       // of malloc() in kernels
};

/// A range [begin, end) of addresses.
struct Allocation {
  uint64_t begin = 0, end = 0;
  uint64_t id = 0; // never reused, which distinguishes freed memory from new memory
  AllocationKind kind = AllocationKind::device;
  int device = 0;

  uint64_t bytes() const { return end - begin; }
};

/// A sorted snapshot of all allocations; searched without a lock.
class AllocationTable {
public:
  explicit AllocationTable(std::vector<Allocation> sorted) : sorted(std::move(sorted)) {}

  /// The allocation that contains `address`, or null.
  const Allocation *find(uint64_t address) const;
  /// The last allocation that begins at or before `address`, or null; for messages such as "64
  /// bytes past the end of".
  const Allocation *before(uint64_t address) const;
  /// The first allocation that begins after `address`, or null.
  const Allocation *after(uint64_t address) const;
  const std::vector<Allocation> &all() const { return sorted; }

private:
  std::vector<Allocation> sorted;
};

/// The allocations of a process. Thread-safe.
///
///   std::shared_ptr<const AllocationTable> table = allocations().snapshot();
///   const Allocation *hit = table->find(address);   // null: plain memory of the host
class Allocations {
public:
  /// Adds an allocation and returns its id. Ranges must not overlap.
  uint64_t add(uint64_t begin, uint64_t bytes, AllocationKind kind, int device);
  /// Removes and returns the allocation that begins at `begin`; nullopt if there is none.
  std::optional<Allocation> remove(uint64_t begin);
  std::optional<Allocation> find(uint64_t address) const;
  /// The most recently freed allocation that contained `address`, if it is still remembered.
  std::optional<Allocation> findFreed(uint64_t address) const;
  /// Whether [begin, begin + bytes) overlaps an allocation.
  bool overlaps(uint64_t begin, uint64_t bytes) const;

  /// A snapshot; cheap unless there were changes since the last call.
  std::shared_ptr<const AllocationTable> snapshot() const;

private:
  static constexpr size_t rememberedFrees = 16384;

  mutable std::mutex mutex;
  std::map<uint64_t, Allocation> byBegin;                 // guarded by mutex
  std::vector<Allocation> freed;                          // guarded by mutex; a ring buffer
  size_t nextFreed = 0;                                   // guarded by mutex
  uint64_t nextId = 1;                                    // guarded by mutex
  mutable std::shared_ptr<const AllocationTable> current; // guarded by mutex; null after a change
};

/// The allocations of this process.
Allocations &allocations();

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_MEMORY_ALLOCATIONS_H
