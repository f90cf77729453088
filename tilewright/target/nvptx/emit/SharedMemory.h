// Who has which bytes of a CTA's shared memory, and when.
#ifndef TILEWRIGHT_TARGET_NVPTX_EMIT_SHAREDMEMORY_H
#define TILEWRIGHT_TARGET_NVPTX_EMIT_SHAREDMEMORY_H

#include "tilewright/target/elements/Lanes.h"
#include "tilewright/target/nvptx/Chip.h"

#include <string>
#include <vector>

namespace tilewright::nvptx {

/// Places buffers while a kernel is emitted, in program order: a buffer has its bytes from
/// `allocate` to `release`, and later ones may have them again. Waiting until nobody reads what is
/// overwritten is the emitter's (beginSharedWrites).
class SharedMemory {
public:
  explicit SharedMemory(lanes::LaneBuilder &builder) : b(builder) {}

  struct Buffer {
    int64_t offset, bytes;
    std::string user; // "'tile.reduce' at f.mlir:9:3"
  };

  /// Bytes that start at a multiple of `alignment`, at the lowest place that is free.
  Buffer allocate(int64_t bytes, int64_t alignment, mlir::Operation *user);
  void release(const Buffer &buffer);

  /// The address of a byte, a pointer in address space 3.
  llvm::Value *address(const Buffer &buffer, int64_t offset = 0);

  /// What a CTA must be given.
  int64_t bytes() const { return peak; }
  /// E4054 if the chip has less, with the three largest of those that are there at once.
  Status check(const Chip &chip) const;

private:
  lanes::LaneBuilder &b;
  std::vector<Buffer> live; // by offset
  int64_t peak = 0;
  std::vector<Buffer> atPeak;
};

} // namespace tilewright::nvptx

#endif // TILEWRIGHT_TARGET_NVPTX_EMIT_SHAREDMEMORY_H
