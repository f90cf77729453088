#include "tilewright/collective/shm/Arena.h"
#include "tilewright/support/Concat.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace tilewright::collective::shm {

static Status failed(const char *what, size_t bytes) {
  return Status(Error::sharedMemoryExhausted,
                concat(what, " failed for an arena of ", bytes, " bytes: ", std::strerror(errno)));
}

Result<std::shared_ptr<Mapping>> Mapping::map(int file, size_t bytes) {
  void *start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (start == MAP_FAILED) {
    Status status = failed("mmap", bytes);
    close(file);
    return status;
  }
  // Huge pages are an optimization; failure is harmless.
  (void)madvise(start, bytes, MADV_HUGEPAGE);
  return std::shared_ptr<Mapping>(new Mapping(file, static_cast<std::byte *>(start), bytes));
}

Result<std::shared_ptr<Mapping>> Mapping::create(size_t bytes) {
  const int file = memfd_create("tilewright", MFD_CLOEXEC);
  if (file < 0)
    return failed("memfd_create", bytes);
  if (ftruncate(file, static_cast<off_t>(bytes)) != 0) {
    Status status = failed("ftruncate", bytes);
    close(file);
    return status;
  }
  return map(file, bytes);
}

Result<std::shared_ptr<Mapping>> Mapping::open(int descriptor, size_t bytes) {
  // Accessing a mapping beyond the end of its file would raise SIGBUS.
  if (lseek(descriptor, 0, SEEK_END) < static_cast<off_t>(bytes)) {
    close(descriptor);
    return Status(Error::ranksNotConnected, concat("an arena is smaller than the ", bytes,
                                                   " bytes that its process announced"));
  }
  return map(descriptor, bytes);
}

Mapping::~Mapping() {
  munmap(start, bytes);
  close(file);
}

static size_t rounded(size_t bytes) {
  return (std::max<size_t>(bytes, 1) + Arena::alignment - 1) / Arena::alignment * Arena::alignment;
}

Arena::Arena(std::shared_ptr<Mapping> mapping, size_t reserved) : mapping(std::move(mapping)) {
  gaps[rounded(reserved)] = this->mapping->size() - rounded(reserved);
}

std::byte *Arena::allocate(size_t bytes) {
  if (bytes > mapping->size())
    return nullptr;
  bytes = rounded(bytes);
  std::lock_guard lock(mutex);
  // First fit: low addresses were probably used before, so their pages are already allocated.
  auto gap =
      std::find_if(gaps.begin(), gaps.end(), [&](auto &each) { return each.second >= bytes; });
  if (gap == gaps.end())
    return nullptr;
  const auto [offset, room] = *gap;
  gaps.erase(gap);
  if (room > bytes)
    gaps[offset + bytes] = room - bytes;
  pieces[offset] = bytes;
  return mapping->base() + offset;
}

void Arena::free(std::byte *piece) {
  std::lock_guard lock(mutex);
  auto found = pieces.find(offsetOf(piece));
  if (found == pieces.end())
    return;
  auto gap = gaps.emplace(*found).first;
  pieces.erase(found);
  if (auto next = std::next(gap); next != gaps.end() && gap->first + gap->second == next->first) {
    gap->second += next->second;
    gaps.erase(next);
  }
  if (gap != gaps.begin())
    if (auto before = std::prev(gap); before->first + before->second == gap->first) {
      before->second += gap->second;
      gaps.erase(gap);
    }
}

/// Returns the pages of a range of the file to the kernel; its bytes read 0 from then on.
static void punch(const Mapping &mapping, size_t offset, size_t bytes) {
  (void)fallocate(mapping.descriptor(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  static_cast<off_t>(offset), static_cast<off_t>(bytes));
}

void Arena::give(std::byte *piece) {
  // Smaller pieces are reused before long, and a call of the kernel costs more than their pages.
  constexpr size_t leastBytes = size_t(1) << 20;
  size_t bytes = 0;
  {
    std::lock_guard lock(mutex);
    if (auto found = pieces.find(offsetOf(piece)); found != pieces.end())
      bytes = found->second;
  }
  // Before the piece is free: afterwards its bytes may be another caller's.
  if (bytes >= leastBytes)
    punch(*mapping, offsetOf(piece), bytes);
  free(piece);
}

void Arena::trim() {
  std::lock_guard lock(mutex);
  for (auto [offset, bytes] : gaps)
    punch(*mapping, offset, bytes);
}

size_t Arena::largestFree() const {
  std::lock_guard lock(mutex);
  size_t largest = 0;
  for (auto [offset, bytes] : gaps)
    largest = std::max(largest, bytes);
  return largest;
}

} // namespace tilewright::collective::shm
