// Asynchronous operations as objects: issued with their operands, performed later.
//
// Only launches that have an observer, or that complete operations late, use these objects. Other
// launches perform an operation at issue and create no object.
#ifndef TILEWRIGHT_VGPU_MACHINE_ASYNC_ASYNCQUEUE_H
#define TILEWRIGHT_VGPU_MACHINE_ASYNC_ASYNCQUEUE_H

#include "tilewright/vgpu/machine/Warp.h"
#include "tilewright/vgpu/machine/matrix/Matrix.h"

#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

namespace tilewright::vgpu::machine {

/// The operands of one lane of a copy, read at issue. Addresses are as in the instruction, not yet
/// resolved.
struct CopyRequest {
  uint32_t lane = 0;
  uint32_t bytes = 0, sourceBytes = 0;
  uint32_t targets = 0; // blocks of a multicast
  uint64_t to = 0, from = 0, mbarrier = 0;
  int32_t coordinates[5] = {};
  uint16_t offsets[3] = {}; // of im2col
  std::byte values[64];     // for st.async
};

/// An operation may read its source long before it writes its destination:
/// cp.async.bulk.wait_group.read waits for the reads only.
enum class Part : uint8_t { whole, reads, writes };

/// Performs a copy. Part::reads stores the source data in `staged`, one entry per request, and
/// Part::writes writes it from there. Returns false after a fault.
using PerformCopy = bool (*)(Warp &warp, const Op *op, std::span<const CopyRequest> requests,
                             AsyncId id, Part part, std::span<std::vector<std::byte>> staged);

struct AsyncOperation {
  AsyncId id = 0;
  Warp *warp = nullptr;
  const Op *op = nullptr;
  uint32_t mask = 0;
  GroupKind group = GroupKind::none;
  bool signalsMbarrier = false;
  bool canStage = false, isStaged = false;
  bool follows = false; // tcgen05: PTX orders it after all earlier operations of its thread
  PerformCopy perform = nullptr; // null: wgmma
  PerformMatrix performMatrix = nullptr;
  std::vector<CopyRequest> requests;
  std::vector<std::vector<std::byte>> staged;
  std::vector<AsyncId> after;     // operations that must be performed first
  std::byte *registers = nullptr; // the frame, for wgmma
  WgmmaIssue matrix;
  std::vector<std::byte> matrixA; // a copy of the registers of A
};

/// The operations on an mbarrier in its current phase, for error messages.
struct MbarrierRecord {
  struct Arrival {
    const Warp *warp;
    uint32_t mask;
    const Op *op;
    uint64_t count;
    bool isBytes; // expect_tx: `count` is in bytes
  };
  uint64_t phase = 0;
  std::vector<Arrival> arrivals;
};

/// The pending operations of a group of resident blocks.
class AsyncQueue {
public:
  explicit AsyncQueue(Group &group) : group(group) {}

  /// Resets the queue for the next blocks.
  void reset();
  /// Notifies the observer, and performs `operation` now or queues it. Returns false after a fault.
  bool issue(std::unique_ptr<AsyncOperation> operation);
  /// Notifies the observer of an operation that is performed now but completes at a wait for its
  /// group.
  AsyncId noteIssue(Warp &warp, const Op *op, uint32_t mask, GroupKind kind);
  /// Performs operation `id` if it is still pending. With `onlyReads`, performs only the reads of
  /// the source, which may be overwritten afterwards. Returns false after a fault.
  bool complete(AsyncId id, bool onlyReads = false);
  /// Called when no warp can make progress. Performs the oldest operation that signals an mbarrier,
  /// or else the oldest operation. Returns false if none is pending.
  bool performNext();
  /// Performs a pseudo-random pending operation. Returns false if none is pending.
  bool performRandom();
  /// Performs all pending operations. False after a fault.
  bool finish();
  /// Performs the pending wgmma that use the registers of a frame, before the frame is freed.
  void finishMatrices(const Warp &warp, const std::byte *registers);

  std::span<const std::unique_ptr<AsyncOperation>> pending() const { return waiting; }

  /// The record of the mbarrier at `where`; `phase` is the phase stored in its 64 bits.
  MbarrierRecord &recordOf(const std::byte *where, uint32_t phase);
  const MbarrierRecord *findRecord(const std::byte *where) const;
  void forgetRecord(const std::byte *where) { records.erase(where); }

private:
  bool run(AsyncOperation &operation, Part part);
  bool performAt(size_t index);
  size_t indexOf(AsyncId id) const;
  /// The index of an operation that must be performed before the operation at `index`; `index`
  /// itself if there is none.
  size_t firstBefore(size_t index) const;

  Group &group;
  std::vector<std::unique_ptr<AsyncOperation>> waiting; // in the order of issue
  std::unordered_map<const std::byte *, MbarrierRecord> records;
};

/// The accesses to one register by wgmma.
struct MatrixRegister {
  AsyncId reader = 0, writer = 0; // the last wgmma in flight that reads or writes it
  const Op *op = nullptr;         // of `writer`
  uint64_t touched = 0;           // 1 + wgmma.fence count when another instruction last used it
};

/// The groups of asynchronous operations that the lanes of a warp have committed.
struct AsyncGroups {
  struct IssuedOperation {
    AsyncId id;
    uint32_t mask;
  };
  struct Committed {
    uint32_t mask = 0; // lanes that have not waited for it
    uint32_t unread;   // lanes that have not waited for its reads either
    std::vector<IssuedOperation> operations;
  };
  struct Sequence {
    std::vector<IssuedOperation> open;
    std::vector<Committed> committed; // oldest first
  };
  Sequence sequences[groupKinds]; // by GroupKind
  std::vector<IssuedOperation>
      unarrived; // cp.async that no cp.async.mbarrier.arrive has covered yet

  /// A tcgen05.ld whose results no instruction has used yet, and the slots of its results.
  struct TensorLoad {
    AsyncId id;
    std::span<const uint32_t> slots;
  };
  std::vector<TensorLoad> tensorLoads;

  uint64_t fences = 0;          // number of wgmma.fence
  AsyncId lastMatrixWaited = 0; // this wgmma and all before it are complete
  AsyncId lastMatrixIssued = 0;
  std::vector<AsyncId> matrices; // all wgmma of the warp, in order
  /// Indexed by frame, then by slot / 64.
  std::unordered_map<const std::byte *, std::vector<MatrixRegister>> registers;

  /// The register at `slot`, in the list of its frame.
  static MatrixRegister &at(std::vector<MatrixRegister> &list, uint32_t slot);
  bool isInFlight(AsyncId matrix) const { return matrix > lastMatrixWaited; }
};

AsyncGroups &groupsOf(Warp &warp);

struct CopyForm;
After issueRequests(Warp &warp, const Op *op, uint32_t active, GroupKind kind, bool canStage,
                    PerformCopy perform, std::vector<CopyRequest> requests);
/// Gathers the requests of the lanes in `active` with gather(lane, request), and either performs
/// them or issues an operation for them.
template <typename Gather>
After issueCopies(Warp &warp, const Op *op, uint32_t active, GroupKind kind, bool canStage,
                  PerformCopy perform, Gather gather) {
  std::vector<CopyRequest> requests;
  const bool isLater = warp.block->group->async != nullptr;
  if (isLater)
    requests.reserve(static_cast<size_t>(__builtin_popcount(active)));
  for (uint32_t rest = active; rest != 0; rest &= rest - 1) {
    CopyRequest request;
    request.lane = static_cast<uint32_t>(__builtin_ctz(rest));
    gather(request.lane, request);
    if (isLater)
      requests.push_back(request);
    else if (!perform(warp, op, {&request, 1}, 0, Part::whole, {}))
      return After::stop;
  }
  return isLater ? issueRequests(warp, op, active, kind, canStage, perform, std::move(requests))
                 : After::next;
}
/// The blocks to which a multicast copy writes, one bit each; 0 if the copy is not a multicast.
uint32_t multicastTargets(const CopyForm &form, const std::byte *registers, unsigned lane);
/// The address of the same offset in the shared memory of another block of the cluster.
uint64_t addressInBlock(uint64_t address, unsigned rank);

/// Reports to the observer if the wgmma that was just issued misuses its registers.
void checkMatrixRegisters(Warp &warp, const Op *op, const std::byte *registers, uint32_t mask);
/// Completes the wgmma that use the registers of a frame, before the frame is freed.
void finishMatrices(Warp &warp, const std::byte *registers);

/// Whether all warps of the warpgroup of `warp` have issued their first `count` wgmma.
bool areMatricesIssued(const Warp &warp, uint64_t count);
/// The warps of the warpgroup of `warp`.
std::span<Warp> matrixWarps(const Warp &warp);

/// commit_group and wait_group of all kinds, wgmma.fence.
enum class GroupAction : uint8_t { commit, wait, waitAll, fence };
struct GroupForm {
  ExternalForm head;
  GroupKind kind = GroupKind::copy;
  GroupAction action = GroupAction::commit;
  uint32_t leave = 0; // how many groups may stay in flight
  bool isReadOnly = false;
};
After runGroup(Warp &, const Op *, std::byte *, uint32_t, uint32_t);

/// Notifies the observer, if any, of the memory that an operation accesses, in batches of up to 32
/// ranges of equal length.
class AccessTeller {
public:
  AccessTeller(Warp &warp, const Op *op, AccessKind kind, Proxy proxy, AsyncId id,
               Order order = Order::weak, Scope scope = Scope::none);
  ~AccessTeller() { flush(); }
  AccessTeller(const AccessTeller &) = delete;
  AccessTeller &operator=(const AccessTeller &) = delete;

  explicit operator bool() const { return observer; }
  /// Adds an access by a lane. `row` points to the bytes that it writes, and must stay valid until
  /// flush().
  void lane(uint32_t lane, uint64_t address, uint32_t length, const std::byte *row = nullptr) {
    if (observer)
      put(lane, address, length, row);
  }
  /// Adds an access by the whole operation, regardless of the lane that issued it.
  void range(uint64_t address, uint32_t length, const std::byte *row = nullptr) {
    if (observer)
      put(mask == ~0u ? 0 : static_cast<uint32_t>(__builtin_ctz(~mask)), address, length, row);
  }
  void flush();

private:
  void put(uint32_t index, uint64_t address, uint32_t length, const std::byte *row) {
    if (mask != 0 && (length != bytes || mask >> index & 1))
      flush();
    bytes = length;
    hasRows = row && (mask == 0 || hasRows);
    mask |= 1u << index;
    addresses[index] = address;
    rows[index] = row;
  }

  Observer *observer;
  Warp &warp;
  const Op *op;
  AccessKind kind;
  Proxy proxy;
  AsyncId id;
  Order order;
  Scope scope;
  uint32_t mask = 0, bytes = 0;
  uint64_t addresses[32];
  bool hasRows = false; // every range has a row
  const std::byte *rows[32];
};

/// Notifies the observer, if any.
inline void tell(Warp &warp, const SyncEvent &event) {
  if (Observer *observer = warp.block->group->grid->observer)
    observer->synchronise(event);
}

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_ASYNC_ASYNCQUEUE_H
