// CopyPlan: the one way in which elements are put elsewhere.
#ifndef TILEWRIGHT_RUNTIME_CPU_LIBRARY_MOVEMENT_COPYPLAN_H
#define TILEWRIGHT_RUNTIME_CPU_LIBRARY_MOVEMENT_COPYPLAN_H

#include "tilewright/support/ThreadPool.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tilewright::runtime::cpu {

/// A box of elements with a stride for each dimension on both sides; where it
/// begins is said when it runs. Dimensions are collapsed once, when the plan is
/// made, and what is left decides how it runs:
///
///   rows       neighbours on both sides: memcpy
///   tiles      neighbours in different dimensions: transposed in registers
///   fill       one element repeated
///   elements   anything else
///
/// Large plans are split over the pool. Strides are in elements; those of the
/// source may be 0 or negative, those of the target are positive and make it
/// visit no element twice.
class CopyPlan {
public:
  CopyPlan() = default;
  CopyPlan(std::span<const int64_t> sizes, std::span<const int64_t> fromStrides,
           std::span<const int64_t> toStrides, size_t elementBytes);

  /// Copies; `from` and `to` point at the box's first element on each side.
  void run(const std::byte *from, std::byte *to, ThreadPool &pool) const;
  /// The same on the caller's thread alone, for plans that are run many times from a loop.
  void runAlone(const std::byte *from, std::byte *to) const;

  int64_t bytes() const { return totalBytes; }

private:
  struct Dim {
    int64_t size, from, to; // strides in bytes
  };
  enum class Kind : uint8_t { nothing, rows, tiles, fill, elements };

  void runItems(const std::byte *from, std::byte *to, int64_t begin, int64_t end) const;
  template <typename Run>
  void forEachRun(const std::byte *from, std::byte *to, int64_t begin, int64_t end,
                  Run &&run) const;

  Kind kind = Kind::nothing;
  bool streams = false; // too large to be worth a place in the cache
  int64_t cell = 0;     // bytes that move together
  int64_t totalBytes = 0;
  int64_t items = 0; // of work: what the loops visit
  int64_t itemBytes = 0;
  std::vector<Dim> loops; // outermost first
  Dim across{};           // tiles: neighbours in the source
  Dim along{};            // tiles: neighbours in the target
};

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_LIBRARY_MOVEMENT_COPYPLAN_H
