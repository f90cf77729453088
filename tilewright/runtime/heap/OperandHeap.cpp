#include "tilewright/runtime/heap/OperandHeap.h"

#include <sys/mman.h>
#include <unistd.h>

namespace tilewright::runtime {

bool OperandHeap::use(std::shared_ptr<collective::OperandMemory> memory) {
  std::lock_guard lock(mutex);
  // The old memory is destroyed by the caller, after the lock is released, or with its last block.
  std::swap(current, memory);
  return current != memory;
}

static void touchPages(std::byte *data, size_t bytes) {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const uintptr_t begin = reinterpret_cast<uintptr_t>(data) / page * page;
  const uintptr_t end = reinterpret_cast<uintptr_t>(data) + bytes;
  ::madvise(reinterpret_cast<void *>(begin), end - begin, MADV_POPULATE_WRITE);
}

std::byte *OperandHeap::take(size_t bytes) {
  // Engines copy operands of up to 8 KiB into the message that announces them.
  constexpr size_t leastBytes = 8 * 1024;
  if (bytes > leastBytes && bytes <= settings.maxBytes) {
    std::unique_lock lock(mutex);
    if (auto memory = current) {
      lock.unlock();
      if (std::byte *block = memory->take(bytes)) {
        lock.lock();
        owners.emplace(block, std::move(memory));
        lock.unlock();
        if (settings.prefault)
          touchPages(block, bytes);
        return block;
      }
    }
  }
  return heap->take(bytes);
}

void OperandHeap::give(std::byte *data, size_t bytes) {
  std::shared_ptr<collective::OperandMemory> owner;
  {
    std::lock_guard lock(mutex);
    if (auto found = owners.find(data); found != owners.end()) {
      owner = std::move(found->second);
      owners.erase(found);
    }
  }
  if (owner)
    owner->give(data);
  else
    heap->give(data, bytes);
}

} // namespace tilewright::runtime
