#include "tilewright/runtime/cpu/HostMemory.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sys/mman.h>
#include <unistd.h>

namespace tilewright::runtime::cpu {

constexpr size_t hugePage = size_t(2) << 20;
/// Blocks of at least this size have their own mapping.
constexpr size_t mappedFrom = size_t(1) << 20;

static bool isMapped(size_t bytes) { return bytes >= mappedFrom; }

static size_t roundedUp(size_t bytes, size_t step) { return (bytes + step - 1) / step * step; }

/// The size of a block's mapping: whole pages. give() computes it again from the block's size.
static size_t mappedBytes(size_t bytes) {
  return roundedUp(bytes, static_cast<size_t>(::sysconf(_SC_PAGESIZE)));
}

static std::byte *map(size_t bytes, bool prefault) {
  // For huge pages, map more than needed and unmap the parts before and after the aligned range.
  const bool isHuge = bytes >= hugePage;
  const size_t slack = isHuge ? hugePage : 0;
  void *mapped = ::mmap(nullptr, bytes + slack, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED)
    return nullptr;
  auto *start = static_cast<std::byte *>(mapped);
  if (isHuge) {
    const size_t before = roundedUp(reinterpret_cast<uintptr_t>(start), hugePage) -
                          reinterpret_cast<uintptr_t>(start);
    if (before)
      ::munmap(start, before);
    if (slack - before)
      ::munmap(start + before + bytes, slack - before);
    start += before;
    ::madvise(start, bytes, MADV_HUGEPAGE); // a hint; if the system ignores it, pages are small
  }
  if (prefault)
    ::madvise(start, bytes, MADV_POPULATE_WRITE);
  return start;
}

std::byte *HostMemory::take(size_t bytes) {
  if (isMapped(bytes))
    return map(mappedBytes(bytes), prefault);
  return static_cast<std::byte *>(std::aligned_alloc(64, roundedUp(bytes, 64)));
}

void HostMemory::give(std::byte *data, size_t bytes) {
  if (isMapped(bytes))
    ::munmap(data, mappedBytes(bytes));
  else
    std::free(data);
}

int64_t availableMemory() {
  int64_t bytes = ::sysconf(_SC_PHYS_PAGES) * ::sysconf(_SC_PAGESIZE);
  // The memory limit of the control group, version 2 or version 1; "max" and huge numbers mean no
  // limit.
  for (const char *path :
       {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::ifstream file(path);
    if (int64_t limit = 0; file >> limit && limit > 0)
      bytes = std::min(bytes, limit);
  }
  return bytes;
}

} // namespace tilewright::runtime::cpu
