// Backend: what the runtime asks of a kind of device.
#ifndef TILEWRIGHT_RUNTIME_BACKEND_H
#define TILEWRIGHT_RUNTIME_BACKEND_H

#include "tilewright/artifact/Executable.h"
#include "tilewright/collective/Communicator.h"
#include "tilewright/runtime/Allocator.h"
#include "tilewright/runtime/Device.h"
#include "tilewright/support/ThreadPool.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tilewright::runtime {

/// One run of a program on one device. Pointers are valid until `run` returns.
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

/// An executable made ready for a device.
class DeviceProgram {
public:
  virtual ~DeviceProgram() = default;
  /// Computes the results; returns when they are written. Several devices may call at once, and a
  /// custom call of a run may lead to another one.
  virtual Status run(const ProgramRun &run) = 0;
  /// How long a run probably takes; 0 if unknown. Decides where the first run happens.
  virtual int64_t estimatedNanoseconds() const { return 0; }
  virtual int64_t codeBytes() const { return 0; }
};

/// What a device is, before there is a client.
struct DeviceDescription {
  std::string kind;
  std::vector<DeviceAttribute> attributes;
};

/// A kind of device. One for each client.
class Backend {
public:
  virtual ~Backend() = default;
  /// "cpu"
  virtual std::string name() const = 0;
  virtual std::string version() const = 0;
  virtual std::vector<DeviceDescription> devices() const = 0;
  /// Where the memory of a kind comes from.
  virtual std::unique_ptr<RawMemory> rawMemory(std::string_view kind) = 0;
  /// True if memory of this kind is the host's own, so that its bytes can be used in place.
  virtual bool isHostMemory(std::string_view kind) const = 0;
  /// Bytes that buffers may take if no limit is given.
  virtual int64_t defaultMemoryLimit() const = 0;
  virtual Result<std::unique_ptr<DeviceProgram>>
  load(std::shared_ptr<const artifact::Executable> executable, ThreadPool &pool) = 0;
};

} // namespace tilewright::runtime

#endif // TILEWRIGHT_RUNTIME_BACKEND_H
