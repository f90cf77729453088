#include "tilewright/plugin/Topology.h"

#include "tilewright/plugin/Api.h"
#include "tilewright/plugin/execute/Serialized.h"
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

PJRT_Error *TopologyDescription_Destroy(PJRT_TopologyDescription_Destroy_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, topology);
  delete args->topology;
  return nullptr;
}

PJRT_Error *TopologyDescription_PlatformName(PJRT_TopologyDescription_PlatformName_Args *args) {
  using Args = PJRT_TopologyDescription_PlatformName_Args;
  TILEWRIGHT_PJRT_ARGS(args, platform_name_size);
  giveText(args, &Args::platform_name, &Args::platform_name_size, platformName());
  return nullptr;
}

PJRT_Error *
TopologyDescription_PlatformVersion(PJRT_TopologyDescription_PlatformVersion_Args *args) {
  using Args = PJRT_TopologyDescription_PlatformVersion_Args;
  TILEWRIGHT_PJRT_ARGS(args, platform_version_size);
  giveText(args, &Args::platform_version, &Args::platform_version_size, platformVersion());
  return nullptr;
}

PJRT_Error *TopologyDescription_GetDeviceDescriptions(
    PJRT_TopologyDescription_GetDeviceDescriptions_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, num_descriptions);
  TILEWRIGHT_PJRT_HANDLE(args, topology);
  args->descriptions = args->topology->devices.data();
  args->num_descriptions = args->topology->devices.size();
  return nullptr;
}

PJRT_Error *TopologyDescription_Serialize(PJRT_TopologyDescription_Serialize_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, serialized_topology_deleter);
  TILEWRIGHT_PJRT_HANDLE(args, topology);
  giveSerialized(serialize(*args->topology), args->serialized_bytes, args->serialized_bytes_size,
                 args->serialized_topology, args->serialized_topology_deleter);
  return nullptr;
}

PJRT_Error *TopologyDescription_Deserialize(PJRT_TopologyDescription_Deserialize_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, topology);
  TILEWRIGHT_PJRT_ASSIGN(
      std::unique_ptr<PJRT_TopologyDescription> topology,
      parseTopology(textOf(args->serialized_topology, args->serialized_topology_size)));
  args->topology = topology.release();
  return nullptr;
}

PJRT_Error *TopologyDescription_Attributes(PJRT_TopologyDescription_Attributes_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, num_attributes);
  TILEWRIGHT_PJRT_HANDLE(args, topology);
  args->attributes = args->topology->attributes.data();
  args->num_attributes = args->topology->attributes.size();
  return nullptr;
}

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

PJRT_Error *DeviceDescription_Id(PJRT_DeviceDescription_Id_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, id);
  TILEWRIGHT_PJRT_HANDLE(args, device_description);
  args->id = args->device_description->id;
  return nullptr;
}

PJRT_Error *DeviceDescription_ProcessIndex(PJRT_DeviceDescription_ProcessIndex_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, process_index);
  TILEWRIGHT_PJRT_HANDLE(args, device_description);
  args->process_index = args->device_description->processIndex;
  return nullptr;
}

PJRT_Error *DeviceDescription_Attributes(PJRT_DeviceDescription_Attributes_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, attributes);
  TILEWRIGHT_PJRT_HANDLE(args, device_description);
  args->attributes = args->device_description->attributes.data();
  args->num_attributes = args->device_description->attributes.size();
  return nullptr;
}

PJRT_Error *DeviceDescription_Kind(PJRT_DeviceDescription_Kind_Args *args) {
  using Args = PJRT_DeviceDescription_Kind_Args;
  TILEWRIGHT_PJRT_ARGS(args, device_kind_size);
  TILEWRIGHT_PJRT_HANDLE(args, device_description);
  giveText(args, &Args::device_kind, &Args::device_kind_size, args->device_description->kind);
  return nullptr;
}

PJRT_Error *DeviceDescription_DebugString(PJRT_DeviceDescription_DebugString_Args *args) {
  using Args = PJRT_DeviceDescription_DebugString_Args;
  TILEWRIGHT_PJRT_ARGS(args, debug_string_size);
  TILEWRIGHT_PJRT_HANDLE(args, device_description);
  giveText(args, &Args::debug_string, &Args::debug_string_size,
           args->device_description->debugText);
  return nullptr;
}

PJRT_Error *DeviceDescription_ToString(PJRT_DeviceDescription_ToString_Args *args) {
  using Args = PJRT_DeviceDescription_ToString_Args;
  TILEWRIGHT_PJRT_ARGS(args, to_string_size);
  TILEWRIGHT_PJRT_HANDLE(args, device_description);
  giveText(args, &Args::to_string, &Args::to_string_size, args->device_description->text);
  return nullptr;
}

} // namespace tilewright::plugin
