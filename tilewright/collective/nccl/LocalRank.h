// LocalRank: one rank of this process with its NCCL communicators.
#ifndef TILEWRIGHT_COLLECTIVE_NCCL_LOCALRANK_H
#define TILEWRIGHT_COLLECTIVE_NCCL_LOCALRANK_H

#include "tilewright/collective/DeviceCommunicator.h"
#include "tilewright/collective/ProgressEngine.h"
#include "tilewright/collective/nccl/Library.h"

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

namespace tilewright::collective::nccl {

/// One NCCL communicator of one rank; guarded by its LocalRank.
struct Comm {
  /// Null once aborted. NCCL writes the handle of a child from a thread of its own.
  std::atomic<abi::ncclComm_t> handle = nullptr;
  /// Whether the communicator may be revoked: it is initialized, and no child is being split from
  /// it.
  bool isReady = false;
  struct Registration {
    void *handle = nullptr;
    int uses = 0;
  };
  std::map<std::byte *, Registration> registered;
  std::vector<std::unique_ptr<abi::ncclWindow_t>> windows;
};

/// One rank of this process. All communicators are non-blocking: a call returns at once, and the
/// rank polls until NCCL has done it, so every wait has a deadline, and revoke() can end it.
///
/// Thread-safe; the mutex is held during NCCL calls and never while waiting. NCCL keeps groups for
/// each thread, so the mutex is held from beginGroup() to endGroup(): an abort in between would
/// free communicators that the group uses.
class LocalRank {
public:
  LocalRank(const Library &library, DeviceAccess &access, FailureBox &failure, int64_t rank)
      : nccl(library), access(access), failure(failure), number(rank) {}
  ~LocalRank();
  LocalRank(const LocalRank &) = delete;
  LocalRank &operator=(const LocalRank &) = delete;

  int64_t rank() const { return number; }
  Status makeCurrent() { return access.makeCurrent(number); }

  /// A communicator whose initialization `make` begins, from `parent` unless that is null. It is
  /// ready after settle() has succeeded for the parent and then for itself.
  using Make = std::function<abi::ncclResult_t(abi::ncclComm_t parent, abi::ncclComm_t *into)>;
  Result<Comm *> make(std::string_view function, Comm *parent, const Make &make);

  using Body = std::function<abi::ncclResult_t(abi::ncclComm_t)>;
  /// Calls NCCL for a communicator. Outside of a group, waits until NCCL has done it.
  ///  - ncclCall (E6061), collectiveAborted (E6003), collectiveStuck (E6001)
  Status call(std::string_view function, Comm &comm, const Body &body, Deadline deadline);
  /// Waits until NCCL has completed the latest calls for these communicators, which are then ready
  /// for the next.
  Status settle(std::string_view function, std::span<Comm *const> comms, Deadline deadline);

  Status beginGroup();
  /// Also fails if the engine has failed in the meantime.
  Status endGroup(Deadline deadline);
  /// Whether the calling thread has a group open.
  bool hasGroup() const { return groupThread == std::this_thread::get_id(); }

  /// Registers memory for transfers without copies; programs that share a communicator share the
  /// registration, too.
  Status registerWith(Comm &comm, std::byte *data, size_t bytes, Deadline deadline);
  Status deregisterFrom(Comm &comm, std::byte *data, Deadline deadline);
  /// A symmetric window. Collective.
  Result<void *> makeWindow(Comm &comm, std::byte *data, size_t bytes, Deadline deadline);
  /// Waits until revoked communicators have stopped: nothing is queued any more, and they can
  /// shrink.
  void awaitRest(std::span<Comm *const> comms, Deadline deadline);

  /// The first asynchronous error of these communicators. Never blocks: OK if another thread is
  /// calling NCCL for this rank.
  Status asyncError(std::span<Comm *const> comms);

  /// Stops the work of the communicators on the device. They remain, so that they can shrink, if
  /// the library can revoke and they are ready; otherwise they are aborted, which frees them. Not
  /// for the thread that has a group open.
  void revoke();

  /// The two steps that end a rank. The first begins for all ranks of a process before the second
  /// waits for any of them, because ranks finalize together. If these steps are not taken, or a
  /// rank does not arrive before the deadline, the destructor aborts.
  void finalize();
  void destroy(Deadline deadline);

  /// E6003 with the engine's failure.
  Status failed() const;

private:
  Status state(std::string_view function, Comm &comm, abi::ncclResult_t *state);

  const Library &nccl;
  DeviceAccess &access;
  FailureBox &failure;
  const int64_t number;

  std::mutex mutex;
  // guarded by mutex:
  std::vector<std::unique_ptr<Comm>> comms; // in the order of their creation
  std::vector<Comm *> inGroup;              // used since the outermost beginGroup()
  bool isRevoked = false;

  /// The thread that has a group open and therefore holds the mutex.
  std::atomic<std::thread::id> groupThread;
  // Only for that thread:
  std::unique_lock<std::mutex> groupLock;
  int depth = 0;
};

} // namespace tilewright::collective::nccl

#endif // TILEWRIGHT_COLLECTIVE_NCCL_LOCALRANK_H
