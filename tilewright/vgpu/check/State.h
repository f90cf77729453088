// The checker's state of a running launch: threads, barriers, operations.
#ifndef TILEWRIGHT_VGPU_CHECK_STATE_H
#define TILEWRIGHT_VGPU_CHECK_STATE_H

#include "tilewright/vgpu/check/AccessRecord.h"
#include "tilewright/vgpu/check/Clock.h"
#include "tilewright/vgpu/check/SharedShadow.h"
#include "tilewright/vgpu/machine/Warp.h"
#include "tilewright/vgpu/machine/memory/SharedReads.h"

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

namespace tilewright::vgpu::check {

struct Allocation;
struct BlockState;
struct Page;
struct WarpState;

inline bool acquires(machine::Order order) {
  return order == machine::Order::acquire || order == machine::Order::acquireRelease ||
         order == machine::Order::sequential;
}
inline bool releases(machine::Order order) {
  return order == machine::Order::release || order == machine::Order::acquireRelease ||
         order == machine::Order::sequential;
}

using SharedKnowledge = std::shared_ptr<const Knowledge>;

/// The knowledge that a thread released through a flag at `scope`. Threads that read the flag can
/// acquire it.
struct Published {
  uint32_t block = 0; // as BlockState::linear
  uint32_t cluster = 0;
  int device = -1;
  machine::Scope scope = machine::Scope::none;
  SharedKnowledge knowledge;
  uint64_t groupSerial = 0; // the group that the clock belongs to
  // The same knowledge in the form that other groups use: the epochs in `base`, and those that
  // fence.proxy.async covers.
  std::shared_ptr<const ForeignEpochs> foreign, foreignFenced;
};

/// For each kind of fence, the warp's epoch up to which a lane's fences cover the lane's own
/// accesses.
struct OwnEpochs {
  uint32_t fenced = 0, fencedGlobal = 0, released = 0, inits = 0;
};

/// The knowledge at a fence, which a later relaxed write or arrival of the lane publishes.
struct FencePoint {
  SharedKnowledge knowledge; // null: there was no fence
  uint32_t epoch = 0;        // the lane's own accesses up to here are included
  OwnEpochs own;
};

/// Lanes of a warp that have the same knowledge. In addition each lane knows its own accesses.
struct Cohort {
  uint32_t mask = 0;
  Knowledge knowledge;
  OwnEpochs own;
  std::array<FencePoint, 5> fences; // the last fence of each scope, by the number of the scope
  /// Knowledge that the lanes read from flags without acquire; a later fence acquires it.
  std::vector<Published> unacquired;
};

/// The knowledge of the lanes that issued an operation, at that time, by cohort.
using IssuedKnowledge = std::vector<std::pair<uint32_t, SharedKnowledge>>;

/// A warp. Its lanes form one cohort until they synchronise with different threads.
struct WarpState {
  BlockState *block = nullptr;
  uint32_t index = 0;      // in the block
  uint32_t groupIndex = 0; // in the group
  uint32_t allLanes = 0;
  uint32_t epoch = 1;
  std::vector<Cohort> cohorts;
  /// The clock of the last operation that these lanes issued. The next operation shares it, unless
  /// an event in between changes what the lanes know.
  struct LastIssue {
    uint32_t mask = 0;
    bool isCopy = false;
    std::shared_ptr<const IssuedKnowledge> knowledge;
  };
  LastIssue lastIssue;
};

/// A generation of bar.sync or barrier.cluster.
struct Generation {
  uint64_t number = 0;
  Knowledge knowledge;
};

/// The last arrival at an mbarrier by lanes themselves.
struct Arrival {
  uint32_t warp = 0, mask = 0; // the warp's index in the group
  uint32_t instruction = 0;
  uint64_t phase = 0;
  uint32_t epoch = 0; // of the warp
};

/// An mbarrier that was initialised.
struct MbarrierState {
  uint32_t slot = 0; // index in Clock::phases
  bool isLive = false;
  uint64_t count = 0;
  AccessRecord init;
  struct Carried {
    Knowledge all;
    Knowledge own; // published by threads of the mbarrier's own block
  };
  Carried arriving;                 // what arrivals of this phase and earlier ones published
  std::map<uint64_t, Carried> over; // by phase; only the last few
  int64_t expectedBytes = 0;        // announced by expect_tx and not yet received, over all phases
  bool isFed = false;               // some of the bytes expected now were received
  AccessRecord expect;              // the last expect_tx
  Arrival last;
};

/// How an asynchronous operation became known to be complete: a thread waited for it, or it
/// completed a phase of an mbarrier.
struct CompletionMark {
  bool isPhase = false;
  bool isReadOnly = false;
  uint32_t warp = 0;  // index in the group; isPhase: slot of the mbarrier
  uint32_t mask = 0;  // lanes that waited
  uint64_t epoch = 0; // of the warp; isPhase: the phase
};

/// An asynchronous operation.
struct AsyncState {
  machine::AsyncId id = 0;
  const WarpState *warp = nullptr;
  uint32_t mask = 0;
  uint32_t epoch = 0; // of the warp, at the time of issue
  uint32_t instruction = 0;
  machine::GroupKind group = machine::GroupKind::none;
  std::shared_ptr<const IssuedKnowledge> issued;
  std::vector<CompletionMark> completions;
  std::vector<machine::AsyncId> after; // cp.async.mbarrier.arrive: the copies that it waits for
  bool follows = false;                // tcgen05: comes after all earlier operations of its thread
  bool usesAsyncProxy = false, writesGlobal = false;
  std::vector<uint32_t> sharedOf; // indices of the blocks whose shared memory it touches
};

/// A tcgen05.commit that has arrived. A thread that knows the phase also knows that all operations
/// that the lanes `mask` of the warp issued before the commit are complete.
struct TensorCommit {
  machine::AsyncId id = 0;
  uint32_t mask = 0;
  uint32_t slot = 0; // of the mbarrier
  uint64_t phase = 0;
};

/// Knowledge that threads have released through one memory location.
struct Flag {
  std::vector<Published> published;
  /// No store has ended the release sequence that launches of older generations began.
  bool continuesOlder = true;
};

/// Reads of a block's own shared memory that are known to be ordered after all writes to it. They
/// are logged and not yet entered into the sectors.
///
/// Most kernels read a tile many times between two barriers, and after the second barrier every
/// thread knows of all these reads. Then no later write can conflict with them, and the log is
/// discarded without checking them. If a write occurs while some thread does not know of all the
/// reads, the log is first replayed into the sectors.
///
/// The machine logs reads itself while a warp's gate is open, that is, while nothing has happened
/// since the checker's last check of a read by this warp that could change the result for the next
/// one.
struct ReadLog {
  machine::SharedReads reads;
  std::vector<machine::SharedReads::Record> records; // records before reads.next are in use
  std::vector<machine::SharedReads::Gate> gates;
  bool isOn = true;
  uint32_t replays = 0;
  uint32_t initialisedBelow = 0; // all bytes below this offset were written
  uint64_t writes = 0;           // number of write events
  // By warp: the epochs of its last logged read and of its last write (0: none), and the value of
  // `writes` when the warp last knew of all writes.
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
  /// Must be called after any change to the knowledge or the epoch of a warp of the block, or to
  /// the set of initialised bytes of the block's memory.
  void closeGates() { ++reads.generation; }
};

struct BlockState {
  uint32_t linear = 0; // its number among the blocks of all launches
  machine::Dim3 id{};
  uint32_t rank = 0, cluster = 0, indexInGroup = 0;
  uint32_t sharedBytes = 0;
  const std::byte *memory = nullptr;
  std::vector<WarpState> warps;
  SharedShadow shared;
  ReadLog log;
  /// The last access by each warp of other blocks to this block's shared memory.
  std::unordered_map<uint32_t, AccessRecord> remote;
  std::array<std::vector<Generation>, machine::Chip::namedBarriers> barriers;
  std::unordered_map<uint32_t, MbarrierState> mbarriers; // by offset
  std::set<uint64_t> tensorAddresses;                    // words that tcgen05.alloc has written
};

/// The blocks that one host thread runs.
struct GroupState {
  uint64_t serial = 0;
  const machine::Group *machineGroup = nullptr;
  std::vector<BlockState> blocks;
  std::unordered_map<uint32_t, uint32_t> byLinear; // index in blocks
  std::vector<std::vector<Generation>> clusters;
  std::unordered_map<uint32_t, std::unique_ptr<AsyncState>> operations;
  std::unordered_map<uint64_t, Flag> flags;                        // in shared memory
  std::unordered_map<uint32_t, std::vector<TensorCommit>> commits; // by warp, in their order
  uint32_t mbarrierSlots = 0;
  /// Caches how the operation of the current event is ordered with earlier operations
  /// (Detector::Ordering).
  struct KnownOrder {
    uint64_t event = 0;
    uint32_t earlier = 0, block = 0;
    uint8_t kind = 0, ordering = 0;
  };
  std::array<KnownOrder, 16> orders;
  uint64_t events = 0;   // number of accesses by asynchronous operations
  uint32_t accesses = 0; // number of accesses checked
  /// A cache of looked-up pages; pages do not move while a launch runs.
  struct KnownPage {
    uint64_t number = ~uint64_t(0);
    Page *page = nullptr;
  };
  std::array<KnownPage, 64> pages;
  const Allocation *allocation = nullptr; // the one that was looked up last
  machine::ValidRange range; // the range of the last hit, if the launch checks addresses

  WarpState &warpOf(const machine::Warp &warp);
  BlockState *blockAt(const BlockState &from, uint32_t rank);
};

} // namespace tilewright::vgpu::check

#endif // TILEWRIGHT_VGPU_CHECK_STATE_H
