// emitExecutable(): translates a scheduled module op by op to the runtime's executable.
#ifndef TILEWRIGHT_DRIVER_EMIT_H
#define TILEWRIGHT_DRIVER_EMIT_H

#include "tilewright/artifact/Executable.h"
#include "tilewright/support/Status.h"
#include "tilewright/target/Target.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace tilewright::driver {

/// Translates `@main` of a module that has passed transform/schedule. The caller adds the object
/// code and the target.
///  - planOp: the runtime has no step for an op.
Result<artifact::Executable> emitExecutable(mlir::ModuleOp module,
                                            const llvm::StringMap<target::KernelLaunch> &kernels);

} // namespace tilewright::driver

#endif // TILEWRIGHT_DRIVER_EMIT_H
