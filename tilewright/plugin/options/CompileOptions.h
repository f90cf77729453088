// Compile options of a framework: the fields of xla.CompileOptionsProto that we support.
#ifndef TILEWRIGHT_PLUGIN_OPTIONS_COMPILEOPTIONS_H
#define TILEWRIGHT_PLUGIN_OPTIONS_COMPILEOPTIONS_H

#include "tilewright/plugin/options/NamedValues.h"
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
  /// The device assignment; if absent, the client chooses.
  std::optional<runtime::DeviceAssignment> devices;
  /// The program may run on any single device, which each call chooses.
  bool isPortable = false;
  /// jax.jit(f, compiler_options={…}), by name.
  std::vector<NamedOption> overrides;

  /// - compileOptions (E8002): the bytes are not a valid CompileOptionsProto.
  static Result<CompileOptions> parse(std::string_view bytes);

  /// Applies the overrides. The name of one of our options ("fuse.max-ops") sets that option. XLA's
  /// options ("xla_…") have no effect, because programs written for other backends pass them; those
  /// in XlaOptions.def must have a value of their type.
  ///  - compilerOption (E8005): any other name, an invalid value, or a value that requests
  ///    different results (flushed denormals).
  Status apply(Options &options) const;

  /// The XLA options among the overrides that have no effect, except those that request what
  /// Tilewright always guarantees (deterministic results).
  std::vector<std::string_view> ignored() const;
};

/// Warns on stderr that these XLA options have no effect, once per process for each name.
void sayIgnored(const std::vector<std::string_view> &names);

/// xla.DeviceAssignmentProto.
std::string serialize(const runtime::DeviceAssignment &assignment);
Result<runtime::DeviceAssignment> parseDeviceAssignment(std::string_view bytes);

} // namespace tilewright::plugin

#endif // TILEWRIGHT_PLUGIN_OPTIONS_COMPILEOPTIONS_H
