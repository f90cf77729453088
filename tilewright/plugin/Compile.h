// From a program of the C API to an executable.
#ifndef TILEWRIGHT_PLUGIN_COMPILE_H
#define TILEWRIGHT_PLUGIN_COMPILE_H

#include "tilewright/artifact/Executable.h"
#include "tilewright/plugin/CompileOptions.h"
#include "tilewright/support/Options.h"
#include "tilewright/support/Status.h"

#include <xla/pjrt/c/pjrt_c_api.h>

#include <memory>

namespace tilewright::plugin {

/// Compiles on a thread of its own: jaxlib calls from threads with 2 MiB of stack, which regions
/// nested as deep as we accept would overflow.
///  - programFormat (E8009): not a portable artifact.
///  - what the compiler reports.
Result<std::shared_ptr<const artifact::Executable>>
compileProgram(const PJRT_Program *program, const CompileOptions &compileOptions, Options options);

} // namespace tilewright::plugin

#endif // TILEWRIGHT_PLUGIN_COMPILE_H
