#include "tilewright/plugin/Client.h"

#include "tilewright/driver/CollectiveKernels.h"
#include "tilewright/plugin/Announce.h"
#include "tilewright/plugin/Api.h"
#include "tilewright/plugin/Fork.h"
#include "tilewright/plugin/Getters.h"
#include "tilewright/plugin/KeyValueStore.h"
#include "tilewright/plugin/ffi/Resolver.h"
#include "tilewright/runtime/cpu/CpuBackend.h"
#include "tilewright/runtime/cuda/CudaBackend.h"
#include "tilewright/support/Concat.h"
#include "tilewright/support/TargetName.h"
#include "tilewright/support/Trace.h"

#include <cstdlib>

using namespace tilewright;
using namespace tilewright::plugin;

Result<std::unique_ptr<PJRT_Client>> PJRT_Client::create(Options options,
                                                         runtime::ClientOptions clientOptions) {
  auto client = std::make_unique<PJRT_Client>();
  clientOptions.runtime = options.runtime;
  client->options = std::move(options);
  // A target that is not a CPU is a GPU; createClient checks whether the machine has one.
  std::string &target = client->options.compile.target;
  if (TargetName::of(target).isGpu()) {
    TILEWRIGHT_ASSIGN(runtime::cuda::DriverOptions driver, runtime::cuda::driverOptionsOf(target));
    runtime::cuda::CudaParts parts{std::make_shared<ffi::Resolver>(
        TargetName::of(target).isAmd() ? ffi::Platform::rocm : ffi::Platform::cuda)};
    // The compiler's options name the chip only after the client has found its devices.
    parts.compileCollective =
        [&options = client->options](
            const numerics::CollectiveKernel &kernel) -> Result<runtime::cuda::CollectiveImage> {
      TILEWRIGHT_ASSIGN(driver::CollectiveCode code,
                        driver::compileCollectiveKernel(kernel, options));
      return runtime::cuda::CollectiveImage{std::move(code.ptx), std::move(code.symbol),
                                            code.launch.grid[0], code.launch.block[0],
                                            static_cast<unsigned>(code.launch.sharedBytes)};
    };
    parts.prefersOwn = driver::choiceOfOwnKernels(client->options);
    TILEWRIGHT_ASSIGN(client->runtime,
                      runtime::cuda::createClient(clientOptions, driver, std::move(parts)));
    target = runtime::cuda::targetFor(target, *client->runtime);
  } else {
    TILEWRIGHT_ASSIGN(client->runtime,
                      runtime::cpu::createClient(
                          clientOptions, std::make_shared<ffi::Resolver>(ffi::Platform::host)));
  }
  client->version = concat(platformVersion(), " on ", machineOf(*client));
  client->topology = describeDevices(client->runtime->devices());

  for (runtime::Device *device : client->runtime->devices()) {
    client->devices.push_back(
        client->ownedDevices.emplace_back(std::make_unique<PJRT_Device>(*device)).get());
    if (device->isAddressable())
      client->addressableDevices.push_back(client->devices.back());
  }
  for (runtime::Memory *memory : client->runtime->memories()) {
    auto &handle = client->ownedMemories.emplace_back(std::make_unique<MemoryHandle>(*memory));
    client->memories.push_back(handle.get());
    for (runtime::Device *device : memory->devices())
      handle->devices.push_back(client->handleOf(*device));
  }
  for (PJRT_Device *device : client->addressableDevices)
    for (runtime::Memory *memory : device->device.memories())
      device->memories.push_back(client->handleOf(*memory));
  return client;
}

PJRT_Device *PJRT_Client::handleOf(const runtime::Device &device) const {
  for (PJRT_Device *handle : devices)
    if (&handle->device == &device)
      return handle;
  return nullptr;
}

PJRT_Memory *PJRT_Client::handleOf(const runtime::Memory &memory) const {
  for (const auto &handle : ownedMemories)
    if (&handle->memory == &memory)
      return handle.get();
  return nullptr;
}

Result<PJRT_Device *> PJRT_Client::deviceWithId(int id) const {
  if (runtime::Device *device = runtime->deviceWithId(id))
    return handleOf(*device);
  return Status(Error::clientDevice, concat("device ", id, " does not exist; this client has ",
                                            devices.size(), " devices (option runtime.devices)"));
}

namespace tilewright::plugin {
namespace {

/// Reads the options that JAX passes: our options by name, and the index and number of processes.
/// Any other name is an error, because a misspelt option that is silently ignored is hard to find.
Status readCreateOptions(const PJRT_Client_Create_Args *args, Options &options,
                         runtime::ClientOptions &place, bool &isQuiet) {
  TILEWRIGHT_TRY(options.setFromEnvironment());
  if (const char *text = std::getenv("TILEWRIGHT_QUIET"))
    isQuiet = std::string_view(text) != "" && std::string_view(text) != "0";
  for (const NamedOption &option : readNamedValues(args->create_options, args->num_options)) {
    const int64_t *number = std::get_if<int64_t>(&option.value);
    if (option.name == "node_id" && number)
      place.processIndex = static_cast<int>(*number);
    else if (option.name == "num_nodes" && number)
      place.processCount = static_cast<int>(*number);
    else if (option.name == "partition_index")
      continue;
    else if (option.name == "quiet")
      isQuiet = toText(option.value) == "true" || toText(option.value) == "1";
    else
      TILEWRIGHT_TRY(options.set(option.name, toText(option.value)));
  }
  return Status();
}

} // namespace

PJRT_Error *Client_Create(PJRT_Client_Create_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, client);
  TILEWRIGHT_PJRT_TRY(checkNotForked());
  noticeForks();
  Options options;
  runtime::ClientOptions place;
  bool isQuiet = false;
  TILEWRIGHT_PJRT_TRY(readCreateOptions(args, options, place, isQuiet));
  // In a job of one process the callbacks are uninitialised.
  if (place.processCount > 1) {
    TILEWRIGHT_PJRT_ASSIGN(place.store, KeyValueStore::create(*args));
    // A key can be written only once, so each client of a process needs its own prefix. All
    // processes create the same number of clients, so their counts agree.
    static std::atomic<int> clients = 0;
    place.job = concat("tilewright/", clients++);
  }
  // Write at exit, because Python often exits while arrays are alive and then never destroys the
  // client.
  if (!options.trace.file.empty()) {
    trace::nameThread("main");
    trace::writeAtExit(options.trace.file);
  }
  TILEWRIGHT_PJRT_ASSIGN(std::unique_ptr<PJRT_Client> client,
                         PJRT_Client::create(std::move(options), std::move(place)));
  client->isQuiet = isQuiet;
  announce(*client);
  args->client = client.release();
  return nullptr;
}

PJRT_Error *Client_Destroy(PJRT_Client_Destroy_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, client);
  if (isForked())
    return nullptr; // leaks the client: its threads, which it would join, are in the other process
  delete args->client;
  // jaxlib ends the process if this function fails, so ignore the failure. An unwritable file is
  // reported at exit.
  (void)trace::writeEarly();
  return nullptr;
}

TILEWRIGHT_PJRT_PLUGIN_TEXT(Client_PlatformName, platform_name, platformName())
TILEWRIGHT_PJRT_TEXT(Client_PlatformVersion, client, platform_version, client->version)
TILEWRIGHT_PJRT_VALUE(Client_ProcessIndex, client, process_index, client->runtime->processIndex())
TILEWRIGHT_PJRT_VALUE(Client_TopologyDescription, client, topology, client->topology.get())
TILEWRIGHT_PJRT_LIST(Client_Devices, client, devices, num_devices, client->devices)
TILEWRIGHT_PJRT_LIST(Client_AddressableDevices, client, addressable_devices,
                     num_addressable_devices, client->addressableDevices)
TILEWRIGHT_PJRT_LIST(Client_AddressableMemories, client, addressable_memories,
                     num_addressable_memories, client->memories)

PJRT_Error *Client_LookupDevice(PJRT_Client_LookupDevice_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, device);
  TILEWRIGHT_PJRT_HANDLE(args, client);
  TILEWRIGHT_PJRT_ASSIGN(args->device, args->client->deviceWithId(args->id));
  return nullptr;
}

PJRT_Error *Client_LookupAddressableDevice(PJRT_Client_LookupAddressableDevice_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, addressable_device);
  TILEWRIGHT_PJRT_HANDLE(args, client);
  runtime::Device *device = args->client->runtime->deviceWithLocalId(args->local_hardware_id);
  if (!device)
    return toError(Status(Error::clientDevice,
                          concat("this process has no device ", args->local_hardware_id)));
  args->addressable_device = args->client->handleOf(*device);
  return nullptr;
}

PJRT_Error *Client_DefaultDeviceAssignment(PJRT_Client_DefaultDeviceAssignment_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, default_assignment);
  TILEWRIGHT_PJRT_HANDLE(args, client);
  TILEWRIGHT_PJRT_ASSIGN(
      runtime::DeviceAssignment assignment,
      args->client->runtime->defaultAssignment(args->num_replicas, args->num_partitions));
  if (assignment.devices.size() > args->default_assignment_size)
    return toError(
        Status(Error::pluginArguments, concat("the assignment has ", assignment.devices.size(),
                                              " devices, but the caller has room for only ",
                                              args->default_assignment_size)));
  std::copy(assignment.devices.begin(), assignment.devices.end(), args->default_assignment);
  return nullptr;
}

// jaxlib aborts the process if this fails.
PJRT_Error *Client_UpdateGlobalProcessInfo(PJRT_Client_UpdateGlobalProcessInfo_Args *) {
  return nullptr;
}

} // namespace tilewright::plugin
