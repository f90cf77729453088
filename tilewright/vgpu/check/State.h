// What the checker knows of a launch while it runs: threads, barriers, operations.
#ifndef TILEWRIGHT_VGPU_CHECK_STATE_H
#define TILEWRIGHT_VGPU_CHECK_STATE_H

#include "tilewright/vgpu/check/Clock.h"
#include "tilewright/vgpu/check/Touch.h"
#include "tilewright/vgpu/machine/SharedReads.h"
#include "tilewright/vgpu/machine/Warp.h"

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

namespace tilewright::vgpu::check {

struct BlockState;
struct GroupState;
struct Page;
struct WarpState;

using SharedKnowledge = std::shared_ptr<const Knowledge>;

/// What somebody made visible with a scope, for whoever reads the flag.
struct Published {
  uint32_t block = 0; // linear
  uint32_t cluster = 0;
  machine::Scope scope = machine::Scope::none;
  SharedKnowledge knowledge;
  uint64_t groupSerial = 0; // whose clock it is
  // The same for other groups: what is known, and what of it is fenced.
  std::shared_ptr<const ForeignEpochs> foreign, foreignFenced;
};

/// Up to which epoch of its warp each lane's own accesses are covered by its fences.
struct OwnEpochs {
  uint32_t fenced = 0, fencedGlobal = 0, released = 0, inits = 0;
};

/// What a fence would publish for a lane that executed it.
struct FencePoint {
  SharedKnowledge knowledge; // null: there was none
  uint32_t epoch = 0;        // what the lane did before counts too
  OwnEpochs own;
};

/// Lanes of a warp that know the same, each of its own accesses more than the others.
struct Cohort {
  uint32_t mask = 0;
  Knowledge knowledge;
  OwnEpochs own;
  std::array<FencePoint, 5> fences; // the last one of each scope, by number
  /// What was read from flags and counts after the next fence.
  std::vector<Published> unacquired;
};

/// A warp: its lanes are in one cohort until they wait for different things.
struct WarpState {
  BlockState *block = nullptr;
  uint32_t index = 0;      // in the block
  uint32_t groupIndex = 0; // in the group
  uint32_t allLanes = 0;
  uint32_t epoch = 1;
  std::vector<Cohort> cohorts;
};

/// A generation of bar.sync or barrier.cluster.
struct Generation {
  uint64_t number = 0;
  Knowledge knowledge;
};

/// An arrival, for messages.
struct Arrival {
  uint32_t block = 0;
  uint32_t warp = 0, mask = 0;
  uint64_t count = 0;
  uint32_t place = 0;
};

/// An mbarrier that was initialised.
struct MbarrierState {
  uint32_t slot = 0; // in clocks
  bool isLive = false;
  uint64_t count = 0;
  Touch init;
  struct Carried {
    Knowledge all;
    Knowledge own; // by threads of the mbarrier's block alone
  };
  Carried arriving;                 // of the present phase and those before
  std::map<uint64_t, Carried> over; // by phase, the last few
  uint64_t phase = 0;
  int64_t expectedBytes = 0; // that were announced and have not come, all phases
  Touch expect;              // the last announcement
  Arrival last;              // the last arrival, with its epoch and phase
  uint64_t lastPhase = 0;
  uint32_t lastEpoch = 0;
};

/// How an asynchronous operation became known to be complete.
struct CompletionMark {
  bool isPhase = false;
  bool isReadOnly = false;
  uint32_t warp = 0;  // index in the group; or slot of the mbarrier
  uint32_t mask = 0;  // lanes that waited
  uint64_t epoch = 0; // of the warp; or phase
};

/// An asynchronous operation.
struct AsyncState {
  machine::AsyncId id = 0;
  const WarpState *warp = nullptr;
  uint32_t mask = 0;
  uint32_t epoch = 0; // of the warp, when it was issued
  uint32_t place = 0;
  machine::GroupKind group = machine::GroupKind::none;
  std::vector<std::pair<uint32_t, SharedKnowledge>> issued; // of the lanes that issued it
  std::vector<CompletionMark> completions;
  std::vector<machine::AsyncId> after; // cp.async.mbarrier.arrive: what it comes after
  bool usesAsyncProxy = false, writesGlobal = false;
  std::vector<uint32_t> sharedOf; // indices of the blocks whose shared memory it touches
};

/// What a flag carries: who released what through it.
struct Flag {
  std::vector<Published> published;
};

/// Reads of a block's own shared memory that were found to come after all writes to
/// it, written down one after the other and not yet entered into the sectors.
///
/// Most kernels read a tile many times between two barriers, and after the second one
/// everybody knows of all these reads: then no write can conflict with them, and they
/// are forgotten without ever being looked at. When a write comes that somebody does
/// not know to be after them, they are entered as if they had been all along.
///
/// The machine writes them down itself while a warp's gate is open: nothing has happened
/// since a read of this warp was looked at that could change the answer for the next one.
struct ReadLog {
  machine::SharedReads reads;
  std::vector<machine::SharedReads::Record> records; // those before reads.next are used
  std::vector<machine::SharedReads::Gate> gates;
  bool isOn = true;
  uint32_t replays = 0;
  uint32_t initialisedBelow = 0; // bytes from the beginning that were all written
  uint64_t writes = 0;           // events
  // By warp: the epochs of the last read here and of the last write, 0 for none, and
  // how many writes there were when the warp knew all of them.
  std::vector<uint32_t> lastRead, lastWrite;
  std::vector<uint64_t> writesSeen;

  void start(size_t warps) {
    gates.resize(warps);
    reads.gates = gates.data();
    lastRead.resize(warps);
    lastWrite.resize(warps);
    writesSeen.resize(warps, ~uint64_t(0));
  }
  bool isEmpty() const { return reads.next == records.data(); }
  void forget() { reads.next = records.data(); }
  /// After everything that changes what a warp of the block knows, its epoch, or what
  /// was written to the block's memory.
  void closeGates() { ++reads.generation; }
};

struct BlockState {
  GroupState *group = nullptr;
  uint32_t linear = 0;
  machine::Dim3 id{};
  uint32_t rank = 0, cluster = 0, indexInGroup = 0;
  uint32_t sharedBytes = 0;
  const std::byte *memory = nullptr;
  std::vector<WarpState> warps;
  std::unique_ptr<Sector[]> shared;
  uint32_t sectorCount = 0;
  std::vector<uint8_t> liveMbarriers; // by sector
  ReadLog log;
  /// The last access of each warp of another block to the shared memory of this one.
  std::unordered_map<uint32_t, Touch> remote;
  std::array<std::vector<Generation>, machine::Chip::namedBarriers> barriers;
  std::unordered_map<uint32_t, MbarrierState> mbarriers; // by offset
};

/// The blocks that one thread runs.
struct GroupState {
  uint64_t serial = 0;
  const machine::Group *machineGroup = nullptr;
  uint32_t program = 0;
  std::vector<BlockState> blocks;
  std::unordered_map<uint32_t, uint32_t> byLinear; // index in blocks
  std::vector<std::vector<Generation>> clusters;
  std::unordered_map<uint32_t, std::unique_ptr<AsyncState>> operations;
  std::unordered_map<uint64_t, Flag> flags; // in shared memory
  uint32_t mbarrierSlots = 0;
  /// How this event's operation is ordered with earlier ones (Detector::Ordering).
  struct KnownOrder {
    uint64_t event = 0;
    uint32_t earlier = 0, block = 0;
    uint8_t kind = 0, ordering = 0;
  };
  std::array<KnownOrder, 16> orders;
  uint64_t events = 0;   // by asynchronous operations
  uint32_t accesses = 0; // that were looked at
  /// Pages that were looked up; they stay where they are while a launch runs.
  struct KnownPage {
    uint64_t number = ~uint64_t(0);
    Page *page = nullptr;
  };
  std::array<KnownPage, 64> pages;

  WarpState &warpOf(const machine::Warp &warp);
  BlockState *blockAt(const BlockState &from, uint32_t rank);
};

} // namespace tilewright::vgpu::check

#endif // TILEWRIGHT_VGPU_CHECK_STATE_H
