// Device: runs programs in order.
#ifndef TILEWRIGHT_RUNTIME_DEVICE_H
#define TILEWRIGHT_RUNTIME_DEVICE_H

#include "tilewright/runtime/Memory.h"
#include "tilewright/runtime/Stream.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tilewright::runtime {

/// A property of a device that frameworks may query. JAX aborts on types other than these.
struct DeviceAttribute {
  std::string name;
  std::variant<std::string, int64_t, std::vector<int64_t>> value;
};

/// A device of this process or of another one. The client owns it and keeps it for its whole
/// lifetime; every string and list keeps its address.
class Device {
public:
  /// The device's number, unique among all processes.
  int id() const { return number; }
  /// The device's number in its process.
  int localId() const { return localNumber; }
  int processIndex() const { return process; }
  bool isAddressable() const { return queue != nullptr; }

  /// "cpu"
  const std::string &kind() const { return kindName; }
  /// "cpu:0"
  const std::string &toString() const { return text; }
  const std::string &debugString() const { return debugText; }
  std::span<const DeviceAttribute> attributes() const { return facts; }

  Client &client() const { return *owner; }
  std::span<Memory *const> memories() const { return reachable; }
  /// The memory of kind "device".
  Memory &defaultMemory() const { return *reachable.front(); }
  /// Null if the device can reach no memory of this kind.
  Memory *memoryOfKind(std::string_view kind) const;

  /// The stream that runs its programs. Only for addressable devices.
  Stream &stream() const { return *queue; }
  /// The stream for copies that wait for an event, so that they do not block the stream of
  /// programs.
  Stream &transferStream() const { return *transfers; }

private:
  friend class Client;
  friend class LoadedExecutable;
  Device() = default;
  int number = 0, localNumber = 0, process = 0;
  std::string kindName, text, debugText;
  std::vector<DeviceAttribute> facts;
  Client *owner = nullptr;
  std::vector<Memory *> reachable;
  std::unique_ptr<Stream> queue, transfers;
  /// Temporaries of the program that was queued last, if it is still running: the device keeps the
  /// order of programs, so the next one may use the same memory. Accessed only by the thread that
  /// runs the stream's current task.
  std::weak_ptr<Allocator::Block> arenas[2];
};

} // namespace tilewright::runtime

#endif // TILEWRIGHT_RUNTIME_DEVICE_H
