// PipelinePlan: the software pipeline of a loop: when each op starts, how deep each channel is, and
// which warps run which ops with how many registers. It is computed and checked before the IR
// changes.
#ifndef TILEWRIGHT_TRANSFORM_TILE_PIPELINE_PLAN_H
#define TILEWRIGHT_TRANSFORM_TILE_PIPELINE_PLAN_H

#include "tilewright/transform/tile/pipeline/ChannelGraph.h"
#include "tilewright/transform/tile/pipeline/Loop.h"

#include <algorithm>
#include <optional>

namespace tilewright::pipeline {

/// The memory space of a buffer's slots.
enum class Space { shared, tensor, registers };

/// A value that one op of the loop writes and others read, with one slot for each iteration in
/// flight.
struct Buffer {
  std::string name;
  unsigned writer;
  /// The ops that read it, and how many iterations after it was written.
  llvm::SmallVector<std::pair<unsigned, int64_t>> readers;
  Space space = Space::shared;
  /// The size of one slot: bytes of shared memory, columns of tensor memory, or registers per
  /// thread.
  int64_t size = 0;
  /// For the last warpgroup of a role, the number of cycles by which it reads the buffer later than
  /// the first one. The schedule has the ops of the first one.
  int64_t lateness = 0;
};

/// Buffers that are filled and drained together and share slots.
struct Channel {
  std::string name;
  llvm::SmallVector<unsigned> buffers;
  /// The number of slots, if the user sets it; else 0, and the schedule decides.
  int64_t depth = 0;
};

/// A role: a set of warps that run all ops of some units.
struct RoleRule {
  std::string name;
  llvm::SmallVector<unsigned> units;
  /// The number of warps in a group. setmaxnreg applies to groups of four.
  int64_t warps = 4;
  /// Registers per thread, without the values that are divided among all groups.
  int64_t registers = 24;
  /// Registers in total for values that are divided among all threads of the role, such as an
  /// accumulator (4 bytes each).
  int64_t dividedRegisters = 0;
  /// The maximum and the minimum number of groups among which those values can be divided.
  int64_t maxGroups = 1;
  int64_t leastGroups = 1;
  /// Whether groups take turns to issue the asynchronous ops of an iteration, so that those of one
  /// group run while the others compute.
  bool takesTurns = false;
  /// Whether the role runs its ops in the order in which the problem has them, and takes, fills and
  /// frees the slots of each op by itself; and then the ops that it runs one iteration after the
  /// others.
  bool isSequential = false;
  llvm::SmallVector<unsigned> lateOps = {};
};

struct Limits {
  int64_t sharedBytes = 0;
  int64_t sharedReserved = 0; // not in channels: mbarriers, the epilogue's buffer
  int64_t tensorColumns = 0;
  int64_t registers = 65536;  // of a multiprocessor
  int64_t maxRegisters = 255; // of a thread
  int64_t maxThreads = 1024;  // of a CTA
  /// Whether roles can pass registers to each other (setmaxnreg).
  bool movesRegisters = false;
  int64_t warpSize = 32;
};

/// A channel that is filled and drained once per round: the accumulator, which passes from the role
/// that multiplies to the role of the epilogue, or a result that a role stages for itself. Its
/// bytes of shared memory are part of `Limits::sharedReserved`.
struct RoundChannel {
  std::string name;
  unsigned filler, drainer;
  int64_t depth = 1;
  int64_t tensorColumns = 0; // of a slot
};

struct PipelineProblem {
  Loop loop;
  llvm::SmallVector<Buffer> buffers;
  llvm::SmallVector<Channel> channels;
  /// Each unit belongs to exactly one role. A single role with all units means a kernel without
  /// warp specialization.
  llvm::SmallVector<RoleRule> roles;
  llvm::SmallVector<RoundChannel> roundChannels;
  Limits limits;
  int64_t iterations = 1;
  /// The number of rounds, each of all iterations, that a role may be in at once: a role that
  /// copies can fill slots of the next tile while another computes this one.
  int64_t rounds = 1;
};

struct ChannelPlan {
  /// The number of slots, and the number that the schedule would use with unlimited memory.
  int64_t depth = 0, wanted = 0;
  /// The bytes of shared memory in one slot.
  int64_t slotBytes = 0;
  unsigned filler = 0; // a role
  llvm::SmallVector<unsigned> drainers;
  /// The number of slots from earlier iterations that a draining role holds: 1 if the op that reads
  /// a slot is asynchronous, because the role issues the next op before this one completes.
  int64_t lag = 0;
};

struct RolePlan {
  llvm::SmallVector<unsigned> ops; // in the order of the schedule
  int64_t groups = 1;
  int64_t warps = 0;
  /// Registers per thread.
  int64_t registers = 0;
};

struct PipelinePlan {
  Schedule schedule;
  /// The interval with unlimited channel depths, which shows what the limited capacity costs.
  int64_t freeInterval = 0;
  llvm::SmallVector<ChannelPlan> channels;
  llvm::SmallVector<RolePlan> roles;
  /// Registers per thread when the kernel starts.
  int64_t launchRegisters = 0;
  int64_t threads = 0;
  int64_t sharedBytes = 0, tensorColumns = 0;
  /// Sentences that explain the decisions, in the order in which they were made.
  llvm::SmallVector<std::string> reasons;

  /// The stage of an op in its role: by how many iterations it is behind the first op of the role.
  /// Its offset: the number of cycles from the start of an iteration of the role's steady state
  /// until the op starts.
  int64_t stageInRole(unsigned role, unsigned op) const {
    return sinceRoleBegan(role, op) / schedule.interval;
  }
  int64_t offsetInRole(unsigned role, unsigned op) const {
    return sinceRoleBegan(role, op) % schedule.interval;
  }

private:
  int64_t sinceRoleBegan(unsigned role, unsigned op) const {
    int64_t first = schedule.start[op];
    for (unsigned other : roles[role].ops)
      first = std::min(first, schedule.start[other]);
    return schedule.start[op] - first;
  }
};

/// The plan with the shortest interval within the limits; nullopt if there is none. `reason` is
/// then a sentence that names what is too large, with the values.
std::optional<PipelinePlan> planPipeline(const PipelineProblem &problem, std::string &reason);

/// Explains why the plan is invalid; nullopt if it is valid. Recomputes as much as possible from
/// the problem alone.
std::optional<std::string> findFault(const PipelineProblem &problem, const PipelinePlan &plan);

/// The programs of the roles for one round of the plan, which consists of all iterations of the
/// loop. A role that fills a channel for itself runs `depth - 1` iterations ahead.
ChannelGraph channelGraph(const PipelineProblem &problem, const PipelinePlan &plan);

} // namespace tilewright::pipeline

#endif // TILEWRIGHT_TRANSFORM_TILE_PIPELINE_PLAN_H
