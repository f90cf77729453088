// ModuloSchedule: finds a short initiation interval of a loop, and a schedule for it.
#ifndef TILEWRIGHT_TRANSFORM_TILE_PIPELINE_MODULOSCHEDULE_H
#define TILEWRIGHT_TRANSFORM_TILE_PIPELINE_MODULOSCHEDULE_H

#include "tilewright/transform/tile/pipeline/Loop.h"

#include <optional>

namespace tilewright::pipeline {

/// The smallest interval at which no unit has more work than cycles, and the unit that limits it.
struct ResourceBound {
  int64_t interval = 1;
  unsigned unit = 0;
};
ResourceBound resourceBound(const Loop &loop);

/// The smallest interval that satisfies every dependence cycle; nullopt if a cycle has distance 0,
/// which no interval satisfies.
std::optional<int64_t> recurrenceBound(const Loop &loop);

/// A schedule with the shortest interval that iterative modulo scheduling finds: it places ops by
/// height, each at the first free cycle, and evicts conflicting ops. After too many evictions, it
/// increases the interval. Returns nullopt if no interval is possible.
std::optional<Schedule> moduloSchedule(const Loop &loop);

/// Explains why the schedule is invalid for this loop; nullopt if it is valid. Shares no code with
/// the scheduler.
std::optional<std::string> findViolation(const Loop &loop, const Schedule &schedule);

} // namespace tilewright::pipeline

#endif // TILEWRIGHT_TRANSFORM_TILE_PIPELINE_MODULOSCHEDULE_H
