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
  mapped,     // of a device, mapped by cuMemMap
  home,       // the same memory where observers know it, at an address that programs do not see
};

/// A range [begin, end) of addresses.
struct Allocation {
  uint64_t begin = 0, end = 0;
  uint64_t id = 0; // never reused, which distinguishes freed memory from new memory
  AllocationKind kind = AllocationKind::device;
  int device = 0;
  /// The devices that the program gave access to this allocation, one bit for each ordinal. No
  /// other device may access mapped memory.
  uint64_t sharedWith = 0;
  /// The address by which observers know the memory, if it is mapped at several addresses; 0: its
  /// own.
  uint64_t home = 0;

  uint64_t bytes() const { return end - begin; }
};

/// The device that accesses memory, and the devices whose memory it may access as a peer.
struct Accessor {
  int device = -1; // -1: may access everything
  uint64_t peers = 0;

  bool mayAccess(const Allocation &allocation) const;
};

/// A sorted snapshot of all allocations; searched without a lock.
class AllocationTable {
public:
  explicit AllocationTable(std::vector<Allocation> sorted);

  /// The allocation that contains `address`, or null.
  const Allocation *find(uint64_t address) const;
  /// The last allocation that begins at or before `address`, or null; for messages such as "64
  /// bytes past the end of".
  const Allocation *before(uint64_t address) const;
  /// The first allocation that begins after `address`, or null.
  const Allocation *after(uint64_t address) const;
  const std::vector<Allocation> &all() const { return sorted; }
  /// Whether any memory has a home, so that home() may change an address.
  bool hasHomes() const { return withHomes; }
  /// The address by which observers know the byte at `address`: the same for all addresses at which
  /// it is mapped.
  uint64_t home(uint64_t address) const;

private:
  std::vector<Allocation> sorted;
  bool withHomes = false;
};

/// The allocations of a process. Thread-safe.
///
///   std::shared_ptr<const AllocationTable> table = allocations().snapshot();
///   const Allocation *hit = table->find(address);   // null: plain memory of the host
class Allocations {
public:
  /// Adds an allocation and returns its id, which is chosen here. Ranges must not overlap.
  uint64_t add(Allocation allocation);
  uint64_t add(uint64_t begin, uint64_t bytes, AllocationKind kind, int device) {
    return add(Allocation{.begin = begin, .end = begin + bytes, .kind = kind, .device = device});
  }
  /// Changes which devices may access the allocation that begins at `begin`.
  void share(uint64_t begin, uint64_t sharedWith);
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
