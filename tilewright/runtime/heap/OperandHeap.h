// OperandHeap: host memory that collectives between processes read and write in place.
#ifndef TILEWRIGHT_RUNTIME_HEAP_OPERANDHEAP_H
#define TILEWRIGHT_RUNTIME_HEAP_OPERANDHEAP_H

#include "tilewright/collective/Communicator.h"
#include "tilewright/runtime/Allocator.h"

#include <unordered_map>

namespace tilewright::runtime {

/// Takes blocks from the memory of the engine that connects the processes, so that its collectives
/// copy no operands. Small and huge blocks come from the heap, and so do all others if the engine
/// has no such memory or it is full: a collective copies these. Thread-safe.
class OperandHeap final : public RawMemory {
public:
  struct Settings {
    /// Larger blocks come from the heap. New pages of shared memory take three times as long as
    /// private ones, which are huge, so it is for blocks that the allocator caches.
    size_t maxBytes = size_t(1) << 30;
    bool prefault = false; // allocate the pages of blocks at once, as the heap does by itself
  };
  OperandHeap(std::unique_ptr<RawMemory> heap, Settings settings)
      : heap(std::move(heap)), settings(settings) {}

  /// From now on, takes blocks from `memory`, or from the heap if it is null. Returns whether that
  /// was different before. Earlier blocks stay valid.
  bool use(std::shared_ptr<collective::OperandMemory> memory);

  std::byte *take(size_t bytes) override;
  void give(std::byte *data, size_t bytes) override;
  Status whyNone() const override { return heap->whyNone(); }

private:
  const std::unique_ptr<RawMemory> heap;
  const Settings settings;
  std::mutex mutex;
  // Guarded by mutex. Each block keeps the memory that it is from.
  std::shared_ptr<collective::OperandMemory> current;
  std::unordered_map<std::byte *, std::shared_ptr<collective::OperandMemory>> owners;
};

} // namespace tilewright::runtime

#endif // TILEWRIGHT_RUNTIME_HEAP_OPERANDHEAP_H
