// HostMemory: the heap of the host, tuned for large tensors.
#ifndef TILEWRIGHT_RUNTIME_CPU_HOSTMEMORY_H
#define TILEWRIGHT_RUNTIME_CPU_HOSTMEMORY_H

#include "tilewright/runtime/Allocator.h"

namespace tilewright::runtime::cpu {

/// Takes small blocks from the heap. Maps each large block separately, aligned so that the kernel
/// can use 2 MiB pages: one page fault then replaces 512, and give() returns the memory to the
/// system immediately.
class HostMemory final : public RawMemory {
public:
  explicit HostMemory(bool prefault) : prefault(prefault) {}
  std::byte *take(size_t bytes) override;
  void give(std::byte *data, size_t bytes) override;

private:
  const bool prefault;
};

/// Memory that this process may use: the machine's, or the container's limit if that is lower.
int64_t availableMemory();

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_HOSTMEMORY_H
