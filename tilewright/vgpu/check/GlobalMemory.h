// Global memory as the checks see it: what is allocated, what of it was written,
// and who accessed it in the launch that runs.
#ifndef TILEWRIGHT_VGPU_CHECK_GLOBALMEMORY_H
#define TILEWRIGHT_VGPU_CHECK_GLOBALMEMORY_H

#include "tilewright/vgpu/check/Touch.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace tilewright::vgpu::check {

/// Memory that a driver gave out. Accesses to the red zone before and after it are
/// errors, reads of bytes that nobody wrote as well.
struct Allocation {
  uint64_t begin = 0, bytes = 0, redZone = 0;
  bool isTracked = false; // not initialised from the beginning
  /// One bit for each byte, by sectors of 32 from `begin` rounded down.
  std::unique_ptr<std::atomic<uint32_t>[]> initialised;

  std::atomic<uint32_t> &wordOf(uint64_t address) const {
    return initialised[address / Sector::bytes - begin / Sector::bytes];
  }
};

/// The allocations at one time; immutable, so that a launch can look without a lock.
class AllocationTable {
public:
  /// The allocation that holds `address` or in whose red zone it is, or null.
  const Allocation *find(uint64_t address) const;
  bool isEmpty() const { return byBegin.empty(); }

private:
  friend class GlobalMemory;
  std::map<uint64_t, std::shared_ptr<Allocation>> byBegin;
};

/// 4096 bytes of memory. Who holds the lock may look at the sectors.
struct Page {
  static constexpr uint32_t bytes = 4096;
  static constexpr uint32_t sectorCount = bytes / Sector::bytes;
  std::atomic_flag lock = ATOMIC_FLAG_INIT;
  std::atomic<uint64_t> launch = 0; // whose accesses the sectors hold; changed with the lock
  /// Sectors that nobody has written and of which two blocks have read each byte: whoever
  /// writes it conflicts with one of the two, so that more readers need not be remembered.
  /// Changed with the lock, looked at without.
  std::atomic<uint64_t> settled[sectorCount / 64] = {};
  /// Most memory is accessed once in a launch, by a row of lanes or a copy: of a line that
  /// one access covers it alone is remembered, and the sectors mean nothing until there is
  /// a second one. One bit for each line.
  static constexpr uint32_t lineBytes = 64, lineCount = bytes / lineBytes;
  uint64_t touched = 0, split = 0; // accessed at all; by more than one, so ask the sectors
  Touch lines[lineCount];          // of those that are touched and not split
  Sector sectors[sectorCount];
  /// What the last writes stored. Memory itself may get it later, from another thread.
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
  /// Makes the sectors of a line say what is known of it.
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
  /// Forgets what earlier launches did.
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
  /// A driver gives out memory; `isInitialised`: its bytes mean something already.
  void allocated(uint64_t begin, uint64_t bytes, uint64_t redZone, bool isInitialised);
  void freed(uint64_t begin);
  /// A copy or memset wrote.
  void written(uint64_t begin, uint64_t bytes);

  std::shared_ptr<const AllocationTable> table() const;
  /// The page of an address, which stays where it is.
  Page &pageOf(uint64_t address);
  /// Forgets who accessed what, to give memory back.
  void forgetAccesses();
  size_t pageCount() const;

private:
  /// Pages by their number, in three levels, so that a look needs no lock. What lies above
  /// 2^48 shares places with what lies below: addresses of the host do not.
  static constexpr uint32_t levelBits = 12;
  static constexpr size_t levelSize = size_t(1) << levelBits;
  struct Leaf {
    std::atomic<Page *> pages[levelSize] = {};
  };
  struct Node {
    std::atomic<Leaf *> leaves[levelSize] = {};
  };
  std::atomic<Node *> nodes[levelSize] = {};
  mutable std::mutex pagesMutex;
  std::vector<std::unique_ptr<Page>> pages; // guarded by pagesMutex, as are the next two
  std::vector<std::unique_ptr<Leaf>> leaves;
  std::vector<std::unique_ptr<Node>> inner;
  mutable std::mutex tableMutex;
  std::shared_ptr<const AllocationTable> current = std::make_shared<AllocationTable>(); // guarded
};

} // namespace tilewright::vgpu::check

#endif // TILEWRIGHT_VGPU_CHECK_GLOBALMEMORY_H
