// DeviceCommunicator: one rank's side of collectives that streams of its device execute.
#ifndef TILEWRIGHT_COLLECTIVE_DEVICECOMMUNICATOR_H
#define TILEWRIGHT_COLLECTIVE_DEVICECOMMUNICATOR_H

#include "tilewright/collective/Communicator.h"
#include "tilewright/support/store/KeyValueStore.h"

namespace tilewright::collective {

/// A queue of work of a device, such as a CUDA stream.
using DeviceStream = void *;

/// The functions that an engine needs from the owner of the devices. Thread-safe.
class DeviceAccess {
public:
  virtual ~DeviceAccess() = default;
  /// Makes the device of a rank of this process current for the calling thread. `rank` is the
  /// engine's.
  virtual Status makeCurrent(int64_t rank) = 0;
  /// Both queue their work on the stream, whose device is current. They must be capturable into a
  /// graph if the caller captures streams.
  virtual Status copy(DeviceStream stream, std::byte *to, const std::byte *from, size_t bytes) = 0;
  virtual Status fillWithZeros(DeviceStream stream, std::byte *to, size_t bytes) = 0;
};

/// One clique of a program, as in CommPlan, with the lane in which it is used. Cliques in different
/// lanes get separate communicators, so that their collectives can be in progress at the same time.
struct DeviceClique {
  /// Ranks of the program; as in Call::groups. Empty: all ranks.
  std::vector<std::vector<int64_t>> groups;
  bool isPairs = false; // groups are {source, target} of a permute
  uint8_t lane = 0;
  bool operator==(const DeviceClique &) const = default;
};

/// One rank's collectives for one program. The device of the rank must be current for the calling
/// thread. At most one thread at a time calls enqueue(), beginGroup() and endGroup(); different
/// ranks of a process need different threads, because enqueue() may wait for other ranks when a
/// clique communicates for the first time. Any thread may call the other functions.
///
/// Ranks enqueue the collectives of a clique in the same order, which is that of the plan.
class DeviceCommunicator {
public:
  virtual ~DeviceCommunicator() = default;
  /// In the program.
  virtual int64_t rank() const = 0;
  virtual int64_t size() const = 0;

  /// Queues a collective and returns. `clique` is an index into the list passed to prepare(), and
  /// the call's groups are ignored. Tensors are in device memory. The operands must not change, and
  /// the results are not valid, before the stream has executed the collective; this also holds
  /// after a failure, when collectives that were queued before end without results. A rank that is
  /// in no group gets zeros from permute and broadcast.
  ///
  /// Only the forms that `communicate-device-forms` produces are accepted: gathers, scatters and
  /// all_to_alls along the outermost dimension (of a size other than 1), reductions and types that
  /// canReduce(). ragged_all_to_all needs Call::ragged until this returns; differently from other
  /// engines, its output offsets are those that this rank has *received*: rows of its own `out`.
  /// The caller gets them by an all_to_all of the ranks' output offsets.
  ///  - deviceForm: the collective is not in a form that the engine knows.
  ///  - collectiveAborted (E6003): the engine has failed or was revoked, or a rank was lost.
  virtual Status enqueue(const Call &call, size_t clique, DeviceStream stream) = 0;

  /// Collectives enqueued between beginGroup() and endGroup() begin when endGroup() is called, as
  /// one piece of work: members may order the calls of a group differently. Groups nest.
  virtual Status beginGroup() = 0;
  virtual Status endGroup() = 0;

  /// The first asynchronous failure of this rank's communicators. Never blocks. Call it while
  /// waiting for a stream, because a stream whose peer is dead waits forever. Call it again when
  /// the stream is done and before results are used, because a revoked collective ends without a
  /// result.
  virtual Status check() = 0;

  /// Registers memory for transfers without staging copies. Local, once per allocation; the engine
  /// registers it with every clique of this communicator. Does nothing if the library does not
  /// support it.
  virtual Status registerMemory(std::byte *data, size_t bytes) = 0;
  /// Must precede freeing the memory.
  virtual Status deregisterMemory(std::byte *data) = 0;

  /// Registers memory as a symmetric window of a clique. Collective: all members call it in the
  /// same order with the same size. The memory must come from DeviceEngine::allocate(). Returns the
  /// library's handle, valid until the communicator is destroyed; null if the library has no
  /// windows.
  virtual Result<void *> registerWindow(size_t clique, std::byte *data, size_t bytes,
                                        Deadline deadline) = 0;
};

/// A library of collectives on devices, connected with the other processes of a job. Thread-safe.
class DeviceEngine {
public:
  virtual ~DeviceEngine() = default;
  /// "nccl"
  virtual std::string name() const = 0;
  /// "2.28.9"
  virtual std::string version() const = 0;
  /// Whether all_reduce and reduce_scatter support the operation for the type.
  virtual bool canReduce(ReductionKind operation, ElementType element) const = 0;

  /// Makes the communicators of a program for all of its ranks in this process; the result lists
  /// them in ascending order. `members` has the engine's rank for each rank of the program. All
  /// processes with members call this at load with equal arguments, in the same order for the same
  /// members. Programs share communicators, so only the first program that uses a clique waits for
  /// other processes.
  ///  - ranksNotConnected (E6032): a process did not call it before the deadline.
  ///  - collectiveGroups (E6002), collectiveAborted (E6003)
  virtual Result<std::vector<std::unique_ptr<DeviceCommunicator>>>
  prepare(const std::vector<int64_t> &members, std::span<const DeviceClique> cliques,
          Deadline deadline) = 0;

  /// Memory of a rank's device that can become a window; aligned to 4096 bytes.
  virtual Result<std::byte *> allocate(int64_t rank, size_t bytes) = 0;
  virtual void free(int64_t rank, std::byte *data) = 0;

  /// Fails the engine for good, because the caller knows that a rank will never join. Collectives
  /// that devices are executing end without a result, so that streams continue; check() and
  /// enqueue() return the first reason from now on. Does not wait for devices.
  virtual void revoke(const std::string &why) = 0;

  /// After revoke(): an engine without these ranks, in which the other ranks keep their numbers.
  /// All survivors call it with the same list. The result belongs to the new `epoch` and uses its
  /// store.
  ///  - ranksNotConnected (E6032)
  virtual Result<std::unique_ptr<DeviceEngine>> shrink(const std::vector<int64_t> &without,
                                                       uint64_t epoch, KeyValueStore &store,
                                                       Deadline deadline) = 0;
};

} // namespace tilewright::collective

#endif // TILEWRIGHT_COLLECTIVE_DEVICECOMMUNICATOR_H
