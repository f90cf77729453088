#include "tilewright/plugin/execute/LoadedExecutable.h"

#include "tilewright/plugin/Api.h"
#include "tilewright/plugin/execute/Executable.h"
#include "tilewright/plugin/execute/Serialized.h"
#include "tilewright/support/Concat.h"

namespace tilewright::plugin {

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

PJRT_Error *LoadedExecutable_Destroy(PJRT_LoadedExecutable_Destroy_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, executable);
  delete args->executable;
  return nullptr;
}

PJRT_Error *LoadedExecutable_GetExecutable(PJRT_LoadedExecutable_GetExecutable_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, executable);
  TILEWRIGHT_PJRT_HANDLE(args, loaded_executable);
  const PJRT_LoadedExecutable &loaded = *args->loaded_executable;
  args->executable =
      new PJRT_Executable(loaded.loaded->sharedExecutable(), loaded.compileOptions, loaded.source);
  return nullptr;
}

PJRT_Error *
LoadedExecutable_AddressableDevices(PJRT_LoadedExecutable_AddressableDevices_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, num_addressable_devices);
  TILEWRIGHT_PJRT_HANDLE(args, executable);
  // A portable executable reports no devices, so the caller names one in each call.
  bool isPortable = args->executable->isPortable;
  args->addressable_devices = args->executable->devices.data();
  args->num_addressable_devices = isPortable ? 0 : args->executable->devices.size();
  return nullptr;
}

PJRT_Error *LoadedExecutable_AddressableDeviceLogicalIds(
    PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, num_addressable_device_logical_ids);
  TILEWRIGHT_PJRT_HANDLE(args, executable);
  bool isPortable = args->executable->isPortable;
  args->addressable_device_logical_ids = args->executable->logicalIds.data();
  args->num_addressable_device_logical_ids = isPortable ? 0 : args->executable->logicalIds.size();
  return nullptr;
}

// jaxlib aborts the process if this fails. An empty assignment means a portable executable.
PJRT_Error *
LoadedExecutable_GetDeviceAssignment(PJRT_LoadedExecutable_GetDeviceAssignment_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, serialized_device_assignment_deleter);
  TILEWRIGHT_PJRT_HANDLE(args, executable);
  std::string bytes = args->executable->isPortable
                          ? std::string()
                          : serialize(args->executable->loaded->deviceAssignment());
  giveSerialized(std::move(bytes), args->serialized_bytes, args->serialized_bytes_size,
                 args->serialized_device_assignment, args->serialized_device_assignment_deleter);
  return nullptr;
}

PJRT_Error *LoadedExecutable_Delete(PJRT_LoadedExecutable_Delete_Args *args) {
  TILEWRIGHT_PJRT_HANDLE(args, executable);
  args->executable->loaded->release();
  return nullptr;
}

PJRT_Error *LoadedExecutable_IsDeleted(PJRT_LoadedExecutable_IsDeleted_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, is_deleted);
  TILEWRIGHT_PJRT_HANDLE(args, executable);
  args->is_deleted = args->executable->loaded->isDeleted();
  return nullptr;
}

PJRT_Error *LoadedExecutable_Fingerprint(PJRT_LoadedExecutable_Fingerprint_Args *args) {
  using Args = PJRT_LoadedExecutable_Fingerprint_Args;
  TILEWRIGHT_PJRT_ARGS(args, executable_fingerprint_size);
  TILEWRIGHT_PJRT_HANDLE(args, executable);
  PJRT_LoadedExecutable &executable = *args->executable;
  std::call_once(executable.fingerprintOnce, [&] {
    executable.fingerprint = fingerprintOf(*executable.loaded->sharedExecutable());
  });
  giveText(args, &Args::executable_fingerprint, &Args::executable_fingerprint_size,
           executable.fingerprint);
  return nullptr;
}

PJRT_Error *Executable_DeserializeAndLoad(PJRT_Executable_DeserializeAndLoad_Args *args) {
  using Args = PJRT_Executable_DeserializeAndLoad_Args;
  TILEWRIGHT_PJRT_ARGS(args, loaded_executable);
  TILEWRIGHT_PJRT_HANDLE(args, client);
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
