// CopyPlan: the strided copy that all data-movement kernels use.
#ifndef TILEWRIGHT_RUNTIME_CPU_LIBRARY_MOVEMENT_COPYPLAN_H
#define TILEWRIGHT_RUNTIME_CPU_LIBRARY_MOVEMENT_COPYPLAN_H

#include "tilewright/support/ThreadPool.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tilewright::runtime::cpu {

/// A loop from one tensor to another, with a stride on each side.
struct CopyLoop {
  int64_t size, from, to;
};
/// Merges adjacent loops, outermost first, that one loop can replace on both sides.
void mergeLoops(std::vector<CopyLoop> &loops);

/// Copies a box of elements with a stride for each dimension on both sides; the caller of run()
/// passes its start. The constructor collapses dimensions once, and the remaining ones determine
/// how it runs:
///
///   rows       contiguous on both sides: memcpy
///   tiles      contiguous in different dimensions: transposed in registers
///   fill       one element repeated
///   elements   anything else
///
/// Large plans are split over the pool. Strides are in elements; those of the source may be 0 or
/// negative, those of the target must be positive and must not address an element twice.
class CopyPlan {
public:
  CopyPlan() = default;
  CopyPlan(std::span<const int64_t> sizes, std::span<const int64_t> fromStrides,
           std::span<const int64_t> toStrides, size_t elementBytes);

  /// Copies; `from` and `to` point at the box's first element on each side.
  void run(const std::byte *from, std::byte *to, ThreadPool &pool) const;
  /// Like run(), but only on the calling thread, for plans that run many times in a loop.
  void runAlone(const std::byte *from, std::byte *to) const;

  int64_t bytes() const { return totalBytes; }

private:
  enum class Kind : uint8_t { nothing, rows, tiles, fill, elements };

  void runItems(const std::byte *from, std::byte *to, int64_t begin, int64_t end) const;
  template <typename Run>
  void forEachRun(const std::byte *from, std::byte *to, int64_t begin, int64_t end,
                  Run &&run) const;

  Kind kind = Kind::nothing;
  bool streams = false; // too large to be worth caching
  int64_t cell = 0;     // bytes that move as a unit
  int64_t totalBytes = 0;
  int64_t items = 0; // work items: iterations of the loops
  int64_t itemBytes = 0;
  std::vector<CopyLoop> loops; // outermost first; strides in bytes
  CopyLoop across{};           // tiles: adjacent in the source
  CopyLoop along{};            // tiles: adjacent in the target
};

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_LIBRARY_MOVEMENT_COPYPLAN_H
