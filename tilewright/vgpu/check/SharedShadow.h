// The accesses to the shared memory of a block with which a later access can conflict.
//
// Matrix instructions and asynchronous copies access whole tiles, in chunks of 16 bytes. For these
// the shadow keeps one entry for each operation and page of 1024 bytes, with a bit for each chunk:
// a product then costs a few comparisons instead of one for each 32 bytes. All other accesses are
// kept by sector. Each sector is in one of two states: its accesses are in its page's ranges, or in
// its own list. It leaves the first state with its first access that is not a range, or whose order
// is in doubt, and returns to it when an access in chunks overwrites it.
#ifndef TILEWRIGHT_VGPU_CHECK_SHAREDSHADOW_H
#define TILEWRIGHT_VGPU_CHECK_SHAREDSHADOW_H

#include "tilewright/vgpu/check/AccessRecord.h"

#include <cstddef>
#include <memory>
#include <vector>

namespace tilewright::vgpu::check {

/// Chunks of one page that the same instruction accessed.
struct RangeAccess {
  AccessRecord record; // without the lanes, which are below
  uint64_t chunks = 0;
  uint32_t laneMask = 0; // the lanes that made the access, if it is not laneless
  /// The warps of the block for which the access is known to happen before their next access. A
  /// warp's knowledge only grows, so a bit stays set.
  uint32_t knownBy = 0;
  bool isMatrix = false; // by a wgmma
  int8_t lanes[64] = {}; // by chunk

  /// Adds chunks of the same access.
  void extend(const RangeAccess &other);
  /// Whether the same lanes access each of `some` chunks in both.
  bool hasLanesOf(const RangeAccess &other, uint64_t some) const;
};

struct SharedPage {
  static constexpr uint32_t bytes = 1024, chunkBytes = 16, chunkCount = bytes / chunkBytes;
  static constexpr uint32_t sectorCount = bytes / Sector::bytes;
  /// If there are more entries than this, sectors get their own lists, which forget old accesses.
  static constexpr size_t maxRanges = 64;

  std::vector<RangeAccess> ranges; // in the order of their first access
  uint64_t initialised = 0;        // chunks that were written, of sectors without their own list
  uint32_t split = 0;              // sectors that have their own list
  uint32_t mbarriers = 0;          // sectors with mbarriers that are in use
  std::unique_ptr<Sector[]> sectors;

  /// The sectors that hold any of these chunks.
  static uint32_t sectorsOf(uint64_t chunks);
  /// Adds an access, or extends the entry of the same access to other chunks.
  void add(const RangeAccess &access);
  void dropEmpty();
  /// The sector's own list. Moves its accesses there if they are in `ranges`.
  Sector &own(uint32_t sector);
  /// Moves the sector's accesses to `ranges` if all that is left of them is `write`.
  void joinAfter(const AccessRecord &write, uint32_t sector, bool isMatrix);
};

class SharedShadow {
public:
  /// Sets the size. With `isTensor`, also covers tensor memory, whose addresses follow those of
  /// shared memory.
  void resize(uint32_t bytes, bool isTensor = false) {
    if (isTensor)
      bytes = machine::tensorOffset + machine::tensorBytes;
    sectors = (bytes + Sector::bytes - 1) / Sector::bytes;
    pages = std::vector<SharedPage>((bytes + SharedPage::bytes - 1) / SharedPage::bytes);
  }
  uint32_t bytes() const { return sectors * Sector::bytes; }

  SharedPage &page(uint32_t index) { return pages[index]; }
  SharedPage &pageOf(uint32_t sector) { return pages[sector / SharedPage::sectorCount]; }
  Sector &operator[](uint32_t sector) {
    return pageOf(sector).own(sector % SharedPage::sectorCount);
  }
  /// Forgets that sectors were written, and by which lanes.
  void forget(uint32_t offset, uint32_t bytes);
  /// Whether all bytes of the sector were written.
  bool isInitialised(uint32_t sector) const;

  bool hasMbarrier(uint32_t sector) const {
    return pages[sector / SharedPage::sectorCount].mbarriers & bitOf(sector);
  }
  void setMbarrier(uint32_t sector, bool isLive) {
    uint32_t &bits = pageOf(sector).mbarriers;
    bits = isLive ? bits | bitOf(sector) : bits & ~bitOf(sector);
  }

private:
  static uint32_t bitOf(uint32_t sector) { return 1u << sector % SharedPage::sectorCount; }

  uint32_t sectors = 0;
  std::vector<SharedPage> pages;
};

} // namespace tilewright::vgpu::check

#endif // TILEWRIGHT_VGPU_CHECK_SHAREDSHADOW_H
