// The state of a launch while it runs: grid, group of resident blocks, block, warp.
#ifndef TILEWRIGHT_VGPU_MACHINE_WARP_H
#define TILEWRIGHT_VGPU_MACHINE_WARP_H

#include "tilewright/support/Status.h"
#include "tilewright/vgpu/machine/Chip.h"
#include "tilewright/vgpu/machine/Completion.h"
#include "tilewright/vgpu/machine/Memory.h"
#include "tilewright/vgpu/machine/Observer.h"
#include "tilewright/vgpu/machine/Op.h"
#include "tilewright/vgpu/machine/Program.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace tilewright::vgpu::machine {

class AsyncQueue;
struct AsyncGroups;
struct Block;
struct Group;

using Dim3 = std::array<uint32_t, 3>;
constexpr uint64_t volume(const Dim3 &d) { return uint64_t(d[0]) * d[1] * d[2]; }

/// The registers of one call of a function for the lanes that made it.
struct Frame {
  const DecodedFunction *function = nullptr;
  std::byte *registers = nullptr;
  Frame *caller = nullptr;
  const Op *call = nullptr; // of the caller
  uint32_t live = 0;        // lanes that have not returned
  uint32_t depth = 0;
  uint32_t localBase = 0;                 // of this frame in the local memory of its lanes
  alignas(64) uint32_t localTop[32] = {}; // where alloca takes from
};

enum class Wait : uint8_t {
  none,        // can run
  lanes,       // for other lanes of the warp at a *.sync operation
  warpBarrier, // bar.warp.sync; `wanted` are its lanes
  barrier,     // bar.sync; `object` is its number
  cluster,     // barrier.cluster.wait; `object` is the generation it arrived in
  matrices, // wgmma.wait_group; `object` is how many wgmma the warps of its group must have issued
  mbarrier, // try_wait; `object` is the host's address, `wanted` the phase modulo 8, or
            // with bit 8 its parity
};

/// Lanes that are at the same place.
struct Fragment {
  const Op *pc = nullptr;
  Frame *frame = nullptr;
  uint32_t mask = 0;
  Wait wait = Wait::none;
  uint32_t wanted = 0;
  uint64_t object = 0;
  uint64_t address = 0; // flat, of the mbarrier
};

enum class Stop : uint8_t { quantum, blocked, finished, fault };

/// 32 threads. Its lanes are in fragments: the one that runs is in the host's
/// registers while it does, the others wait here. The fragment with the lowest
/// place runs, deeper calls first, so lanes that took different ways meet again
/// as early as they can; once in a while another one runs, so that lanes which
/// spin cannot starve those they wait for.
struct Warp {
  // What handlers need most.
  std::byte *shared = nullptr; // of the block
  uint32_t sharedBytes = 0;
  int32_t budget = 0;    // branches until another warp's turn
  bool diverged = false; // whether `others` is not empty
  Stop stop = Stop::finished;
  Frame *frame = nullptr; // of the fragment that runs
  Block *block = nullptr;
  const std::byte *parameters = nullptr;
  std::byte *local = nullptr; // 32 stacks of localStride bytes
  uint32_t localStride = 0;
  uint32_t alive = 0; // lanes that have not exited

  Fragment current; // when the warp does not run
  std::vector<Fragment> others;
  uint32_t turns = 0;             // choices among fragments, for fairness
  uint32_t index = 0;             // in the block
  uint64_t clusterGeneration = 0; // of the cluster's barrier, when the warp arrived
  uint32_t clusterArrived = 0;    // lanes that arrived at it and have not gone on
  alignas(64) uint32_t tid[3][32] = {};
  InstructionCount *counts = nullptr; // by instruction, if the launch counts
  uint64_t executed = 0;              // instructions of this warp, likewise
  std::vector<std::byte> localMemory;
  std::vector<std::vector<std::unique_ptr<Frame>>> freeFrames; // by function
  std::vector<std::unique_ptr<std::byte[]>> registerMemory;
  std::vector<std::unique_ptr<Frame>> usedFrames;
  // wgmma is done by four warps together: how many this one has issued, how many it had
  // when it committed groups it has not waited for, and how many it has waited for.
  uint64_t matricesIssued = 0, matricesWaited = 0;
  std::vector<uint64_t> matrixCommits;
  std::shared_ptr<AsyncGroups> async; // made by the first asynchronous operation
};

/// A named barrier of a block (bar.sync 3). Warps arrive; a warp counts when all
/// of its lanes that are alive have.
struct NamedBarrier {
  uint32_t arrived = 0;  // warps
  uint32_t warps = 0;    // which, one bit each
  uint32_t expected = 0; // threads, 0 for all of the block
  uint64_t generation = 0;
  std::vector<uint32_t> lanes; // of each warp, that have arrived in this generation
  uint32_t votes = 0;          // bar.red: threads whose predicate is true
  uint32_t voters = 0;
  std::array<uint32_t, 2> result{}; // votes and voters of the last generation
};

/// A block (CTA) with its shared memory.
struct Block {
  Group *group = nullptr;
  Dim3 id{};
  uint64_t linear = 0;
  uint32_t rank = 0;        // in its cluster
  uint32_t clusterBase = 0; // index in the group of rank 0
  std::byte *shared = nullptr;
  uint32_t liveWarps = 0;
  std::vector<Warp> warps;
  std::array<NamedBarrier, Chip::namedBarriers> barriers;
  std::unique_ptr<std::byte[]> sharedMemory;
};

/// barrier.cluster: threads that arrived, by cluster of a group.
struct ClusterBarrier {
  uint64_t generation = 0;
  uint32_t arrived = 0;
};

/// What stays the same during a launch.
struct Grid {
  const Program *program = nullptr;
  const Chip *chip = nullptr;
  Dim3 grid{}, block{}, cluster{1, 1, 1};
  bool explicitCluster = false;
  uint32_t sharedBytes = 0, dynamicSharedBytes = 0;
  std::vector<std::byte> parameters;
  Observer *observer = nullptr;
  uint64_t id = 0;
  bool exactTensor = true; // the arithmetic profile of matrix instructions
  bool isCooperative = false;
  alignas(64) std::array<std::byte, 256> workspace{}; // of a cooperative grid's barrier
  bool isTracked = false; // asynchronous operations are objects: observed, or completed later
  bool isCounted = false; // instructions are
  Completion completion = Completion::eager;
  uint64_t seed = 0;
  uint64_t maxSteps = 0;
  std::atomic<AsyncId> nextAsync = 1;
  std::atomic<uint64_t> finishedGroups = 0;

  std::atomic<bool> failed = false;
  std::mutex mutex;
  Status failure; // guarded by mutex
  void fail(Status status) {
    std::lock_guard lock(mutex);
    if (failure.isOk())
      failure = std::move(status);
    failed = true;
  }
};

/// The blocks that one thread runs in turn: one, a cluster, or a cooperative grid.
struct Group {
  Grid *grid = nullptr;
  std::vector<Block> blocks;
  uint64_t progress = 0; // counts what may have woken somebody
  std::vector<ClusterBarrier> clusters;
  std::shared_ptr<AsyncQueue> async; // if the grid is tracked
  uint64_t random = 0;               // state of the generator

  /// Numbers that depend on the seed of the launch and the group alone.
  uint64_t nextRandom();
};

/// Branches a warp may take before another warp has its turn.
inline constexpr int32_t warpQuantum = 4096;

/// What handlers call that is the same for every instruction set.
///
/// Chooses the fragment that runs next, and merges those that have met. False if
/// none can run.
bool chooseFragment(Warp &warp);
/// Adds lanes that do not run now. Not inline: what handlers inline of the
/// library would be compiled for their instruction set alone.
void parkFragment(Warp &warp, const Fragment &fragment);
/// Takes a frame of `function` for the lanes in `mask`.
Frame *enterFunction(Warp &warp, const DecodedFunction &function, uint32_t mask);
/// Removes `mask` from the frame; gives it back when nobody is left in it.
void leaveFrame(Warp &warp, Frame *frame, uint32_t mask);
/// The lanes in `mask` exit.
void exitLanes(Warp &warp, uint32_t mask);
/// Fails the launch at `op`.
void fault(Warp &warp, const Op *op, Error error, const std::string &what);
/// Makes room for `bytes` of local memory for each lane.
void growLocal(Warp &warp, uint32_t bytes);
/// Makes every fragment that waits for barrier `number` of the block runnable.
void completeBarrier(Block &block, unsigned number);
/// Completes barriers whose last missing warps have exited.
void barrierAfterExit(Block &block);
/// The value of a special register in every lane.
void readSpecial(const Warp &warp, unsigned special, unsigned component, uint64_t (&lanes)[32]);
/// The host address of a generic or shared address of one lane, or null: `space`
/// as the instruction says.
std::byte *resolve(Warp &warp, const Op *op, Space space, uint64_t address, uint32_t lane,
                   uint32_t bytes);
/// Tells the observer which of the registers in Op::extra are of a wgmma in flight.
void touchMatrixRegisters(Warp &warp, const Op *op, const std::byte *registers, uint32_t mask);
/// The address as observers are told it: shared memory with the rank of its block.
uint64_t flatAddress(const Warp &warp, Space space, uint64_t address);

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_WARP_H
