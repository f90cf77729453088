// Compiles a program of the C API to an executable.
#ifndef TILEWRIGHT_PLUGIN_EXECUTE_COMPILE_H
#define TILEWRIGHT_PLUGIN_EXECUTE_COMPILE_H

#include "tilewright/artifact/Executable.h"
#include "tilewright/plugin/options/CompileOptions.h"
#include "tilewright/support/Options.h"
#include "tilewright/support/Status.h"

#include <xla/pjrt/c/pjrt_c_api.h>

#include <memory>
#include <string>

namespace tilewright::plugin {

/// Compiles on a separate thread with a large stack: jaxlib calls from threads with a stack of 2
/// MiB, which deeply nested regions would overflow.
///  - programFormat (E8009): not a portable artifact.
///  - errors of the compiler.
/// With a `client`, whose devices share the host's memory, each may take its part of
/// runtime.memory-limit. If `perDevice` is not null and there are several partitions, it receives
/// the program of one device, as a portable artifact.
Result<std::shared_ptr<const artifact::Executable>>
compileProgram(const PJRT_Program *program, const CompileOptions &compileOptions, Options options,
               std::string *perDevice, const PJRT_Client *client);

} // namespace tilewright::plugin

#endif // TILEWRIGHT_PLUGIN_EXECUTE_COMPILE_H
