// Multicast objects: a team of devices, each with memory bound to the same offsets.
#ifndef TILEWRIGHT_VGPU_DRIVER_VIRTUAL_MULTICAST_H
#define TILEWRIGHT_VGPU_DRIVER_VIRTUAL_MULTICAST_H

#include "tilewright/vgpu/driver/virtual/MemoryObject.h"
#include "tilewright/vgpu/machine/memory/Multicast.h"

#include <map>

namespace tilewright::vgpu::driver {

struct Team;
struct Binding;

/// The team and its bindings are in the object's file, so that all processes that share the object
/// see the same state. Thread-safe, also between processes.
class MulticastObject final : public MemoryObject, public machine::MulticastMemory {
public:
  /// Creates an object for `devices` devices of any processes.
  static CUresult create(unsigned devices, uint64_t bytes, unsigned long long handleTypes,
                         std::shared_ptr<MulticastObject> &object);
  /// Opens the object in a file that another process exported; takes over the descriptor.
  static CUresult open(int file, const FileKind &kind, std::shared_ptr<MulticastObject> &object);
  MulticastObject(uint64_t bytes, unsigned long long handleTypes, int file, Team &team);
  ~MulticastObject() override;

  CUresult addDevice(const Device &device);
  /// Blocks until all devices have joined, as CUDA documents. Fails after --timeout, or if a
  /// process of the team ended before.
  CUresult waitUntilComplete(std::string_view call);
  CUresult bind(Device &device, uint64_t offset, const std::shared_ptr<PhysicalMemory> &memory,
                uint64_t memoryOffset, uint64_t bytes);
  CUresult unbind(const Device &device, uint64_t offset, uint64_t bytes);

  std::string find(uint64_t offset, uint64_t bytes, std::vector<uint64_t> &members) override;

private:
  /// Memory that a device of the team has bound, as this process sees it.
  struct Member {
    uint64_t offset = 0, bytes = 0; // in the multicast object
    uint64_t address = 0;
  };
  /// Reads the bindings from the file if they changed since the last time. The caller holds
  /// `mutex`.
  void update();
  /// The address of bound memory in this process; 0 if it cannot be opened.
  uint64_t addressOf(const Binding &binding);

  Team &team;
  std::mutex mutex;
  uint64_t seen = ~uint64_t(0);             // the team's `changes` at the last update
  std::vector<std::vector<Member>> members; // by position in the team
  /// The memory that this process has bound, by index of the binding; it must exist until it is
  /// unbound.
  std::map<uint32_t, std::shared_ptr<PhysicalMemory>> bound;
  /// Memory of other processes that is mapped here, by the inode of its file.
  std::map<uint64_t, std::shared_ptr<void>> opened;
};

} // namespace tilewright::vgpu::driver

#endif // TILEWRIGHT_VGPU_DRIVER_VIRTUAL_MULTICAST_H
