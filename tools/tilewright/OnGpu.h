// Runs executables on a physical or virtual GPU, for `tilewright run`.
#ifndef TOOLS_TILEWRIGHT_ONGPU_H
#define TOOLS_TILEWRIGHT_ONGPU_H

#include "tilewright/artifact/Executable.h"
#include "tilewright/interpret/RuntimeValue.h"
#include "tilewright/runtime/Client.h"
#include "tilewright/support/Options.h"
#include "tools/tilewright/Native.h"

namespace tilewright::tools {

/// A client for the GPUs of `options.compile.target`. One client can run many programs.
Result<std::unique_ptr<runtime::Client>> openGpu(const Options &options);

/// Runs an executable for GPUs once, on the client's first device.
Result<interpret::RuntimeValues> runOnGpu(artifact::Executable executable,
                                          const interpret::RuntimeValues &inputs,
                                          const Options &options, runtime::Client &client,
                                          Donate donate = Donate::nothing);

} // namespace tilewright::tools

#endif // TOOLS_TILEWRIGHT_ONGPU_H
