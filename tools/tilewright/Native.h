// Runs executables on this machine's CPU, for `tilewright run`.
#ifndef TOOLS_TILEWRIGHT_NATIVE_H
#define TOOLS_TILEWRIGHT_NATIVE_H

#include "tilewright/artifact/Executable.h"
#include "tilewright/interpret/RuntimeValue.h"
#include "tilewright/support/Options.h"
#include "tilewright/support/ThreadPool.h"

namespace tilewright::tools {

/// Whether results reuse the memory of the parameters that the program marks as donated.
enum class Donate { nothing, whatIsMarked };

/// Runs an executable for CPUs once. A program's check.* calls compare as in the evaluator.
Result<interpret::RuntimeValues> runNative(artifact::Executable executable,
                                           const interpret::RuntimeValues &inputs,
                                           const Options &options, ThreadPool &pool,
                                           Donate donate = Donate::nothing);

} // namespace tilewright::tools

#endif // TOOLS_TILEWRIGHT_NATIVE_H
