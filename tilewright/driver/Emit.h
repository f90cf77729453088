// emitExecutable(): a scheduled module, translated op by op into what the runtime runs.
#ifndef TILEWRIGHT_DRIVER_EMIT_H
#define TILEWRIGHT_DRIVER_EMIT_H

#include "tilewright/artifact/Executable.h"
#include "tilewright/support/Status.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

#include <optional>
#include <string>

namespace tilewright::driver {

/// What the target knows of a kernel and the plan does not show.
struct KernelFacts {
  int64_t grid = 1;
  int64_t scratchBytes = 0;
  int64_t itemCost = 0;
  std::string symbol = {}; // in the code; the kernel's name in the module if empty
  std::optional<artifact::GpuLaunch> gpu = std::nullopt;
};

/// Translates `@main` of a module that has passed transform/schedule. The object
/// code and the target are the caller's to add.
///  - planOp: an op is left that the runtime has no step for.
Result<artifact::Executable> emitExecutable(mlir::ModuleOp module,
                                            const llvm::StringMap<KernelFacts> &kernels);

} // namespace tilewright::driver

#endif // TILEWRIGHT_DRIVER_EMIT_H
