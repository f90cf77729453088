#include "tilewright/plugin/execute/Compile.h"

#include "tilewright/driver/Compile.h"
#include "tilewright/plugin/Api.h"
#include "tilewright/plugin/Fork.h"
#include "tilewright/plugin/execute/Executable.h"
#include "tilewright/plugin/execute/LoadedExecutable.h"
#include "tilewright/support/Concat.h"

#include <cstdio>
#include <mutex>
#include <optional>
#include <set>

namespace tilewright::plugin {
namespace {

/// Programs above this size contain large constants; their source is not kept.
constexpr size_t sourceLimit = size_t(1) << 20;

/// The program to show to the user: the source, or with several partitions the program of one
/// device. Null if it is not kept.
std::shared_ptr<const std::string> readable(const PJRT_Program *program,
                                            const CompileOptions &options, std::string perDevice) {
  if (program->code_size > sourceLimit)
    return nullptr;
  if (options.partitions == 1)
    return std::make_shared<const std::string>(program->code, program->code_size);
  if (perDevice.empty())
    return nullptr;
  return std::make_shared<const std::string>(std::move(perDevice));
}

/// Prints each warning once, and one about the cache once for all programs, because an unwritable
/// cache fails for every program.
void warnOnce(const Status &status) {
  static std::mutex mutex;
  static std::set<std::string> said; // guarded by mutex
  std::lock_guard lock(mutex);
  const bool isOfCache = status.error() == Error::cacheUnwritable;
  if (said.insert(isOfCache ? idOf(*status.error()) : status.message()).second)
    std::fprintf(stderr, "tilewright: %s\n", status.toString().c_str());
}

/// The part of runtime.memory-limit that a device may take: devices of one process share the host's
/// memory.
int64_t memoryOfDevice(int64_t limit, const CompileOptions &options, const PJRT_Client *client) {
  if (limit <= 0 || !client || client->runtime->addressableDevices().empty())
    return limit;
  const auto devices = client->runtime->addressableDevices();
  if (!devices.front()->defaultMemory().isHostMemory())
    return limit;
  const auto sharing =
      std::min(options.replicas * options.partitions, static_cast<int64_t>(devices.size()));
  return limit / std::max<int64_t>(sharing, 1);
}

/// Whether all devices are threads of this process. Each of them copies the data of a collective by
/// itself, so no product hides it.
bool isOneHostProcess(const PJRT_Client *client) {
  if (!client || client->runtime->addressableDevices().empty())
    return false;
  return client->runtime->addressableDevices().size() == client->runtime->devices().size() &&
         client->runtime->addressableDevices().front()->defaultMemory().isHostMemory();
}

} // namespace

Result<std::shared_ptr<const artifact::Executable>>
compileProgram(const PJRT_Program *program, const CompileOptions &compileOptions, Options options,
               std::string *perDevice, const PJRT_Client *client) {
  std::string_view format = textOf(program->format, program->format_size);
  if (format != "mlir" || !program->code)
    return Status(Error::programFormat,
                  concat("a program must be a StableHLO portable artifact (format 'mlir'), got '",
                         format, "'; programs from jax.jit and jax.export have this format"));
  TILEWRIGHT_TRY(compileOptions.apply(options));
  sayIgnored(compileOptions.ignored());
  driver::CompileRequest request;
  request.replicas = compileOptions.replicas;
  request.partitions = compileOptions.partitions;
  request.deviceMemory = memoryOfDevice(options.runtime.memoryLimit, compileOptions, client);
  if (options.communicate.windows == "auto" && isOneHostProcess(client))
    options.communicate.windows = "never";
  request.options = std::move(options);
  request.warn = warnOnce;
  if (program->code_size <= sourceLimit)
    request.perDevice = perDevice;
  ArtifactFile file(std::string_view(program->code, program->code_size), "the program");
  std::optional<Result<artifact::Executable>> compiled;
  driver::runOnLargeStack([&] { compiled.emplace(driver::compile(std::move(file), request)); });
  if (!compiled->isOk())
    return std::move(*compiled).takeStatus();
  return std::make_shared<const artifact::Executable>(**std::move(compiled));
}

PJRT_Error *Client_Compile(PJRT_Client_Compile_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, executable);
  TILEWRIGHT_PJRT_HANDLE(args, client);
  TILEWRIGHT_PJRT_HANDLE(args, program);
  TILEWRIGHT_PJRT_TRY(checkNotForked());
  std::string_view bytes = textOf(args->compile_options, args->compile_options_size);
  TILEWRIGHT_PJRT_ASSIGN(CompileOptions options, CompileOptions::parse(bytes));
  std::string perDevice;
  TILEWRIGHT_PJRT_ASSIGN(
      std::shared_ptr<const artifact::Executable> executable,
      compileProgram(args->program, options, args->client->options, &perDevice, args->client));
  TILEWRIGHT_PJRT_ASSIGN(args->executable, loadExecutable(*args->client, std::move(executable),
                                                          options, std::string(bytes)));
  args->executable->source = readable(args->program, options, std::move(perDevice));
  return nullptr;
}

PJRT_Error *Compile(PJRT_Compile_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, executable);
  TILEWRIGHT_PJRT_HANDLE(args, program);
  std::string_view bytes = textOf(args->compile_options, args->compile_options_size);
  TILEWRIGHT_PJRT_ASSIGN(CompileOptions options, CompileOptions::parse(bytes));
  Options ours;
  if (args->client)
    ours = args->client->options;
  else
    TILEWRIGHT_PJRT_TRY(ours.setFromEnvironment());
  std::string perDevice;
  TILEWRIGHT_PJRT_ASSIGN(
      std::shared_ptr<const artifact::Executable> executable,
      compileProgram(args->program, options, std::move(ours), &perDevice, args->client));
  args->executable = new PJRT_Executable(std::move(executable), std::string(bytes),
                                         readable(args->program, options, std::move(perDevice)));
  return nullptr;
}

} // namespace tilewright::plugin
