// verifyProgram(): whether a module is a valid StableHLO program.
#ifndef TILEWRIGHT_IMPORT_VERIFYPROGRAM_H
#define TILEWRIGHT_IMPORT_VERIFYPROGRAM_H

#include "tilewright/support/Status.h"

#include "mlir/IR/BuiltinOps.h"

namespace tilewright {

/// Runs MLIR's verifier, which runs the dialects' verifiers, and then checkProgram().
///  - programInvalid: names the violated rule, the operation and its line.
Status verifyProgram(mlir::ModuleOp module);

/// Checks a module that MLIR's verifier has accepted.
///  - callsItself: the call graph has a cycle; names its functions.
///  - programInvalid: an op is not of func, stablehlo or sdy; names it and its line.
Status checkProgram(mlir::ModuleOp module);

} // namespace tilewright

#endif // TILEWRIGHT_IMPORT_VERIFYPROGRAM_H
