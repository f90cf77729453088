// Programs compiled for this machine and run on it, for `tilewright run --on=cpu`.
#ifndef TOOLS_TILEWRIGHT_NATIVE_H
#define TOOLS_TILEWRIGHT_NATIVE_H

#include "tilewright/interpret/RuntimeValue.h"
#include "tilewright/support/Options.h"
#include "tilewright/support/ThreadPool.h"

#include "mlir/IR/BuiltinOps.h"

namespace tilewright::tools {

/// Compiles `@main`, which consumes the module, and runs it once. Checks by which
/// a program judges itself are made as the evaluator makes them.
Result<interpret::RuntimeValues> runNative(mlir::ModuleOp module,
                                           const interpret::RuntimeValues &inputs,
                                           const Options &options, ThreadPool &pool);

} // namespace tilewright::tools

#endif // TOOLS_TILEWRIGHT_NATIVE_H
