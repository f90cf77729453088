// PackArena: offsets for buffers that do not all live at one time.
#ifndef TILEWRIGHT_TRANSFORM_SCHEDULE_PACKARENA_H
#define TILEWRIGHT_TRANSFORM_SCHEDULE_PACKARENA_H

#include "tilewright/transform/schedule/Lifetimes.h"

#include <cstdint>
#include <vector>

namespace tilewright::schedule {

/// Every buffer and slice starts at a multiple of this.
inline constexpr int64_t bufferAlignment = 64;

struct ArenaBuffer {
  int64_t bytes = 0;
  Segment life;
  int64_t offset = 0; // the answer
};

/// Chooses offsets such that buffers whose lives overlap do not, and returns the
/// size of the arena. Plays the program through a heap that takes the smallest
/// hole that fits: n log n, so that programs of a million ops are packed in seconds.
int64_t packArena(std::vector<ArenaBuffer> &buffers);

} // namespace tilewright::schedule

#endif // TILEWRIGHT_TRANSFORM_SCHEDULE_PACKARENA_H
