// The state of a launch while it runs: grid, group of resident blocks, block, warp.
#ifndef TILEWRIGHT_VGPU_MACHINE_WARP_H
#define TILEWRIGHT_VGPU_MACHINE_WARP_H

#include "tilewright/support/Status.h"
#include "tilewright/vgpu/machine/Chip.h"
#include "tilewright/vgpu/machine/HostOrder.h"
#include "tilewright/vgpu/machine/Observer.h"
#include "tilewright/vgpu/machine/Op.h"
#include "tilewright/vgpu/machine/Program.h"
#include "tilewright/vgpu/machine/async/Completion.h"
#include "tilewright/vgpu/machine/memory/Memory.h"
#include "tilewright/vgpu/machine/memory/ValidMemory.h"

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
class TensorMemory;

using Dim3 = std::array<uint32_t, 3>;
constexpr uint64_t volume(const Dim3 &d) { return uint64_t(d[0]) * d[1] * d[2]; }

/// The registers of one function call, for the lanes that made the call.
struct Frame {
  const DecodedFunction *function = nullptr;
  std::byte *registers = nullptr;
  Frame *caller = nullptr;
  const Op *call = nullptr; // the call operation in the caller
  uint32_t live = 0;        // lanes that have not returned
  uint32_t depth = 0;
  uint32_t localBase = 0;                 // offset of this frame in the local memory of its lanes
  alignas(64) uint32_t localTop[32] = {}; // top of the stack for alloca
};

enum class Wait : uint8_t {
  none,         // can run
  lanes,        // waits for other lanes of the warp at a *.sync operation
  warpBarrier,  // bar.warp.sync; `wanted` are its lanes
  barrier,      // bar.sync; `object` is its number
  cluster,      // barrier.cluster.wait; `object` is the generation it arrived in
  matrices,     // wgmma.wait_group; `object` is how many wgmma the warpgroup must have issued
  tensorMemory, // tcgen05.alloc or dealloc; `object` counts changes of tensor memory
  /// try_wait; `object` is the host address, `wanted` the phase modulo 8, or its parity if bit 8 is
  /// set.
  mbarrier,
};

/// Lanes of a warp at the same program counter.
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

/// 32 threads. A diverged warp is split into fragments: the running one is in host registers, the
/// others wait in `others`. The fragment with the lowest program counter runs, deeper calls first,
/// so that diverged lanes reconverge as early as possible. At intervals another fragment runs, so
/// that spinning lanes cannot starve the lanes that they wait for.
struct Warp {
  // The fields that handlers use most often.
  std::byte *shared = nullptr; // of the block
  uint32_t sharedBytes = 0;
  int32_t budget = 0;    // branches left in this time slice
  bool diverged = false; // `others` is not empty
  Stop stop = Stop::finished;
  Frame *frame = nullptr; // of the running fragment
  Block *block = nullptr;
  const std::byte *parameters = nullptr;
  std::byte *local = nullptr; // 32 stacks of localStride bytes
  uint32_t localStride = 0;
  uint32_t alive = 0;           // lanes that have not exited
  SharedReads *reads = nullptr; // the block's read log, if its observer provides one
  ValidRange *ranges = nullptr; // validRangeSlots of them, owned by the host thread

  Fragment current; // the chosen fragment; its state is in host registers while it runs
  std::vector<Fragment> others;
  uint32_t choices = 0;           // number of choices among fragments, for fairness
  uint32_t index = 0;             // in the block
  uint64_t clusterGeneration = 0; // of the cluster's barrier, when the warp arrived
  uint32_t clusterArrived = 0;    // lanes that arrived at it and have not continued
  bool sawNoCluster = false;      // saw that a request for another cluster failed
  alignas(64) uint32_t tid[3][32] = {};
  InstructionCount *counts = nullptr; // by instruction, if the launch counts
  uint64_t executed = 0;              // number of instructions of this warp, likewise
  std::vector<std::byte> localMemory;
  std::vector<std::vector<std::unique_ptr<Frame>>> freeFrames; // by function
  std::vector<std::unique_ptr<std::byte[]>> registerMemory;
  std::vector<std::unique_ptr<Frame>> usedFrames;
  // wgmma, which the four warps of a warpgroup perform together: the number of wgmma that this warp
  // has issued, the number that it has waited for, and the number that it had issued at each commit
  // that it has not waited for.
  uint64_t matricesIssued = 0, matricesWaited = 0;
  std::vector<uint64_t> matrixCommits;
  std::shared_ptr<AsyncGroups> async; // created by the first asynchronous operation
  /// In observed launches: the addresses of the last strong read. The read may have overwritten its
  /// address register.
  alignas(64) uint64_t readAt[32] = {};
};

/// A named barrier of a block (bar.sync 3). A warp counts as arrived once all of its live lanes
/// have arrived.
struct NamedBarrier {
  uint32_t arrived = 0;  // number of warps
  uint32_t warps = 0;    // the warps, one bit each
  uint32_t expected = 0; // threads, 0 for all of the block
  uint64_t generation = 0;
  std::vector<uint32_t> lanes; // by warp: lanes that have arrived in this generation
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
  uint32_t clusterBase = 0; // index in the group of the block with rank 0
  std::byte *shared = nullptr;
  uint32_t liveWarps = 0;
  std::vector<Warp> warps;
  std::array<NamedBarrier, Chip::namedBarriers> barriers;
  std::unique_ptr<std::byte[]> sharedMemory;
  std::shared_ptr<TensorMemory> tensor; // created by the first tcgen05.alloc
};

/// barrier.cluster: the number of threads that have arrived. A group has one for each cluster.
struct ClusterBarrier {
  uint64_t generation = 0;
  uint32_t arrived = 0;
};

/// How tensor-core instructions accumulate. `exact` rounds the exact sum once. `hopper` aligns all
/// terms to the largest one and truncates them, as measured on that chip. `fast` adds one product
/// after the other in f32, for long runs whose exact bits do not matter; sums of integers are
/// exact.
enum class Arithmetic : uint8_t { exact, hopper, fast };

/// The state of a launch that its blocks share.
struct Grid {
  const Program *program = nullptr;
  const Chip *chip = nullptr;
  Dim3 grid{}, block{}, cluster{1, 1, 1};
  bool explicitCluster = false;
  uint32_t sharedBytes = 0, dynamicSharedBytes = 0;
  std::vector<std::byte> parameters;
  Observer *observer = nullptr;
  uint64_t id = nextId(); // unique in the process
  Arithmetic arithmetic = Arithmetic::exact;
  bool isCooperative = false;
  alignas(64) std::array<std::byte, 256> workspace{}; // for the barrier of a cooperative grid
  bool isTracked = false; // asynchronous operations are objects (see AsyncQueue.h)
  bool isCounted = false; // instructions are counted
  Completion completion = Completion::eager;
  uint64_t seed = 0;
  uint64_t maxSteps = 0;
  std::unique_ptr<ValidMemory> validMemory; // null: kernels may access all of the host's memory
  bool suppressesInvalid = false;           // invalid accesses fail the launch only at its end
  std::shared_ptr<const HostOrder> order;   // null: launches happen one after the other
  int device = -1;                          // -1: unknown
  std::atomic<AsyncId> nextAsync = 1;
  std::atomic<uint64_t> finishedGroups = 0;
  uint64_t clusters = 0;
  std::atomic<uint64_t> nextCluster = 0; // the first that has not started

  static uint64_t nextId();

  /// Takes up to `most` clusters that have not started, so that no other thread runs them. Sets the
  /// index of the first; returns their number.
  uint64_t takeClusters(uint64_t most, uint64_t &first);
  /// %ctaid of the first block of a cluster.
  Dim3 firstBlockOf(uint64_t cluster) const;

  std::atomic<bool> failed = false;
  std::mutex mutex;
  Status failure; // guarded by mutex
  void fail(Status status) {
    failAtEnd(std::move(status));
    failed = true;
  }
  /// Records a failure; the launch continues and fails at its end.
  void failAtEnd(Status status) {
    std::lock_guard lock(mutex);
    if (failure.isOk())
      failure = std::move(status);
  }
};

/// The blocks that one host thread schedules together: one block, a cluster, or a cooperative grid.
struct Group {
  Grid *grid = nullptr;
  std::vector<Block> blocks;
  uint64_t progress = 0; // incremented by every event that may wake a warp
  std::vector<ClusterBarrier> clusters;
  std::shared_ptr<AsyncQueue> async; // if the grid is tracked
  uint64_t random = 0;               // state of the random generator

  /// A random number that depends only on the launch's seed and the group.
  uint64_t nextRandom();
};

/// The number of branches in one time slice of a warp.
inline constexpr int32_t warpQuantum = 4096;

// Handlers of all instruction sets call the functions below.

/// Chooses the fragment that runs next, and merges fragments that have reconverged. Returns false
/// if no fragment can run.
bool chooseFragment(Warp &warp);
/// Adds a fragment that waits to run. Not inline, because standard library code that a handler
/// inlines would be compiled for the handler's instruction set.
void parkFragment(Warp &warp, const Fragment &fragment);
/// Creates a frame of `function` for the lanes in `mask`.
Frame *enterFunction(Warp &warp, const DecodedFunction &function, uint32_t mask);
/// Removes the lanes in `mask` from the frame, and frees the frame when no lane is left in it.
void leaveFrame(Warp &warp, Frame *frame, uint32_t mask);
/// Executes `exit` for the lanes in `mask`.
void exitLanes(Warp &warp, uint32_t mask);
/// Fails the launch at `op`.
void fault(Warp &warp, const Op *op, Error error, const std::string &what);
/// Grows the local memory to `bytes` per lane.
void growLocal(Warp &warp, uint32_t bytes);
/// Wakes every fragment that waits for barrier `number` of the block.
void completeBarrier(Block &block, unsigned number);
/// Completes barriers whose missing warps have exited.
void barrierAfterExit(Block &block);
/// Reads a special register in every lane.
void readSpecial(const Warp &warp, unsigned special, unsigned component, uint64_t (&lanes)[32]);
/// Translates the address that one lane accesses to a host address; null after a fault. `space` is
/// the state space of the instruction. `bytes` is a power of two, and also the required alignment.
std::byte *resolve(Warp &warp, const Op *op, Space space, uint64_t address, uint32_t lane,
                   uint32_t bytes);
/// Like resolve(), for a range of any length that is aligned to `unit` bytes.
std::byte *resolveRange(Warp &warp, const Op *op, Space space, uint64_t address, uint32_t lane,
                        uint64_t bytes, uint32_t unit = 16);
/// The host address of global memory. An invalid access fails the launch: immediately, with a null
/// result, or at its end if the launch suppresses invalid accesses; then the result points to a
/// buffer of zeros.
std::byte *resolveGlobal(Warp &warp, const Op *op, uint64_t address, uint32_t lane, uint64_t bytes);
/// Caches the valid range that contains `address` in a slot; false if there is none.
bool findRange(Warp &warp, uint32_t slot, uint64_t address);
/// Reports to the observer which of the registers in Op::extra a wgmma in flight uses.
void reportMatrixRegisters(Warp &warp, const Op *op, const std::byte *registers, uint32_t mask);
/// The address in the form that observers expect: shared memory addresses contain the rank of their
/// block. Always inline, so that no copy is left that was compiled for another instruction set.
[[gnu::always_inline]] inline uint64_t flatAddress(const Warp &warp, Space space,
                                                   uint64_t address) {
  if (space == Space::local)
    return address | localWindow;
  if (space == Space::shared)
    address = (address & 0xffffffffu) | sharedWindow;
  if ((address & windowMask) == sharedWindow && (address & 0xff000000u) == 0)
    address |= uint64_t(warp.block->rank + 1) << sharedOffsetBits;
  return address;
}

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_WARP_H
