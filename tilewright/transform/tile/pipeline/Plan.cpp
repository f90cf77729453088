#include "tilewright/transform/tile/pipeline/Plan.h"

#include "tilewright/transform/tile/pipeline/ModuloSchedule.h"
#include "tilewright/transform/tile/pipeline/PlanParts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <queue>
#include <set>

namespace tilewright::pipeline {

int64_t lifetime(const PipelineProblem &problem, const Schedule &schedule, const Buffer &buffer) {
  int64_t written = schedule.start[buffer.writer], end = written + 1;
  for (auto [reader, distance] : buffer.readers)
    end = std::max(end, schedule.start[reader] + problem.loop.ops[reader].latency +
                            buffer.lateness + distance * schedule.interval);
  return end - written;
}

int64_t slotSize(const PipelineProblem &problem, const Channel &channel, Space space) {
  int64_t size = 0;
  for (unsigned buffer : channel.buffers)
    if (problem.buffers[buffer].space == space)
      size += problem.buffers[buffer].size;
  return size;
}

Loop withDepths(const PipelineProblem &problem, llvm::ArrayRef<int64_t> depths) {
  Loop loop = problem.loop;
  for (auto [channel, depth] : llvm::zip(problem.channels, depths))
    for (unsigned written : channel.buffers)
      for (unsigned read : channel.buffers)
        for (auto [reader, distance] : problem.buffers[read].readers)
          loop.dependences.push_back(
              {reader, problem.buffers[written].writer,
               problem.loop.ops[reader].latency + problem.buffers[read].lateness,
               depth - distance});
  return loop;
}

namespace {

struct Use {
  int64_t shared, tensor, registers;
};

Use useOf(const PipelineProblem &problem, llvm::ArrayRef<int64_t> depths) {
  Use use{problem.limits.sharedReserved, 0, 0};
  for (const RoundChannel &channel : problem.roundChannels)
    use.tensor += channel.depth * channel.tensorColumns;
  for (auto [channel, depth] : llvm::zip(problem.channels, depths)) {
    use.shared += depth * slotSize(problem, channel, Space::shared);
    use.tensor += depth * slotSize(problem, channel, Space::tensor);
    use.registers += depth * slotSize(problem, channel, Space::registers);
  }
  return use;
}

/// The channel depths with the shortest interval that fit in memory, none greater than in `wanted`.
/// Removing a slot never shortens the interval, so a best-first search by interval can stop at the
/// first depths that fit.
std::optional<llvm::SmallVector<int64_t>>
shrink(const PipelineProblem &problem, llvm::ArrayRef<int64_t> wanted, std::string &reason) {
  const Limits &limits = problem.limits;
  using Depths = std::vector<int64_t>;
  using Candidate = std::tuple<int64_t, int64_t, Depths>; // interval, slots removed, depths
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
  std::set<Depths> seen;
  auto push = [&](Depths depths, int64_t taken) {
    if (!seen.insert(depths).second)
      return;
    Loop loop = withDepths(problem, depths);
    if (std::optional<int64_t> recurrence = recurrenceBound(loop))
      queue.emplace(std::max(*recurrence, resourceBound(loop).interval), taken, std::move(depths));
  };
  push(Depths(wanted.begin(), wanted.end()), 0);
  // 20000 combinations of depths take a few milliseconds; no real kernel has more.
  for (int looked = 0; !queue.empty() && looked < 20000; ++looked) {
    auto [interval, taken, depths] = queue.top();
    queue.pop();
    Use use = useOf(problem, depths);
    bool shared = use.shared > limits.sharedBytes, tensor = use.tensor > limits.tensorColumns;
    if (!shared && !tensor)
      return llvm::SmallVector<int64_t>(depths.begin(), depths.end());
    for (auto [index, channel] : llvm::enumerate(problem.channels)) {
      bool helps = (shared && slotSize(problem, channel, Space::shared)) ||
                   (tensor && slotSize(problem, channel, Space::tensor));
      if (!helps || depths[index] == 1)
        continue;
      Depths fewer = depths;
      --fewer[index];
      push(std::move(fewer), taken + 1);
    }
  }
  llvm::SmallVector<int64_t> least(problem.channels.size(), 1);
  Use use = useOf(problem, least);
  if (use.shared > limits.sharedBytes)
    reason =
        llvm::formatv("one slot of each channel takes {0} bytes of shared memory, but only {2} "
                      "bytes are available, of which {1} are reserved",
                      use.shared - limits.sharedReserved, limits.sharedReserved, limits.sharedBytes)
            .str();
  else if (use.tensor > limits.tensorColumns)
    reason = llvm::formatv("one slot of each channel takes {0} columns of tensor memory, but only "
                           "{1} are available",
                           use.tensor, limits.tensorColumns)
                 .str();
  else
    reason = "a value is read more iterations after it was written than there are slots";
  return std::nullopt;
}

unsigned roleOfUnit(const PipelineProblem &problem, unsigned unit) {
  for (auto [index, rule] : llvm::enumerate(problem.roles))
    if (llvm::is_contained(rule.units, unit))
      return index;
  return problem.roles.size();
}

void cutIntoRoles(const PipelineProblem &problem, PipelinePlan &plan) {
  plan.roles.resize(problem.roles.size());
  for (unsigned op = 0; op < problem.loop.ops.size(); ++op)
    plan.roles[roleOfUnit(problem, problem.loop.ops[op].unit)].ops.push_back(op);
  for (RolePlan &role : plan.roles)
    llvm::sort(role.ops, [&](unsigned left, unsigned right) {
      return std::pair(plan.schedule.start[left], left) <
             std::pair(plan.schedule.start[right], right);
    });
  for (auto [channel, planned] : llvm::zip(problem.channels, plan.channels)) {
    std::set<unsigned> drainers;
    bool holds = true;
    for (unsigned index : channel.buffers) {
      const Buffer &buffer = problem.buffers[index];
      planned.filler = roleOfUnit(problem, problem.loop.ops[buffer.writer].unit);
      for (auto [reader, distance] : buffer.readers) {
        unsigned unit = problem.loop.ops[reader].unit;
        drainers.insert(roleOfUnit(problem, unit));
        holds &= problem.loop.units[unit].asynchronous && !problem.loop.units[unit].signals;
      }
    }
    planned.drainers.assign(drainers.begin(), drainers.end());
    planned.slotBytes = slotSize(problem, channel, Space::shared);
    bool own = llvm::is_contained(planned.drainers, planned.filler);
    // A role that also computes waits for its products in the same iteration.
    for (unsigned role : planned.drainers)
      holds &= llvm::all_of(problem.roles[role].units,
                            [&](unsigned unit) { return problem.loop.units[unit].asynchronous; });
    planned.lag = holds && !own && planned.depth > 1 && problem.iterations > 1 ? 1 : 0;
  }
}

} // namespace

std::optional<PipelinePlan> planPipeline(const PipelineProblem &problem, std::string &reason) {
  for (const LoopOp &op : problem.loop.ops)
    if (roleOfUnit(problem, op.unit) == problem.roles.size()) {
      reason = llvm::formatv("no role has the unit {0}, which {1} needs",
                             problem.loop.units[op.unit].name, op.name)
                   .str();
      return std::nullopt;
    }
  std::optional<Schedule> free = moduloSchedule(problem.loop);
  if (!free) {
    reason = "the ops of an iteration have cyclic dependences";
    return std::nullopt;
  }
  PipelinePlan plan;
  plan.freeInterval = free->interval;
  ResourceBound resource = resourceBound(problem.loop);
  int64_t recurrence = recurrenceBound(problem.loop).value_or(0);
  if (recurrence > resource.interval)
    plan.reasons.push_back(
        llvm::formatv("an iteration takes {0} cycles: the recurrence between iterations takes {1}, "
                      "and no unit is busy for longer than {2}",
                      free->interval, recurrence, resource.interval)
            .str());
  else
    plan.reasons.push_back(
        llvm::formatv("an iteration takes {0} cycles, of which {1} is busy for {2}", free->interval,
                      problem.loop.units[resource.unit].name, resource.interval)
            .str());

  llvm::SmallVector<int64_t> wanted;
  for (const Channel &channel : problem.channels) {
    int64_t depth = 1;
    for (unsigned buffer : channel.buffers)
      depth = std::max<int64_t>(
          depth,
          llvm::divideCeil(lifetime(problem, *free, problem.buffers[buffer]), free->interval));
    // A channel needs no more slots than there are iterations at once.
    wanted.push_back(std::min(channel.depth ? channel.depth : depth,
                              std::max<int64_t>(problem.iterations * problem.rounds, 1)));
  }
  std::optional<llvm::SmallVector<int64_t>> depths = shrink(problem, wanted, reason);
  if (!depths)
    return std::nullopt;
  for (auto [channel, fits, depth] : llvm::zip(problem.channels, *depths, wanted))
    if (channel.depth && fits < depth) {
      reason = llvm::formatv("{0} has {1} slots at most, because more do not fit, not {2}",
                             channel.name, fits, depth)
                   .str();
      return std::nullopt;
    }
  std::optional<Schedule> schedule = moduloSchedule(withDepths(problem, *depths));
  if (!schedule) {
    reason = "no schedule exists for the number of slots that fits";
    return std::nullopt;
  }
  plan.schedule = *schedule;
  for (auto [index, channel] : llvm::enumerate(problem.channels)) {
    ChannelPlan planned;
    planned.wanted = wanted[index];
    planned.depth = (*depths)[index];
    plan.channels.push_back(planned);
    int64_t longest = 0;
    for (unsigned buffer : channel.buffers)
      longest = std::max(longest, lifetime(problem, *free, problem.buffers[buffer]));
    std::string text =
        llvm::formatv(
            "{0} has {1} slots: a slot is in use for {2} cycles, and one is filled every {3}",
            channel.name, planned.wanted, longest, free->interval)
            .str();
    if (planned.depth < planned.wanted)
      text =
          llvm::formatv("{0} has {1} slots instead of {2}, because more do not fit: a slot is in "
                        "use for {3} cycles, and one is filled every {4}",
                        channel.name, planned.depth, planned.wanted, longest, free->interval)
              .str();
    plan.reasons.push_back(text);
  }
  if (plan.schedule.interval > plan.freeInterval)
    plan.reasons.push_back(
        llvm::formatv(
            "an iteration takes {0} cycles instead of {1}, because there are too few slots",
            plan.schedule.interval, plan.freeInterval)
            .str());
  Use use = useOf(problem, *depths);
  plan.sharedBytes = use.shared;
  plan.tensorColumns = use.tensor;
  cutIntoRoles(problem, plan);
  if (!giveRegisters(problem, use.registers, plan, reason))
    return std::nullopt;
  if (std::optional<std::string> fault = findFault(problem, plan)) {
    reason = *fault;
    return std::nullopt;
  }
  return plan;
}

} // namespace tilewright::pipeline
