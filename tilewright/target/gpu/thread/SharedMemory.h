// SharedMemory: allocates a CTA's shared memory.
#ifndef TILEWRIGHT_TARGET_GPU_THREAD_SHAREDMEMORY_H
#define TILEWRIGHT_TARGET_GPU_THREAD_SHAREDMEMORY_H

#include "tilewright/dialect/sm/SmDialect.h"
#include "tilewright/target/gpu/thread/ThreadBuilder.h"

#include <string>
#include <vector>

namespace tilewright::gpu {

/// Allocates buffers in program order while a kernel is emitted: a buffer is live from `allocate`
/// to `release`, and later buffers may reuse its bytes. The emitter must insert the barriers that
/// protect reused bytes (beginSharedWrites).
class SharedMemory {
public:
  explicit SharedMemory(ThreadBuilder &builder) : b(builder) {}

  struct Buffer {
    int64_t offset, bytes;
    std::string user; // "'tile.reduce' at f.mlir:9:3"
  };

  /// Allocates the lowest free bytes at a multiple of `alignment`.
  Buffer allocate(int64_t bytes, int64_t alignment, mlir::Operation *user);
  void release(const Buffer &buffer);

  /// The address of byte `offset` of a buffer, a pointer in address space 3.
  Value address(const Buffer &buffer, int64_t offset = 0);

  /// The number of bytes that a launch must provide.
  int64_t bytes() const { return peak; }
  /// Fails with E4054 if the chip has less; the message names the three largest buffers that are
  /// live at the peak.
  Status check() const;

private:
  ThreadBuilder &b;
  std::vector<Buffer> live; // by offset
  int64_t peak = 0;
  std::vector<Buffer> atPeak;
};

/// The byte offset of an element of a buffer.
int64_t byteOf(sm::BufferType buffer, llvm::ArrayRef<int64_t> index);

} // namespace tilewright::gpu

#endif // TILEWRIGHT_TARGET_GPU_THREAD_SHAREDMEMORY_H
