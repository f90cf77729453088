// Memory: a place that buffers live in, of a kind and reachable by some devices.
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

/// JAX knows its two memory spaces by these names.
inline constexpr std::string_view deviceKind = "device";
inline constexpr std::string_view pinnedHostKind = "pinned_host";

/// A memory space. Belongs to the client, lives as long as it.
class Memory {
public:
  int id() const { return number; }
  /// "device" or "pinned_host".
  const std::string &kind() const { return name; }
  /// The same for all memories of a kind, in all processes.
  int kindId() const { return kindNumber; }
  /// The colour that the plan of an executable knows it by.
  uint8_t space() const { return static_cast<uint8_t>(kindNumber); }
  /// "cpu:0 device", for people.
  const std::string &toString() const { return text; }
  const std::string &debugString() const { return debugText; }

  Client &client() const { return *owner; }
  /// The device that it belongs to.
  Device &device() const { return *home; }
  /// The devices that can reach it.
  std::span<Device *const> devices() const { return reachableBy; }

  /// The bytes are the host's own: they can be read in place.
  bool isHostMemory() const { return isHost; }
  /// Bytes of the host can be used as a buffer in this memory.
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
