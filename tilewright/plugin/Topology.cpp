#include "tilewright/plugin/Topology.h"

#include "tilewright/plugin/Api.h"
#include "tilewright/plugin/Getters.h"
#include "tilewright/support/Concat.h"
#include "tilewright/support/Version.h"

#include <charconv>

PJRT_DeviceDescription::PJRT_DeviceDescription(const tilewright::runtime::Device &device)
    : id(device.id()), processIndex(device.processIndex()),
      kind(tilewright::concat("tilewright ", device.kind())),
      text(tilewright::concat("tilewright ", device.toString())),
      debugText(tilewright::concat("tilewright ", device.debugString())) {
  for (const tilewright::runtime::DeviceAttribute &fact : device.attributes())
    std::visit([&](const auto &value) { attributes.add(fact.name, value); }, fact.value);
}

namespace tilewright::plugin {
namespace {

constexpr std::string_view magic = "tilewright topology 1 devices=";
/// More devices than a process ever has; prevents a typing error from exhausting memory.
constexpr int64_t deviceLimit = 65536;

/// Parses "4", "2x2" or "cpu:8"; the product is the number of devices.
Result<int64_t> parseCount(std::string_view text) {
  std::string_view numbers = text.substr(text.rfind(':') + 1);
  int64_t count = 1;
  while (true) {
    int64_t factor = 0;
    auto [end, error] = std::from_chars(numbers.data(), numbers.data() + numbers.size(), factor);
    if (error != std::errc() || factor < 1 || factor > deviceLimit / count)
      return Status(Error::topology, concat("expected a topology of 1 to ", deviceLimit,
                                            " devices, such as '4' or '2x2', got '", text, "'"));
    count *= factor;
    numbers.remove_prefix(static_cast<size_t>(end - numbers.data()));
    if (numbers.empty())
      return count;
    if (numbers.front() != 'x')
      return parseCount("?"); // fails with the message above
    numbers.remove_prefix(1);
  }
}

} // namespace

const std::string &platformName() {
  static const std::string name = "cpu";
  return name;
}

const std::string &platformVersion() {
  static const std::string text = concat("tilewright ", version());
  return text;
}

std::unique_ptr<PJRT_TopologyDescription> describeDevices(int64_t count) {
  auto topology = std::make_unique<PJRT_TopologyDescription>();
  for (int64_t i = 0; i < count; ++i) {
    auto device = std::make_unique<PJRT_DeviceDescription>();
    device->id = static_cast<int>(i);
    device->kind = "tilewright cpu";
    device->text = concat("tilewright cpu:", i);
    device->debugText = concat("tilewright cpu:", i, " (topology only)");
    topology->devices.push_back(device.get());
    topology->owned.push_back(std::move(device));
  }
  return topology;
}

std::unique_ptr<PJRT_TopologyDescription>
describeDevices(std::span<runtime::Device *const> devices) {
  auto topology = std::make_unique<PJRT_TopologyDescription>();
  for (runtime::Device *device : devices) {
    auto &described =
        topology->owned.emplace_back(std::make_unique<PJRT_DeviceDescription>(*device));
    topology->devices.push_back(described.get());
  }
  return topology;
}

std::string serialize(const PJRT_TopologyDescription &topology) {
  return concat(magic, topology.devices.size());
}

Result<std::unique_ptr<PJRT_TopologyDescription>> parseTopology(std::string_view text) {
  if (!text.starts_with(magic))
    return Status(Error::topology, "not a topology serialized by Tilewright");
  TILEWRIGHT_ASSIGN(int64_t count, parseCount(text.substr(magic.size())));
  return describeDevices(count);
}

PJRT_Error *TopologyDescription_Create(PJRT_TopologyDescription_Create_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, topology);
  std::string_view name = textOf(args->topology_name, args->topology_name_size);
  int64_t count = 1;
  if (!name.empty()) {
    TILEWRIGHT_PJRT_ASSIGN(count, parseCount(name));
  }
  for (const NamedOption &option : readNamedValues(args->create_options, args->num_options)) {
    if (option.name != "runtime.devices" && option.name != "topology")
      return toError(
          Status(Error::topology,
                 concat("unknown topology option '", option.name,
                        "'; the only option is 'runtime.devices', the number of devices")));
    TILEWRIGHT_PJRT_ASSIGN(count, parseCount(toText(option.value)));
  }
  args->topology = describeDevices(count).release();
  return nullptr;
}

TILEWRIGHT_PJRT_DESTROY(TopologyDescription_Destroy, topology)
TILEWRIGHT_PJRT_PLUGIN_TEXT(TopologyDescription_PlatformName, platform_name, platformName())
TILEWRIGHT_PJRT_PLUGIN_TEXT(TopologyDescription_PlatformVersion, platform_version,
                            platformVersion())
TILEWRIGHT_PJRT_LIST(TopologyDescription_GetDeviceDescriptions, topology, descriptions,
                     num_descriptions, topology->devices)
TILEWRIGHT_PJRT_SERIALIZE(TopologyDescription_Serialize, topology, serialized_topology,
                          serialize(*topology))

PJRT_Error *TopologyDescription_Deserialize(PJRT_TopologyDescription_Deserialize_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, topology);
  TILEWRIGHT_PJRT_ASSIGN(
      std::unique_ptr<PJRT_TopologyDescription> topology,
      parseTopology(textOf(args->serialized_topology, args->serialized_topology_size)));
  args->topology = topology.release();
  return nullptr;
}

TILEWRIGHT_PJRT_LIST(TopologyDescription_Attributes, topology, attributes, num_attributes,
                     topology->attributes)

PJRT_Error *TopologyDescription_Fingerprint(PJRT_TopologyDescription_Fingerprint_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, fingerprint);
  TILEWRIGHT_PJRT_HANDLE(args, topology);
  uint64_t hash = 0xcbf29ce484222325; // FNV-1a: the same in every process
  for (char byte : serialize(*args->topology) + platformVersion())
    hash = (hash ^ static_cast<uint8_t>(byte)) * 0x100000001b3;
  args->fingerprint = hash;
  return nullptr;
}

PJRT_Error *TopologyDescription_GetMemorySpaceKindIds(
    PJRT_TopologyDescription_GetMemorySpaceKindIds_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, num_memory_space_kind_ids);
  static constexpr int kinds[] = {0, 1};
  args->memory_space_kind_ids = kinds;
  args->num_memory_space_kind_ids = std::size(kinds);
  return nullptr;
}

TILEWRIGHT_PJRT_VALUE(DeviceDescription_Id, device_description, id, device_description->id)
TILEWRIGHT_PJRT_VALUE(DeviceDescription_ProcessIndex, device_description, process_index,
                      device_description->processIndex)
TILEWRIGHT_PJRT_LIST(DeviceDescription_Attributes, device_description, attributes, num_attributes,
                     device_description->attributes)
TILEWRIGHT_PJRT_TEXT(DeviceDescription_Kind, device_description, device_kind,
                     device_description->kind)
TILEWRIGHT_PJRT_TEXT(DeviceDescription_DebugString, device_description, debug_string,
                     device_description->debugText)
TILEWRIGHT_PJRT_TEXT(DeviceDescription_ToString, device_description, to_string,
                     device_description->text)

} // namespace tilewright::plugin
