#include "tilewright/transform/tile/pipeline/ModuloSchedule.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <limits>

namespace tilewright::pipeline {
namespace {

/// The longest way from each op to any other, where a dependence of distance d is shorter by d
/// intervals; nothing if a cycle is longer than nothing.
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

/// The time on one kind of unit, which repeats every interval.
class Reservations {
public:
  Reservations(int64_t interval, int64_t count) : interval(interval), count(count) {}

  struct Entry {
    unsigned op;
    int64_t start, occupancy; // start in [0, interval)
  };

  /// Whether `occupancy` cycles from `start` are free.
  bool fits(int64_t start, int64_t occupancy) const {
    llvm::SmallVector<std::pair<int64_t, int64_t>> changes; // (time, +1 or -1)
    int64_t always = 0;
    auto add = [&](int64_t from, int64_t length) {
      // What is longer than the interval is on one engine all the time, and again for the rest.
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
    for (const Entry &entry : entries)
      add(entry.start, entry.occupancy);
    // Ends before starts at the same cycle.
    llvm::sort(changes);
    int64_t busy = always;
    if (busy > count)
      return false;
    for (auto [time, change] : changes)
      if ((busy += change) > count)
        return false;
    return true;
  }

  /// The first cycle from `earliest` on, within one interval, at which `occupancy` cycles are free.
  std::optional<int64_t> firstFree(int64_t earliest, int64_t occupancy) const {
    // The earliest start is `earliest` itself or where something ends.
    llvm::SmallVector<int64_t> candidates{0};
    for (const Entry &entry : entries)
      candidates.push_back(llvm::mod(entry.start + entry.occupancy - earliest, interval));
    llvm::sort(candidates);
    for (int64_t wait : candidates)
      if (fits(earliest + wait, occupancy))
        return earliest + wait;
    return std::nullopt;
  }

  void reserve(unsigned op, int64_t start, int64_t occupancy) {
    entries.push_back({op, llvm::mod(start, interval), occupancy});
  }
  void release(unsigned op) {
    llvm::erase_if(entries, [&](const Entry &entry) { return entry.op == op; });
  }
  llvm::ArrayRef<Entry> all() const { return entries; }

private:
  int64_t interval, count;
  llvm::SmallVector<Entry> entries;
};

constexpr int64_t unscheduled = std::numeric_limits<int64_t>::min();

/// One attempt at an interval. Gives up after a number of placements in proportion to the ops.
std::optional<Schedule> attempt(const Loop &loop, int64_t interval) {
  std::optional<std::vector<int64_t>> height = heights(loop, interval);
  if (!height)
    return std::nullopt;
  std::vector<Reservations> units;
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
    Reservations &unit = units[op.unit];
    std::optional<int64_t> time = unit.firstFree(earliest, op.occupancy);
    if (!time) {
      // Nowhere: take the place of others, later than last time so that this ends.
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
  // A cycle's latency is at most all latencies; if that many cycles are not enough, none are.
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
  // Long intervals grow by about 1%: finer steps would take long and gain less than the table's
  // latencies are exact.
  for (int64_t interval = lowest; interval <= serial; interval += 1 + interval / 128)
    if (std::optional<Schedule> schedule = attempt(loop, interval))
      return schedule;
  return attempt(loop, serial);
}

std::optional<std::string> findViolation(const Loop &loop, const Schedule &schedule) {
  if (schedule.interval < 1 || schedule.start.size() != loop.ops.size())
    return "the schedule has no interval or not one start for each op";
  for (const Dependence &dependence : loop.dependences) {
    int64_t gap = schedule.start[dependence.to] + schedule.interval * dependence.distance -
                  schedule.start[dependence.from];
    if (gap < dependence.latency)
      return llvm::formatv("{0} starts {1} cycles after {2} did, which needs {3}",
                           loop.ops[dependence.to].name, gap, loop.ops[dependence.from].name,
                           dependence.latency)
          .str();
  }
  // Cycle by cycle of an interval: slow and without cases.
  for (auto [index, unit] : llvm::enumerate(loop.units)) {
    std::vector<int64_t> busy(schedule.interval, 0);
    for (auto [op, start] : llvm::zip(loop.ops, schedule.start))
      if (op.unit == index)
        for (int64_t cycle = 0; cycle < op.occupancy; ++cycle)
          if (++busy[llvm::mod(start + cycle, schedule.interval)] > unit.count)
            return llvm::formatv("{0} is busy with {1} ops at cycle {2} and {3} would be one more",
                                 unit.name, unit.count, llvm::mod(start + cycle, schedule.interval),
                                 op.name)
                .str();
  }
  return std::nullopt;
}

} // namespace tilewright::pipeline
