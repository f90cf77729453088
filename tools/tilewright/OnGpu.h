// Programs compiled for a GPU and run on it, real or in software, for `tilewright run --target=…`.
#ifndef TOOLS_TILEWRIGHT_ONGPU_H
#define TOOLS_TILEWRIGHT_ONGPU_H

#include "tilewright/interpret/RuntimeValue.h"
#include "tilewright/runtime/Client.h"
#include "tilewright/support/Options.h"

#include "mlir/IR/BuiltinOps.h"

namespace tilewright::tools {

/// The GPUs of `options.compile.target`. One client serves many programs.
Result<std::unique_ptr<runtime::Client>> openGpu(const Options &options);

/// Compiles `@main`, which consumes the module, and runs it once on the client's first device.
Result<interpret::RuntimeValues> runOnGpu(mlir::ModuleOp module,
                                          const interpret::RuntimeValues &inputs,
                                          const Options &options, runtime::Client &client);

} // namespace tilewright::tools

#endif // TOOLS_TILEWRIGHT_ONGPU_H
