// verifyProgram(): whether a module is a valid StableHLO program.
#ifndef TILEWRIGHT_IMPORT_VERIFYPROGRAM_H
#define TILEWRIGHT_IMPORT_VERIFYPROGRAM_H

#include "tilewright/support/Status.h"

#include "mlir/IR/BuiltinOps.h"

namespace tilewright {

/// Runs MLIR's verifier, which runs the dialects' verifiers, and then looks for direct and indirect
/// recursion.
///  - programInvalid: names the violated rule, the operation and its line.
///  - callsItself: the call graph has a cycle; names its functions.
Status verifyProgram(mlir::ModuleOp module);

} // namespace tilewright

#endif // TILEWRIGHT_IMPORT_VERIFYPROGRAM_H
