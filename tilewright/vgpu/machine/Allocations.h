// Which ranges of the host's memory are memory of the virtual GPU. Whoever makes
// memory tells it here; whoever checks accesses asks here.
#ifndef TILEWRIGHT_VGPU_MACHINE_ALLOCATIONS_H
#define TILEWRIGHT_VGPU_MACHINE_ALLOCATIONS_H

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace tilewright::vgpu::machine {

enum class AllocationKind : uint8_t {
  device,
  pool,       // of a device, in the order of a stream
  managed,    // of the host and all devices
  host,       // of the host, made by the driver
  registered, // of the host, made by the program
  variable,   // of a module
};

/// A range [begin, end) of addresses.
struct Allocation {
  uint64_t begin = 0, end = 0;
  uint64_t id = 0; // never given twice, so that memory that was freed is told from new memory
  AllocationKind kind = AllocationKind::device;
  int device = 0;

  uint64_t bytes() const { return end - begin; }
};

/// All allocations at one moment, sorted; found without a lock.
class AllocationTable {
public:
  explicit AllocationTable(std::vector<Allocation> sorted) : sorted(std::move(sorted)) {}

  /// The allocation that holds `address`, or null.
  const Allocation *find(uint64_t address) const;
  /// The last one that begins at or before `address`, or null: for "64 bytes behind the end of".
  const Allocation *before(uint64_t address) const;
  /// The first one that begins after `address`, or null.
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
  /// The number of the new allocation. Ranges must not overlap.
  uint64_t add(uint64_t begin, uint64_t bytes, AllocationKind kind, int device);
  /// Removes what begins at `begin`; nothing if there is none.
  std::optional<Allocation> remove(uint64_t begin);
  std::optional<Allocation> find(uint64_t address) const;
  /// The one that was freed last of those that held `address`, as long as it is remembered.
  std::optional<Allocation> findFreed(uint64_t address) const;
  /// Whether [begin, begin + bytes) touches an allocation.
  bool overlaps(uint64_t begin, uint64_t bytes) const;

  /// Cheap while nothing changes.
  std::shared_ptr<const AllocationTable> snapshot() const;

private:
  static constexpr size_t rememberedFrees = 1024;

  mutable std::mutex mutex;
  std::map<uint64_t, Allocation> byBegin;                 // guarded by mutex
  std::vector<Allocation> freed;                          // guarded by mutex; a ring
  size_t nextFreed = 0;                                   // guarded by mutex
  uint64_t nextId = 1;                                    // guarded by mutex
  mutable std::shared_ptr<const AllocationTable> current; // guarded by mutex; null: changed
};

/// Those of this process.
Allocations &allocations();

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_ALLOCATIONS_H
