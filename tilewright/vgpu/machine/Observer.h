// The interface through which the machine reports memory accesses and synchronisation to an
// observer. Checkers and counters are built on it: the machine does not depend on them, and they do
// not depend on instructions. Without an observer the decoder emits no reporting operations, so
// there is no cost.
#ifndef TILEWRIGHT_VGPU_MACHINE_OBSERVER_H
#define TILEWRIGHT_VGPU_MACHINE_OBSERVER_H

#include "tilewright/vgpu/machine/memory/Memory.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

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

/// An asynchronous operation of a launch: one warp instruction whose accesses happen after its
/// issue. Ids are unique in a launch; 0 means none.
using AsyncId = uint64_t;

/// The values that a write is about to store, either in registers or as rows of bytes. at() takes a
/// lane, or an index in `addresses`.
struct StoredValues {
  const std::byte *registers = nullptr;
  const uint32_t *slots = nullptr; // of the elements
  uint32_t elementBytes = 0, registerBytes = 0;
  const std::byte *const *rows = nullptr; // if set, used in place of the registers

  std::byte at(uint32_t lane, uint64_t offset) const {
    if (rows)
      return rows[lane][offset];
    const uint32_t slot = slots[offset / elementBytes];
    const uint64_t within = offset % elementBytes;
    if (elementBytes == 16) // two halves, one after the other
      return registers[slot + (within / 8) * 256 + size_t(lane) * 8 + within % 8];
    return registers[slot + size_t(lane) * registerBytes + within];
  }
};

/// One access by lanes of a warp, reported just before it happens; or by an asynchronous operation
/// that the warp issued, reported when it is performed.
///
/// Addresses are in the flat address space. Global memory has host addresses. Shared memory is
/// `sharedWindow` | rank + 1 << sharedOffsetBits | offset, always with the rank of the block in its
/// cluster, so within a cluster equal addresses mean the same memory.
///
/// Accesses of cp.async, st.async and one-dimensional bulk copies are indexed by lane. Rows of
/// tensors and of wgmma's matrices fill `addresses` from index 0 on, regardless of the lane that
/// issued the operation.
struct MemoryEvent {
  const Warp &warp;
  const Op *op; // positionOf() gives its place in the text
  uint32_t mask;
  const uint64_t *addresses; // of 32 lanes; only those in `mask` are valid
  uint32_t bytes;            // per lane; rows of bulk copies may be long
  AccessKind kind;
  Proxy proxy;
  Order order;
  Scope scope;
  AsyncId async = 0; // the operation that makes the access; 0: the lanes themselves
  /// Whether the next four fields are set. `follows` and `repeats` have bits only for lanes whose
  /// next lane is in `mask` too.
  bool hasPattern = false;
  uint32_t follows = 0;                 // the next lane accesses the next element
  uint32_t repeats = 0;                 // the next lane accesses the same address
  uint64_t lowest = 0, highest = 0;     // of the addresses
  const StoredValues *values = nullptr; // of writes, if available
};

/// Kinds of SyncEvent, with the fields that each kind sets.
enum class SyncKind : uint8_t {
  fence, // order, scope
  /// fence.proxy.*, between `proxy` and the generic proxy in `space`.
  /// fence.proxy.tensormap::generic sets order and scope, and with .acquire object = address; all
  /// others have order acquireRelease and block scope.
  proxyFence,
  mbarrierInitFence, // fence.mbarrier_init
  barrierArrive, // bar.*: object = number, count = threads expected (0: all), phase = generation
  barrierLeave,  // the lanes continue after the barrier; fields as for barrierArrive
  warpBarrier,   // mask: lanes that meet, reported once for all of them
  clusterArrive, // order: release or relaxed; phase = generation
  clusterLeave,
  mbarrierInit,       // object = address, count = arrivals
  mbarrierInvalidate, // object
  mbarrierExpect,     // object, count = bytes, phase
  /// object, count = arrivals per lane, phase of the arrival, order, scope; async: the
  /// cp.async.mbarrier.arrive that arrives.
  mbarrierArrive,
  mbarrierComplete, // object, count = bytes, phase, async: complete_tx by that operation
  mbarrierPhase,    // object, phase: that phase is over; reported after the event that ended it
  mbarrierWait,     // object, phase: lanes saw that this phase is over
  mbarrierPass,     // object: lanes asked for the phase before phase 0, which counts as over
  /// async, group: an operation is issued; its accesses are reported later. For a
  /// cp.async.mbarrier.arrive, `operations` are the copies that it waits for; an earlier arrive in
  /// the list stands for the copies that it covers. For a tcgen05 operation, count is 1 if it is
  /// ordered after all earlier ones of its thread.
  asyncIssue,
  asyncCommit, // group; `operations` are those in the new group
  /// group, count = groups that may stay in flight; `operations` are now complete for the lanes in
  /// mask (if isReadOnly, only their reads are). For wgmma, `operations` contains those of all four
  /// warps, which are parts of one operation.
  asyncWait,
  wgmmaFence,
  /// async: this wgmma uses a register, object = its slot, that another instruction accessed after
  /// the last wgmma.fence, or there was no fence before this wgmma.
  wgmmaUnfenced,
  /// object, phase: lanes still wait for this phase although it is over. The end of phase `count`
  /// flips the parity back, so they keep waiting.
  mbarrierLapped,
  tensorUse,   // operations: tcgen05.ld whose results an instruction uses, before any wait::ld
  tensorAlloc, // object = address of the first column, count = columns; nothing is written yet
};

/// The kind of group that an asynchronous operation completes with.
enum class GroupKind : uint8_t {
  none,   // completes by an mbarrier
  copy,   // cp.async
  bulk,   // cp.async.bulk
  matrix, // wgmma
  tensor, // tcgen05.mma, cp and shift, which complete by a tcgen05.commit
  tensorCommit,
  tensorLoad,  // tcgen05.ld
  tensorStore, // tcgen05.st
  // Memory operations of AMD's waves, by the counter that s_waitcnt waits for. The operations of a
  // wave are performed in order, except for scalar ones; a flat one counts as both vector and LDS.
  vectorMemory,
  localMemory,
  flatMemory,
  scalarMemory,
};
inline constexpr size_t groupKinds = 12;
constexpr bool isOfWave(GroupKind kind) { return kind >= GroupKind::vectorMemory; }

/// An event that orders accesses. SyncKind documents the fields of each kind.
struct SyncEvent {
  const Warp &warp;
  const Op *op;
  uint32_t mask;
  SyncKind kind;
  Order order = Order::weak;
  Scope scope = Scope::none;
  uint64_t object = 0; // number of a barrier, flat address of an mbarrier
  uint64_t count = 0;
  uint64_t written = 0; // flat address to which tcgen05.alloc writes
  /// Counted from the initialisation, not modulo 8.
  uint64_t phase = 0;
  AsyncId async = 0;
  Proxy proxy = Proxy::generic;
  GroupKind group = GroupKind::none;
  bool isReadOnly = false;
  Space space = Space::generic; // of a proxy fence: only global or only shared memory, else all
  std::span<const AsyncId> operations = {};
};

/// Kinds of HazardEvent.
enum class HazardKind : uint8_t { waitStates, uninitialised };

/// An error in the use of registers that the machine found. `other` is the instruction that came
/// before, or null.
struct HazardEvent {
  const Warp &warp;
  const Op *op, *other;
  HazardKind kind;
  std::string message, fix;
};

/// The threads that run blocks call these functions concurrently. All calls for one group of
/// resident blocks come from the same thread.
class Observer {
public:
  virtual ~Observer() = default;
  virtual void launchBegin(const Grid &) {}
  virtual void launchEnd(const Grid &) {}
  /// Called when the blocks of a group start. Their shared memory is uninitialised.
  virtual void groupBegin(const Group &) {}
  virtual void groupEnd(const Group &) {}
  virtual void access(const MemoryEvent &event) = 0;
  /// Called after a strong read or atomic access of global memory, which access() reported before.
  /// Another host thread may have written the value in between; a write is reported before it
  /// happens, so an observer knows of every write that the read can have seen.
  virtual void valueRead(const MemoryEvent &) {}
  /// Called after groupBegin. Returns the log (SharedReads.h) in which the machine may record reads
  /// of the block's shared memory until groupEnd, or null if the machine must report each read.
  virtual SharedReads *sharedReads(const Block &) { return nullptr; }
  virtual void synchronise(const SyncEvent &event) = 0;
  /// Called once, before the launch. Returns whether to count instructions.
  virtual bool countsInstructions() const { return false; }
  /// Called once for each host thread, before launchEnd, with its instruction counts, indexed by
  /// the instruction's number in the program.
  virtual void instructionsCounted(const Grid &, std::span<const InstructionCount>) {}
  /// Called when lanes access a register that `operation` reads or writes and that was not waited
  /// for: a wgmma, or a load of a wave. `slot` is the slot of the register.
  virtual void accessInFlight(const Warp &, const Op *, uint32_t /*mask*/, uint32_t /*slot*/,
                              AsyncId /*operation*/) {}
  virtual void hazard(const HazardEvent &) {}
  /// Called after a tcgen05.mma is performed: its shape is not known before. `types` are the types
  /// of A, B and D: "f16*f16+f32".
  virtual void multiplied(const Warp &, const Op *, const std::string & /*types*/,
                          uint64_t /*multiplyAdds*/) {}
};

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_OBSERVER_H
