// Memory: a memory space of a device or of the host.
#ifndef TILEWRIGHT_RUNTIME_MEMORY_H
#define TILEWRIGHT_RUNTIME_MEMORY_H

#include "tilewright/runtime/Allocator.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::runtime {

class Client;
class Device;

/// The names of JAX's memory spaces. Both kinds of host memory come from the same allocator, which
/// returns pinned memory if the device benefits from it.
inline constexpr std::string_view deviceKind = "device";
inline constexpr std::string_view pinnedHostKind = "pinned_host";
inline constexpr std::string_view unpinnedHostKind = "unpinned_host";

/// A memory space. The client owns it and keeps it for its whole lifetime.
class Memory {
public:
  int id() const { return number; }
  /// "device", "pinned_host" or "unpinned_host".
  const std::string &kind() const { return name; }
  /// The number of the kind, the same for all memories of this kind in all processes.
  int kindId() const { return kindNumber; }
  /// Its colour (memory space number) in the plan of an executable.
  uint8_t space() const { return static_cast<uint8_t>(kindNumber); }
  /// "cpu:0 device", for messages.
  const std::string &toString() const { return text; }
  const std::string &debugString() const { return debugText; }

  Client &client() const { return *owner; }
  /// The device that it belongs to.
  Device &device() const { return *home; }
  /// The devices that can reach it.
  std::span<Device *const> devices() const { return reachableBy; }

  /// Whether the host can read the bytes in place.
  bool isHostMemory() const { return isHost; }
  /// Whether host memory can be used in place as a buffer in this memory.
  bool canAdoptHostBytes() const { return adopts; }

  Result<Allocator::Block> allocate(size_t bytes, Label label) const {
    return source->allocate(bytes, account, std::move(label));
  }
  Allocator &allocator() const { return *source; }
  AllocationStatistics statistics() const { return source->statistics(account); }

private:
  friend class Client;
  Memory() = default;
  int number = 0, kindNumber = 0;
  bool isHost = false, adopts = false;
  std::string name, text, debugText;
  Client *owner = nullptr;
  Device *home = nullptr;
  std::vector<Device *> reachableBy;
  std::shared_ptr<Allocator> source;
  Allocator::Account account = 0;
};

} // namespace tilewright::runtime

#endif // TILEWRIGHT_RUNTIME_MEMORY_H
