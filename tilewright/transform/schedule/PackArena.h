// PackArena: assigns offsets to buffers with known live intervals.
#ifndef TILEWRIGHT_TRANSFORM_SCHEDULE_PACKARENA_H
#define TILEWRIGHT_TRANSFORM_SCHEDULE_PACKARENA_H

#include "tilewright/transform/schedule/Lifetimes.h"

#include <cstdint>
#include <vector>

namespace tilewright::schedule {

/// The alignment of every buffer and slice, in bytes.
inline constexpr int64_t bufferAlignment = 64;

struct ArenaBuffer {
  int64_t bytes = 0;
  Segment interval;
  int64_t offset = 0; // output
};

/// Chooses offsets such that buffers with overlapping live intervals do not overlap in memory, and
/// returns the size of the arena. Simulates a best-fit heap in program order in O(n log n), so that
/// programs of a million ops are packed in seconds.
int64_t packArena(std::vector<ArenaBuffer> &buffers);

} // namespace tilewright::schedule

#endif // TILEWRIGHT_TRANSFORM_SCHEDULE_PACKARENA_H
