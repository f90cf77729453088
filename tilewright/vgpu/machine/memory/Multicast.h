// Multicast addresses: each stands for one address in the memory of every device of a team.
#ifndef TILEWRIGHT_VGPU_MACHINE_MEMORY_MULTICAST_H
#define TILEWRIGHT_VGPU_MACHINE_MEMORY_MULTICAST_H

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <vector>

namespace tilewright::vgpu::machine {

/// The memory that the devices of a team have bound to a multicast object.
class MulticastMemory {
public:
  virtual ~MulticastMemory() = default;
  /// Sets `members` to the address of the `bytes` bytes at `offset` in the memory of each device,
  /// in the order in which the devices joined the team. Returns why that is impossible, or an empty
  /// string.
  virtual std::string find(uint64_t offset, uint64_t bytes, std::vector<uint64_t> &members) = 0;
};

/// The addresses at which multicast objects are mapped. Thread-safe.
class Multicasts {
public:
  struct Place {
    std::shared_ptr<MulticastMemory> memory;
    uint64_t offset = 0; // of the address in the object
  };
  void add(uint64_t begin, uint64_t bytes, std::shared_ptr<MulticastMemory> memory);
  void remove(uint64_t begin);
  std::optional<Place> find(uint64_t address) const;
  /// Whether no multicast object is mapped. Needs no lock.
  bool isEmpty() const { return count.load(std::memory_order_relaxed) == 0; }

private:
  struct Range {
    uint64_t bytes = 0;
    std::shared_ptr<MulticastMemory> memory;
  };
  std::atomic<size_t> count = 0;
  mutable std::shared_mutex mutex;
  std::map<uint64_t, Range> byBegin; // guarded by mutex
};

/// The multicast addresses of this process.
Multicasts &multicasts();

/// The addresses that a store to `address` writes in the memory of the members; empty if it is not
/// a multicast address, or if a member has bound no memory there. PTX leaves stores other than
/// multimem.st undefined. GPUs perform them, and NCCL's kernels rely on it.
std::vector<uint64_t> multicastMembers(uint64_t address, uint64_t bytes);

} // namespace tilewright::vgpu::machine

#endif // TILEWRIGHT_VGPU_MACHINE_MEMORY_MULTICAST_H
