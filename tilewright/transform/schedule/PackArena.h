// PackArena: assigns offsets to buffers with known live intervals.
#ifndef TILEWRIGHT_TRANSFORM_SCHEDULE_PACKARENA_H
#define TILEWRIGHT_TRANSFORM_SCHEDULE_PACKARENA_H

#include "tilewright/transform/schedule/Lifetimes.h"

#include <cstdint>
#include <span>
#include <vector>

namespace tilewright::schedule {

/// The alignment of every buffer and slice, in bytes.
inline constexpr int64_t bufferAlignment = 64;

struct ArenaBuffer {
  int64_t bytes = 0;
  Segment interval;
  int64_t offset = 0; // output: in the arena, or in `spare`
  int64_t spare = -1; // output: the index of a SpareMemory, or -1 for the arena
};

/// Memory outside of the arena that is unused until the time `until`, such as a result before it is
/// written.
struct SpareMemory {
  int64_t bytes = 0;
  int64_t until = 0;
};

/// Assigns offsets such that buffers with overlapping live intervals do not overlap in memory.
/// Returns the size of the arena. Large buffers are placed in spare memory first. The others are
/// placed by a best-fit heap in program order, in O(n log n), so that programs of a million ops are
/// packed in seconds. If there are at most a few thousand buffers, they are also placed by size,
/// the largest first, and the smaller arena is used.
int64_t packArena(std::vector<ArenaBuffer> &buffers, std::span<const SpareMemory> spare = {});

} // namespace tilewright::schedule

#endif // TILEWRIGHT_TRANSFORM_SCHEDULE_PACKARENA_H
