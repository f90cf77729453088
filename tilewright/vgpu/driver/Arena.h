// Address space for the memory of the virtual GPU, separate from the heap of the process.
#ifndef TILEWRIGHT_VGPU_DRIVER_ARENA_H
#define TILEWRIGHT_VGPU_DRIVER_ARENA_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

namespace tilewright::vgpu::driver {

/// Reserved address ranges. Each allocation gets its own pages, with inaccessible guard pages
/// around them. An access beyond either end, by the host or by a kernel, hits a guard page instead
/// of other data of the process. Freed pages are inaccessible as well. The arena reuses their
/// addresses only after it has handed out terabytes of other addresses, so that accesses through a
/// dangling pointer keep failing.
///
///   void *memory = arena.take(1000);   // its end is 24 bytes before the guard: aligned to 512
///   arena.give(memory);
///
/// Thread-safe.
class Arena {
public:
  /// Allocates zeroed memory that begins at a multiple of 512 bytes. Its end, rounded up to a
  /// multiple of 512, is where the guard page begins. Null if the host has no address space or
  /// pages left.
  void *take(size_t bytes);
  void give(void *memory);
  /// Memory that other processes can map: the file, and the address of its first byte.
  struct SharedPages {
    int file = -1;
    uint64_t begin = 0;
  };
  /// Moves the pages of an allocation to a file, at the same addresses. No other thread may write
  /// them meanwhile. Nullopt if the host has no memory left, or if `memory` is not an allocation.
  std::optional<SharedPages> share(void *memory);
  /// Whether an address is in a reserved range, allocated or not.
  bool holds(uint64_t address);

  static constexpr size_t alignment = 512;

private:
  /// A reserved range; addresses below `next` have been used.
  struct Segment {
    uint64_t begin = 0, end = 0, next = 0;
    size_t live = 0; // allocations
  };
  /// Pages between two guards, for one allocation or for several small ones.
  struct Pages {
    uint64_t begin = 0, end = 0, next = 0;
    size_t segment = 0, live = 0;
    int file = -1; // of shared pages
  };
  /// Makes `current` a segment with room for `bytes` more; false if there is none.
  bool makeRoom(uint64_t bytes);
  /// Makes pages accessible. A guard page precedes them; another follows them, in front of the next
  /// pages. Null if no pages are left.
  Pages *takePages(uint64_t bytes);
  void givePages(uint64_t begin);
  /// Used when there are very many allocations: small ones share pages, since Linux limits the
  /// number of mappings of a process (vm.max_map_count).
  void *takeShared(size_t bytes);

  std::mutex mutex;
  // The members below are guarded by mutex.
  std::vector<Segment> segments;
  size_t current = 0;                 // the segment that new pages are taken from
  std::map<uint64_t, Pages> pages;    // by begin
  std::map<uint64_t, uint64_t> taken; // by address: the begin of its pages
  uint64_t reserved = 0;              // bytes of all segments
  uint64_t shared = 0;                // begin of the pages that small allocations share; 0: none
};

/// The arena of this process.
Arena &arena();

} // namespace tilewright::vgpu::driver

#endif // TILEWRIGHT_VGPU_DRIVER_ARENA_H
