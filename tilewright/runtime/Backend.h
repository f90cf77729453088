// Backend: the interface between the runtime and a kind of device.
#ifndef TILEWRIGHT_RUNTIME_BACKEND_H
#define TILEWRIGHT_RUNTIME_BACKEND_H

#include "tilewright/artifact/Executable.h"
#include "tilewright/collective/Communicator.h"
#include "tilewright/collective/DeviceCommunicator.h"
#include "tilewright/collective/ProgressEngine.h"
#include "tilewright/runtime/Allocator.h"
#include "tilewright/runtime/Device.h"
#include "tilewright/runtime/Event.h"
#include "tilewright/support/ThreadPool.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tilewright::runtime {

class DeviceRanks;

/// One run of a program on one device. The spans are valid until `run` returns.
struct ProgramRun {
  /// Indexed by parameter and by result. A result with `aliasOf` p always has the pointer of
  /// parameter p: if the caller did not donate that parameter, the runtime made a copy.
  std::span<std::byte *const> parameters;
  std::span<std::byte *const> results;
  /// Arenas for temporaries, by space; null if the plan needs none.
  std::byte *arenas[2] = {nullptr, nullptr};
  ThreadPool &pool;
  /// This device's position in the launch.
  int64_t replica = 0, partition = 0;
  Device *device = nullptr;
  int64_t runId = 0;
  /// The communicator for collectives with the other devices of the launch; null if the program has
  /// no collectives.
  collective::Communicator *communicator = nullptr;
  /// The communicators if devices execute the collectives (DeviceProgram::deviceCliques), and which
  /// of them is this device's.
  DeviceRanks *ranks = nullptr;
  size_t local = 0;
  /// The pointer that the caller of execute passed for its custom calls.
  void *userContext = nullptr;
};

/// An executable loaded for its devices.
class DeviceProgram {
public:
  virtual ~DeviceProgram() = default;
  /// Computes the results. The event completes when they are written, which may be before this
  /// returns; the caller keeps the memory until then. A returned failure means that nothing runs
  /// any more; the caller adds the program's name to it. An event that fails later has the name in
  /// its message. Several devices may call this concurrently, and a custom call of one run may
  /// start another run.
  virtual Result<Event> run(const ProgramRun &run) = 0;
  /// An estimate of the duration of a run; 0 if unknown. Decides whether the first run happens on
  /// the calling thread.
  virtual int64_t estimatedNanoseconds() const { return 0; }
  virtual int64_t codeBytes() const { return 0; }
  /// The cliques of collectives that devices execute, in an order that is the same on all ranks;
  /// empty if there are none. run() then needs ProgramRun::ranks, whose communicators were made for
  /// these cliques.
  virtual std::span<const collective::DeviceClique> deviceCliques() const { return {}; }
};

/// A device of this process that runs a program, and its position in the launch.
struct ProgramPlace {
  Device *device = nullptr;
  int64_t replica = 0, partition = 0;
};

/// A collective that a device has begun and not finished.
struct CollectiveUnderWay {
  std::string text; // "rank 1 (cuda:1) in 'all_reduce.3' at train.py:41"
  std::chrono::nanoseconds since{0};
};

/// The description of a device before a client exists.
struct DeviceDescription {
  std::string kind;
  std::vector<DeviceAttribute> attributes;
};

/// Bytes in a memory of the client, or anywhere in host memory if `memory` is null.
struct MemoryAddress {
  std::byte *data = nullptr;
  const Memory *memory = nullptr;
};

/// A kind of device; each client has one. The default implementations are for devices that share
/// the host's memory and compute on its threads.
class Backend {
public:
  virtual ~Backend() = default;
  /// "cpu"
  virtual std::string name() const = 0;
  virtual std::string version() const = 0;
  virtual std::vector<DeviceDescription> devices() const = 0;

  /// The source of memory of this kind. The client asks once for host memory, which all devices
  /// share, and once per device for other memory; `device` is an index into devices().
  virtual std::unique_ptr<RawMemory> rawMemory(std::string_view kind, size_t device) = 0;
  /// The limit for buffers in a memory of this kind, in bytes, if the user sets none.
  virtual int64_t defaultMemoryLimit(std::string_view kind, size_t device) const = 0;
  /// Whether the host can read and write memory of this kind directly.
  virtual bool isHostMemory(std::string_view kind) const = 0;
  /// Whether host memory at any address can back a buffer of this kind.
  virtual bool canAdoptHostBytes(std::string_view kind) const { return isHostMemory(kind); }

  /// The device whose memory contains `data`, as an index into devices(); nothing if it is host
  /// memory.
  ///  - cudaDevices (E5123): it is memory of a device that this client does not use.
  virtual Result<std::optional<size_t>> deviceOf(const std::byte *data) {
    (void)data;
    return std::optional<size_t>();
  }

  /// Copies bytes that are already valid when this is called. Accesses to plain host memory
  /// (`memory` is null) have ended when this returns, those to memories of the client when the
  /// event completes. Programs started later on the device of `to` see the bytes without waiting
  /// for the event.
  virtual Event copy(MemoryAddress to, MemoryAddress from, size_t bytes, ThreadPool &pool);
  /// Copies between memories of a device, in order with the programs launched before and after.
  virtual Status copyInOrder(const Device &device, std::byte *to, const std::byte *from,
                             size_t bytes, ThreadPool &pool);
  /// Blocks until the copies of copyInOrder on the device have ended, so that their memory may be
  /// freed although no program runs after them.
  virtual void awaitCopiesInOrder(const Device &) {}

  /// Blocks until the work that another library has queued on a stream of the device has ended, so
  /// that what it writes is in memory. Null is the default stream of the device.
  virtual Status awaitStream(const Device &device, void *stream) {
    (void)device, (void)stream;
    return Status();
  }

  /// Whether the device itself queues programs and runs them in order. If so, `run` returns early,
  /// and later work need not wait for the results of earlier programs.
  virtual bool isStreamOrdered() const { return false; }
  /// Blocks until every event that this backend returned has completed and its callbacks have run.
  virtual void drain() {}

  virtual Result<std::unique_ptr<DeviceProgram>>
  load(std::shared_ptr<const artifact::Executable> executable, std::span<const ProgramPlace> places,
       ThreadPool &pool) = 0;

  /// Connects the devices of all processes for collectives that they execute themselves; ranks are
  /// the ids of devices. Called for the first program that has such collectives, and again after a
  /// failure.
  virtual Result<std::unique_ptr<collective::DeviceEngine>>
  connectDevices(const collective::Membership &membership, tilewright::KeyValueStore &store);
  /// The collectives that devices of this process execute now.
  virtual std::vector<CollectiveUnderWay> collectivesUnderWay() { return {}; }
};

} // namespace tilewright::runtime

#endif // TILEWRIGHT_RUNTIME_BACKEND_H
