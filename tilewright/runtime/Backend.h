// Backend: what the runtime asks of a kind of device.
#ifndef TILEWRIGHT_RUNTIME_BACKEND_H
#define TILEWRIGHT_RUNTIME_BACKEND_H

#include "tilewright/artifact/Executable.h"
#include "tilewright/collective/Communicator.h"
#include "tilewright/runtime/Allocator.h"
#include "tilewright/runtime/Device.h"
#include "tilewright/runtime/Event.h"
#include "tilewright/support/ThreadPool.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tilewright::runtime {

/// One run of a program on one device. The lists are valid until `run` returns.
struct ProgramRun {
  /// By parameter and by result number. A result with `aliasOf` p has the pointer of parameter p,
  /// always: if that was not donated, the runtime made a copy.
  std::span<std::byte *const> parameters;
  std::span<std::byte *const> results;
  /// Temporaries, by space; null where the plan needs none.
  std::byte *arenas[2] = {nullptr, nullptr};
  ThreadPool &pool;
  /// This device's place in the launch.
  int64_t replica = 0, partition = 0;
  Device *device = nullptr;
  int64_t runId = 0;
  /// For collectives with the other devices of the launch; null if there are none.
  collective::Communicator *communicator = nullptr;
  /// What the caller of execute passed for its custom calls.
  void *userContext = nullptr;
};

/// An executable made ready for its devices.
class DeviceProgram {
public:
  virtual ~DeviceProgram() = default;
  /// Computes the results; the event happens when they are written, which may be at once. Memory
  /// stays until then. Several devices may call at once, and a custom call of a run may lead to
  /// another one.
  virtual Event run(const ProgramRun &run) = 0;
  /// How long a run probably takes; 0 if unknown. Decides where the first run happens.
  virtual int64_t estimatedNanoseconds() const { return 0; }
  virtual int64_t codeBytes() const { return 0; }
};

/// What a device is, before there is a client.
struct DeviceDescription {
  std::string kind;
  std::vector<DeviceAttribute> attributes;
};

/// Bytes in a memory of the client, or anywhere in the host's if `memory` is null.
struct Place {
  std::byte *data = nullptr;
  const Memory *memory = nullptr;
};

/// A kind of device. One for each client. Where a function has a body, it is that of devices which
/// share the host's memory and compute on its threads.
class Backend {
public:
  virtual ~Backend() = default;
  /// "cpu"
  virtual std::string name() const = 0;
  virtual std::string version() const = 0;
  virtual std::vector<DeviceDescription> devices() const = 0;

  /// Where the memory of a kind comes from. What is the host's is shared by all devices and asked
  /// for once; the rest once for each device, by its place in devices().
  virtual std::unique_ptr<RawMemory> rawMemory(std::string_view kind, size_t device) = 0;
  /// Bytes that buffers may take there if no limit is given.
  virtual int64_t defaultMemoryLimit(std::string_view kind, size_t device) const = 0;
  /// The host reads and writes memory of this kind as its own.
  virtual bool isHostMemory(std::string_view kind) const = 0;
  /// Any bytes of the host can stand for a buffer of this kind.
  virtual bool canAdoptHostBytes(std::string_view kind) const { return isHostMemory(kind); }

  /// Copies after what was complete when this is called. Bytes anywhere in the host's memory have
  /// been read, or written, when this returns; memories of the client when the event happens.
  /// Programs that are started later on the device of `to` see the bytes without waiting for it.
  virtual Event copy(Place to, Place from, size_t bytes, ThreadPool &pool);
  /// Copies within the memories of a device, between the programs before and after.
  virtual Status copyInOrder(const Device &device, std::byte *to, const std::byte *from,
                             size_t bytes, ThreadPool &pool);

  /// Programs are queued on the device itself, which keeps their order: `run` returns early, and
  /// who comes later need not wait for the results of those before.
  virtual bool isStreamOrdered() const { return false; }
  /// Blocks until every event that was given out has happened and those who waited were told.
  virtual void drain() {}

  virtual Result<std::unique_ptr<DeviceProgram>>
  load(std::shared_ptr<const artifact::Executable> executable, std::span<Device *const> devices,
       ThreadPool &pool) = 0;
};

} // namespace tilewright::runtime

#endif // TILEWRIGHT_RUNTIME_BACKEND_H
