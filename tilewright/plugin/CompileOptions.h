// What a framework asks of a compilation: xla.CompileOptionsProto, as much as concerns us.
#ifndef TILEWRIGHT_PLUGIN_COMPILEOPTIONS_H
#define TILEWRIGHT_PLUGIN_COMPILEOPTIONS_H

#include "tilewright/plugin/NamedValues.h"
#include "tilewright/runtime/LoadedExecutable.h"
#include "tilewright/support/Options.h"
#include "tilewright/support/Status.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::plugin {

struct CompileOptions {
  int64_t replicas = 1;
  int64_t partitions = 1;
  /// Which device runs what; nothing leaves it to the client.
  std::optional<runtime::DeviceAssignment> devices;
  /// Runs on any one device, chosen at each call.
  bool isPortable = false;
  /// jax.jit(f, compiler_options={…}), by name.
  std::vector<NamedOption> overrides;

  /// - compileOptions (E8002): the bytes are no CompileOptionsProto.
  static Result<CompileOptions> parse(std::string_view bytes);

  /// Applies the overrides. Names of ours ("fuse.max-ops") set that option; names of XLA ("xla_…")
  /// do nothing, because programs written for other backends pass them. Those that we know
  /// (XlaOptions.def) must have a value of their type.
  ///  - compilerOption (E8005): any other name, or a value that the option cannot take.
  Status apply(Options &options) const;
};

/// xla.DeviceAssignmentProto.
std::string serialize(const runtime::DeviceAssignment &assignment);
Result<runtime::DeviceAssignment> parseDeviceAssignment(std::string_view bytes);

} // namespace tilewright::plugin

#endif // TILEWRIGHT_PLUGIN_COMPILEOPTIONS_H
