// HostMemory: the heap of the host, made ready for large tensors.
#ifndef TILEWRIGHT_RUNTIME_CPU_HOSTMEMORY_H
#define TILEWRIGHT_RUNTIME_CPU_HOSTMEMORY_H

#include "tilewright/runtime/Allocator.h"

namespace tilewright::runtime::cpu {

/// Small blocks from the heap. Large ones are mapped on their own, aligned so
/// that the kernel can use pages of 2 MiB: one fault then brings what would be
/// 512, and they go back to the system as soon as they are given.
class HostMemory final : public RawMemory {
public:
  explicit HostMemory(bool prefault) : prefault(prefault) {}
  std::byte *take(size_t bytes) override;
  void give(std::byte *data, size_t bytes) override;

private:
  const bool prefault;
};

/// Memory that this process may use: the machine's, or less if a container says so.
int64_t availableMemory();

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_HOSTMEMORY_H
