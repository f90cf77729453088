// PJRT_Client, PJRT_Device and PJRT_Memory: handles on the runtime's objects.
#ifndef TILEWRIGHT_PLUGIN_CLIENT_H
#define TILEWRIGHT_PLUGIN_CLIENT_H

#include "tilewright/plugin/Topology.h"
#include "tilewright/runtime/Client.h"
#include "tilewright/support/Options.h"

#include <xla/pjrt/c/pjrt_c_api.h>

#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace tilewright::plugin {

/// Since PJRT 0.105 a PJRT_Memory begins with a table of functions that jaxlib uses to attach its
/// own data.
struct MemoryHandle : PJRT_Memory {
  explicit MemoryHandle(runtime::Memory &memory);
  ~MemoryHandle();

  runtime::Memory &memory;
  std::vector<PJRT_Device *> devices;

  struct UserData {
    void *data = nullptr;
    void (*destroy)(void *) = nullptr;
  };
  std::mutex mutex;
  std::map<const void *, UserData> userData; // guarded by mutex
};

inline MemoryHandle &of(PJRT_Memory *memory) { return *static_cast<MemoryHandle *>(memory); }

} // namespace tilewright::plugin

struct PJRT_Device {
  explicit PJRT_Device(tilewright::runtime::Device &device) : device(device), description(device) {}
  tilewright::runtime::Device &device;
  PJRT_DeviceDescription description;
  std::vector<PJRT_Memory *> memories;
};

struct PJRT_Client {
  /// `place` has the index and the number of processes; its runtime options are replaced by those
  /// of `options`.
  static tilewright::Result<std::unique_ptr<PJRT_Client>>
  create(tilewright::Options options, tilewright::runtime::ClientOptions place = {});

  PJRT_Device *handleOf(const tilewright::runtime::Device &device) const;
  PJRT_Memory *handleOf(const tilewright::runtime::Memory &memory) const;
  /// Looks up a device by id.
  ///  - clientDevice (E8007): the client has no such device.
  tilewright::Result<PJRT_Device *> deviceWithId(int id) const;

  tilewright::Options options;
  std::unique_ptr<tilewright::runtime::Client> runtime;
  bool isQuiet = false;
  std::string version; // shown by JAX, which also makes it part of its compile cache's keys
  std::unique_ptr<PJRT_TopologyDescription> topology;
  std::vector<std::unique_ptr<PJRT_Device>> ownedDevices;
  std::vector<std::unique_ptr<tilewright::plugin::MemoryHandle>> ownedMemories;
  std::vector<PJRT_Device *> devices, addressableDevices;
  std::vector<PJRT_Memory *> memories;
};

#endif // TILEWRIGHT_PLUGIN_CLIENT_H
