#include "tilewright/transform/tile/pipeline/ModuloSchedule.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <limits>

namespace tilewright::pipeline {
namespace {

/// The length of the longest path from each op, where a dependence of distance d counts as d
/// intervals shorter; nullopt if there is a cycle of positive length.
std::optional<std::vector<int64_t>> heights(const Loop &loop, int64_t interval) {
  std::vector<int64_t> height(loop.ops.size(), 0);
  for (size_t round = 0; round <= loop.ops.size(); ++round) {
    bool changed = false;
    for (const Dependence &dependence : loop.dependences) {
      int64_t through = height[dependence.to] + dependence.latency - interval * dependence.distance;
      if (through > height[dependence.from]) {
        height[dependence.from] = through;
        changed = true;
      }
    }
    if (!changed)
      return height;
  }
  return std::nullopt;
}

/// The reservation table of one unit, modulo the interval.
class ReservationTable {
public:
  ReservationTable(int64_t interval, int64_t count) : interval(interval), count(count) {}

  struct Reservation {
    unsigned op;
    int64_t start, occupancy; // start in [0, interval)
  };

  /// Whether an instance is free for `occupancy` cycles from `start`.
  bool fits(int64_t start, int64_t occupancy) const {
    llvm::SmallVector<std::pair<int64_t, int64_t>> changes; // (time, +1 or -1)
    int64_t always = 0;
    auto add = [&](int64_t from, int64_t length) {
      // An op that is longer than the interval always occupies one instance for each whole
      // interval, and another one for the remainder.
      always += length / interval;
      length %= interval;
      if (length == 0)
        return;
      from = llvm::mod(from, interval);
      changes.emplace_back(from, 1);
      if (from + length <= interval) {
        changes.emplace_back(from + length, -1);
      } else {
        changes.emplace_back(interval, -1);
        changes.emplace_back(0, 1);
        changes.emplace_back(from + length - interval, -1);
      }
    };
    add(start, occupancy);
    for (const Reservation &reservation : reservations)
      add(reservation.start, reservation.occupancy);
    // Ends sort before starts of the same cycle.
    llvm::sort(changes);
    int64_t busy = always;
    if (busy > count)
      return false;
    for (auto [time, change] : changes)
      if ((busy += change) > count)
        return false;
    return true;
  }

  /// The first cycle from `earliest` on, within one interval, at which an instance is free for
  /// `occupancy` cycles.
  std::optional<int64_t> firstFree(int64_t earliest, int64_t occupancy) const {
    // The first free cycle is `earliest` itself or the end of another op.
    llvm::SmallVector<int64_t> candidates{0};
    for (const Reservation &reservation : reservations)
      candidates.push_back(
          llvm::mod(reservation.start + reservation.occupancy - earliest, interval));
    llvm::sort(candidates);
    for (int64_t wait : candidates)
      if (fits(earliest + wait, occupancy))
        return earliest + wait;
    return std::nullopt;
  }

  void reserve(unsigned op, int64_t start, int64_t occupancy) {
    reservations.push_back({op, llvm::mod(start, interval), occupancy});
  }
  void release(unsigned op) {
    llvm::erase_if(reservations,
                   [&](const Reservation &reservation) { return reservation.op == op; });
  }
  llvm::ArrayRef<Reservation> all() const { return reservations; }

private:
  int64_t interval, count;
  llvm::SmallVector<Reservation> reservations;
};

constexpr int64_t unscheduled = std::numeric_limits<int64_t>::min();

/// Tries to find a schedule with the given interval. Gives up after a number of placements that is
/// proportional to the number of ops.
std::optional<Schedule> attempt(const Loop &loop, int64_t interval) {
  std::optional<std::vector<int64_t>> height = heights(loop, interval);
  if (!height)
    return std::nullopt;
  std::vector<ReservationTable> units;
  for (const Unit &unit : loop.units)
    units.emplace_back(interval, unit.count);

  std::vector<int64_t> start(loop.ops.size(), unscheduled), last(loop.ops.size(), unscheduled);
  auto remove = [&](unsigned op) {
    units[loop.ops[op].unit].release(op);
    start[op] = unscheduled;
  };
  for (size_t budget = 16 * loop.ops.size() + 64; budget-- > 0;) {
    int next = -1;
    for (unsigned op = 0; op < loop.ops.size(); ++op)
      if (start[op] == unscheduled && (next < 0 || (*height)[op] > (*height)[next]))
        next = op;
    if (next < 0) {
      int64_t first = *llvm::min_element(start);
      Schedule schedule{interval, {}};
      for (int64_t time : start)
        schedule.start.push_back(time - first);
      return schedule;
    }
    const LoopOp &op = loop.ops[next];
    int64_t earliest = 0;
    for (const Dependence &dependence : loop.dependences)
      if (dependence.to == unsigned(next) && start[dependence.from] != unscheduled &&
          dependence.from != dependence.to)
        earliest = std::max(earliest, start[dependence.from] + dependence.latency -
                                          interval * dependence.distance);
    ReservationTable &unit = units[op.unit];
    std::optional<int64_t> time = unit.firstFree(earliest, op.occupancy);
    if (!time) {
      // If no cycle is free, evict other ops. Start later than the last time this op was placed, so
      // that the search terminates.
      time = last[next] == unscheduled ? earliest : std::max(earliest, last[next] + 1);
      while (!unit.fits(*time, op.occupancy)) {
        if (unit.all().empty())
          return std::nullopt;
        remove(unit.all().front().op);
      }
    }
    start[next] = last[next] = *time;
    unit.reserve(next, *time, op.occupancy);
    for (const Dependence &dependence : loop.dependences) {
      unsigned other = dependence.from == unsigned(next) ? dependence.to : dependence.from;
      if ((dependence.from != unsigned(next) && dependence.to != unsigned(next)) ||
          other == unsigned(next) || start[other] == unscheduled)
        continue;
      if (start[dependence.to] + interval * dependence.distance <
          start[dependence.from] + dependence.latency)
        remove(other);
    }
  }
  return std::nullopt;
}

} // namespace

ResourceBound resourceBound(const Loop &loop) {
  ResourceBound bound;
  for (auto [index, unit] : llvm::enumerate(loop.units)) {
    int64_t work = 0;
    for (const LoopOp &op : loop.ops)
      if (op.unit == index)
        work += op.occupancy;
    int64_t needed = llvm::divideCeil(work, unit.count);
    if (needed > bound.interval)
      bound = {needed, unsigned(index)};
  }
  return bound;
}

std::optional<int64_t> recurrenceBound(const Loop &loop) {
  // The latency of a dependence cycle is at most the sum of all latencies. If that interval is not
  // enough, no interval is.
  int64_t high = 1, low = 1;
  for (const Dependence &dependence : loop.dependences)
    high += std::max<int64_t>(dependence.latency, 0);
  if (!heights(loop, high))
    return std::nullopt;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (heights(loop, middle))
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

std::optional<Schedule> moduloSchedule(const Loop &loop) {
  if (loop.ops.empty())
    return Schedule{1, {}};
  std::optional<int64_t> recurrence = recurrenceBound(loop);
  if (!recurrence)
    return std::nullopt;
  int64_t lowest = std::max(resourceBound(loop).interval, *recurrence);
  int64_t serial = lowest;
  for (const LoopOp &op : loop.ops)
    serial += std::max(op.occupancy, op.latency);
  for (const Dependence &dependence : loop.dependences)
    serial += std::max<int64_t>(dependence.latency, 0);
  // Increase long intervals by about 1%: finer steps would take long and gain less than the error
  // of the latency table.
  for (int64_t interval = lowest; interval <= serial; interval += 1 + interval / 128)
    if (std::optional<Schedule> schedule = attempt(loop, interval))
      return schedule;
  return attempt(loop, serial);
}

std::optional<std::string> findViolation(const Loop &loop, const Schedule &schedule) {
  if (schedule.interval < 1 || schedule.start.size() != loop.ops.size())
    return "the schedule has no interval or does not have one start for each op";
  for (const Dependence &dependence : loop.dependences) {
    int64_t gap = schedule.start[dependence.to] + schedule.interval * dependence.distance -
                  schedule.start[dependence.from];
    if (gap < dependence.latency)
      return llvm::formatv("{0} starts {1} cycles after {2}, but must start at least {3} after it",
                           loop.ops[dependence.to].name, gap, loop.ops[dependence.from].name,
                           dependence.latency)
          .str();
  }
  // Check every cycle of the interval, which is slow but has no special cases.
  for (auto [index, unit] : llvm::enumerate(loop.units)) {
    std::vector<int64_t> busy(schedule.interval, 0);
    for (auto [op, start] : llvm::zip(loop.ops, schedule.start))
      if (op.unit == index)
        for (int64_t cycle = 0; cycle < op.occupancy; ++cycle)
          if (++busy[llvm::mod(start + cycle, schedule.interval)] > unit.count)
            return llvm::formatv("{0} is busy with {1} ops at cycle {2}, so it cannot run {3} too",
                                 unit.name, unit.count, llvm::mod(start + cycle, schedule.interval),
                                 op.name)
                .str();
  }
  return std::nullopt;
}

} // namespace tilewright::pipeline
