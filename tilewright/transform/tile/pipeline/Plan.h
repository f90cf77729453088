// PipelinePlan: what a loop becomes when its iterations overlap: when each op starts, how deep each
// channel is, which warps do what and with how many registers. Computed and checked before any IR
// changes.
#ifndef TILEWRIGHT_TRANSFORM_TILE_PIPELINE_PLAN_H
#define TILEWRIGHT_TRANSFORM_TILE_PIPELINE_PLAN_H

#include "tilewright/transform/tile/pipeline/ChannelGraph.h"
#include "tilewright/transform/tile/pipeline/Loop.h"

#include <optional>

namespace tilewright::pipeline {

/// Where the slots of a buffer are.
enum class Space { shared, tensor, registers };

/// What an op of the loop writes and others read: one slot for each iteration that has it.
struct Buffer {
  std::string name;
  unsigned writer;
  /// Ops that read it, so many iterations after it was written.
  llvm::SmallVector<std::pair<unsigned, int64_t>> readers;
  Space space = Space::shared;
  /// Bytes of shared memory, columns of tensor memory, or registers of a thread, for one slot.
  int64_t size = 0;
};

/// Buffers that are filled and drained together: slots of one channel.
struct Channel {
  std::string name;
  llvm::SmallVector<unsigned> buffers;
};

/// Warps that run the ops of some units.
struct RoleRule {
  std::string name;
  llvm::SmallVector<unsigned> units;
  /// Warps of one group: registers are given to groups of four at once.
  int64_t warps = 4;
  /// Registers of a thread that its ops need besides values that are cut among all its groups.
  int64_t registers = 24;
  /// Registers of values that all its threads hold together (an accumulator: 4 bytes each).
  int64_t dividedRegisters = 0;
  /// Groups that its values can be cut among at most, and that it has at least.
  int64_t mostGroups = 1;
  int64_t leastGroups = 1;
};

struct Limits {
  int64_t sharedBytes = 0;
  int64_t sharedReserved = 0; // by what is no channel: barriers, the epilogue's buffer
  int64_t tensorColumns = 0;
  int64_t registers = 65536;  // of a processor
  int64_t maxRegisters = 255; // of a thread
  int64_t maxThreads = 1024;  // of a CTA
  /// Roles can pass registers to each other (setmaxnreg).
  bool movesRegisters = false;
};

/// A buffer that a role fills and drains itself, once a round: its result on the way to memory. Its
/// bytes are of `Limits::sharedReserved`.
struct RoundChannel {
  std::string name;
  unsigned role;
};

struct PipelineProblem {
  Loop loop;
  llvm::SmallVector<Buffer> buffers;
  llvm::SmallVector<Channel> channels;
  /// Each unit is in one rule. One rule with all units is a kernel without roles.
  llvm::SmallVector<RoleRule> roles;
  llvm::SmallVector<RoundChannel> roundChannels;
  Limits limits;
  int64_t iterations = 1;
};

struct ChannelPlan {
  /// As many slots as are in use at once, and as many as the schedule wanted.
  int64_t depth = 0, wanted = 0;
  /// Bytes that fill one slot (of its buffers in shared memory).
  int64_t slotBytes = 0;
  unsigned filler = 0; // a role
  llvm::SmallVector<unsigned> drainers;
  /// Slots that a drainer has taken more than freed while it works: 1 where what reads a slot is
  /// asynchronous, so that the next is given to it before this one is done.
  int64_t lag = 0;
};

struct RolePlan {
  llvm::SmallVector<unsigned> ops; // in the order of the schedule
  int64_t groups = 1;
  int64_t warps = 0;
  /// Registers of a thread.
  int64_t registers = 0;
};

struct PipelinePlan {
  Schedule schedule;
  /// The interval with channels of any depth: what the capacities cost is the difference.
  int64_t freeInterval = 0;
  llvm::SmallVector<ChannelPlan> channels;
  llvm::SmallVector<RolePlan> roles;
  /// Registers of a thread when the kernel starts.
  int64_t launchRegisters = 0;
  int64_t threads = 0;
  int64_t sharedBytes = 0, tensorColumns = 0;
  /// The choices as sentences, in the order in which they were made.
  llvm::SmallVector<std::string> reasons;
};

/// The plan with the shortest interval that the capacities allow; nothing and a `reason`
/// (a sentence that names what is too large and the values) if there is none.
std::optional<PipelinePlan> planPipeline(const PipelineProblem &problem, std::string &reason);

/// Why the plan must not be carried out, or nothing. Recomputes what it can from the problem alone.
std::optional<std::string> findFault(const PipelineProblem &problem, const PipelinePlan &plan);

/// What the roles do in one round of the plan, which is all iterations of the loop. A role that
/// fills what it drains itself runs ahead of itself by `depth - 1` iterations.
ChannelGraph channelGraph(const PipelineProblem &problem, const PipelinePlan &plan);

} // namespace tilewright::pipeline

#endif // TILEWRIGHT_TRANSFORM_TILE_PIPELINE_PLAN_H
