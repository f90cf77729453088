#include "tilewright/plugin/execute/LoadedExecutable.h"

#include "tilewright/plugin/Api.h"
#include "tilewright/plugin/Fork.h"
#include "tilewright/plugin/Getters.h"
#include "tilewright/support/Concat.h"

namespace tilewright::plugin {
namespace {

/// A portable executable reports no devices, so the caller names one in each call.
template <typename T>
std::span<T> reported(std::vector<T> &list, const PJRT_LoadedExecutable &executable) {
  return std::span(list).first(executable.isPortable ? 0 : list.size());
}

} // namespace

Result<PJRT_LoadedExecutable *> loadExecutable(PJRT_Client &client,
                                               std::shared_ptr<const artifact::Executable> program,
                                               const CompileOptions &options,
                                               std::string optionBytes) {
  runtime::DeviceAssignment assignment;
  if (options.devices && !options.isPortable) {
    assignment = *options.devices;
  } else {
    TILEWRIGHT_ASSIGN(assignment,
                      client.runtime->defaultAssignment(program->replicas, program->partitions));
  }
  TILEWRIGHT_ASSIGN(std::shared_ptr<runtime::LoadedExecutable> loaded,
                    client.runtime->load(std::move(program), std::move(assignment)));
  auto handle =
      std::make_unique<PJRT_LoadedExecutable>(client, std::move(loaded), std::move(optionBytes));
  handle->isPortable = options.isPortable;
  for (runtime::Device *device : handle->loaded->addressableDevices())
    handle->devices.push_back(client.handleOf(*device));
  for (runtime::LoadedExecutable::LogicalId id : handle->loaded->logicalIds())
    handle->logicalIds.push_back({id.replica, id.partition});
  return handle.release();
}

TILEWRIGHT_PJRT_DESTROY(LoadedExecutable_Destroy, executable)

PJRT_Error *LoadedExecutable_GetExecutable(PJRT_LoadedExecutable_GetExecutable_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, executable);
  TILEWRIGHT_PJRT_HANDLE(args, loaded_executable);
  const PJRT_LoadedExecutable &loaded = *args->loaded_executable;
  args->executable =
      new PJRT_Executable(loaded.loaded->sharedExecutable(), loaded.compileOptions, loaded.source);
  return nullptr;
}

TILEWRIGHT_PJRT_LIST(LoadedExecutable_AddressableDevices, executable, addressable_devices,
                     num_addressable_devices, reported(executable->devices, *executable))
TILEWRIGHT_PJRT_LIST(LoadedExecutable_AddressableDeviceLogicalIds, executable,
                     addressable_device_logical_ids, num_addressable_device_logical_ids,
                     reported(executable->logicalIds, *executable))

// jaxlib aborts the process if this fails. An empty assignment means a portable executable.
TILEWRIGHT_PJRT_SERIALIZE(LoadedExecutable_GetDeviceAssignment, executable,
                          serialized_device_assignment,
                          executable->isPortable
                              ? std::string()
                              : serialize(executable->loaded->deviceAssignment()))

PJRT_Error *LoadedExecutable_Delete(PJRT_LoadedExecutable_Delete_Args *args) {
  TILEWRIGHT_PJRT_HANDLE(args, executable);
  PJRT_LoadedExecutable &executable = *args->executable;
  std::lock_guard lock(executable.mutex);
  executable.loaded->release();
  for (auto &[device, copy] : executable.copies)
    if (copy) // null if it could not be loaded
      copy->release();
  executable.copies.clear();
  return nullptr;
}

TILEWRIGHT_PJRT_VALUE(LoadedExecutable_IsDeleted, executable, is_deleted,
                      executable->loaded->isDeleted())
TILEWRIGHT_PJRT_TEXT(LoadedExecutable_Fingerprint, executable, executable_fingerprint,
                     executable->fingerprint.of(executable->loaded->executable()))

PJRT_Error *Executable_DeserializeAndLoad(PJRT_Executable_DeserializeAndLoad_Args *args) {
  using Args = PJRT_Executable_DeserializeAndLoad_Args;
  TILEWRIGHT_PJRT_ARGS(args, loaded_executable);
  TILEWRIGHT_PJRT_HANDLE(args, client);
  TILEWRIGHT_PJRT_TRY(checkNotForked());
  TILEWRIGHT_PJRT_ASSIGN(
      std::unique_ptr<PJRT_Executable> executable,
      parseExecutable(textOf(args->serialized_executable, args->serialized_executable_size)));
  // The caller's options replace those in the file, because they name the devices of this process.
  std::string bytes = executable->compileOptions;
  if (const char *given = take(args, &Args::overridden_serialized_compile_options))
    bytes.assign(given, take(args, &Args::overridden_serialized_compile_options_size));
  TILEWRIGHT_PJRT_ASSIGN(CompileOptions options, CompileOptions::parse(bytes));
  TILEWRIGHT_PJRT_ASSIGN(args->loaded_executable, loadExecutable(*args->client, executable->program,
                                                                 options, std::move(bytes)));
  return nullptr;
}

PJRT_Error *Client_Load(PJRT_Client_Load_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, loaded_executable);
  TILEWRIGHT_PJRT_HANDLE(args, client);
  TILEWRIGHT_PJRT_HANDLE(args, executable);
  TILEWRIGHT_PJRT_TRY(checkNotForked());
  std::string bytes(textOf(args->compile_options, args->compile_options_size));
  if (bytes.empty())
    bytes = args->executable->compileOptions;
  TILEWRIGHT_PJRT_ASSIGN(CompileOptions options, CompileOptions::parse(bytes));
  TILEWRIGHT_PJRT_ASSIGN(
      args->loaded_executable,
      loadExecutable(*args->client, args->executable->program, options, std::move(bytes)));
  return nullptr;
}

} // namespace tilewright::plugin
