// Asynchronous operations as objects: issued with their operands, performed later.
//
// Only launches that are observed, or that complete operations late, have them;
// the others perform an operation where it is issued and keep nothing.
#ifndef TILEWRIGHT_VGPU_MACHINE_ASYNCQUEUE_H
#define TILEWRIGHT_VGPU_MACHINE_ASYNCQUEUE_H

#include "tilewright/vgpu/machine/Matrix.h"
#include "tilewright/vgpu/machine/Warp.h"

#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

namespace tilewright::vgpu::machine {

/// The operands of one lane of a copy, as they were when it was issued. Addresses
/// are as the instruction has them.
struct CopyRequest {
  uint32_t lane = 0;
  uint32_t bytes = 0, sourceBytes = 0;
  uint32_t targets = 0; // of a multicast
  uint64_t to = 0, from = 0, mbarrier = 0;
  int32_t coordinates[5] = {};
  std::byte values[64]; // st.async
};

/// An operation may read its source long before it writes: wait_group.read asks for that.
enum class Part : uint8_t { whole, reads, writes };

/// Does what was asked for. What `reads` finds goes into `staged`, where `writes`
/// takes it from, one for each request. False after a fault.
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
  PerformCopy perform = nullptr; // null: wgmma
  PerformMatrix performMatrix = nullptr;
  std::vector<CopyRequest> requests;
  std::vector<std::vector<std::byte>> staged;
  std::vector<AsyncId> after;     // these come first
  std::byte *registers = nullptr; // the frame of a wgmma
  WgmmaIssue matrix;
  std::vector<std::byte> matrixA; // the registers of A, copied
};

/// Who did what to an mbarrier in its present phase.
struct MbarrierRecord {
  struct Arrival {
    const Warp *warp;
    uint32_t mask;
    const Op *op;
    uint64_t count;
    bool isBytes; // expected ones
  };
  uint64_t phase = 0;
  std::vector<Arrival> arrivals;
};

/// The operations of a group of resident blocks that were issued and not performed.
class AsyncQueue {
public:
  explicit AsyncQueue(Group &group) : group(group) {}

  /// Begins anew for other blocks.
  void reset();
  /// Tells the observer, and performs `operation` now or keeps it. False after a fault.
  bool issue(std::unique_ptr<AsyncOperation> operation);
  /// Performs operation `id` if it is still pending; with `onlyReads`, so far that
  /// its source may be overwritten. False after a fault.
  bool complete(AsyncId id, bool onlyReads = false);
  /// Performs what must come next when nobody can go on: the oldest operation that
  /// signals an mbarrier, else the oldest. False if there is none.
  bool performNext();
  /// Performs some operation that the seed chooses. False if there is none.
  bool performRandom();
  /// Performs all that is left. False after a fault.
  bool finish();
  /// Performs wgmma of a frame that goes away.
  void finishMatrices(const Warp &warp, const std::byte *registers);

  std::span<const std::unique_ptr<AsyncOperation>> pending() const { return waiting; }

  /// What is known of the mbarrier at `where`; `phase` is the one its bits have.
  MbarrierRecord &recordOf(const std::byte *where, uint32_t phase);
  const MbarrierRecord *findRecord(const std::byte *where) const;
  void forgetRecord(const std::byte *where) { records.erase(where); }

private:
  bool run(AsyncOperation &operation, Part part);
  bool performAt(size_t index);
  bool isPending(AsyncId id) const;
  size_t indexOf(AsyncId id) const;
  /// The place of what must be performed before the operation at `index`, or `index`.
  size_t firstBefore(size_t index) const;

  Group &group;
  std::vector<std::unique_ptr<AsyncOperation>> waiting; // in the order of issue
  std::unordered_map<const std::byte *, MbarrierRecord> records;
};

/// What is known of registers that wgmma uses.
struct MatrixRegister {
  AsyncId reader = 0, writer = 0; // the last wgmma in flight that does
  const Op *op = nullptr;         // of `writer`
  uint64_t touched = 0;           // number of wgmma fences before the last other access, from 1
};

/// The groups of asynchronous operations that the lanes of a warp have committed.
struct AsyncGroups {
  struct Entry {
    AsyncId id;
    uint32_t mask;
  };
  struct Committed {
    uint32_t mask = 0; // lanes that have not waited for it
    uint32_t unread;   // lanes that have not even waited for its reads
    std::vector<Entry> operations;
  };
  struct Sequence {
    std::vector<Entry> open;
    std::vector<Committed> committed; // oldest first
  };
  Sequence sequences[4];        // by GroupKind
  std::vector<Entry> unarrived; // cp.async that cp.async.mbarrier.arrive has not seen

  uint64_t fences = 0;          // wgmma.fence
  AsyncId lastMatrixWaited = 0; // wgmma up to it are complete
  AsyncId lastMatrixIssued = 0;
  std::vector<AsyncId> matrices; // all wgmma of the warp
  /// By frame, and by slot in units of 64 bytes.
  std::unordered_map<const std::byte *, std::vector<MatrixRegister>> registers;

  MatrixRegister &at(const std::byte *frame, uint32_t slot);
  bool isInFlight(AsyncId matrix) const { return matrix > lastMatrixWaited; }
};

AsyncGroups &groupsOf(Warp &warp);

struct CopyForm;
After issueRequests(Warp &warp, const Op *op, uint32_t active, GroupKind kind, bool canStage,
                    PerformCopy perform, std::vector<CopyRequest> requests);
/// Gathers the requests of the lanes in `active` by gather(lane, request), and performs
/// them or issues an operation that will.
template <typename Gather>
After issueCopies(Warp &warp, const Op *op, uint32_t active, GroupKind kind, bool canStage,
                  PerformCopy perform, Gather gather) {
  std::vector<CopyRequest> requests;
  const bool isLater = warp.block->group->async != nullptr;
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
/// The blocks that a multicast goes to, one bit each; 0 if it is none.
uint32_t multicastTargets(const CopyForm &form, const std::byte *registers, unsigned lane);
/// The same place in the shared memory of another block.
uint64_t addressInBlock(uint64_t address, unsigned rank);

/// Tells the observer what is wrong with the registers of a wgmma that was just issued.
void checkMatrixRegisters(Warp &warp, const Op *op, const std::byte *registers, uint32_t mask);
/// wgmma that use the registers of a frame which is given back.
void finishMatrices(Warp &warp, const std::byte *registers);

/// Whether all warps that do wgmma together with `warp` have issued the first `count`.
bool areMatricesIssued(const Warp &warp, uint64_t count);
/// Those warps.
std::span<Warp> matrixWarps(const Warp &warp);

/// commit_group and wait_group of all kinds, wgmma.fence.
enum class GroupAction : uint8_t { commit, wait, waitAll, fence };
struct GroupForm {
  ExternalForm head;
  GroupKind kind = GroupKind::copy;
  GroupAction action = GroupAction::commit;
  uint32_t leave = 0; // groups that may be left
  bool isReadOnly = false;
};
After runGroup(Warp &, const Op *, std::byte *, uint32_t, uint32_t);

/// Tells the observer, if there is one, what an operation accesses, up to 32 ranges
/// of equal length at a time.
class AccessTeller {
public:
  AccessTeller(Warp &warp, const Op *op, AccessKind kind, Proxy proxy, AsyncId id,
               Order order = Order::weak, Scope scope = Scope::none);
  ~AccessTeller() { flush(); }
  AccessTeller(const AccessTeller &) = delete;
  AccessTeller &operator=(const AccessTeller &) = delete;

  explicit operator bool() const { return observer; }
  /// An access of a lane. `row`: the bytes that it writes, kept until it was told.
  void lane(uint32_t lane, uint64_t address, uint32_t length, const std::byte *row = nullptr) {
    if (observer)
      put(lane, address, length, row);
  }
  /// An access of the operation, whichever lane issued it.
  void range(uint64_t address, uint32_t length, const std::byte *row = nullptr) {
    if (observer)
      put(mask == ~0u ? 0 : static_cast<uint32_t>(__builtin_ctz(~mask)), address, length, row);
  }
  void flush();

private:
  void put(uint32_t index, uint64_t address, uint32_t length, const std::byte *row);

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
  bool hasRows = false; // all have theirs
  const std::byte *rows[32];
};

/// Tells the observer, if there is one.
inline void tell(Warp &warp, const SyncEvent &event) {
  if (Observer *observer = warp.block->group->grid->observer)
    observer->synchronise(event);
}

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_ASYNCQUEUE_H
