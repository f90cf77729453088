#include "tilewright/vgpu/driver/Arena.h"

#include <algorithm>
#include <sys/mman.h>
#include <unistd.h>

namespace tilewright::vgpu::driver {

static constexpr uint64_t gigabyte = uint64_t(1) << 30;
/// Sizes of a reserved segment, largest first. A limit on address space (ulimit -v) or a sanitizer
/// may leave room only for a smaller one.
static constexpr uint64_t segmentBytes[] = {256 * gigabyte, 16 * gigabyte, gigabyte};
/// The maximum number of bytes that a process reserves. After that, the arena reuses free segments,
/// oldest first.
static constexpr uint64_t maxReserved = 16 * 1024 * gigabyte;
/// The maximum number of allocations with guard pages. Each needs two mappings; Linux allows 65,530
/// mappings per process by default, and other parts of the process need some of them.
static constexpr size_t maxGuarded = 16384;
static constexpr uint64_t sharedBytes = uint64_t(16) << 20;

static uint64_t pageBytes() {
  static const auto bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}
static uint64_t roundedTo(uint64_t bytes, uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}
static void *pointer(uint64_t address) { return reinterpret_cast<void *>(address); }

static uint64_t reserve(uint64_t bytes) {
  void *found = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return found == MAP_FAILED ? 0 : reinterpret_cast<uint64_t>(found);
}

bool Arena::makeRoom(uint64_t bytes) {
  if (!segments.empty() && segments[current].end - segments[current].next >= bytes)
    return true;
  auto isFree = [&](const Segment &one) { return one.live == 0 && one.end - one.begin >= bytes; };
  auto useAgain = [&] {
    const auto oldest = std::find_if(segments.begin(), segments.end(), isFree);
    if (oldest == segments.end())
      return false;
    oldest->next = oldest->begin;
    current = static_cast<size_t>(oldest - segments.begin());
    return true;
  };
  if (reserved >= maxReserved && useAgain())
    return true;
  for (uint64_t size : segmentBytes) {
    size = std::max(size, roundedTo(bytes, pageBytes()));
    if (const uint64_t begin = reserve(size)) {
      segments.push_back({begin, begin + size, begin, 0});
      reserved += size;
      current = segments.size() - 1;
      return true;
    }
  }
  return useAgain();
}

Arena::Pages *Arena::takePages(uint64_t bytes) {
  const uint64_t page = pageBytes();
  const uint64_t data = roundedTo(bytes, page);
  if (!makeRoom(page + data + page))
    return nullptr;
  Segment &segment = segments[current];
  const uint64_t begin = segment.next + page;
  if (mprotect(pointer(begin), data, PROT_READ | PROT_WRITE) != 0)
    return nullptr;
  segment.next = begin + data;
  ++segment.live;
  return &(pages[begin] = {begin, begin + data, begin, current, 0, -1});
}

void Arena::givePages(uint64_t begin) {
  const Pages one = pages.at(begin);
  pages.erase(begin);
  if (one.file >= 0)
    close(one.file);
  // Map new, inaccessible pages over the old ones, which drops their contents.
  if (mmap(pointer(one.begin), one.end - one.begin, PROT_NONE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED) {
    madvise(pointer(one.begin), one.end - one.begin, MADV_DONTNEED);
    mprotect(pointer(one.begin), one.end - one.begin, PROT_NONE);
  }
  --segments[one.segment].live;
}

void *Arena::takeShared(size_t bytes) {
  // Leave a gap after each allocation, so that no two are adjacent.
  const uint64_t room = roundedTo(bytes, alignment) + alignment;
  auto found = pages.find(shared);
  if (found == pages.end() || found->second.end - found->second.next < room) {
    if (found != pages.end() && found->second.live == 0)
      givePages(shared);
    Pages *fresh = takePages(sharedBytes);
    if (!fresh)
      return nullptr;
    shared = fresh->begin;
    found = pages.find(shared);
  }
  Pages &from = found->second;
  const uint64_t address = from.next;
  from.next += room;
  ++from.live;
  taken[address] = from.begin;
  return pointer(address);
}

void *Arena::take(size_t bytes) {
  std::lock_guard lock(mutex);
  if (bytes > maxReserved)
    return nullptr;
  bytes = std::max<size_t>(bytes, 1);
  const bool isSmall = bytes < pageBytes();
  if (isSmall && pages.size() >= maxGuarded)
    return takeShared(bytes);
  Pages *fresh = takePages(bytes);
  if (!fresh)
    return isSmall ? takeShared(bytes) : nullptr;
  fresh->live = 1;
  const uint64_t address = fresh->end - roundedTo(bytes, alignment);
  taken[address] = fresh->begin;
  return pointer(address);
}

void Arena::give(void *memory) {
  std::lock_guard lock(mutex);
  auto found = taken.find(reinterpret_cast<uint64_t>(memory));
  if (found == taken.end())
    return;
  const uint64_t begin = found->second;
  taken.erase(found);
  if (--pages.at(begin).live == 0 && begin != shared)
    givePages(begin);
}

std::optional<Arena::SharedPages> Arena::share(void *memory) {
  std::lock_guard lock(mutex);
  const auto found = taken.find(reinterpret_cast<uint64_t>(memory));
  if (found == taken.end())
    return std::nullopt;
  Pages &one = pages.at(found->second);
  if (one.file >= 0)
    return SharedPages{one.file, one.begin};
  const uint64_t bytes = one.end - one.begin;
  const int file = memfd_create("tilewright-vgpu-ipc", MFD_CLOEXEC);
  uint64_t written = 0;
  while (file >= 0 && written < bytes) {
    const ssize_t more = write(file, pointer(one.begin + written), bytes - written);
    if (more <= 0)
      break;
    written += static_cast<uint64_t>(more);
  }
  if (written != bytes || mmap(pointer(one.begin), bytes, PROT_READ | PROT_WRITE,
                               MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED) {
    if (file >= 0)
      close(file);
    return std::nullopt;
  }
  one.file = file;
  return SharedPages{file, one.begin};
}

bool Arena::holds(uint64_t address) {
  std::lock_guard lock(mutex);
  return std::any_of(segments.begin(), segments.end(),
                     [&](const Segment &one) { return one.begin <= address && address < one.end; });
}

Arena &arena() {
  static auto &only = *new Arena(); // outlives main(), as the streams do
  return only;
}

} // namespace tilewright::vgpu::driver
