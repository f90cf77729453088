// What happens to memory and what orders it, told to whoever attached an observer.
// A checker or a counter is made on top of this; the machine itself knows of
// neither, and they know no instruction. Without an observer no operation that
// tells anything is decoded, so it costs nothing.
#ifndef TILEWRIGHT_VGPU_MACHINE_OBSERVER_H
#define TILEWRIGHT_VGPU_MACHINE_OBSERVER_H

#include "tilewright/vgpu/machine/Memory.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace tilewright::vgpu::machine {

struct Block;
struct Grid;
struct Group;
struct InstructionCount;
struct Op;
struct SharedReads;
struct Warp;

enum class AccessKind : uint8_t { read, write, atomic };
enum class Proxy : uint8_t { generic, async, tensormap };
enum class Order : uint8_t { weak, relaxed, acquire, release, acquireRelease, sequential };
enum class Scope : uint8_t { none, cta, cluster, gpu, sys };

/// An asynchronous operation of a launch: one warp instruction that was issued and
/// whose accesses happen later. Numbers are not used twice in a launch; 0 is none.
using AsyncId = uint64_t;

/// What a write is about to store, by lane or place of the addresses: registers, or
/// rows of bytes.
struct StoredValues {
  const std::byte *registers = nullptr;
  const uint32_t *slots = nullptr; // of the elements
  uint32_t elementBytes = 0, registerBytes = 0;
  const std::byte *const *rows = nullptr; // if given, instead of the registers

  std::byte at(uint32_t lane, uint64_t offset) const {
    if (rows)
      return rows[lane][offset];
    const uint32_t slot = slots[offset / elementBytes];
    const uint64_t within = offset % elementBytes;
    if (elementBytes == 16) // two halves, one behind the other
      return registers[slot + (within / 8) * 256 + size_t(lane) * 8 + within % 8];
    return registers[slot + size_t(lane) * registerBytes + within];
  }
};

/// One access by lanes of a warp, just before it happens, or by an asynchronous
/// operation that the warp issued, when it is performed.
///
/// Addresses are those of the flat space: global memory is the host's; shared memory
/// is `sharedWindow` | rank + 1 << sharedOffsetBits | offset, always with the rank of
/// the block in its cluster, so equal addresses are equal memory within a cluster.
///
/// What cp.async, st.async and one-dimensional bulk copies access is by lane. Rows of
/// tensors and lines of wgmma's matrices fill the places of `addresses` from 0 on,
/// whichever lane issued the operation.
struct MemoryEvent {
  const Warp &warp;
  const Op *op; // positionOf() turns it into a place in the text
  uint32_t mask;
  const uint64_t *addresses; // of 32 lanes; only those in `mask` mean something
  uint32_t bytes;            // for each lane; rows of bulk copies may be long
  AccessKind kind;
  Proxy proxy;
  Order order;
  Scope scope;
  AsyncId async = 0; // who makes it; 0: the lanes themselves
  /// Whether the next four are given; the first two for lanes whose neighbour above is
  /// in `mask` too.
  bool hasPattern = false;
  uint32_t follows = 0;                 // the neighbour accesses what comes next
  uint32_t repeats = 0;                 // the neighbour accesses the same
  uint64_t lowest = 0, highest = 0;     // of the addresses
  const StoredValues *values = nullptr; // of writes, where the machine has them at hand
};

enum class SyncKind : uint8_t {
  fence,             // order, scope
  proxyFence,        // fence.proxy.*: `proxy` and the generic one, `space`; object = address
                     // for fence.proxy.tensormap::generic.acquire, order and scope for that
                     // and .release (else acquireRelease of the block)
  mbarrierInitFence, // fence.mbarrier_init
  barrierArrive, // bar.*: object = number, count = threads expected (0: all), phase = generation
  barrierLeave,  // likewise, when the lanes go on
  warpBarrier,   // mask: lanes that meet, told once for all of them
  clusterArrive, // order: release or relaxed; phase = generation
  clusterLeave,
  mbarrierInit,       // object = address, count = arrivals
  mbarrierInvalidate, // object
  mbarrierExpect,     // object, count = bytes, phase
  mbarrierArrive,     // object, count = arrivals of each lane, phase it counts for; order, scope.
                      // async: cp.async.mbarrier.arrive, by that operation
  mbarrierComplete,   // object, count = bytes, phase, async: complete_tx by that operation
  mbarrierPhase,      // object, phase: that phase is over; told after the event that ended it
  mbarrierWait,       // object, phase: lanes saw that this phase is over
  asyncIssue,         // async, group: an operation begins; its accesses come later.
                      // cp.async.mbarrier.arrive is one too: `operations` are the copies it
                      // comes after, or an earlier such arrival in place of its copies
  asyncCommit,        // group; `operations` are those that the new group has
  asyncWait,          // group, count = groups that may be left; `operations` are now complete
                      // for the lanes in mask; isReadOnly: only their reads are. Of wgmma
                      // those of all four warps, which are parts of one operation
  wgmmaFence,
  wgmmaUnfenced,  // async: this wgmma uses a register, object = its slot, that other instructions
                  // touched after the last wgmma.fence, or there was no fence at all
  mbarrierLapped, // object, phase: these lanes still wait for a phase that was over, and count =
                  // the phase that now ended has the same parity for them as if it were not
};

/// By which groups an asynchronous operation completes.
enum class GroupKind : uint8_t {
  none,   // by an mbarrier
  copy,   // cp.async
  bulk,   // cp.async.bulk
  matrix, // wgmma
};

/// Something that orders accesses. Each kind says above which fields it has.
struct SyncEvent {
  const Warp &warp;
  const Op *op;
  uint32_t mask;
  SyncKind kind;
  Order order = Order::weak;
  Scope scope = Scope::none;
  uint64_t object = 0; // number of a barrier, flat address of an mbarrier
  uint64_t count = 0;
  uint64_t phase = 0; // counted from the initialisation, not modulo anything; a try_wait for
                      // the phase before the first one succeeds and is not told
  AsyncId async = 0;
  Proxy proxy = Proxy::generic;
  GroupKind group = GroupKind::none;
  bool isReadOnly = false;
  Space space = Space::generic; // of a proxy fence: global or shared memory alone, else all
  std::span<const AsyncId> operations = {};
};

/// Called from the threads that run blocks, several at a time; all calls about one
/// group of resident blocks come from one thread, one after the other.
class Observer {
public:
  virtual ~Observer() = default;
  virtual void launchBegin(const Grid &) {}
  virtual void launchEnd(const Grid &) {}
  /// The blocks of a group start, with shared memory that nobody has written.
  virtual void groupBegin(const Group &) {}
  virtual void groupEnd(const Group &) {}
  virtual void access(const MemoryEvent &event) = 0;
  /// Asked after groupBegin: where reads of the block's shared memory may be written down
  /// (SharedReads.h) until groupEnd, or null if all are to be told.
  virtual SharedReads *sharedReads(const Block &) { return nullptr; }
  virtual void synchronise(const SyncEvent &event) = 0;
  /// Asked once, before the launch: whether instructions are to be counted.
  virtual bool countsInstructions() const { return false; }
  /// What one thread of the host has counted, by number of the instruction in the
  /// program; once for each thread, before launchEnd.
  virtual void instructionsCounted(const Grid &, std::span<const InstructionCount>) {}
  /// Lanes touch a register that `operation` (wgmma) reads or writes and that was
  /// not waited for. `slot` is the register's.
  virtual void touchInFlight(const Warp &, const Op *, uint32_t /*mask*/, uint32_t /*slot*/,
                             AsyncId /*operation*/) {}
};

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_OBSERVER_H
