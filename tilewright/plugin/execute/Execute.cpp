// PJRT_LoadedExecutable_Execute and PJRT_ExecuteContext.
#include "tilewright/plugin/Api.h"
#include "tilewright/plugin/Buffer.h"
#include "tilewright/plugin/Event.h"
#include "tilewright/plugin/Fork.h"
#include "tilewright/plugin/Getters.h"
#include "tilewright/plugin/execute/LoadedExecutable.h"
#include "tilewright/plugin/ffi/UserData.h"
#include "tilewright/support/Concat.h"

namespace tilewright::plugin {
namespace {

/// For a portable executable, returns a copy loaded on the device that the caller names.
Result<std::shared_ptr<runtime::LoadedExecutable>> forDevice(PJRT_LoadedExecutable &executable,
                                                             PJRT_Device &device) {
  std::span<runtime::Device *const> devices = executable.loaded->addressableDevices();
  if (devices.size() == 1 && devices.front() == &device.device)
    return executable.loaded;
  if (!executable.isPortable)
    return Status(Error::executeDevice, concat("the program was compiled for ", devices.size(),
                                               " device(s) and cannot "
                                               "run on ",
                                               device.description.text, " alone"));
  std::lock_guard lock(executable.mutex);
  if (executable.loaded->isDeleted()) // execute() says so
    return executable.loaded;
  std::shared_ptr<runtime::LoadedExecutable> &copy = executable.copies[&device];
  if (!copy) {
    runtime::DeviceAssignment assignment;
    assignment.devices = {device.device.id()};
    TILEWRIGHT_ASSIGN(copy, executable.client.runtime->load(executable.loaded->sharedExecutable(),
                                                            std::move(assignment)));
  }
  return copy;
}

} // namespace

PJRT_Error *LoadedExecutable_Execute(PJRT_LoadedExecutable_Execute_Args *args) {
  using Args = PJRT_LoadedExecutable_Execute_Args;
  TILEWRIGHT_PJRT_ARGS(args, device_complete_events);
  TILEWRIGHT_PJRT_HANDLE(args, executable);
  TILEWRIGHT_PJRT_HANDLE(args, options);
  TILEWRIGHT_PJRT_TRY(checkNotForked());
  PJRT_LoadedExecutable &executable = *args->executable;
  std::shared_ptr<runtime::LoadedExecutable> loaded = executable.loaded;
  if (PJRT_Device *device = take(args, &Args::execute_device)) {
    TILEWRIGHT_PJRT_ASSIGN(loaded, forDevice(executable, *device));
  }

  std::vector<runtime::Buffer *> arguments(args->num_devices * args->num_args); // of all devices
  std::vector<std::span<runtime::Buffer *const>> lists(args->num_devices);
  for (size_t device = 0; device < args->num_devices; ++device) {
    const auto list = std::span(arguments).subspan(device * args->num_args, args->num_args);
    for (size_t i = 0; i < args->num_args; ++i)
      list[i] = args->argument_lists[device][i]->buffer.get();
    lists[device] = list;
  }

  runtime::ExecuteOptions options;
  const PJRT_ExecuteOptions &given = *args->options;
  if (holds(&given, &PJRT_ExecuteOptions::num_non_donatable_input_indices) &&
      given.non_donatable_input_indices)
    options.nonDonatable = {given.non_donatable_input_indices,
                            given.num_non_donatable_input_indices};
  options.launchId = take(&given, &PJRT_ExecuteOptions::launch_id);
  // The run may outlive the caller's context, which ends with this call, so the run gets a copy.
  std::shared_ptr<ffi::UserData> userData;
  if (PJRT_ExecuteContext *context = take(&given, &PJRT_ExecuteOptions::context))
    userData = std::make_shared<ffi::UserData>(context->userData);
  options.userContext = userData.get();

  TILEWRIGHT_PJRT_ASSIGN(runtime::Execution run, loaded->execute(lists, options));
  if (runtime::Event ended = runtime::Event::all(run.done); userData && !ended.isReady())
    ended.onReady([userData](const Status &) {});
  for (size_t device = 0; device < run.results.size(); ++device)
    for (size_t i = 0; i < run.results[device].size(); ++i)
      args->output_lists[device][i] =
          new PJRT_Buffer(executable.client, std::move(run.results[device][i]));
  if (args->device_complete_events)
    for (size_t device = 0; device < run.done.size(); ++device)
      args->device_complete_events[device] = new PJRT_Event{std::move(run.done[device])};
  return nullptr;
}

PJRT_Error *ExecuteContext_Create(PJRT_ExecuteContext_Create_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, context);
  args->context = new PJRT_ExecuteContext;
  return nullptr;
}

TILEWRIGHT_PJRT_DESTROY(ExecuteContext_Destroy, context)

} // namespace tilewright::plugin
