// A communicator, as one of its ranks sees it.
#ifndef TILEWRIGHT_VGPU_NCCL_COMM_H
#define TILEWRIGHT_VGPU_NCCL_COMM_H

#include "tilewright/vgpu/nccl/Board.h"
#include "tilewright/vgpu/nccl/Settings.h"

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace tilewright::vgpu::nccl {

/// A reduction of ncclRedOpCreatePreMulSum.
struct PreMulSum {
  ncclDataType_t type = ncclFloat32;
  const void *onDevice = nullptr; // null: `value`
  std::byte value[8] = {};
};

struct Window {
  void *begin = nullptr;
  size_t bytes = 0;
};

/// The configuration, with defaults for everything that the program left undefined.
struct CommConfig {
  bool isBlocking = true;
  std::string name;
};

/// One rank of a communicator. Thread-safe, as far as NCCL is: only ncclCommAbort,
/// ncclCommGetAsyncError and ncclGetLastError may be called while another call is under way.
class Comm : public std::enable_shared_from_this<Comm> {
public:
  Comm(int rank, int ranks, CommConfig config);
  ~Comm();

  const int rank, ranks;
  const CommConfig config;
  int device = 0;
  CUcontext context = nullptr;
  bool ownsContext = false; // retained the primary context of its device
  Board board;
  ncclComm_t handle = nullptr;

  /// Joins the board at `place` and waits for all other ranks. `agreed` must be the same for all.
  ncclResult_t join(const Board::Place &place, uint64_t agreed);

  // The answer of ncclCommGetAsyncError: ncclInProgress until a non-blocking call is done, then its
  // result.
  ncclResult_t state();
  /// An error stays.
  void setState(ncclResult_t state);
  /// Forgets the error, after ncclCommRevoke.
  void clearState() { local = ncclSuccess; }
  /// Whether a new call may begin: not while another is under way, and not after an error.
  ncclResult_t checkReady();
  /// Keeps the text for ncclGetLastError and returns the code.
  ncclResult_t fail(ncclResult_t code, std::string text);
  std::string lastError();

  /// Stops submitted work on the device; work that is submitted later does nothing.
  void stopDevice(RankState reason);
  bool isDeviceStopped() const { return deviceStopped; }
  /// Stops work on the device and also ends waits of the host. The communicator is freed
  /// afterwards.
  void abort();
  /// Whether an abort or a revoke ends the calls of this rank now.
  bool isEnding() const { return aborted || isInterrupting; }
  /// Waits until no work of this rank runs on the device.
  void waitForRunning();
  /// Ends the calls of this rank that wait on other threads, and waits until they have returned, so
  /// that they do not overlap with later calls.
  void interruptCalls();
  /// Called when a group that uses this communicator begins or ends.
  void beginCall() { ++calls; }
  void endCall() { --calls; }
  /// Waits until all submitted work is done. Fails if the communicator is aborted in the meantime.
  ncclResult_t flush();
  /// Tells the other ranks that this one leaves normally.
  void leave();

  /// All `members` pass a payload and get those of all, in order of the members. `what` describes
  /// the call and must be equal for all; other ranks may be in an exchange with another key.
  ///  - ncclInvalidUsage: a member is in another call
  ///  - ncclRemoteError: the process of a member ended
  ///  - ncclSystemError: the time limit passed
  ncclResult_t exchange(HostLane RankSlot::*lane, std::span<const int> members, uint64_t key,
                        uint64_t step, std::string_view what, std::span<const std::byte> mine,
                        std::vector<std::string> &all);
  /// Like the function above, among all ranks.
  ncclResult_t exchange(std::string_view what, std::span<const std::byte> mine,
                        std::vector<std::string> &all);

  /// Waits on the host until `isThere` holds for all members. `describe` names what the host waits
  /// for, in error messages.
  ///  - ncclRemoteError: a member aborted, or its process ended
  ///  - ncclSystemError: the time limit passed
  ///  - ncclInternalError: this rank is ending, or `isOver`
  ncclResult_t waitForMembers(std::span<const int> members, const std::function<bool(int)> &isThere,
                              std::string_view what, const std::function<bool()> &isOver = {});
  std::span<const int> everyone() const { return allRanks; }

  // State of the work on the device.
  std::mutex turn;                             // held while one runs
  std::atomic<int> outstanding = 0;            // submitted and not done
  uint64_t collectives = 0, steps = 0;         // done; used under `turn`
  std::map<int, uint64_t> sends, receives;     // begun, by peer; used under `turn`
  std::map<uint64_t, uint64_t> shrinkAttempts; // by the hash of the members

  // State that only the calling thread uses; the program must not call from two threads.
  std::map<int, PreMulSum> reductions; // by ncclRedOp_t
  int nextReduction = ncclNumOps;
  std::map<ncclWindow_t, Window> windows;
  std::map<void *, Window> registrations;
  bool isFinalized = false, isRevoked = false;
  // The last stream that was given work, and an event after that work: work on other streams waits
  // for it.
  CUstream lastStream = nullptr;
  cuda_api::CUevent lastEvent = nullptr;
  bool hasLast = false;

private:
  std::atomic<ncclResult_t> local = ncclInProgress;
  std::atomic<bool> aborted = false, deviceStopped = false, isInterrupting = false;
  std::atomic<int> calls = 0; // groups that are executed now
  uint64_t exchanges = 0;
  std::vector<int> allRanks;
  Peers peers;
  std::mutex mutex;
  std::string text; // guarded by mutex

  /// Why a member of a call will never arrive; empty if no member is known to be gone.
  std::string describeGone(std::span<const int> members);
};

/// The communicators of the process, by handle. Handles are never reused.
ncclComm_t addComm(const std::shared_ptr<Comm> &comm);
/// Null if no communicator has the handle, for example after ncclCommDestroy.
std::shared_ptr<Comm> findComm(ncclComm_t handle);
void removeComm(ncclComm_t handle);
/// All communicators that were not destroyed.
std::vector<std::shared_ptr<Comm>> allComms();

/// "rank 1", "ranks 1, 3"
std::string nameRanks(std::span<const int> ranks);

/// Keeps the text for ncclGetLastError and returns the code; for calls without a communicator.
ncclResult_t failCall(ncclResult_t code, const std::string &text);
/// The text of the last error of the process.
std::string lastErrorText();

/// Makes a context current for its lifetime.
class ContextScope {
public:
  explicit ContextScope(CUcontext context);
  ~ContextScope();
  ContextScope(const ContextScope &) = delete;
  ContextScope &operator=(const ContextScope &) = delete;
};

#define NCCL_TRY(expression)                                                                       \
  if (const ncclResult_t ncclTried = (expression); ncclTried != ncclSuccess)                       \
    return ncclTried;

} // namespace tilewright::vgpu::nccl

#endif // TILEWRIGHT_VGPU_NCCL_COMM_H
