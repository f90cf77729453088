// ModuloSchedule: the shortest interval at which iterations of a loop can start, and a schedule for
// it.
#ifndef TILEWRIGHT_TRANSFORM_TILE_PIPELINE_MODULOSCHEDULE_H
#define TILEWRIGHT_TRANSFORM_TILE_PIPELINE_MODULOSCHEDULE_H

#include "tilewright/transform/tile/pipeline/Loop.h"

#include <optional>

namespace tilewright::pipeline {

/// The interval below which some unit would have more than its cycles of work, and that unit.
struct ResourceBound {
  int64_t interval = 1;
  unsigned unit = 0;
};
ResourceBound resourceBound(const Loop &loop);

/// The interval below which some cycle of dependences could not be kept; nothing if one
/// cannot be kept at any interval, because it has no distance.
std::optional<int64_t> recurrenceBound(const Loop &loop);

/// A schedule at the shortest interval that iterative modulo scheduling finds: ops by their height
/// above the end, each at the earliest cycle that is free, ops in the way displaced; the interval
/// grows when too many were. Nothing if the loop cannot be scheduled at any interval.
std::optional<Schedule> moduloSchedule(const Loop &loop);

/// Why the schedule is none for this loop, or nothing. Shares no code with what makes one.
std::optional<std::string> findViolation(const Loop &loop, const Schedule &schedule);

} // namespace tilewright::pipeline

#endif // TILEWRIGHT_TRANSFORM_TILE_PIPELINE_MODULOSCHEDULE_H
