// PJRT_TopologyDescription and PJRT_DeviceDescription: devices that need not exist in this process.
#ifndef TILEWRIGHT_PLUGIN_TOPOLOGY_H
#define TILEWRIGHT_PLUGIN_TOPOLOGY_H

#include "tilewright/plugin/options/NamedValues.h"
#include "tilewright/runtime/Device.h"
#include "tilewright/support/Status.h"

#include <xla/pjrt/c/pjrt_c_api.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

/// Callers keep pointers to every string and list of this struct.
struct PJRT_DeviceDescription {
  PJRT_DeviceDescription() = default;
  explicit PJRT_DeviceDescription(const tilewright::runtime::Device &device);

  int id = 0;
  int processIndex = 0;
  std::string kind, text, debugText;
  tilewright::plugin::NamedValues attributes;
};

struct PJRT_TopologyDescription {
  std::vector<std::unique_ptr<PJRT_DeviceDescription>> owned;
  std::vector<PJRT_DeviceDescription *> devices;
  tilewright::plugin::NamedValues attributes;
};

namespace tilewright::plugin {

/// The platform name that the plugin reports; docs/design/platform-name.md explains the choice.
const std::string &platformName();
const std::string &platformVersion();

/// `count` CPU devices of one process.
std::unique_ptr<PJRT_TopologyDescription> describeDevices(int64_t count);
/// The devices of a client.
std::unique_ptr<PJRT_TopologyDescription>
describeDevices(std::span<runtime::Device *const> devices);

/// Text that names the devices; equal topologies give equal text.
std::string serialize(const PJRT_TopologyDescription &topology);
/// - topology (E8006)
Result<std::unique_ptr<PJRT_TopologyDescription>> parseTopology(std::string_view text);

} // namespace tilewright::plugin

#endif // TILEWRIGHT_PLUGIN_TOPOLOGY_H
