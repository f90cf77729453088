// Global memory for the checks: which bytes are allocated, which were written, and which threads
// accessed them in the current launch.
#ifndef TILEWRIGHT_VGPU_CHECK_GLOBALMEMORY_H
#define TILEWRIGHT_VGPU_CHECK_GLOBALMEMORY_H

#include "tilewright/vgpu/check/AccessRecord.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace tilewright::vgpu::check {

/// Memory that a driver allocated. Accesses to the red zone before and after it are errors, and so
/// are reads of bytes that were never written.
struct Allocation {
  uint64_t begin = 0, bytes = 0, redZone = 0;
  bool isTracked = false; // begins uninitialised, so writes are tracked
  /// One bit per byte, one word per 32-byte sector. The first sector is the one that contains
  /// `begin`.
  std::unique_ptr<std::atomic<uint32_t>[]> initialised;

  bool holds(uint64_t from, uint64_t to) const { return from >= begin && to <= begin + bytes; }
  std::atomic<uint32_t> &wordOf(uint64_t address) const {
    return initialised[address / Sector::bytes - begin / Sector::bytes];
  }
  /// Whether the bytes `mask` of the sector that contains `address` were written.
  bool isWritten(uint64_t address, uint32_t mask) const {
    return (mask & ~wordOf(address).load(std::memory_order_relaxed)) == 0;
  }
};

/// An immutable snapshot of the allocations, which a launch can search without a lock.
class AllocationTable {
public:
  /// The allocation that contains `address`, or whose red zone does; null if there is none.
  const Allocation *find(uint64_t address) const;

private:
  friend class GlobalMemory;
  std::map<uint64_t, std::shared_ptr<Allocation>> byBegin;
};

/// The access records of 4096 bytes of memory. Only the thread that holds the lock may read the
/// sectors.
struct Page {
  static constexpr uint32_t bytes = 4096;
  static constexpr uint32_t sectorCount = bytes / Sector::bytes;
  std::atomic_flag lock = ATOMIC_FLAG_INIT;
  std::atomic<uint64_t> launch = 0; // whose accesses these are; changed with the lock held
  /// Sectors that no thread has written and of which blocks of two groups have read every byte.
  /// Any writer then conflicts with one of the two, so more readers need not be remembered. Changed
  /// with the lock held, read without it.
  std::atomic<uint64_t> settled[sectorCount / 64] = {};
  /// Most memory is accessed only once in a launch, by consecutive lanes or by a copy. If one
  /// access covers a whole line, the page records it in `lines` only; the line's sectors become
  /// valid with the second access. One bit for each line.
  static constexpr uint32_t lineBytes = 64, lineCount = bytes / lineBytes;
  uint64_t touched = 0, split = 0; // accessed; accessed more than once, so the sectors are valid
  AccessRecord lines[lineCount];   // the access to each line that is touched and not split
  Sector sectors[sectorCount];
  /// The values of the last writes; memory itself may be updated later, by another thread.
  std::unique_ptr<std::byte[]> values;

  bool isSettled(uint64_t ofLaunch, uint32_t sector) const {
    return launch.load(std::memory_order_acquire) == ofLaunch &&
           (settled[sector / 64].load(std::memory_order_relaxed) >> sector % 64 & 1);
  }
  void setSettled(uint32_t sector, bool isSo) {
    const uint64_t bits = settled[sector / 64].load(std::memory_order_relaxed),
                   bit = uint64_t(1) << sector % 64;
    if (((bits & bit) != 0) != isSo)
      settled[sector / 64].store(bits ^ bit, std::memory_order_relaxed);
  }
  /// Copies the line's access record to the sectors of the line.
  void splitLine(uint32_t line) {
    const uint64_t bit = uint64_t(1) << line;
    if (split & bit)
      return;
    for (uint32_t i = 0; i < lineBytes / Sector::bytes; ++i) {
      Sector &sector = sectors[line * (lineBytes / Sector::bytes) + i];
      sector.clear();
      if (touched & bit)
        sector.add({lines[line].shifted(i * Sector::bytes), ~0u});
    }
    split |= bit;
    touched |= bit;
  }
  /// Other launches that are not ordered before `launch` and whose accesses are here, too.
  std::vector<uint64_t> others;

  /// Begins the accesses of a launch. Keeps those of launches that do not happen before it.
  template <typename IsBefore> void enter(uint64_t ofLaunch, IsBefore isBefore) {
    const uint64_t last = launch.load(std::memory_order_relaxed);
    std::erase_if(others, [&](uint64_t other) { return other == ofLaunch || isBefore(other); });
    if (last != 0 && !isBefore(last))
      others.push_back(last);
    if (others.empty())
      return begin(ofLaunch);
    for (std::atomic<uint64_t> &bits : settled)
      bits.store(0, std::memory_order_relaxed);
    launch.store(ofLaunch, std::memory_order_release);
  }
  /// Discards all accesses.
  void begin(uint64_t ofLaunch) {
    for (std::atomic<uint64_t> &bits : settled)
      bits.store(0, std::memory_order_relaxed);
    touched = split = 0;
    launch.store(ofLaunch, std::memory_order_release);
  }
};

/// Thread-safe.
class GlobalMemory {
public:
  /// The driver allocated memory. `isInitialised`: the bytes already have a defined value.
  void allocated(uint64_t begin, uint64_t bytes, uint64_t redZone, bool isInitialised);
  void freed(uint64_t begin);
  /// A copy or memset by the driver wrote these bytes.
  void written(uint64_t begin, uint64_t bytes);

  std::shared_ptr<const AllocationTable> table() const;
  /// The page of an address. The reference stays valid.
  Page &pageOf(uint64_t address);

private:
  /// A radix tree of pages with three levels, so that a lookup needs no lock. Addresses above 2^48
  /// would alias lower ones, but host addresses are never that high.
  static constexpr uint32_t levelBits = 12;
  static constexpr size_t levelSize = size_t(1) << levelBits;
  struct Leaf {
    std::atomic<Page *> pages[levelSize] = {};
  };
  struct Node {
    std::atomic<Leaf *> leaves[levelSize] = {};
  };
  std::atomic<Node *> nodes[levelSize] = {};
  std::mutex pagesMutex;
  std::vector<std::unique_ptr<Page>> pages; // guarded by pagesMutex, like the next three
  std::vector<Page *> unused;               // those of `pages` whose memory was freed, for reuse
  std::vector<std::unique_ptr<Leaf>> leaves;
  std::vector<std::unique_ptr<Node>> inner;
  mutable std::mutex tableMutex;
  // Guarded by tableMutex.
  std::shared_ptr<const AllocationTable> current = std::make_shared<AllocationTable>();
};

} // namespace tilewright::vgpu::check

#endif // TILEWRIGHT_VGPU_CHECK_GLOBALMEMORY_H
