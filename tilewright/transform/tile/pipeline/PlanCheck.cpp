// Checks a plan, and builds the channel graph for the deadlock check.
#include "tilewright/transform/tile/pipeline/ModuloSchedule.h"
#include "tilewright/transform/tile/pipeline/PlanParts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

namespace tilewright::pipeline {
namespace {

/// The actions of a role in one iteration, grouped by kind. A role that fills a channel for itself
/// takes first, so that it waits for old copies before it starts new ones.
struct Iteration {
  llvm::SmallVector<Action> takes, fills, frees, laggingFrees;
};

/// Whether the channel's slots pass between roles; registers never do.
bool isPassed(const PipelineProblem &problem, const Channel &channel) {
  return llvm::any_of(channel.buffers, [&](unsigned buffer) {
    return problem.buffers[buffer].space != Space::registers;
  });
}

/// The ops of a role that are in a stage, relative to the role's first op, in the order of the
/// steady state.
llvm::SmallVector<unsigned> opsOfStage(const PipelinePlan &plan, unsigned role, int64_t stage) {
  llvm::SmallVector<unsigned> ops;
  for (unsigned op : plan.roles[role].ops)
    if (plan.stageInRole(role, op) == stage)
      ops.push_back(op);
  return ops;
}

Iteration iterationOf(const PipelineProblem &problem, llvm::ArrayRef<unsigned> ops,
                      const PipelinePlan &plan) {
  Iteration iteration;
  llvm::SmallVector<unsigned> filled, drained; // channels in the order of the role's ops
  auto add = [](llvm::SmallVector<unsigned> &list, unsigned channel) {
    if (!llvm::is_contained(list, channel))
      list.push_back(channel);
  };
  for (unsigned op : ops)
    for (auto [index, channel] : llvm::enumerate(problem.channels))
      for (unsigned buffer : channel.buffers) {
        if (!isPassed(problem, channel))
          continue;
        if (problem.buffers[buffer].writer == op)
          add(filled, index);
        for (auto [reader, distance] : problem.buffers[buffer].readers)
          if (reader == op)
            add(drained, index);
      }
  for (unsigned channel : drained) {
    iteration.takes.push_back({Point::take, channel});
    auto &frees = plan.channels[channel].lag ? iteration.laggingFrees : iteration.frees;
    frees.push_back({Point::free, channel});
  }
  for (unsigned channel : filled) {
    iteration.fills.push_back({Point::acquire, channel});
    iteration.fills.push_back({Point::publish, channel});
  }
  return iteration;
}

/// The program of a role whose ops pass slots one after the other.
RoleProgram sequentialProgram(const PipelineProblem &problem, const PipelinePlan &plan,
                              unsigned role) {
  const RoleRule &rule = problem.roles[role];
  RoleProgram program{rule.name, {}};
  llvm::SmallVector<unsigned> ops(plan.roles[role].ops);
  llvm::sort(ops);
  auto actionsOf = [&](bool early, bool late) {
    llvm::SmallVector<Action> all;
    for (bool isLate : {false, true})
      for (unsigned op : ops)
        if (llvm::is_contained(rule.lateOps, op) == isLate && (isLate ? late : early)) {
          Iteration one = iterationOf(problem, op, plan);
          for (const auto &actions : {one.takes, one.fills, one.frees, one.laggingFrees})
            all.append(actions.begin(), actions.end());
        }
    return all;
  };
  const int64_t iterations = std::max<int64_t>(problem.iterations, 1);
  if (rule.lateOps.empty()) {
    program.segments.push_back({iterations, actionsOf(true, false)});
    return program;
  }
  program.segments.push_back({1, actionsOf(true, false)});
  program.segments.push_back({iterations - 1, actionsOf(true, true)});
  program.segments.push_back({1, actionsOf(false, true)});
  return program;
}

/// Divides the program of a role into those of its groups, which take turns in all iterations but
/// the first one: group g waits for a token of its own and passes one to the next group.
void takeTurns(ChannelGraph &graph, RoleProgram program, int64_t groups) {
  const unsigned first = graph.channels.size();
  for (int64_t group = 0; group < groups; ++group)
    graph.channels.push_back(
        {llvm::formatv("turn of group {0}", group).str(), /*depth=*/1, /*filled=*/group == 0});
  for (int64_t group = 0; group < groups; ++group) {
    const unsigned mine = first + unsigned(group), next = first + unsigned((group + 1) % groups);
    RoleProgram own{llvm::formatv("group {0} of {1}", group, program.name).str(), {}};
    for (auto [number, segment] : llvm::enumerate(program.segments)) {
      Segment turn = segment;
      auto isTake = [](const Action &action) { return action.point == Point::take; };
      if (number > 0 && llvm::any_of(segment.actions, isTake)) {
        // The group passes the turn on after it has issued the products that read the slots.
        auto *last = llvm::find_if(llvm::reverse(turn.actions), isTake).base();
        turn.actions.insert(last, {{Point::acquire, next}, {Point::publish, next}});
        turn.actions.insert(turn.actions.begin(), {{Point::take, mine}, {Point::free, mine}});
      }
      own.segments.push_back(std::move(turn));
    }
    graph.roles.push_back(std::move(own));
  }
}

} // namespace

ChannelGraph channelGraph(const PipelineProblem &problem, const PipelinePlan &plan) {
  ChannelGraph graph;
  for (auto [channel, planned] : llvm::zip(problem.channels, plan.channels))
    graph.channels.push_back({channel.name, planned.depth});
  for (const RoundChannel &round : problem.roundChannels)
    graph.channels.push_back({round.name, round.depth});
  int64_t iterations = std::max<int64_t>(problem.iterations, 1);
  for (auto [role, rule] : llvm::enumerate(problem.roles)) {
    if (rule.isSequential) {
      graph.roles.push_back(sequentialProgram(problem, plan, unsigned(role)));
      continue;
    }
    Iteration one = iterationOf(problem, plan.roles[role].ops, plan);
    RoleProgram program{rule.name, {}};
    auto sequence = [](std::initializer_list<llvm::SmallVector<Action>> parts) {
      llvm::SmallVector<Action> all;
      for (const llvm::SmallVector<Action> &part : parts)
        all.append(part.begin(), part.end());
      return all;
    };
    // The role runs ahead on channels that it fills for itself.
    int64_t ahead = iterations;
    bool own = false;
    int64_t stages = 1;
    for (unsigned op : plan.roles[role].ops)
      stages = std::max(stages, plan.stageInRole(role, op) + 1);
    for (auto [channel, planned] : llvm::zip_equal(problem.channels, plan.channels))
      if (isPassed(problem, channel) && planned.filler == role &&
          llvm::is_contained(planned.drainers, role)) {
        own = true;
        ahead = std::min(ahead, planned.depth - 1);
      }
    if (own && ahead > 0) {
      program.segments.push_back({ahead, one.fills});
      program.segments.push_back({iterations - ahead, sequence({one.takes, one.fills, one.frees})});
      program.segments.push_back({ahead, sequence({one.takes, one.frees})});
    } else if (own) {
      program.segments.push_back({iterations, sequence({one.fills, one.takes, one.frees})});
    } else if (stages > 1 && !one.takes.empty() && one.laggingFrees.empty()) {
      // Iterations overlap: stage s of an iteration runs together with stage 0 of the iteration s
      // later.
      for (int64_t step = 0; step < iterations + stages - 1; ++step) {
        llvm::SmallVector<unsigned> ops;
        for (int64_t stage = stages - 1; stage >= 0; --stage)
          if (step >= stage && step - stage < iterations)
            ops.append(opsOfStage(plan, role, stage));
        llvm::stable_sort(ops, [&](unsigned a, unsigned b) {
          return plan.offsetInRole(role, a) < plan.offsetInRole(role, b);
        });
        Iteration now = iterationOf(problem, ops, plan);
        program.segments.push_back({1, sequence({now.takes, now.fills, now.frees})});
      }
    } else if (!one.laggingFrees.empty()) {
      program.segments.push_back({1, sequence({one.takes, one.fills, one.frees})});
      program.segments.push_back(
          {iterations - 1, sequence({one.takes, one.fills, one.frees, one.laggingFrees})});
      program.segments.push_back({1, one.laggingFrees});
    } else {
      program.segments.push_back({iterations, sequence({one.takes, one.fills, one.frees})});
    }
    for (auto [index, round] : llvm::enumerate(problem.roundChannels)) {
      unsigned channel = problem.channels.size() + index;
      if (round.filler == role && round.drainer == role) {
        program.segments.push_back({1,
                                    {{Point::acquire, channel},
                                     {Point::publish, channel},
                                     {Point::take, channel},
                                     {Point::free, channel}}});
      } else if (round.filler == role) {
        // The slot is filled by all iterations together.
        program.segments.insert(program.segments.begin(), {1, {{Point::acquire, channel}}});
        program.segments.push_back({1, {{Point::publish, channel}}});
      } else if (round.drainer == role) {
        program.segments.push_back({1, {{Point::take, channel}, {Point::free, channel}}});
      }
    }
    if (rule.takesTurns && plan.roles[role].groups > 1)
      takeTurns(graph, std::move(program), plan.roles[role].groups);
    else
      graph.roles.push_back(std::move(program));
  }
  return graph;
}

std::optional<std::string> findFault(const PipelineProblem &problem, const PipelinePlan &plan) {
  const Limits &limits = problem.limits;
  if (plan.channels.size() != problem.channels.size() || plan.roles.size() != problem.roles.size())
    return "the plan does not have one entry for each channel and role";
  llvm::SmallVector<unsigned> times(problem.loop.ops.size(), 0);
  for (const RolePlan &role : plan.roles)
    for (unsigned op : role.ops)
      ++times[op];
  for (auto [op, count] : llvm::zip(problem.loop.ops, times))
    if (count != 1)
      return llvm::formatv("{0} is run by {1} roles, but must be run by exactly one", op.name,
                           count)
          .str();
  llvm::SmallVector<int64_t> depths;
  int64_t shared = limits.sharedReserved, tensor = 0;
  for (const RoundChannel &round : problem.roundChannels)
    tensor += round.depth * round.tensorColumns;
  for (auto [channel, planned] : llvm::zip(problem.channels, plan.channels)) {
    depths.push_back(planned.depth);
    int64_t bytes = slotSize(problem, channel, Space::shared);
    if (planned.slotBytes != bytes)
      return llvm::formatv("a slot of {0} expects {1} bytes, but its copies transfer {2}",
                           channel.name, planned.slotBytes, bytes)
          .str();
    shared += planned.depth * bytes;
    tensor += planned.depth * slotSize(problem, channel, Space::tensor);
  }
  // Check for deadlocks before the schedule, because that error names roles. A channel without
  // slots fails both checks.
  if (std::optional<std::string> deadlock = findDeadlock(channelGraph(problem, plan)))
    return deadlock;
  if (std::optional<std::string> violation =
          findViolation(withDepths(problem, depths), plan.schedule))
    return violation;
  if (shared != plan.sharedBytes || shared > limits.sharedBytes)
    return llvm::formatv("the channels take {0} bytes of shared memory, the plan has {1}, and the "
                         "limit is {2}",
                         shared, plan.sharedBytes, limits.sharedBytes)
        .str();
  if (tensor != plan.tensorColumns || tensor > limits.tensorColumns)
    return llvm::formatv("the channels take {0} columns of tensor memory, the plan has {1}, and "
                         "the limit is {2}",
                         tensor, plan.tensorColumns, limits.tensorColumns)
        .str();
  int64_t registers = 0, threads = 0;
  for (auto [rule, role] : llvm::zip(problem.roles, plan.roles)) {
    if (role.registers % 8 != 0 || role.registers < 24 || role.registers > 256)
      return llvm::formatv(
                 "a thread of {0} has {1} registers, which must be a multiple of 8 from 24 to 256",
                 rule.name, role.registers)
          .str();
    registers += role.registers * role.warps * limits.warpSize;
    threads += role.warps * limits.warpSize;
  }
  if (threads != plan.threads || threads > limits.maxThreads)
    return llvm::formatv("the roles have {0} threads, the plan has {1}, and a CTA has at most {2}",
                         threads, plan.threads, limits.maxThreads)
        .str();
  // setmaxnreg can only redistribute the registers that the kernel starts with; otherwise a role
  // would wait forever.
  int64_t pool = plan.launchRegisters * threads;
  if (registers > pool || pool > limits.registers)
    return llvm::formatv("the roles have {0} registers, the kernel starts with {1}, and a "
                         "multiprocessor has {2}",
                         registers, pool, limits.registers)
        .str();
  return std::nullopt;
}

} // namespace tilewright::pipeline
